# fsck-faults: faults are planted in a sound environment. fsck must find each of them, and name exactly
# the nodes that it affects. --repair must bring back the data that can be read, and must not lose any of
# it.

load helpers

NODES=6

setup() {
	strata_setup
	need sqlite3
	need jq
	live=$STRATA_ROOT/work/main
	db=$STRATA_ROOT/strata.db
	pack=$STRATA_ROOT/packs/00000001.pack
	make_history
	contents >contents.before
	[ "$(wc -l <contents.before)" = 14 ]
}

# make_history: each node has a file of its own, the nodes 2 to 4 have one in common, and all nodes have
# another one in common.
make_history() {
	mkdir -p src
	head -c 900 /dev/urandom >src/common
	strata init --from src >/dev/null
	id[0]=$(strata head)
	for ((n = 1; n < NODES; n++)); do
		rm -f "$live"/own-*
		head -c "$((500 + n))" /dev/urandom >"$live/own-$n"
		cp "$live/own-$n" "own-$n"
		if [ "$n" = 2 ]; then
			head -c 700 /dev/urandom >"$live/shared"
			cp "$live/shared" shared
		elif [ "$n" = 5 ]; then
			rm "$live/shared"
		fi
		strata commit -m "$n" >/dev/null
		id[n]=$(strata head)
	done
	run -0 strata fsck
}

# contents: print every file of every node, with the digest that 'strata cat' gives, or "lost".
contents() {
	local node path digest

	for node in "${id[@]}"; do
		while read -r path; do
			digest=lost
			if strata cat "$node:$path" >cat.out 2>/dev/null; then
				digest=$(sha256sum cat.out)
				digest=${digest%% *}
			fi
			echo "$node $path $digest"
		done < <(strata find "$node" '**' 2>/dev/null)
	done
}

# lost_only REGEX: only files whose 'NODE PATH' matches may have become unreadable.
lost_only() {
	contents >contents.after
	diff contents.before contents.after | sed -n 's/^< //p' >contents.lost
	if grep -vE "$1" contents.lost; then
		echo "lost, but was readable"
		return 1
	fi
}

sha() { sha256sum <"$1" | cut -c 1-64; }
place() { sqlite3 "$db" "SELECT $2 FROM every_object WHERE hash = x'$1' AND type = ${3:-1}"; } # HASH COLUMN [TYPE]
tree_of() { sqlite3 "$db" "SELECT lower(hex(tree)) FROM node WHERE id = '$1'"; }

# flip OFFSET: flip one bit of the pack.
flip() {
	local byte

	byte=$(od -An -tu1 -j "$1" -N 1 "$pack" | tr -d ' ')
	printf "\\x$(printf %02x $((byte ^ 4)))" | dd of="$pack" bs=1 seek="$1" conv=notrunc status=none
}

# sql STATEMENTS: change the database.  All rows are moved to the table "object" first, so that the
# statements need not look for them in "fresh", too.
sql() { sqlite3 "$db" "INSERT INTO object SELECT * FROM fresh; DELETE FROM fresh; $1"; }

# damaged ID...: fsck must fail, and name exactly these nodes.
damaged() { # ID...
	local want have

	run -1 strata fsck --json
	have=$(jq -r '[.errors[].nodes[]] | unique | .[]' <<<"$output")
	want=$(printf '%s\n' "$@" | sort)
	if [ "$have" != "$want" ]; then
		echo "named: $have"
		echo "touched: $want"
		jq -r '.errors[].what' <<<"$output"
		return 1
	fi
	jq -e '.ok == false and (.errors | length) > 0' <<<"$output" >/dev/null
	# The text for people has the same nodes.
	run -1 strata fsck
	[[ $output == *damaged:* ]]
	for one; do
		[[ $output == *"$one"* ]]
	done
}

says() { # TEXT
	run -1 strata fsck
	[[ $output == *"$1"* ]] || { echo "$output"; return 1; }
}

repaired() {
	run -0 strata fsck --repair
	run -0 strata fsck
	contents | diff contents.before -
}

# usable: after a repair, all commands work on the remaining data.
usable() {
	strata log >/dev/null
	strata status >/dev/null
	echo new >"$live/new"
	strata commit -m "after the repair" >/dev/null
	strata gc >/dev/null
	[ "$(strata cat HEAD:new)" = new ]
}

@test "a flipped bit in each field of a record's header" {
	offset=$(place "$(sha own-3)" offset)
	cp -a "$STRATA_ROOT" sound
	for field in 0 4 8 16; do
		flip $((offset + field))
		damaged "${id[3]}"
		strata fsck --repair >/dev/null || true
		lost_only "^${id[3]} own-3 "
		[ -n "$(ls "$STRATA_ROOT/quarantine")" ]
		rm -rf "$STRATA_ROOT"
		cp -a sound "$STRATA_ROOT"
	done
}

