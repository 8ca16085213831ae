# status: describes the environment on one screen.
load helpers
load history

@test "status of a clean environment, line by line" {
	three
	strata tag good >/dev/null
	export STRATA_NOW=$(($(date +%s) + 7300))
	run -0 --separate-stderr strata status
	[ -z "$stderr" ]
	is "${lines[0]}" "environment  strata ($STRATA_ROOT)"
	[[ ${lines[1]} == "workspace    main, "*": "* ]]
	is "${lines[2]}" "live tree    $STRATA_ROOT/work/main"
	is "${lines[3]}" "HEAD         $three  three  (2 hours ago)"
	is "${lines[4]}" "history      4 nodes, 1 tags"
	[[ ${lines[5]} =~ ^"store        "[0-9.]+" "[KMi]*"B in "[0-9]+" objects, "[0-9.]+" "[KMi]*"B before compression ("[0-9.]+")"$ ]]
	[[ ${lines[6]} =~ ^"disk         base 0 B, layers 0 B, uppers ?, store "[0-9.]+" KiB, traces 0 B, logs 0 B"$ ]]
	is "${lines[7]}" "recording    nothing by itself: exec and commit make nodes ('strata daemon' makes them of every change)"
	is "${lines[8]}" "processes    none"
	is "${lines[-1]}" "clean        nothing changed since HEAD"
}

@test "status lists what changed" {
	echo moved >src/old
	touch src/gone src/mode
	begin
	mv $W/old $W/renamed
	rm $W/gone
	put new new
	chmod 600 $W/mode
	run -0 strata status
	is "$(sed -n '/^changed/,$p' <<<"$output")" 'changed      +1 ~1 -1 >1
  - gone
  M mode
  + new
  R old -> renamed'
	is "$(strata status --json | jq -c '[.dirty, .dirty_paths]')" '[4,["gone","mode","new","renamed"]]'
}

@test "status bounds the list" {
	begin
	(cd $W && seq -w 100 | xargs touch)
	run -0 strata status
	is "${lines[-1]}" "  and 80 more"
	is "$(strata status --json | jq -c '[.dirty, (.dirty_paths | length)]')" '[100,20]'
}

@test "status --json has every field" {
	three
	strata status --json >s.json
	is "$(jq -c '[.root, .name, .workspace, .head, .work_path, .dirty, .nodes, .tags, .processes, .ignore]' s.json)" \
		"[\"$STRATA_ROOT\",\"strata\",\"main\",\"$three\",\"$STRATA_ROOT/work/main\",0,4,0,[],[]]"
	is "$(jq '(.store | .bytes > 0 and .raw_bytes > 0 and .objects > 0) and (.degraded | type == "array") and (.backend | test("^(copy|reflink|overlay|btrfs)$")) and (.backend_reason | length > 0)' s.json)" true
}

@test "status names the ignore rules" {
	begin --exclude '*.o' --exclude build/cache
	is "$(strata status --json | jq -c .ignore)" '["*.o","build/cache"]'
	is "$(strata status | grep '^ignored')" 'ignored      *.o
ignored      build/cache'
}

@test "status does not write anything" {
	three
	put new 1
	# SQLite also makes its -wal and -shm files for commands that only read.
	list() { find env -mindepth 1 ! -name 'strata.db-*' -printf '%p %T@ %C@ %s\n' | sort; }
	list >before
	strata status >/dev/null
	strata diff HEAD >/dev/null
	list | diff before -
}

@test "status does not read the packs" {
	three
	head -c 3000000 /dev/urandom >$W/big
	node big >/dev/null
	need strace
	traced strace -f -qq -o trace -e trace=pread64,read -P "$PWD/env/packs/00000001.pack" "$STRATA" status >/dev/null
	[ "$(grep -c 'read' trace)" -lt 20 ]
}

@test "status takes no arguments" {
	begin
	usage strata status extra
}
