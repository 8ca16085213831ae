# checkout: makes the live tree equal to a node.
load helpers
load history

@test "checkout restores a node and moves HEAD" {
	three
	run -0 --separate-stderr strata checkout "$one"
	is "$output" "HEAD is now $one  one  [~1 -2]"
	[ -z "$stderr" ]
	is "$(strata head)" "$one"
	is "$(cd $W && ls)" $'all\none'
	is "$(cat $W/all)" "all one"
	clean
}

@test "checkout goes back and forth between identical trees" {
	three
	walk $W --content >at-three
	strata checkout "$root" >/dev/null
	same_tree src $W
	strata checkout "$three" >/dev/null
	walk $W --content | diff at-three -
	clean
}

@test "checkout first keeps uncaptured work in a safety node" {
	three
	put precious 'not committed'
	rm $W/two
	run -0 --separate-stderr strata checkout "$one"
	safety=$(strata log --json | jq -r '.nodes[0].id')
	is "$output" "uncaptured work is kept in $safety
HEAD is now $one  one  [~1 -2]"
	is "$(strata show "$safety" --json | jq -c '[.kind, .parent, .message]')" \
		"[\"checkout\",\"$three\",\"safety: precious, two\"]"
	[ ! -e $W/precious ]
	is "$(strata cat "$safety:precious")" "not committed"
	strata checkout "$safety" >/dev/null
	is "$(cat $W/precious)" "not committed"
	[ ! -e $W/two ]
	clean
}

@test "checkout --json says where HEAD is, what was kept and what changed" {
	three
	is "$(strata checkout "$one" --json | jq -c '[.head, .safety, .changes]')" \
		"[\"$one\",null,{\"added\":0,\"modified\":1,\"deleted\":2,\"renamed\":0}]"
	put new 1
	strata checkout "$two" --json >moved.json
	safety=$(jq -r .safety moved.json)
	is "$(jq -r .head moved.json)" "$two"
	is "$(strata cat "$safety:new")" 1
}

@test "checkout HEAD of an unchanged tree touches no file" {
	three
	find $W -printf '%p %C@ %T@ %i\n' | sort >before
	strata checkout HEAD >/dev/null
	strata checkout "$three" >/dev/null
	find $W -printf '%p %C@ %T@ %i\n' | sort | diff before -
	is "$(strata log | wc -l)" 4
}

@test "checkout HEAD of a changed tree undoes the change, which is kept" {
	three
	put all spoilt
	strata checkout HEAD --json >moved.json
	is "$(jq -r .head moved.json)" "$three"
	is "$(cat $W/all)" "all three"
	is "$(strata cat "$(jq -r .safety moved.json):all")" spoilt
	clean
}

@test "checkout leaves files that do not differ alone" {
	three
	before=$(stat -c '%i %Z %Y' $W/one)
	strata checkout "$two" >/dev/null
	is "$(stat -c '%i %Z %Y' $W/one)" "$before"
}

@test "checkout replaces a directory by a file and the other way round" {
	mkdir -p src/thing/below
	echo x >src/thing/below/file
	echo y >src/other
	ln -s other src/link
	begin
	rm -r $W/thing $W/other $W/link
	echo z >$W/thing
	mkdir $W/other $W/link
	echo z >$W/other/file
	walk $W --content >after
	node turned
	strata checkout HEAD~1 >/dev/null
	same_tree src $W
	strata checkout '@{-1}' >/dev/null
	walk $W --content | diff after -
	clean
}

@test "checkout does not write through a symbolic link" {
	mkdir src/d outside
	echo inside >src/d/file
	begin
	rm -r $W/d
	ln -s "$PWD/outside" $W/d
	node link
	strata checkout HEAD~1 >/dev/null
	[ -z "$(ls -A outside)" ]
	same_tree src $W
}

@test "checkout of an unknown node changes nothing and keeps no safety node" {
	three
	put new 1
	fails 1 "strata: no node or tag 'nowhere'
hint: 'strata log' lists the nodes, 'strata tag' the tags" strata checkout nowhere
	fails 1 "strata: 'work' is the live tree already" strata checkout work
	is "$(strata log | wc -l)" 4
	is "$(cat $W/new)" 1
}

