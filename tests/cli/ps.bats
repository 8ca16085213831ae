# ps: lists the processes of a workspace.
load helpers
load history
load rootfs
load owner

setup() {
	strata_setup
	mini_rootfs src
	begin
}

teardown() {
	strata checkout HEAD >/dev/null 2>&1 || true
	end_owner
}

# there ARGUMENTS: a process of the workspace has these arguments, with blanks between them.
there() { strata ps --json | jq -e --arg want "$1" 'any(.processes[]; .argv | join(" ") == $want)' >/dev/null; }

@test "ps lists what runs, with its numbers inside and outside" {
	is "$(strata ps)" ""
	is "$(strata ps --json | jq -c .)" '{"processes":[]}'
	strata exec -q -- sh -c 'sleep 1000 >/dev/null 2>&1 & echo $! >/tmp/pid'
	wait_for there "sleep 1000"
	strata ps --json >ps.json
	is "$(jq '.processes | length' ps.json)" 1
	is "$(jq -c '.processes[0] | [.pid, .uid, .argv, .process, .kind]' ps.json)" \
		"[$(in_env cat /tmp/pid),0,[\"sleep\",\"1000\"],null,null]"
	host=$(jq '.processes[0].host_pid' ps.json)
	is "$(tr '\0' ' ' <"/proc/$host/cmdline")" "sleep 1000 "
	# The start time is right within the length of a tick and the delay of a slow machine.
	started=$(date -d "$(jq -r '.processes[0].started' ps.json)" +%s)
	now=$(date +%s)
	[ $((now - started)) -ge -1 ]
	[ $((now - started)) -lt 60 ]
	[[ $(strata ps) =~ ^[0-9]+\ \(host\ $host\)\ \ uid\ 0\ \ .*\ sleep\ 1000$ ]]
	is "$(strata ps --jsonl | jq -c .argv)" '["sleep","1000"]'
}

@test "ps: arguments are bytes, and users those of the inside" {
	strata exec -q -- sh -c 'sh -c "sleep 1001; :" "$(printf "odd\377\nname")" >/dev/null 2>&1 &'
	wait_for there "sleep 1001"
	[[ $(strata ps --json) == *'"odd\udcff\nname"'* ]]
	[[ $(strata ps) == *'"odd\377\nname"'* ]]
	if [ "$(command id -u)" = 0 ]; then
		strata exec -q --user 1234 -- sh -c 'sleep 1002 >/dev/null 2>&1 &'
		wait_for there "sleep 1002"
		is "$(strata ps --json | sed 's/udcff/ufffd/' | jq '.processes[] | select(.argv[1] == "1002") | .uid')" 1234
	fi
}

@test "ps is of one workspace" {
	strata fork other >/dev/null
	strata exec -q -- sh -c 'sleep 1000 >/dev/null 2>&1 &'
	strata -w other exec -q -- sh -c 'sleep 2000 >/dev/null 2>&1 &'
	wait_for there "sleep 1000"
	is "$(strata ps --json | jq -c '[.processes[].argv[1]]')" '["1000"]'
	is "$(strata -w other ps --json | jq -c '[.processes[] | .argv[1]]')" '["2000"]'
	# Both processes may have the same number in their sandboxes, but ps distinguishes them
	# outside.
	one=$(strata ps --json | jq '.processes[0].host_pid')
	two=$(strata -w other ps --json | jq '.processes[0].host_pid')
	[ "$one" != "$two" ]
	grep -qz 1000 "/proc/$one/cmdline"
	grep -qz 2000 "/proc/$two/cmdline"
	strata -w other checkout HEAD >/dev/null
}

@test "over the control socket ps has the numbers that kill takes" {
	own daemon
	number=$(strata ctl spawn shell='sleep 1000; true' | jq .process)
	listed() { strata ctl ps | jq -e --argjson n "$number" '[.processes[] | select(.process == $n and .kind == "spawn") | .argv[0]] | sort == ["/bin/sh", "sleep"]' >/dev/null; }
	wait_for listed
	# A process that no command of the owner has started has no number.
	strata ctl exec shell='sleep 2000 >/dev/null 2>&1 &' >/dev/null
	wait_for there "sleep 2000"
	is "$(strata ctl ps | jq -c '.processes[] | select(.argv[1] == "2000") | [.process, .kind, .uid]')" '[null,null,0]'
	strata ctl kill process="$number" signal=KILL >/dev/null
	only() { [ "$(strata ctl ps | jq -c '[.processes[].argv[1]]')" = '["2000"]' ]; }
	wait_for only
	run -1 strata ctl ps what=1
}

@test "ps: wrong usage, and a holder that does not answer" {
	usage strata ps extra
	run -1 strata -w none ps
	strata exec -q -- sh -c 'sleep 1003.77 >/dev/null 2>&1 &'
	wait_for there "sleep 1003.77"
	pid=$(holder_of 1003.77)
	kill -STOP "$pid"
	run -1 --separate-stderr strata ps
	kill -CONT "$pid"
	[[ $stderr == *"does not answer: it is stopped"* ]]
}
