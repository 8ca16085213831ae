#!/bin/bash
# layers.sh - row 18: checkouts in a history far from the base, and the cost of chains of layers for
# the programs above them.  run.sh sources this file.
#
# A program in the environment has made far_files files.  Then nodes are added in one line of
# descent, and each node changes one file.  Node number N has a line "@node I ..."  in each of the
# first N files that far.paths lists.  No other file has such a line.  So the content of any node is
# known.
# shellcheck disable=SC2154 # files, work and the like are those of run.sh

# shellcheck source=bench/environments.sh
. "$here/environments.sh"

far_files=8000
far_size=$((300 * MiB / far_files)) # average bytes of one of these files
far_runs=30                         # runs of visits, forks, undo and redo
far_room=$((64 * MiB))              # bytes for layers, besides the layer of the files
far_look=25                         # visits between two measurements of the layers
far_verified=10
names=2000 # names in the directory that every layer has
steps=8    # changes of that directory; the maximum number of layers, see layertend.h
depths=(1 2 4 8)
lookup_runs=40
deep_compile_runs=9

# --- the history

# Makes the files that a program in the environment unpacks, and the list of files that the nodes
# change.
make_far() {
	local wanted=$((visits + 5 * far_runs))
	[ ! -e "$work/far.paths" ] || return 0
	progress "18. making $far_files files"
	mkdir "$work/far"
	quiet "$tools/mktree" make "$work/far/files" $far_files $far_size $per_dir
	tar -c -C "$work/far" -f "$work/far.tar" files
	rm -rf "$work/far"
	"$tools/mktree" paths /srv/files $far_files $far_size $per_dir $wanted 1 >"$work/far.paths"
}