@test "a flipped bit in the content of a file of one node" {
	flip $(($(place "$(sha own-3)" offset) + 48 + 100))
	damaged "${id[3]}"
	run -1 strata fsck --repair
	[ -n "$(ls "$STRATA_ROOT/quarantine")" ]
	lost_only "^${id[3]} own-3 "
	grep -q "^${id[3]} own-3 " contents.lost
	damaged "${id[3]}"
	usable
	# The other files of the node can still be restored.
	run strata checkout "${id[3]}"
	cmp "$live/shared" shared
	[ ! -e "$live/own-3" ]
}

@test "a flipped bit in the content of a file of some nodes" {
	flip $(($(place "$(sha shared)" offset) + 48))
	damaged "${id[2]}" "${id[3]}" "${id[4]}"
	run -1 strata fsck --repair
	lost_only "^(${id[2]}|${id[3]}|${id[4]}) shared "
	usable
}

@test "a flipped bit in the content of a file of all nodes, which the live tree still has" {
	flip $(($(place "$(sha src/common)" offset) + 48 + 899))
	damaged "${id[@]}"
	run -1 strata fsck --repair
	lost_only "common"
	# After the content was stored again, every node that had it can be read.
	strata commit >/dev/null
	run -0 strata fsck
	contents | diff contents.before -
}

@test "a flipped bit in the tree of a node" {
	tree=$(tree_of "${id[4]}")
	flip $(($(place "$tree" offset 2) + 48 + 3))
	damaged "${id[4]}"
	run -1 strata fsck --repair
	lost_only "^${id[4]} "
	damaged "${id[4]}"
	strata checkout "${id[2]}" >/dev/null
	cmp "$live/own-2" own-2
	# Other nodes are not affected, and files in the live tree are not removed for a file that cannot
	# be read.
	run strata checkout "${id[4]}"
	[ "$status" = 1 ]
	cmp "$live/own-2" own-2
	strata status >/dev/null
}

@test "a pack without its start" {
	flip 3
	says "no valid start"
	repaired
	[ -n "$(ls "$STRATA_ROOT/quarantine")" ]
}

@test "a pack that is cut off" {
	offset=$(place "$(sha own-4)" offset)
	truncate -s $((offset + 20)) "$pack"
	damaged "${id[4]}" "${id[5]}"
	run -1 strata fsck --repair
	[ -n "$(ls "$STRATA_ROOT/quarantine")" ]
	lost_only "^(${id[4]}|${id[5]}) "
	damaged "${id[4]}" "${id[5]}"
	# One of the damaged nodes is HEAD, and the live tree still has all its files.
	strata commit >/dev/null
	damaged "${id[4]}"
	strata cat "${id[5]}:own-5" | cmp - own-5
	strata checkout "${id[2]}" >/dev/null
	cmp "$live/own-2" own-2
	strata checkout "${id[5]}" >/dev/null
	cmp "$live/own-5" own-5
}

@test "work goes on when HEAD cannot be read any more" {
	truncate -s "$(place "$(sha own-5)" offset)" "$pack"
	echo new >"$live/own-5"
	for repair in "" --repair; do
		# shellcheck disable=SC2086 # nothing or one word
		run -1 strata fsck $repair
		echo "new $repair" >"$live/new"
		strata commit -m "new $repair" >/dev/null
		[ "$(strata cat HEAD:new)" = "new $repair" ]
		[ "$(strata cat HEAD:own-5)" = new ]
		damaged "${id[5]}"
	done
	strata checkout "${id[4]}" >/dev/null
	cmp "$live/own-4" own-4
}

@test "a pack that is gone" {
	# Another process has locked the first pack, so the next node is written to a second pack.
	echo second >"$live/second"
	flock "$pack" "$STRATA" commit -m second >/dev/null
	id+=("$(strata head)")
	contents >contents.before
	[ -e "$STRATA_ROOT/packs/00000002.pack" ]
	rm "$STRATA_ROOT/packs/00000002.pack"
	damaged "${id[NODES]}"
	run -1 strata fsck --repair
	lost_only "^${id[NODES]} "
	damaged "${id[NODES]}"
	strata checkout "${id[3]}" >/dev/null
	cmp "$live/own-3" own-3
}

