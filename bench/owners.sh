#!/bin/bash
# owners.sh - rows 15 and 16: a workspace with an owner, and a tournament.  run.sh sources this
# file.
# shellcheck disable=SC2154 # files, work and the like are those of run.sh

# shellcheck source=bench/environments.sh
. "$here/environments.sh"

owner_runs=40
idle_seconds=60
clock_ticks=$(getconf CLK_TCK)

now_us() { echo "${EPOCHREALTIME/[.,]/}"; }

# Starts an owner of the environment, and adds a sample of the time until its first answer.
start_owner() { # LABEL ARGUMENT...
	local label=$1 began
	shift
	began=$(now_us)
	"${as[@]}" strata "$@" >"$work/owner.out" 2>>"$log" </dev/null &
	owner=$!
	until st ctl head >/dev/null 2>&1; do
		kill -0 "$owner" || fault "the owner has ended"
	done
	echo "$(($(now_us) - began)) 0 0 0" >>"$samples/$label"
}

end_owner() {
	kill -TERM "$owner"
	wait "$owner" || true
}

# Print the processor time in microseconds, and the memory in KiB, of the owner and its watcher.
owner_cpu() { cat "/proc/$owner/stat" /proc/[0-9]*/stat 2>/dev/null | awk -v pid="$owner" -v hz="$clock_ticks" \
	'$1 == pid && !seen++ || $4 == pid { sum += $14 + $15 } END { print int(sum * 1000000 / hz) }'; }
owner_rss() { awk '/^VmRSS/ { print $2 }' "/proc/$owner/status"; }

# The agent prints a line when it is up.  This is the number of times so far.
ups() { wc -l <"$work/owner.out"; }

# Measures the time from the request until the agent runs in the restored tree.
rollback_round() { # LABEL
	local before began
	before=$(ups)
	st ctl spawn argv=sleep argv=100 >/dev/null
	began=$(now_us)
	quiet st checkout "$(cat "$tree.base")"
	until [ "$(ups)" -gt "$before" ]; do :; done
	echo "$(($(now_us) - began)) 0 0 0" >>"$samples/$1"
	sleep 11 # otherwise strata delays the next start on purpose
}

owner_rounds() { # USER
	local round before
	for ((round = 1; round <= 5; round++)); do
		start_owner "owner-$1-ready" daemon
		end_owner
	done
	start_owner "owner-$1-ready" daemon
	for ((round = 1; round <= owner_runs; round++)); do
		measure "owner-$1-true" strata ctl exec argv=true
		measure "owner-$1-write" strata ctl exec shell="echo $round >/srv/owner-file"
	done
	"${as[@]}" strata ctl exec argv=sleep argv=300 >/dev/null 2>&1 &
	sleep 0.5
	for ((round = 1; round <= owner_runs; round++)); do
		measure "owner-$1-log" strata ctl log limit=20
		measure "owner-$1-head" strata ctl head
		measure "owner-$1-version" strata version
	done
	quiet st checkout HEAD
	sleep 3
	progress "15. an idle owner, $idle_seconds s: ${user_names[$1]}"
	before=$(owner_cpu)
	sleep $idle_seconds
	echo "$(($(owner_cpu) - before)) 0 0 $(owner_rss)" >"$samples/owner-$1-idle"
	end_owner
	start_owner "owner-$1-ready" supervise -- sh -c 'echo up; exec sleep 1000'
	for ((round = 1; round <= 3; round++)); do
		rollback_round "owner-$1-rollback"
	done
	end_owner
}

row_15() {
	local user who
	find_able large
	for user in "${able[@]}"; do
		progress "15. an owner: ${user_names[$user]}"
		environment "$user" large
		quiet st checkout "$(cat "$tree.base")"
		owner_rounds "$user"
	done
	say "## 15. A workspace with an owner, $(entries large) entries"
	if [ ${#able[@]} != 0 ]; then
		say ""
		say "Requests are those of 'strata ctl', so the start of a program is in each; log and head while an exec runs. Rollback: from 'strata checkout', with two programs running, until the agent runs again in the restored tree."
		targets_head
		for user in "${able[@]}"; do
			who=${user_names[$user]}
			target "$who: start to ready, p50" as_time "$(p50 "owner-$user-ready")" at-most 200000
			target "$who: ctl exec true, p50" as_time "$(p50 "owner-$user-true")" at-most 15000
			target "$who: ctl exec, one file, committed, p50" as_time "$(p50 "owner-$user-write")" at-most 30000
			target "$who: ctl log, p50" as_time "$(p50 "owner-$user-log")" at-most 5000
			target "$who: ctl head, p50" as_time "$(p50 "owner-$user-head")" at-most 5000
			target "$who: rollback until relaunched, p50" as_time "$(p50 "owner-$user-rollback")" at-most 100000
			target "$who: processor of an idle owner in $idle_seconds s" as_time "$(p50 "owner-$user-idle")" at-most $((idle_seconds * 1000))
			target "$who: memory of an idle owner" as_kib "$(p50 "owner-$user-idle" "$RSS")" at-most 16384
		done
		say ""
		for user in "${able[@]}"; do
			say "${user_names[$user]}: strata version takes $(as_time "$(p50 "owner-$user-version")")."
		done
	fi
	say_notes
	say ""
}

# --- row 16: a tournament

candidates=8
tournament_runs=5

row_16() {
	local user who round quick=() slow=()
	find_able large
	for ((round = 1; round <= candidates; round++)); do
		quick+=("echo $round >/srv/candidate")
		slow+=("sleep 60")
	done
	slow[candidates - 1]="echo fast >/srv/candidate"
	for user in "${able[@]}"; do
		progress "16. a tournament: ${user_names[$user]}"
		environment "$user" large
		quiet st checkout "$(cat "$tree.base")"
		for ((round = 1; round <= tournament_runs; round++)); do
			measure "tournament-$user-all" strata tournament --all --no-adopt --jobs 2 --test 'test -s /srv/candidate' -- "${quick[@]}"
			measure "tournament-$user-fast" strata tournament --no-adopt --jobs $candidates --test 'test -s /srv/candidate' -- "${slow[@]}"
		done
		[ "$(st head)" = "$(cat "$tree.base")" ] || fault "a tournament without adoption moved HEAD"
	done
	say "## 16. A tournament of $candidates candidates, $(entries large) entries"
	if [ ${#able[@]} != 0 ]; then
		say ""
		say "Each candidate writes one file, and its test looks for it: what is measured is all but work, two at a time. A fast winner: seven others sleep for a minute, and are ended."
		targets_head
		for user in "${able[@]}"; do
			who=${user_names[$user]}
			target "$who: all $candidates candidates, p50" as_time "$(p50 "tournament-$user-all")" at-most 500000
			target "$who: a fast winner, p50" as_time "$(p50 "tournament-$user-fast")" at-most 1000000
		done
	fi
	say_notes
	say ""
}