# Adds a node, and its id to 'ids'.  The file of the node gets 1 KiB that does not compress well.
# shellcheck disable=SC2016 # expanded inside
add_node() {
	local number=${#ids[@]} noise
	noise=$(head -c 720 /dev/urandom | base64 -w 0)
	quiet st exec -- sh -c 'echo "$0" >"$1"' "@node $number $noise" "${far_paths[number - 1]}"
	ids+=("$(st head)")
	[ "${ids[number]}" != "${ids[number - 1]}" ] || fault "a program changed a file and there is no new node"
}

add_nodes() { # COUNT
	local i
	for ((i = 1; i <= $1; i++)); do add_node; done
}

# Checks that the live tree has the content of node NUMBER.
verify_node() { # NUMBER
	[ "$(in_env xargs grep -ah '^@node ' <"$work/far.paths" | cut -d ' ' -f 2)" = "$(seq "$1")" ] ||
		fault "the live tree is not that of node $1 after 'checkout ${ids[$1]}'"
}

# --- the layers

disk_number() { st du --json | sed -n 's/.*"'"$1"'": *\([0-9]*\).*/\1/p'; } # FIELD
layer_bytes() { disk_bytes "$STRATA_ROOT/layers"; }

# Waits until the maintenance of the layers has ended, so that freed bytes are counted as free.
await_tender() {
	local lock=$STRATA_ROOT/run/+tend.lock
	sleep 0.05 # a command ends before the process that it leaves behind has the lock
	[ ! -e "$lock" ] || "${as[@]}" flock -w 60 "$lock" true
}

# Prints the number of layers below the live tree of WORKSPACE.
depth_of() { # WORKSPACE
	local at depth=0
	at=$(readlink "$STRATA_ROOT/work/$1/stack" | cut -d . -f 3)
	while [[ $at =~ ^[1-9] ]]; do
		depth=$((depth + 1))
		at=$(readlink "$STRATA_ROOT/layers/$at.on" | cut -d . -f 1)
	done
	echo $depth
}

# --- moving in the history

# Runs the command, and adds a sample of the bytes by which it has filled the file system.
measure_disk() { # LABEL COMMAND...
	local before
	await_tender
	before=$(used_bytes)
	measure "$@"
	await_tender
	echo $(($(used_bytes) - before)) >>"$samples/$1-bytes"
}

neighbours() { # USER
	local i last
	progress "18. first visits of neighbours: ${user_names[$1]}"
	add_nodes $((far_runs + 1))
	last=$((${#ids[@]} - 1))
	for ((i = last - 1; i >= last - far_runs; i--)); do
		measure_disk "far-$1-visit" strata checkout "${ids[i]}"
		measure "far-$1-version" strata version
		measure "far-$1-fsync" dd if=/dev/zero of="$fs/fsync" bs=4k count=1 conv=notrunc,fsync oflag=append
	done
	verify_node $((last - far_runs))
	quiet st checkout "${ids[last]}"
	verify_node $last
}

far_forks() { # USER
	local i first=${#ids[@]}
	progress "18. forks: ${user_names[$1]}"
	add_nodes $((far_runs + 1))
	for ((i = 0; i < far_runs; i++)); do
		measure_disk "far-$1-fork" strata fork "node$i" "${ids[first + i]}"
	done
	STRATA_WORKSPACE=node$((far_runs / 2)) verify_node $((first + far_runs / 2))
	for ((i = 0; i < far_runs; i++)); do
		add_node
		measure_disk "far-$1-fork-head" strata fork "head$i"
	done
	STRATA_WORKSPACE=head$((far_runs - 1)) verify_node $((${#ids[@]} - 1))
	for ((i = 0; i < far_runs; i++)); do
		quiet st workspaces delete "node$i"
		quiet st workspaces delete "head$i"
	done
}

back_and_forth() { # USER
	local i
	progress "18. undo and redo: ${user_names[$1]}"
	for ((i = 0; i < far_runs; i++)); do
		add_node
		measure "far-$1-undo" strata undo
		[ "$(st head)" = "${ids[-2]}" ] || fault "undo went elsewhere"
		measure "far-$1-redo" strata redo
		[ "$(st head)" = "${ids[-1]}" ] || fault "redo went elsewhere"
	done
	verify_node $((${#ids[@]} - 1))
}

# Visits each node of a long history once, with little room for layers.  No command asks for
# maintenance.
long_history() { # USER FIRST_BYTES
	local first number seen=0 order
	progress "18. a history of $visits nodes: ${user_names[$1]}"
	quiet st gc --max-layers $(($2 + far_room))
	first=${#ids[@]}
	add_nodes $((visits + 1)) # the live tree already has the last node
	mapfile -t order < <(seq "$first" $((first + visits - 1)) | shuf --random-source="$work/far.paths")
	progress "18. $visits first visits: ${user_names[$1]}"
	layer_bytes >"$samples/far-$1-layers"
	for number in "${order[@]}"; do
		measure "far-$1-long" strata checkout "${ids[number]}"
		seen=$((seen + 1))
		[ $((seen % far_look)) != 0 ] || layer_bytes >>"$samples/far-$1-layers"
	done
	await_tender
	layer_bytes >"$samples/far-$1-layers-end"
	disk_number layers >"$samples/far-$1-layers-said"
	disk_number layers_limit >"$samples/far-$1-limit"
	for number in "${order[@]:0:far_verified}" "${order[@]: -far_verified}"; do
		quiet st checkout "${ids[number]}"
		verify_node "$number"
	done
}

far_rounds() { # USER
	local ids=("$(st head)") far_paths bytes
	mapfile -t far_paths <"$work/far.paths"
	progress "18. $far_files files made inside: ${user_names[$1]}"
	st exec -- tar -x --no-same-owner -C /srv -f - <"$work/far.tar" >>"$log" 2>&1
	ids[0]=$(st head)
	await_tender
	bytes=$(layer_bytes)
	neighbours "$1"
	far_forks "$1"
	back_and_forth "$1"
	long_history "$1" "$bytes"
}

# --- chains

# Makes a chain of DEPTH layers in a workspace of its own.  The layers together have all steps.
# shellcheck disable=SC2016 # expanded inside
make_chain() { # DEPTH
	local step
	quiet st fork "depth$1"
	for ((step = 1; step <= steps; step++)); do
		quiet st -w "depth$1" exec -- bash -c 'set -e
			for ((i = $0; i < $1; i += 100)); do echo "$0" >"/srv/names/name$i"; done
			for file in /root/src/*.c; do [ ! -e "$file" ] || echo "/* $0 */" >>"$file"; done' $step $names
		[ $((step % (steps / $1))) = 0 ] || continue
		quiet st -w "depth$1" checkout "$(cat "$tree.base")" # the changes become a layer
		quiet st -w "depth$1" undo
	done
	[ "$(depth_of "depth$1")" = "$1" ] || fault "a chain of $1 layers has $(depth_of "depth$1")"
}

look_up() { # USER DEPTH found|absent
	local first again
	read -r first again < <(st -w "depth$2" exec --no-commit -- /srv/lookup "$3" /srv/names $names)
	echo "$((first / 1000)) 0 0 0" >>"$samples/chain-$1-$2-$3"
	echo "$((again / 1000)) 0 0 0" >>"$samples/chain-$1-$2-$3-again"
}

chain_turn() { # USER DEPTH
	look_up "$1" "$2" found
	look_up "$1" "$2" absent
	measure "chain-$1-$2-exec" strata -w "depth$2" exec --no-commit -- /srv/lookup found /srv/names $names
}

compile_turn() { # USER DEPTH
	measure "chain-$1-$2-compile" strata -w "depth$2" exec --no-commit -- sh /root/src/build
}

chain_rounds() { # USER
	local round i depth
	progress "18. chains of layers: ${user_names[$1]}"
	for depth in "${depths[@]}"; do
		make_chain "$depth"
		chain_turn "$1" "$depth" # warm-up
		rm "$samples/chain-$1-$depth"-*
	done
	for ((round = 1; round <= lookup_runs; round++)); do
		for ((i = 0; i < ${#depths[@]}; i++)); do
			chain_turn "$1" "${depths[(i + round) % ${#depths[@]}]}"
		done
	done
	progress "18. compiles above chains: ${user_names[$1]}"
	for ((round = 0; round <= deep_compile_runs; round++)); do
		[ $round != 1 ] || rm "$samples/chain-$1"-*-compile # warm-up
		compile_turn "$1" $((round % 2 ? 1 : steps))
		compile_turn "$1" $((round % 2 ? steps : 1))
	done
	[ "$(st -w depth1 exec --no-commit -- cat /root/src/out/said)" = \
		"$(st -w "depth$steps" exec --no-commit -- cat /root/src/out/said)" ] || fault "another result at depth $steps"
	for depth in "${depths[@]}"; do
		[ "$(depth_of "depth$depth")" = "$depth" ] || fault "a chain of $depth layers has changed meanwhile"
	done
}

# --- the report

far_line() { # USER TEXT LABEL
	local bytes=" | " label=far-$1-$3
	[ ! -e "$samples/$label-bytes" ] ||
		bytes="$(as_bytes "$(p50 "$label-bytes" 1)") | $(as_bytes "$(most "$label-bytes" 1)")"
	say "| ${user_names[$1]}: $2 | $(count "$label") | $(as_time "$(p50 "$label")") | $(as_time "$(p99 "$label")") |" \
		"$(as_time "$(least "$label")") | $(as_time "$(p50 "$label" $CPU)") | $bytes |"
}

chain_line() { # USER DEPTH
	local label=chain-$1-$2 compile=" | "
	[ ! -e "$samples/$label-compile" ] ||
		compile="$(as_time "$(p50 "$label-compile")") | $(as_time "$(least "$label-compile")")"
	say "| ${user_names[$1]}: depth $2 | $(as_name_time "$label-found") | $(as_name_time "$label-absent") |" \
		"$(as_name_time "$label-found-again") | $(as_name_time "$label-absent-again") |" \
		"$(as_time "$(p50 "$label-exec")") | $(as_time "$(least "$label-exec")") | $compile |"
}

# Prints the time for one name: p50 and the minimum.
as_name_time() { # LABEL
	awk -v p50="$(p50 "$1")" -v least="$(least "$1")" -v n=$names \
		'BEGIN { printf "%.2f µs | %.2f µs", p50 / n, least / n }'
}

far_targets() { # USER
	local who=${user_names[$1]} limit
	limit=$(cat "$samples/far-$1-limit")
	target "$who: first visit of a neighbour, p50" as_time "$(p50 "far-$1-visit")" at-most 25000
	target "$who: bytes of a first visit, the most" as_bytes "$(most "far-$1-visit-bytes" 1)" at-most $((256 * 1024))
	target "$who: fork of a node that nobody visited, p50" as_time "$(p50 "far-$1-fork")" at-most 25000
	target "$who: fork of HEAD, p50" as_time "$(p50 "far-$1-fork-head")" at-most 25000
	target "$who: undo, p50" as_time "$(p50 "far-$1-undo")" at-most 15000
	target "$who: redo, p50" as_time "$(p50 "far-$1-redo")" at-most 15000
	target "$who: $visits first visits, p99" as_time "$(p99 "far-$1-long")" at-most 60000
	target "$who: layers on disk after them, by du" as_bytes "$(cat "$samples/far-$1-layers-end")" at-most "$limit"
	target "$who: layers on disk after them, by strata du" as_bytes "$(cat "$samples/far-$1-layers-said")" at-most "$limit"
}

chain_ratio() { # USER SERIES [COLUMN]
	ratio "$(p50 "chain-$1-$steps-$2" "${3:-$WALL}")" "$(p50 "chain-$1-1-$2" "${3:-$WALL}")"
}

chain_targets() { # USER
	local who="${user_names[$1]}: depth $steps ÷ depth 1, p50"
	target "$who: names that are there" as_ratio "$(chain_ratio "$1" found)" at-most 1.03
	target "$who: names that are not there" as_ratio "$(chain_ratio "$1" absent)" at-most 1.03
	target "$who: names that are there, again" as_ratio "$(chain_ratio "$1" found-again)" at-most 1.03
	target "$who: names that are not there, again" as_ratio "$(chain_ratio "$1" absent-again)" at-most 1.03
	target "$who: exec that looks up $names names" as_ratio "$(chain_ratio "$1" exec)" at-most 1.03
	target "$who: compile" as_ratio "$(chain_ratio "$1" compile)" at-most 1.03
}

say_far() {
	local user
	say ""
	say "A program inside makes $far_files files of $(as_bytes $((far_files * far_size))) in all; each node after that changes 1 of them. First visit: 'strata checkout' of a node in which the live tree never was, one step further back each time. Fork: of such a node, one step further each time; of HEAD right after a program changed a file. Undo and redo: right after a program changed a file. In the history of $visits nodes each is visited once, in a random order; layers may take $(as_bytes $far_room) more than those of the $far_files files do, and nobody calls gc. Bytes: what the synced file system has less, when the process that looks after the layers has ended. Nodes are compared with what was written."
	say ""
	say "| | runs | p50 | p99 | min | CPU p50 | bytes, p50 | bytes, most |"
	say "|---|---|---|---|---|---|---|---|"
	for user in "${far_able[@]}"; do
		far_line "$user" "first visit of a neighbour" visit
		far_line "$user" "fork of a node that nobody visited" fork
		far_line "$user" "fork of HEAD" fork-head
		far_line "$user" "undo" undo
		far_line "$user" "redo" redo
		far_line "$user" "first visits in a history of $visits nodes" long
	done
	say ""
	for user in "${far_able[@]}"; do
		say "${user_names[$user]}: strata version takes $(as_time "$(p50 "far-$user-version")"), dd of 4 KiB with one fsync $(as_time "$(p50 "far-$user-fsync")"). Every $far_look visits the layers were looked at: they took $(as_bytes "$(most "far-$user-layers" 1)") at most."
	done
}

say_chains() {
	local user depth
	say ""
	say "Chains of layers: the same $steps changes of a directory of $names names and of all sources, in 1 to $steps layers. A name that is there is looked up, opened and closed; the other times are those of names that are not. Each run is a new mount, so that nothing was looked up there before; the program inside takes the time, and that of the same once more in the same mount ('again'). Then the whole of that 'strata exec', $lookup_runs runs; and of one with the work of row 14 ($(compile_text)), $deep_compile_runs runs. By turns."
	say ""
	say "| | there, p50 | min | not there, p50 | min | there again, p50 | min | not there again, p50 | min | exec, p50 | min | compile, p50 | min |"
	say "|---|---|---|---|---|---|---|---|---|---|---|---|---|"
	for user in "${chain_able[@]}"; do
		for depth in "${depths[@]}"; do
			chain_line "$user" "$depth"
		done
	done
}

# Makes a file system with a tree and an environment of USER.  If something cannot be made, why_not
# has the reason.
far_environment() { # NAME USER
	become "$2"
	new_fs "$1" $((6144 * MiB)) 600000
	[ ${#as[@]} = 0 ] || chown "$user_id:$user_id" "$fs"
	make_small "$tree"
	if [ "$1" = chain ]; then
		"${as[@]}" "$tools/lookup" make "$tree/srv/names" $names
		"${as[@]}" cp "$tools/lookup" "$tree/srv/lookup"
	fi
	why_not=$(new_environment)
	[ -z "$why_not" ] || notes+=("Not measured as ${user_names[$2]}: $why_not.")
}

row_18() {
	local user compiler="" far_able=() chain_able=()
	notes=()
	get_rootfs
	if [ -e "$work/rootfs.why" ]; then
		notes+=("Not measured: $(cat "$work/rootfs.why").")
		users=()
	else
		make_far
	fi
	for user in "${users[@]}"; do
		far_environment far "$user"
		if [ -z "$why_not" ]; then
			far_able+=("$user")
			far_rounds "$user"
		fi
		drop_fs far
	done
	if [ ${#far_able[@]} = 0 ]; then
		:
	elif ! quiet "${CC:-gcc}" -static -O2 -std=gnu17 -D_GNU_SOURCE -Wall -o "$tools/lookup" "$here/lookup.c"; then
		notes+=("Chains of layers are not measured: a program cannot be linked statically here.")
	else
		compile_tree
		for user in "${far_able[@]}"; do
			far_environment chain "$user"
			chain_able+=("$user")
			chain_rounds "$user"
			drop_fs chain
		done
	fi

	say "## 18. Wherever HEAD is: $far_files files from the base"
	[ ${#far_able[@]} = 0 ] || say_far
	[ ${#chain_able[@]} = 0 ] || say_chains
	if [ ${#far_able[@]} != 0 ]; then
		targets_head
		for user in "${far_able[@]}"; do
			far_targets "$user"
		done
		for user in "${chain_able[@]}"; do
			chain_targets "$user"
		done
	fi
	say_notes
	say ""
}
