# bad-input: every fault is counted and reported, and ends the command only if it must.
load helpers
load history

unreadable() { # makes a tree with one unreadable file and one unreadable directory
	mkdir src/good src/secret
	echo fine >src/good/file
	echo hidden >src/good/hidden
	echo below >src/secret/below
	prepare_nobody
	chmod 000 src/good/hidden src/secret
}

@test "unreadable files and directories are counted, listed and make init fail" {
	unreadable
	run -1 --separate-stderr nobody "$STRATA" init --from src
	[[ ${lines[1]} == "node "* ]]
	is "$(sort <<<"$stderr")" "strata: good/hidden could not be read and was recorded without content: open: Permission denied
strata: good/hidden could not be restored: its content could not be read when it was captured
strata: init: some files were not captured whole (--skip-unreadable accepts that)
strata: secret could not be read and was recorded without content: open: Permission denied
strata: secret could not be restored: its content could not be read when it was captured"
	is "$(nobody "$STRATA" cat HEAD:good/file)" fine
	nobody "$STRATA" ls HEAD:good | grep -q hidden
	run -1 nobody "$STRATA" cat HEAD:good/hidden
	nobody "$STRATA" fsck
}

@test "--skip-unreadable accepts that" {
	unreadable
	nobody "$STRATA" init --from src --skip-unreadable --json >init.json 2>/dev/null
	is "$(jq -c '[.exceptions.unreadable, ([.exceptions.list[] | select(.kind == "unreadable") | .path] | sort)]' init.json)" \
		'[2,["good/hidden","secret"]]'
	is "$(nobody "$STRATA" ls HEAD:good --json | jq -c '[.entries[] | [.name, .unread]]')" '[["file",null],["hidden",true]]'
}

@test "what became unreadable does not stop a commit, and is not lost by a checkout" {
	mkdir src/d
	echo one >src/d/file
	echo two >src/other
	prepare_nobody
	nobody "$STRATA" init --from src >/dev/null
	nobody chmod 000 $W/d
	nobody sh -c "echo changed >$W/other"
	run -0 --separate-stderr nobody "$STRATA" commit -m locked
	[[ $stderr == "strata: d could not be read and was recorded without content: "* ]]
	is "$(nobody "$STRATA" cat HEAD:other)" changed
	# It is not known whether entries of the directory were deleted, so none is listed.
	is "$(nobody "$STRATA" diff HEAD~1 HEAD --name-status)" $'M\td\nM\tother'
	nobody "$STRATA" checkout HEAD~1 >/dev/null 2>&1 || true
	nobody "$STRATA" checkout '@{-1}' >/dev/null 2>&1 || true
	nobody chmod 755 $W/d
	is "$(cat $W/d/file)" one
	nobody "$STRATA" fsck
}

@test "a directory that can be listed but not searched does not seem empty" {
	mkdir src/d
	echo one >src/d/file
	prepare_nobody
	nobody "$STRATA" init --from src >/dev/null
	nobody chmod 444 $W/d
	run -0 --separate-stderr nobody "$STRATA" commit -m locked
	is "$stderr" "strata: d could not be read and was recorded without content: list: Permission denied"
	is "$(nobody "$STRATA" ls --json | jq -c '[.entries[] | [.name, .unread]]')" '[["d",true]]'
	nobody chmod 755 $W/d
	nobody "$STRATA" commit -m open >/dev/null
	is "$(nobody "$STRATA" cat HEAD:d/file)" one
	nobody "$STRATA" fsck
}

@test "files that come and go during commits never make one fail" {
	mkdir src/d
	seq 200 | (cd src/d && xargs touch)
	begin
	(
		set +e
		i=0
		while [ ! -e stop ]; do
			i=$((i + 1))
			echo $i >$W/d/new$((i % 50))
			rm -f $W/d/new$(((i + 25) % 50))
			mkdir $W/x$((i % 10)) && touch $W/x$((i % 10))/f
			rm -rf $W/x$(((i + 5) % 10))
			mv $W/d/$((i % 200 + 1)) $W/d/moved$((i % 200)) || mv $W/d/moved$((i % 200)) $W/d/$((i % 200 + 1))
		done
	) 2>/dev/null &
	for i in {1..25}; do
		run -0 --separate-stderr strata commit -m "$i" --allow-empty
		run -0 --separate-stderr strata status
	done
	touch stop
	wait
	strata commit >/dev/null
	clean
	is "$(strata status --json | jq .nodes)" "$(strata log | wc -l)"
}

