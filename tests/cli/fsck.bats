# fsck: checks and repairs of the store and the history.
load helpers
load history

# damage FILE OFFSET: change one byte.
damage() {
	local byte
	byte=$(dd if="$1" bs=1 skip="$2" count=1 status=none | od -An -tu1)
	printf "\\x$(printf %02x $((byte ^ 255)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

@test "fsck of a sound environment" {
	three
	run -0 --separate-stderr strata fsck
	[[ $output =~ ^"clean: "[0-9]+" objects, 4 nodes, "[0-9.]+" "[KM]?i?"B checked"$ ]]
	is "$(strata fsck --json | jq -c '[.ok, .errors, .checked.nodes, .checked.objects > 0, .checked.bytes > 0]')" '[true,[],4,true,true]'
}

@test "one damaged byte of a content is found, with the nodes it touches" {
	begin
	head -c 100000 /dev/urandom >$W/file
	bad=$(node bad)
	rm $W/file
	node good
	at=$(($(stat -c %s env/packs/00000001.pack) / 2))
	damage env/packs/00000001.pack $at
	run -1 --separate-stderr strata fsck
	[[ ${lines[-1]} == "damaged: "* ]]
	[[ $output == *"touches 1 node: $bad"* ]]
	run -1 strata fsck --json
	is "$(jq -c '[.ok, (.errors | length > 0), (.errors[0].what | length > 0), .errors[0].nodes]' <<<"$output")" "[false,true,true,[\"$bad\"]]"
}

@test "any damaged byte of a small store is found" {
	begin
	put file text
	node x
	size=$(stat -c %s env/packs/00000001.pack)
	for ((at = 0; at < size; at += size / 40 + 1)); do
		cp env/packs/00000001.pack saved
		damage env/packs/00000001.pack $at
		run strata fsck
		[ "$status" = 1 ] || { echo "byte $at of $size: status $status"; return 1; }
		cp saved env/packs/00000001.pack
	done
	strata fsck >/dev/null
}

@test "a truncated and a missing pack are found" {
	three
	cp env/packs/00000001.pack saved
	truncate -s -20 env/packs/00000001.pack
	run -1 strata fsck
	rm env/packs/00000001.pack
	run -1 strata fsck
	cp saved env/packs/00000001.pack
	strata fsck >/dev/null
}

@test "the rest of the history is readable beside the damage" {
	begin
	head -c 100000 /dev/urandom >$W/file
	bad=$(node bad)
	rm $W/file
	put other fine
	good=$(node good)
	damage env/packs/00000001.pack 60000
	is "$(strata cat "$good:other")" fine
	is "$(strata log | wc -l)" 3
	run -1 --separate-stderr strata cat "$bad:file"
	[[ ${stderr_lines[0]} == "strata: "* ]]
	strata ls "$bad" | grep -q file
}

@test "fsck --repair quarantines what is damaged and keeps what is readable" {
	begin
	head -c 100000 /dev/urandom >$W/file
	bad=$(node bad)
	rm $W/file
	put other fine
	good=$(node good)
	tree=$(tree HEAD)
	damage env/packs/00000001.pack 60000
	run -1 --separate-stderr strata fsck --repair
	[[ $output == *"repair: "*" objects brought back, 1 lost"* ]]
	[ -n "$(ls env/quarantine)" ]
	is "$(strata cat "$good:other")" fine
	is "$(tree HEAD)" "$tree"
	run -1 strata cat "$bad:file"
	strata delete "$bad" >/dev/null
	strata gc >/dev/null
	clean
}

@test "a lost content comes back when the file is committed again" {
	begin
	head -c 100000 /dev/urandom >$W/file
	cp -p $W/file keep
	node made
	rm $W/file
	node gone
	damage env/packs/00000001.pack 60000
	run -1 strata fsck --repair
	cp -p keep $W/file
	node back
	strata cat HEAD~2:file | cmp - keep
	clean
}

@test "fsck --repair of a sound environment changes nothing" {
	three
	(cd env && find packs -type f -exec sha256sum {} +) >before
	strata fsck --repair >/dev/null
	(cd env && find packs -type f -exec sha256sum {} +) | diff before -
	[ ! -e env/quarantine ] || [ -z "$(ls env/quarantine)" ]
}

@test "a damaged row of the index is found" {
	need sqlite3
	three
	sqlite3 env/strata.db "UPDATE fresh SET offset = offset + 1 WHERE hash = (SELECT hash FROM fresh LIMIT 1)"
	run -1 strata fsck
	run -0 strata fsck --repair
	clean
}

@test "a node that was changed is found" {
	need sqlite3
	three
	sqlite3 env/strata.db "UPDATE node SET body = x'00' || substr(body, 2) WHERE id = '$two'"
	run -1 --separate-stderr strata fsck
	[[ $output$stderr == *"$two"* ]]
}

@test "fsck of a read-only environment" {
	three
	chmod -R a-w env
	strata fsck >/dev/null
}

@test "fsck usage" {
	begin
	usage strata fsck x
	usage strata fsck --fix
}
