# gc: giving back space.
load helpers
load history

@test "gc of a store without waste frees nothing" {
	three
	before=$(store_bytes)
	run -0 --separate-stderr strata gc
	[[ $output == "freed 0 B in 0 objects; the store now holds "* ]]
	is "$(store_bytes)" "$before"
	clean
}

@test "gc gives back what only a deleted node needed" {
	begin
	before=$(du -sb env/packs | cut -f 1)
	head -c 2000000 /dev/urandom >$W/big
	big=$(node big)
	rm $W/big
	node gone
	strata delete "$big" >/dev/null
	[ "$(du -sb env/packs | cut -f 1)" -gt 2000000 ]
	strata gc --json >gc.json
	[ "$(jq .freed.bytes gc.json)" -gt 1900000 ]
	is "$(jq .store.bytes gc.json)" "$(store_bytes)"
	[ "$(du -sb env/packs | cut -f 1)" -lt $((before + 65536)) ]
	clean
}

@test "gc keeps all that any node needs" {
	"$TOOLS/mktree" src 2>/dev/null
	begin
	"$TOOLS/mktree" $W --mutate --seed 2 >/dev/null 2>&1
	walk $W --content >second
	node second
	"$TOOLS/mktree" $W --mutate --seed 3 >/dev/null 2>&1
	node third
	strata checkout HEAD~1 >/dev/null
	strata delete "$(id @{-1})" >/dev/null
	strata gc >/dev/null
	clean
	strata checkout HEAD~1 >/dev/null
	same_tree src $W
	strata checkout @{-1} >/dev/null
	walk $W --content | diff second -
}

@test "gc does not lose restored, uncommitted files" {
	begin
	head -c 100000 /dev/urandom >$W/file
	cp $W/file copy
	made=$(node made)
	rm $W/file
	node gone
	strata restore "$made" -- file >/dev/null
	strata delete "$made" >/dev/null
	strata gc >/dev/null
	strata commit -m again >/dev/null
	strata cat HEAD:file | cmp - copy
	clean
}

@test "objects a killed commit left are collected" {
	begin
	head -c 3000000 /dev/urandom >$W/file
	"$STRATA" commit -m killed >/dev/null &
	while [ "$(du -sb env/packs | cut -f 1)" -lt 100000 ] && kill -0 $! 2>/dev/null; do :; done
	kill -9 $! 2>/dev/null || true
	wait $! || true
	strata log --json | jq -e '.nodes | length == 1' || skip "the commit was faster than the kill"
	rm $W/file
	strata gc >/dev/null
	[ "$(du -sb env/packs | cut -f 1)" -lt 65536 ]
	clean
}

@test "gc takes no arguments" {
	begin
	usage strata gc extra
	usage strata gc --aggressive
}
