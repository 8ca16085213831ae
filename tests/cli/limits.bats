# limits: programs that exceed a limit of their policy are stopped and reported, and none of them is
# left.  The greedy programs have bounds of their own, so a limit that fails harms no machine.
load helpers
load history
load rootfs

setup() {
	strata_setup
	need jq
	mini_rootfs src
	cp "$TOOLS/greedy-static" src/bin/greedy
	begin
	mark=mark-$$-$RANDOM$RANDOM # an argument of the programs of this test
	echo "$mark" >mark
	ways=(directly)
	! can_hide_cgroups || ways+=(without_cgroups)
}

teardown() {
	[ -z "${runner:-}" ] || kill -KILL "$runner" 2>/dev/null || true
	strata checkout HEAD >/dev/null 2>&1 || true
	strata_teardown
}

# -------------------------------------------------------------------- helpers

directly() { "$@"; }
can_hide_cgroups() { [ "$(command id -u)" = 0 ] && [ -d /sys/fs/cgroup ] && without_cgroups true 2>/dev/null; }
without_cgroups() { unshare --mount sh -ec 'mount -t tmpfs none /sys/fs/cgroup; exec "$@"' - "$@"; }

# limit KEY VALUE...: make a policy with these limits.
limit() {
	local members=
	while [ $# -gt 0 ]; do
		members+="${members:+, }\"$1\": $2"
		shift 2
	done
	echo "{\"preset\": \"workspace\", \"limits\": {$members}}" >policy.json
}

# limited STATUS COMMAND...: run a command under the policy.  'result' gets the result, and 'said'
# the messages.
limited() {
	local want=$1 status=0
	shift
	"$way" "$STRATA" exec --no-commit --json --policy policy.json "$@" >result 2>said </dev/null || status=$?
	[ "$status" = "$want" ] || { echo "$way: status $status, not $want: $*"; tail -c 500 said; return 1; }
	nothing_left
}

# stopped_by KEY: this limit and no other was reported, in the result and in the messages.
stopped_by() {
	is "$(jq -c '[.denials[] | [.what, .rule, .remedy]]' result)" "[[\"limit\",\"limits.$1\",\"raise limits.$1\"]]"
	is "$(grep -ac "strata: denied: limit .* (limits\.$1); to allow it, raise limits\.$1\$" said)" 1
}
is_killed() { is "$(jq -c '[.exit_status, .signal]' result)" '[137,9]'; }

# marked: print the running programs of this test.
marked() { grep -alsFf mark /proc/[0-9]*/cmdline; }
nothing_left() {
	local i
	for ((i = 0; i < 400; i++)); do
		[ -n "$(marked)" ] || return 0
		sleep 0.02
	done
	echo "left behind by $way:"
	marked | xargs -r cat | tr '\0' ' '
	return 1
}

# ----------------------------------------------------------------------- tests

@test "a fork bomb, many children and many threads are stopped by max_processes" {
	limit max_processes 30
	for way in "${ways[@]}"; do
		for kind in bomb children threads; do
			limited 137 -- greedy $kind 300 "$mark"
			stopped_by max_processes
			is_killed
		done
	done
	# The denial names the limit, and the number that was reached.
	[[ $(jq -r '.denials[0].subject' result) =~ ^[0-9]+\ processes\ and\ threads,\ and\ 30\ is\ the\ limit$ ]]
}

@test "a bomb in the background, by a daemon, or in another session is the command's all the same" {
	limit max_processes 30
	for way in "${ways[@]}"; do
		for line in "greedy bomb 300 $mark & sleep 30" "setsid greedy bomb 300 $mark; sleep 30" \
			"greedy daemon greedy bomb 300 $mark; sleep 30"; do
			limited 137 -- sh -c "$line"
			stopped_by max_processes
		done
	done
}

@test "as many processes as are allowed run, and as many threads" {
	limit max_processes 30
	for way in "${ways[@]}"; do
		limited 7 -- sh -c "greedy children 15 $mark & greedy threads 5 $mark & sleep 1; kill -9 -1; exit 7"
		is "$(jq -c .denials result)" '[]'
		is "$(grep -ac "greedy:" said)" 0
	done
}

@test "a hog is stopped by max_rss_bytes, whether one process or many have the memory" {
	limit max_rss_bytes 60000000
	for way in "${ways[@]}"; do
		for n in 1 10; do
			limited 137 -- greedy memory 200 $n "$mark"
			stopped_by max_rss_bytes
			is_killed
		done
		limited 137 -- sh -c "greedy daemon greedy memory 200 4 $mark; sleep 30"
		stopped_by max_rss_bytes
	done
	[[ $(jq -r '.denials[0].subject' result) =~ of\ memory,\ and\ 57\.2\ MiB\ is\ the\ limit$ ]]
}

@test "who shares memory is not charged for it twice" {
	limit max_rss_bytes 120000000
	way=directly
	# Forty processes share the pages of one process.
	limited 0 -- sh -c "x=\$(dd if=/dev/zero bs=1000000 count=8 2>/dev/null | tr '\\0' x)
		for i in \$(seq 40); do (sleep 1; : $mark) & done; wait"
	is "$(jq -c .denials result)" '[]'
}

@test "what spins is stopped by cpu_time_secs, however many share the time" {
	limit cpu_time_secs 1
	for way in "${ways[@]}"; do
		limited 137 -- greedy spin 3 "$mark"
		stopped_by cpu_time_secs
		limited 137 -- sh -c "greedy deaf greedy daemon greedy spin 2 $mark; sleep 30"
		stopped_by cpu_time_secs
	done
}

@test "a sleeper of an hour is stopped by wall_time_secs" {
	limit wall_time_secs 1
	for way in "${ways[@]}"; do
		limited 143 -- sh -c "sleep 3600; : $mark"
		stopped_by wall_time_secs
		is "$(jq -c '[.timed_out, .signal]' result)" '[true,15]'
		grep -aqx "strata: the command took longer than 1 s" said
	done
}

@test "wall_time_secs also stops what ignores signals, and all that the command has started" {
	limit wall_time_secs 1
	way=directly
	limited 137 -- greedy deaf greedy children 3 "$mark"
	stopped_by wall_time_secs
	limited 143 -- sh -c "greedy daemon greedy deaf greedy children 2 $mark; greedy children 2 $mark & exec sleep 3600"
	stopped_by wall_time_secs
	limited 143 -- sh -c "setsid greedy children 2 $mark; exec sleep 3600"
	stopped_by wall_time_secs
}

@test "what a command leaves behind is stopped by wall_time_secs, and the next node has it" {
	limit wall_time_secs 3
	for way in "${ways[@]}"; do
		"$way" "$STRATA" exec -q --policy policy.json -- sh -c "greedy daemon greedy deaf greedy children 2 $mark; date +%N >/made"
		[ -n "$(marked)" ]
		nothing_left
		strata exec -q -- sh -c 'date +%N >/made'
		is "$(strata show --json | jq -c '[.denials[] | [.what, .rule]]')" '[["limit","limits.wall_time_secs"]]'
	done
}

@test "what a command leaves behind stays under the other limits" {
	way=directly
	limit max_processes 30 max_rss_bytes 60000000 cpu_time_secs 1
	for greed in "bomb 300" "memory 200 2" "spin 2"; do
		strata exec -q --policy policy.json -- sh -c "greedy daemon sh -c 'sleep 1; exec greedy $greed $mark'; date +%N >/made"
		nothing_left
		strata exec -q -- sh -c 'date +%N >/made'
		is "$(strata show --json | jq -c '[.denials[].what]')" '["limit"]'
	done
}

@test "of --timeout and wall_time_secs the shorter counts, and is named" {
	way=directly
	limit wall_time_secs 30
	limited 143 --timeout 1 -- sh -c "exec sleep 3600"
	is "$(jq -c '[.timed_out, .denials]' result)" '[true,[]]'
	limit wall_time_secs 1
	limited 143 --timeout 30 -- sh -c "exec sleep 3600"
	stopped_by wall_time_secs
	limited 143 --timeout-ms 300 -- sh -c "exec sleep 3600"
	is "$(jq -c '[.timed_out, .denials]' result)" '[true,[]]'
}

# printed COMMAND...: run a command under the policy.  out.txt and err.txt get its streams, and
# 'status' its status.
printed() {
	status=0
	"$way" "$STRATA" exec --no-commit --policy policy.json -- "$@" >out.txt 2>err.txt </dev/null || status=$?
	nothing_left
}
# printed_bytes: print the number of bytes of the command itself, on both streams together.
printed_bytes() { cat out.txt err.txt | tr -cd X | wc -c; }

@test "who prints without end is stopped by max_output_bytes, on one stream or both" {
	limit max_output_bytes 100000
	for way in "${ways[@]}"; do
		for line in "exec greedy print 0 4096 $mark" "exec greedy print 0 1 $mark" "exec greedy deaf greedy print 0 512 $mark" \
			"greedy print 0 4096 $mark & greedy print 0 100 $mark & sleep 30; : $mark" "while :; do printf XXXXXXXX; done >&2; : $mark"; do
			printed sh -c "$line"
			is "$status" 137
			is "$(printed_bytes)" 100000
			grep -aq 'strata: denied: limit more than 100000 bytes of output (limits.max_output_bytes); to allow it, raise limits.max_output_bytes$' err.txt
		done
	done
}

@test "as much output as is allowed passes, and not one byte more" {
	limit max_output_bytes 100000
	way=directly
	printed greedy print 100000 1000 "$mark"
	is "$status $(printed_bytes) $(grep -ac denied err.txt)" "0 100000 0"
	printed sh -c "greedy print 100001 1000 $mark; sleep 30"
	is "$status $(printed_bytes) $(grep -ac denied err.txt)" "137 100000 1"
	limit max_output_bytes 1
	printed sh -c 'printf X'
	is "$status $(printed_bytes) $(grep -ac denied err.txt)" "0 1 0"
	printed sh -c 'printf XX; sleep 30'
	is "$status $(printed_bytes) $(grep -ac denied err.txt)" "137 1 1"
}

@test "with max_output_bytes a reader that goes away ends the command as without" {
	limit max_output_bytes 100000000
	way=directly
	strata exec --no-commit --policy policy.json -- greedy print 0 4096 "$mark" 2>/dev/null | head -c 10 >first || true
	is "${PIPESTATUS[0]}" 141
	nothing_left
}

@test "max_open_fds: a process has no more descriptors" {
	limit max_open_fds 20
	for way in "${ways[@]}"; do
		printed greedy files "$mark"
		is "$(cat out.txt)" "20 and Too many open files"
		is "$status" 0
	done
	# A process cannot raise its own limit.
	printed sh -c 'ulimit -n 100 2>/dev/null; greedy files'
	is "$(cat out.txt)" "20 and Too many open files"
}

@test "what was stopped by a limit is in the node, with the status" {
	limit max_processes 30
	run -137 --separate-stderr strata exec --policy policy.json -- sh -c "echo begun >/begun; greedy bomb 300 $mark; sleep 30"
	[[ $stderr == *"(limits.max_processes)"* ]]
	nothing_left
	is "$(strata show --json | jq -c '[.exit_status, .denials[0].what, .denials[0].rule]')" '[137,"limit","limits.max_processes"]'
	is "$(strata cat HEAD:begun)" begun
	run -0 strata show
	[[ $output == *"limits.max_processes"* ]]
}

@test "limits that are looser without a cgroup are said to be, and a policy that requires them does not run" {
	can_hide_cgroups || unavailable "not root"
	limit max_rss_bytes 100000000 max_processes 30
	without_cgroups "$STRATA" exec --no-commit --policy policy.json -- sh -c true 2>said
	is "$(sed '/a sandbox of its own/d; s/ is looked.*//' said)" $'strata: limits.max_rss_bytes\nstrata: limits.max_processes'
	jq '.trust = "require"' policy.json >strict.json
	run -78 --separate-stderr without_cgroups "$STRATA" exec --no-commit --policy strict.json -- sh -c true
	[[ $stderr = "strata: the policy cannot be enforced here: limits.max_rss_bytes is looked at ten times a second"* ]]
	# A time needs no cgroup.
	echo '{"preset":"offline","limits":{"wall_time_secs":60,"max_output_bytes":1000},"trust":"require"}' >strict.json
	without_cgroups "$STRATA" exec --no-commit --policy strict.json -- sh -c true 2>said
	is "$(cat said)" ""
}

@test "limits that are too large for a sum limit nothing" {
	way=directly
	limit cpu_time_secs 9223372036854775807 wall_time_secs 9223372036854775807 max_rss_bytes 9223372036854775807 \
		max_open_fds 9223372036854775807 max_processes 9223372036854775807 max_output_bytes 9223372036854775807
	limited 3 -- sh -c 'sleep 0.3; exit 3'
	is "$(jq -c .denials result)" '[]'
}

@test "the cgroup of a limited command goes with it" {
	local job group place
	limit max_processes 30 wall_time_secs 3
	strata exec --no-commit --policy policy.json -- sh -c "exec greedy children 3 $mark" >said 2>&1 3>&- &
	runner=$!
	for ((i = 0; i < 500; i++)); do
		job=$(marked | xargs grep -lsxzF greedy | head -n 1) || true
		[ -z "$job" ] || group=$(sed -n 's/^0:://p' "${job%cmdline}cgroup" 2>/dev/null) || true
		[[ ${group:-} != */command-* ]] || break
		sleep 0.02
	done
	[[ ${group:-} == */command-* ]] || unavailable "not root"
	wait "$runner" || true
	nothing_left
	for place in /sys/fs/cgroup /sys/fs/cgroup/unified; do
		for ((i = 0; i < 100; i++)); do
			[ -e "$place$group" ] || [ -e "$place${group%/command-*}" ] || break
			sleep 0.05
		done
		[ ! -e "$place$group" ]
		[ ! -e "$place${group%/command-*}" ] || [ "${group%/command-*}" = "" ]
	done
}

@test "supervise: an agent is under the limits of its policy" {
	limit max_processes 30
	run -137 strata supervise --policy policy.json -- greedy bomb 300 "$mark"
	[[ $output == *"(limits.max_processes)"* ]]
	nothing_left
	limit max_rss_bytes 60000000
	run -137 strata supervise --policy policy.json -- sh -c "greedy daemon greedy memory 200 4 $mark; sleep 30"
	[[ $output == *"(limits.max_rss_bytes)"* ]]
	nothing_left
	limit wall_time_secs 1
	run -143 strata supervise --policy policy.json -- sh -c "exec greedy children 2 $mark"
	[[ $output == *"(limits.wall_time_secs)"* ]]
	nothing_left
	limit max_output_bytes 1000
	run -137 strata supervise --policy policy.json -- greedy print 0 100 "$mark"
	[[ $output == *"(limits.max_output_bytes)"* ]]
	nothing_left
}