@test "checkout restores a tree that was removed" {
	three
	walk $W --content >before
	rm -r ${W:?}/*
	strata checkout "$three" >/dev/null
	walk $W --content | diff before -
	clean
}

@test "checkout restores read-only directories and files" {
	mkdir src/locked
	echo text >src/locked/file
	chmod 444 src/locked/file
	chmod 555 src/locked
	begin
	chmod 755 $W/locked
	rm -f $W/locked/file
	touch $W/locked/other
	chmod 555 $W/locked
	node changed
	strata checkout HEAD~1 >/dev/null
	same_tree src $W
	strata checkout '@{-1}' >/dev/null
	is "$(ls $W/locked)" other
	clean
}

# cut_off REF: run a checkout that is killed before it is complete.
cut_off() {
	need strace || return 1
	run traced strace -f -qq -o /dev/null -e trace=unlinkat \
		-e inject=unlinkat:signal=KILL:when=50 "$STRATA" checkout "$1"
	[ "$status" = 137 ]
	strata status --json | jq -e '.degraded | any(startswith("a checkout was interrupted"))'
}

# half_way: make an environment whose first node differs much from HEAD.
half_way() {
	mkdir src/d
	seq 100 | (cd src/d && xargs touch)
	echo old >src/a
	begin
	rm -r $W/d
	mkdir $W/e
	seq 100 | (cd $W/e && xargs touch)
	echo new >$W/a
	first=$(strata head)
	strata commit -m second >/dev/null
}

@test "a checkout that was killed is completed by the next writing command" {
	half_way
	cut_off "$first"
	run -0 --separate-stderr strata commit
	is "$output" "nothing changed since $first"
	found=$(strata log --json | jq -r '.nodes[] | select(.message == "as found after an interrupted checkout") | .id')
	is "$stderr" "strata: the interrupted checkout was completed: the live tree is that of $first; what was found there is in $found"
	is "$(strata head)" "$first"
	same_tree src $W
	clean
}

@test "what somebody wrote into a half-done checkout is kept" {
	half_way
	cut_off "$first"
	echo precious >$W/precious
	strata commit >/dev/null
	same_tree src $W
	found=$(strata log --json | jq -r '.nodes[] | select(.message == "as found after an interrupted checkout") | .id')
	is "$(strata cat "$found:precious")" precious
	clean
}

@test "a checkout that was killed can be undone instead" {
	half_way
	before=$(strata head)
	walk $W --content >before
	cut_off "$first"
	echo precious >$W/precious
	run -0 --separate-stderr strata checkout --abort --json
	is "$(jq -r .head <<<"$output")" "$before"
	found=$(strata log --json | jq -r '.nodes[] | select(.message == "as found after an interrupted checkout") | .id')
	is "$stderr" "strata: the interrupted checkout was undone: the live tree is that of $before; what was found there is in $found"
	is "$(jq -c '[.exceptions.completed, .exceptions.list[0].kind]' <<<"$output")" '[1,"completed"]'
	walk $W --content | diff before -
	is "$(strata cat "$found:precious")" precious
	clean
	fails 1 "strata: no checkout was interrupted" strata checkout --abort
	fails 2 "strata: checkout: --abort stands alone" strata checkout --abort HEAD
	fails 2 "strata: checkout: ref is missing (see 'strata help checkout')" strata checkout
}

# restored_beside: whether the restored file is complete and still has its temporary name.
restored_beside() { [ -n "$(find $W -name '.strata-tmp-*' -newermt @1000000000 ! -newermt @1000000001)" ]; }

# replaced_meanwhile COMMAND...: check out HEAD~1, and run the command just before file a gets its name.
replaced_meanwhile() {
	local tracer i
	traced strace -f -qq -o /dev/null -e trace=utimensat -e inject=utimensat:signal=STOP:when=1 \
		"$STRATA" checkout HEAD~1 >out.txt 2>err.txt 3>&- &
	tracer=$!
	for ((i = 0; i < 500; i++)); do
		! restored_beside || break
		sleep 0.02
	done
	restored_beside
	"$@"
	kill -CONT "$(pgrep -P "$(pgrep -P $tracer)")"
	status=0
	wait $tracer || status=$?
}

@test "what comes in the place of a file while that is restored is kept" {
	need strace pgrep
	echo old >src/a
	touch -d @1000000000.5 src/a
	begin
	put a new
	second=$(node new)
	echo other >b
	replaced_meanwhile mv b $W/a
	is "$status $(cat $W/a)" "1 other"
	grep -q 'a could not be restored: kept: its present state was never captured' err.txt
	is "$(ls -A $W)" a
	strata checkout HEAD >/dev/null
	is "$(cat $W/a)" old
	# A file that was removed in the meantime does not count as replaced.
	strata checkout "$second" >/dev/null
	replaced_meanwhile rm $W/a
	is "$status" 0
	is "$(cat $W/a)" old
	is "$(strata status --json | jq .dirty)" 0
	strata fsck >/dev/null
}

@test "what cannot be restored is a failure, and said" {
	need_root
	need chattr
	three
	chattr +i $W/all 2>/dev/null || unavailable "no immutable files here"
	run -1 --separate-stderr strata checkout "$one" --json
	chattr -i $W/all
	is "$(jq -c '[.head, .exceptions.unrestored, .exceptions.list[0].path]' <<<"$output")" "[\"$one\",1,\"all\"]"
	[[ $stderr == "strata: all could not be restored: "*": Operation not permitted" ]]
	# The other files are restored, and the next command repairs the rest.
	is "$(cd $W && ls)" $'all\none'
	strata checkout "$one" >/dev/null
	is "$(cat $W/all)" "all one"
	clean
}

@test "a directory that is kept keeps its mode" {
	exclude=(--exclude '*.o')
	mkdir -p src
	begin "${exclude[@]}"
	first=$(strata head)
	mkdir $W/out
	echo 1 >$W/out/file
	echo 2 >$W/out/made.o
	chmod 500 $W/out
	strata commit >/dev/null
	run -1 --separate-stderr strata checkout "$first"
	is "$stderr" "strata: out could not be restored: kept: it holds files that are not in the history"
	is "$(ls $W/out; stat -c %a $W/out)" $'made.o\n500'
	chmod 700 $W/out
}

@test "undo after an interrupted checkout goes back to before it" {
	half_way
	walk $W --content >before
	cut_off "$first"
	strata undo >/dev/null
	walk $W --content | diff before -
	clean
}

@test "checkout takes one reference" {
	begin
	usage strata checkout
	usage strata checkout HEAD HEAD
}