@test "a file that changes while it is read is captured as one of its states" {
	head -c 2000000 /dev/zero | tr '\0' a >src/file
	begin
	(
		set +e
		while [ ! -e stop ]; do
			for c in b c d; do
				head -c 2000000 /dev/zero | tr '\0' $c >next
				mv next $W/file
			done
		done
	) &
	for i in 1 2 3 4 5; do
		strata commit -m "$i" >/dev/null 2>&1
		is "$(strata cat HEAD:file | head -c 2000000 | fold -w 1000 | sort -u | cut -c 1 | wc -l)" 1
	done
	touch stop
	wait
	strata commit >/dev/null
	clean
}

@test "a file appended to all the time does not make a commit fail" {
	head -c 500000 /dev/zero >src/file
	begin
	(while [ ! -e stop ]; do head -c 10000 /dev/urandom >>$W/file; done) &
	for i in 1 2 3 4 5; do
		run -0 --separate-stderr strata commit -m "$i"
	done
	touch stop
	wait
	strata commit >/dev/null
	strata cat HEAD:file | cmp - $W/file
	clean
}

@test "loops of symbolic links" {
	ln -s . src/here
	ln -s .. src/up
	ln -s loop src/loop
	mkdir src/d
	ln -s ../d src/d/self
	begin
	same_tree src $W
	clean
}

@test "a directory mounted into itself, and other file systems, are left out" {
	need_root
	need unshare mount
	mkdir -p src/a/loop src/other
	echo data >src/a/file
	unshare -m sh -c '
		mount --bind src src/a/loop && mount -t tmpfs none src/other && touch src/other/hidden &&
		"$1" init --from src --json' - "$STRATA" >init.json 2>err.txt
	is "$(jq -c '[.exceptions.left_out, ([.exceptions.list[].path] | sort)]' init.json)" '[2,["a/loop","other"]]'
	is "$(sort err.txt)" "strata: a/loop was left out: another file system is mounted here
strata: other was left out: another file system is mounted here"
	is "$(strata ls -r --json | jq -c '[.entries[].name]')" '["a","a/file","a/loop","other"]'
	clean
}

@test "1,200 levels of directories" {
	make_tree --deep 1200
	begin
	same_tree src $W
	mutate 1
	walk $W --content >mutated
	strata commit -m mutated >/dev/null
	strata checkout HEAD~1 >/dev/null
	same_tree src $W
	strata checkout '@{-1}' >/dev/null
	walk $W --content | diff mutated -
	strata export HEAD~1 -o x.tar >/dev/null
	is "$(strata import x.tar --json | jq -r .tree)" "$(tree HEAD~1)"
	clean
}

@test "paths longer than PATH_MAX" {
	# deep NAME: make 40 nested directories with names of 200 bytes.
	name=$(printf 'n%.0s' {1..200})
	build() {
		cd "$1"
		for i in {1..40}; do
			mkdir "$name"
			cd -P "$name" 2>/dev/null || return 1
		done
		echo bottom >file
	}
	(build src)
	begin
	same_tree src $W
	path=$(printf "$name/%.0s" {1..40})file
	is "$(strata cat "HEAD:$path")" bottom
	is "$(strata find HEAD file)" "$path"
	strata ls -r --json | jq -e '.entries | length == 41' >/dev/null
	rm -rf "${W:?}/$name"
	strata commit -m gone >/dev/null
	strata checkout HEAD~1 >/dev/null
	same_tree src $W
	strata checkout '@{-1}' >/dev/null
	[ -z "$(ls -A $W)" ]
	strata restore HEAD~1 -- "$path" >/dev/null
	strata fsck >/dev/null
}

@test "names with control characters never reach the terminal raw" {
	for name in $'esc\e[31mred' $'nl\nline' $'cr\rback' $'bell\a' $'bad\xff\xfeutf' $'csi\xc2\x9b31m' $'rtl\xe2\x80\xae' $'del\x7f'; do
		echo "$name" >"src/$name"
		ln -s "$name" "src/l-$name"
		mkdir "src/d-$name"
	done
	begin
	sed -i 's/$/ changed/' $W/[!dl]*
	strata commit >/dev/null
	chmod 000 $W/d-esc*
	{
		strata log
		strata show
		strata status
		strata ls -r
		strata find HEAD '*'
		strata diff HEAD~1
		strata diff HEAD~1 --name-status
		strata grep changed
		strata log --json
		strata status --json
		strata ls --json
		strata diff HEAD~1 --json
		strata file-log $'esc\e[31mred'
		strata blame $'esc\e[31mred'
		strata commit
		strata cat $'HEAD:no\e[31m' || true
		strata show $'no\e[31m' || true
		strata checkout $'no\e[31m' || true
		strata tag $'no\e[31m' || true
		strata restore HEAD -- $'no\e[31m' || true
		strata log --since $'no\e[31m' || true
		strata grep $'(\e[31m' || true
		strata $'no\e[31m' || true
		strata log $'--no\e[31m' || true
		strata --root $'no\e[31m' log || true
		# files that could not be read cannot be restored
		strata checkout HEAD~1 || [ $? = 1 ]
	} >all.txt 2>&1
	chmod 755 $W/d-esc* || true
	if LC_ALL=C grep -n $'[\x01-\x08\x0b-\x1f\x7f]' all.txt; then return 1; fi
	if LC_ALL=C grep -n $'\xc2[\x80-\x9f]' all.txt; then return 1; fi
	iconv -f UTF-8 -t UTF-8 all.txt >/dev/null
}

