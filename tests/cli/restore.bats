# restore: brings back single paths.
load helpers
load history

setup() {
	strata_setup
	mkdir -p src/dir/sub
	echo one >src/dir/file
	echo deep >src/dir/sub/deep
	echo other >src/other
	begin
	first=$(strata head)
}

@test "restore brings back a file and nothing else" {
	put dir/file changed
	put other changed
	strata commit -m changed >/dev/null
	head=$(strata head)
	run -0 --separate-stderr strata restore "$first" -- dir/file
	is "$output" "restored  [~1]"
	is "$(cat $W/dir/file)" one
	is "$(cat $W/other)" changed
	is "$(strata head)" "$head"
	is "$(strata status --json | jq -c .dirty_paths)" '["dir/file"]'
}

@test "restore brings back a directory with all its attributes" {
	chmod 700 $W/dir/sub
	rm $W/dir/sub/deep $W/dir/file
	put dir/new new
	strata commit -m changed >/dev/null
	strata restore "$first" -- dir >/dev/null
	same_tree src/dir $W/dir
	is "$(cat $W/other)" other
}

@test "restore of a path the node does not have removes it" {
	put added new
	strata commit -m added >/dev/null
	run -0 strata restore "$first" -- added
	is "$output" "restored  [-1]"
	[ ! -e $W/added ]
	is "$(strata cat HEAD:added)" new
}

@test "restore makes the directories a path needs" {
	rm -r $W/dir
	strata commit -m gone >/dev/null
	strata restore "$first" -- dir/sub/deep >/dev/null
	is "$(cat $W/dir/sub/deep)" deep
	[ ! -e $W/dir/file ]
}

@test "restore takes several paths, in any spelling" {
	rm -r $W/dir $W/other
	strata commit -m gone >/dev/null
	strata restore "$first" -- ./dir/ /other >/dev/null
	same_tree src $W --no-mtime
}

@test "restore of the whole tree" {
	rm -r $W/dir
	put new new
	strata commit -m gone >/dev/null
	strata restore "$first" -- . >/dev/null
	same_tree src $W
}

@test "restore keeps overwritten work in a safety node" {
	put dir/file precious
	strata restore HEAD -- dir/file >/dev/null
	is "$(cat $W/dir/file)" one
	is "$(strata log --json | jq -c '.nodes[0] | [.kind, .head, .message]')" '["checkout",true,"safety: dir/file"]'
	is "$(strata cat HEAD:dir/file)" precious
}

@test "restore --json counts" {
	rm $W/other
	strata commit -m gone >/dev/null
	is "$(strata restore "$first" --json -- other | jq -c '[.changes.added, .changes.modified, .changes.deleted]')" '[1,0,0]'
}

@test "restore of a path that neither has is refused" {
	run -1 --separate-stderr strata restore "$first" -- no/such/path
	[[ $stderr == "strata: "*"no/such/path"* ]]
	clean
}

@test "restore refuses paths that lead out" {
	for path in ../escape dir/../../escape ..; do
		run -1 --separate-stderr strata restore "$first" -- $path
	done
	[ ! -e env/work/escape ]
	clean
}

@test "restore needs a node and a path" {
	usage strata restore
	usage strata restore HEAD
	usage strata restore HEAD dir
	fails 1 "strata: 'work' is the live tree itself" strata restore work -- dir
}

@test "restore of one of several hard-linked names" {
	echo text >$W/a
	ln $W/a $W/b
	strata commit -m linked >/dev/null
	rm $W/a
	strata commit -m alone >/dev/null
	strata restore HEAD~1 -- a >/dev/null
	is "$(cat $W/a)" text
	is "$(stat -c %i $W/a)" "$(stat -c %i $W/b)"
	strata commit -m back >/dev/null
	is "$(strata diff HEAD~2 HEAD)" $'M\t.  (mtime)'
}

@test "restore leaves the other names of a file alone" {
	echo text >$W/a
	ln $W/a $W/b
	strata commit -m linked >/dev/null
	put a changed
	chmod 600 $W/a
	strata restore HEAD -- a >/dev/null
	is "$(cat $W/a)" text
	is "$(cat $W/b)" changed
	is "$(stat -c %a $W/b)" 600
}

@test "what restore made is work of its own" {
	put dir/file changed
	ln $W/dir/file $W/linked
	strata commit -m linked >/dev/null
	strata restore "$first" -- dir >/dev/null
	cp -a $W kept
	run -0 --separate-stderr strata checkout "$first" --json
	node=$(jq -r .safety <<<"$output")
	[ "$node" != null ]
	strata checkout "$node" >/dev/null
	same_tree kept $W
}
