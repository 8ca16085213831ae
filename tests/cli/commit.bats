# commit: records the live tree as a node.
load helpers
load history

@test "commit records what changed" {
	begin
	parent=$(strata head)
	put file text
	run -0 --separate-stderr strata commit -m 'a message'
	head=$(strata head)
	[ "$head" != "$parent" ]
	is "$(sed -E 's/[0-9]{4}-[0-9-]+ [0-9:]{8}/TIME/' <<<"$output")" "$head  TIME  manual    a message  [+1]  (HEAD)"
	is "$(strata show --json | jq -c '[.parent, .kind, .message, .changes, .paths, .command, .exit_status]')" \
		"[\"$parent\",\"manual\",\"a message\",{\"added\":1,\"modified\":0,\"deleted\":0,\"renamed\":0},[\"file\"],null,null]"
	clean
}

@test "commit without change says so and makes nothing" {
	begin
	run -0 --separate-stderr strata commit -m x
	is "$output" "nothing changed since $(strata head)"
	is "$(strata commit --json | jq -c '[.made, .message]')" '[false,"init from src"]'
	is "$(strata log | wc -l)" 1
}

@test "commit --allow-empty makes a node of the same tree" {
	begin
	before=$(tree HEAD)
	is "$(strata commit --allow-empty -m again --json | jq -c '[.made, .message, .paths]')" '[true,"again",[]]'
	is "$(tree HEAD)" "$before"
	is "$(strata log | wc -l)" 2
}

@test "commit without a message names what changed" {
	begin
	put b 1
	put a 1
	is "$(strata commit --json | jq -r .message)" "commit: a, b"
	put c 3
	put d 4
	put e 5
	rm $W/a
	is "$(strata commit --json | jq -r .message)" "commit: a, c, d (+1 more)"
}

@test "a message is kept byte by byte" {
	begin
	put file 1
	strata commit -m $'two\nlines, a "quote", \xe2\x82\xac and a tab\t.' >/dev/null
	is "$(strata show --json | jq -r .message)" $'two\nlines, a "quote", \xe2\x82\xac and a tab\t.'
	strata log -n 1 | grep -qF $'manual    two  [+1]'
}

@test "a message longer than 64 KiB is refused" {
	begin
	put file 1
	head=$(strata head)
	fails 1 "strata: message longer than 65536 bytes" strata commit -m "$(head -c 65537 /dev/zero | tr '\0' x)"
	is "$(strata head)" "$head"
	strata commit -m "$(head -c 65536 /dev/zero | tr '\0' x)" >/dev/null
	is "$(strata show --json | jq '.message | length')" 65536
}

@test "every kind of change is counted" {
	mkdir src/d
	for n in changed deleted moved mode; do echo $n >src/$n; done
	ln -s a src/link
	begin
	echo new >$W/added
	echo more >>$W/changed
	rm $W/deleted
	mv $W/moved $W/d/moved
	chmod 600 $W/mode
	ln -sfn b $W/link
	is "$(strata commit --json | jq -c .changes)" '{"added":1,"modified":3,"deleted":1,"renamed":1}'
	clean
}

@test "a change of mode, time, owner or attribute alone makes a node" {
	touch src/file
	begin
	chmod 4751 $W/file
	is "$(strata diff HEAD --json | jq -c '[.changes[] | [.path, .what]]')" '[["file",["mode"]]]'
	node mode
	touch -d '2001-02-03 04:05:06.789' $W/file
	is "$(strata diff HEAD --json | jq -c '[.changes[] | [.path, .what]]')" '[["file",["mtime"]]]'
	node time
	setfattr -n user.test -v value $W/file || unavailable "no user attributes here"
	is "$(strata diff HEAD --json | jq -c '[.changes[] | [.path, .what]]')" '[["file",["xattr"]]]'
	node attribute
	[ "$(id -u)" != 0 ] || chown 12345:54321 $W/file
	[ "$(id -u)" != 0 ] || node owner
	walk $W >want
	strata checkout HEAD~1 >/dev/null
	strata checkout '@{-1}' >/dev/null
	walk $W | diff want -
	clean
}

@test "the path list of a node is bounded, its counts are not" {
	begin
	(cd $W && seq 1000 | xargs touch)
	is "$(strata commit --json | jq -c '[.changes.added, (.paths | length)]')" '[1000,64]'
	run -0 strata show
	is "${lines[-1]}" "  and 936 more"
}

@test "commit takes no arguments" {
	begin
	usage strata commit extra
	usage strata commit -m
	usage strata commit --message
}

@test "commit without an environment fails with a hint" {
	fails 1 "strata: no environment at '$STRATA_ROOT'
hint: make one with 'strata init --from DIR', or name one with --root" strata commit
}