@test "a root that cannot be written" {
	mkdir locked
	chmod 555 locked
	prepare_nobody
	[ "$(id -u)" != 0 ] || chown 65534 locked
	run -1 --separate-stderr nobody "$STRATA" --root locked/env init --empty
	[[ ${stderr_lines[0]} == "strata: "*"Permission denied"* ]]
	[ -z "$(ls -A locked)" ]
	run -1 --separate-stderr nobody "$STRATA" --root locked init --empty
	[[ ${stderr_lines[0]} == "strata: "*"Permission denied"* ]]
}

@test "a root that is a file, or empty, or not an environment" {
	touch file
	run -1 --separate-stderr strata --root file head
	[[ ${stderr_lines[0]} == "strata: "* ]]
	run -1 strata --root file init --empty
	[ -f file ]
	fails 1 "strata: no environment at 'out'
hint: make one with 'strata init --from DIR', or name one with --root" strata --root out head
	run -1 strata --root '' head
}

@test "a database that is none" {
	begin
	head -c 20000 /dev/urandom >env/strata.db
	rm -f env/strata.db-*
	for command in head log status commit fsck gc 'checkout HEAD'; do
		# shellcheck disable=SC2086 # words
		run -1 --separate-stderr strata $command
		[[ ${stderr_lines[0]} == "strata: "* ]]
	done
	run -1 strata init --empty
	is "$(stat -c %s env/strata.db)" 20000
}

@test "a live tree that is gone" {
	three
	rm -r $W
	run -1 --separate-stderr strata commit
	[[ ${stderr_lines[0]} == "strata: the live tree of workspace 'main': "* ]]
	is "$(strata cat HEAD:one)" one
	is "$(strata log | wc -l)" 4
}

@test "a damaged or missing index is made anew" {
	three
	walk $W --content >before
	head -c 100 /dev/urandom >env/index/main
	is "$(strata status --json | jq .dirty)" 0
	run -0 strata commit
	is "$output" "nothing changed since $three"
	rm env/index/*
	is "$(strata status --json | jq .dirty)" 0
	strata checkout "$one" >/dev/null
	strata checkout "$three" >/dev/null
	walk $W --content | diff before -
	clean
}

@test "usage errors are status 2 and one line, whatever is wrong" {
	begin
	usage strata
	usage strata no-such-command
	usage strata --no-such-option log
	usage strata --root
	usage strata -w
	usage strata log --no-such
	usage strata log -z
	usage strata log -n
	usage strata log --graph=yes
	usage strata log a b
	usage strata checkout
	usage strata $'log\n'
	usage strata log $'--a\nb'
	usage strata commit -m x y
	usage strata commit --allow-empty=1
	usage strata help no-such
	usage strata help log extra
	usage strata ls --recursive=x
	usage strata undo 1.5
	usage strata retain --max-bytes -5
}

@test "an option may be given as --name value and as --name=value; -- ends the options" {
	begin
	put x 1
	strata commit --message='one two' >/dev/null
	is "$(strata show --json | jq -r .message)" 'one two'
	put x 2
	strata commit --message three >/dev/null
	is "$(strata show --json | jq -r .message)" three
	put -n 3
	strata commit -mfour >/dev/null
	is "$(strata show --json | jq -r .message)" four
	is "$(strata cat -- HEAD:-n)" 3
	is "$(strata diff HEAD~1 HEAD -- -n)" $'+\t-n'
}

@test "standard output that cannot be written fails" {
	three
	for command in log status head show ls 'cat HEAD:one' 'log --json' version help; do
		# shellcheck disable=SC2016,SC2086
		run -1 --separate-stderr bash -c '"$0" "$@" >/dev/full' "$STRATA" $command
		is "$stderr" "strata: standard output: No space left on device"
	done
}
