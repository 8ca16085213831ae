# file-log: lists every version of one path.
load helpers
load history

@test "file-log lists each version once, oldest first" {
	STRATA_NOW=1700000000 begin
	put file one
	STRATA_NOW=1700000060 strata commit -m made >/dev/null
	made=$(strata head)
	put other x
	STRATA_NOW=1700000120 strata commit -m unrelated >/dev/null
	put file two!
	chmod 600 $W/file
	STRATA_NOW=1700000180 strata commit -m changed >/dev/null
	changed=$(strata head)
	rm $W/file
	STRATA_NOW=1700000240 strata commit -m removed >/dev/null
	removed=$(strata head)
	run -0 --separate-stderr strata file-log file
	is "$output" "$made  2023-11-14 22:14:20  file 0644          4  $(printf 'one\n' | sha256sum | cut -c 1-12)  made
$changed  2023-11-14 22:16:20  file 0600          5  $(printf 'two!\n' | sha256sum | cut -c 1-12)  changed
$removed  2023-11-14 22:17:20  gone  removed"
	is "$(strata file-log /file)" "$output"
}

@test "file-log --json says what changed" {
	begin
	put file one
	made=$(node made)
	chmod 600 $W/file
	mode=$(node mode)
	rm $W/file
	gone=$(node gone)
	is "$(strata file-log file --json | jq -c '[.versions[] | [.node, .present, .what, .mode, .size]]')" \
		"[[\"$made\",true,[],420,4],[\"$mode\",true,[\"mode\"],384,4],[\"$gone\",false,[],null,null]]"
	is "$(strata file-log file --jsonl | jq -r .node)" "$made
$mode
$gone"
}

@test "file-log follows all branches" {
	three
	strata checkout "$one" >/dev/null
	put all side
	side=$(node side)
	is "$(strata file-log all --json | jq -r '[.versions[].node] | unique | length')" 4
	strata file-log all | grep -q "^$side"
}

@test "file-log of a directory" {
	begin
	put d/x 1
	node made
	put d/x 2
	node inside
	is "$(strata file-log d --json | jq -c '[.versions[] | [.type, .what - ["mtime"]]]')" '[["dir",[]],["dir",["content"]]]'
}

@test "file-log of what never was" {
	begin
	fails 1 "strata: no node ever had 'none'" strata file-log none
	usage strata file-log
	usage strata file-log a b
}