@test "every pack is gone" {
	rm "$STRATA_ROOT"/packs/*.pack
	damaged "${id[@]}"
	run -1 strata fsck --repair
	damaged "${id[@]}"
	# Only the live tree still has the data, and it must not be changed.
	cmp "$live/own-5" own-5
	run -1 --separate-stderr strata checkout "${id[2]}"
	[ -n "$stderr" ]
	cmp "$live/own-5" own-5
}

@test "deleted rows of the index" {
	for hash in "$(sha own-3)" "$(sha shared)"; do
		sql "DELETE FROM object WHERE hash = x'$hash'"
	done
	damaged "${id[2]}" "${id[3]}" "${id[4]}"
	repaired
	usable
}

@test "every row of the index is gone, and the list of packs" {
	sql "DELETE FROM object; DELETE FROM pack; UPDATE total SET bytes = 0, raw = 0, objects = 0"
	damaged "${id[@]}"
	repaired
	usable
}

@test "a row of the index that points elsewhere" {
	offset=$(place "$(sha own-2)" offset)
	sql "UPDATE object SET offset = $offset WHERE hash = x'$(sha own-3)'"
	damaged "${id[3]}"
	repaired
}

@test "the row of a leaf is gone" {
	strata checkout "${id[3]}" >/dev/null
	sql "DELETE FROM node WHERE id = '${id[5]}'"
	damaged "${id[5]}"
	says "node ${id[5]} is missing"
	run strata fsck --repair
	unset "id[5]"
	grep -v "^$(grep -o '^[0-9a-f]* own-5' contents.before | cut -d ' ' -f 1) " contents.before >kept
	contents | diff kept -
	strata log >/dev/null
}

@test "the row of a node in the middle is gone" {
	sql "DELETE FROM node WHERE id = '${id[2]}'"
	says "node ${id[3]}: its parent ${id[2]} is missing"
	damaged "${id[2]}" "${id[3]}"
	strata cat "${id[3]}:own-3" | cmp - own-3
	strata checkout "${id[4]}" >/dev/null
	cmp "$live/own-4" own-4
}

@test "a node's row that names the tree of another" {
	sql "UPDATE node SET tree = (SELECT tree FROM node WHERE id = '${id[2]}') WHERE id = '${id[4]}'"
	damaged "${id[4]}"
	run --separate-stderr strata checkout "${id[4]}"
	[ "$status" = 1 ]
	[[ $stderr == *"${id[4]}"* ]]
	cmp "$live/own-5" own-5
}

@test "a node's record with a flipped bit" {
	sql "UPDATE node SET body = CAST(substr(body, 1, 20) || x'ff' || substr(body, 22) AS BLOB) WHERE id = '${id[4]}'"
	damaged "${id[4]}"
}

@test "a parent that never was" {
	sql "UPDATE node SET parent = '0123456789ab' WHERE id = '${id[4]}'"
	damaged "${id[4]}"
	says "its parent 0123456789ab is missing"
}

@test "ancestors in a circle" {
	sql "UPDATE node SET parent = '${id[4]}' WHERE id = '${id[2]}'"
	says "circle"
	run timeout 20 "$STRATA" log
	[ "$status" != 124 ]
}

@test "a HEAD, a tag and a journal that lead nowhere" {
	strata tag here "${id[2]}" >/dev/null
	sql "UPDATE tag SET node = '0123456789ab'"
	damaged 0123456789ab
	sql "UPDATE tag SET node = '${id[2]}'"
	run -0 strata fsck
	sql "UPDATE workspace SET head = '0123456789ab'"
	says "its HEAD, node 0123456789ab, is missing"
	sql "UPDATE workspace SET head = '${id[5]}', cursor = 999"
	says "its place in the journal is missing"
}

@test "wrong totals" {
	sql "UPDATE total SET objects = objects + 1"
	says "totals are wrong"
	repaired
	sql "UPDATE total SET bytes = bytes - 1"
	says "totals are wrong"
	repaired
}

@test "wrong counts" {
	sql "UPDATE meta SET value = value + 1 WHERE key = 'nodes'"
	says "the count of nodes is 7, but there are 6"
	repaired
}

@test "damage on top of damage, and a repair that dies" {
	flip $(($(place "$(sha own-3)" offset) + 48))
	sql "DELETE FROM object WHERE hash = x'$(sha shared)'"
	cp -a "$STRATA_ROOT" before
	for at in 1 10 20 30; do
		rm -rf "$STRATA_ROOT"
		cp -a before "$STRATA_ROOT"
		LD_PRELOAD=$TOOLS/faultlib.so FAULT_AT=$at FAULT_MODE=kill strata fsck --repair >/dev/null || true
		run -1 strata fsck --repair
		lost_only "^${id[3]} own-3 "
		damaged "${id[3]}"
	done
}
