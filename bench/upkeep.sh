#!/bin/bash
# upkeep.sh - row 19: the time for which gc delays other commands.  run.sh sources this file.
# shellcheck disable=SC2154 # work, samples and the like are those of run.sh

# shellcheck source=bench/environments.sh
. "$here/environments.sh"

upkeep_nodes=1100
upkeep_files=100 # files that each node changes

# Makes a history of which retention drops nearly all nodes.
# shellcheck disable=SC2016 # the shell inside expands it
make_garbage() {
	local node
	for ((node = 1; node <= upkeep_nodes; node++)); do
		quiet st exec -q -- sh -c 'i=0; while [ $i -lt '$upkeep_files' ]; do echo "'$node' $i" >/srv/garbage/$i; i=$((i + 1)); done'
	done
	quiet st retain --keep 10
}

upkeep_rounds() { # USER
	local round gc status
	for ((round = 1; round <= 100; round++)); do
		measure "upkeep-$1-idle" strata exec -q -- sh -c "echo $round >/srv/garbage/one"
	done
	"${as[@]}" strata gc >"$work/gc.out" 2>>"$log" &
	gc=$!
	while kill -0 "$gc" 2>/dev/null; do
		measure "upkeep-$1-gc" strata exec -q -- sh -c "echo $((round++)) >/srv/garbage/one"
	done
	status=0
	wait "$gc" || status=$?
	[ $status = 0 ] || fault "gc ended with status $status"
	last_line "$work/gc.out" >>"$log"
	head -n 1 "$work/gc.out" >"$work/gc-said-$1"
}

row_19() {
	local user who label
	find_able small
	for user in "${able[@]}"; do
		progress "19. a history for gc: ${user_names[$user]}"
		environment "$user" small
		STRATA_ROOT=$fs/upkeep-env
		quiet st init --from "$tree"
		quiet st exec -q -- mkdir -p /srv/garbage
		make_garbage
		progress "19. exec beside gc: ${user_names[$user]}"
		upkeep_rounds "$user"
		quiet st destroy --yes
	done
	say "## 19. Commands beside gc: $upkeep_nodes nodes of $upkeep_files files each, nearly all of them dropped"
	if [ ${#able[@]} != 0 ]; then
		say ""
		say "An exec that changes one file and is committed, again and again while 'strata gc' works, and before that. Held up: the slowest beside gc, less the median without."
		say ""
		say "| | runs | p50 | p99 | most |"
		say "|---|---|---|---|---|"
		for user in "${able[@]}"; do
			for label in idle gc; do
				who=${user_names[$user]}
				say "| $who: exec, $([ $label = gc ] && echo "beside gc" || echo "alone") | $(count "upkeep-$user-$label") | $(as_time "$(p50 "upkeep-$user-$label")") | $(as_time "$(p99 "upkeep-$user-$label")") | $(as_time "$(most "upkeep-$user-$label" "$WALL")") |"
			done
		done
		targets_head
		for user in "${able[@]}"; do
			target "${user_names[$user]}: held up by gc, the most" as_time \
				"$(calc "$(most "upkeep-$user-gc" "$WALL") - $(p50 "upkeep-$user-idle")")" at-most 100000
		done
		say ""
		for user in "${able[@]}"; do
			say "${user_names[$user]}: $(cat "$work/gc-said-$user")."
		done
	fi
	say_notes
	say ""
}
