# supervise: an agent that does not know of strata is rolled back from outside.
load helpers
load history
load rootfs
load owner

setup() {
	strata_setup
	need jq
	mini_rootfs src
	cat >src/agent <<-'EOF'
		#!/bin/sh
		# Says that it began, works, and goes on for ever.
		echo "agent: $(ls /done 2>/dev/null | wc -l) done"
		mkdir -p /done
		while :; do
			touch "/done/$(ls /done | wc -l)"
			usleep 300000
		done
	EOF
	chmod +x src/agent
	strata init --from src --backend overlay >/dev/null
}

teardown() { end_owner; }

said() { grep -qF "$1" owner.out; }
done_count() { strata ls HEAD:done --json 2>/dev/null | jq '.entries | length'; }
has_done() { [ "$(done_count || echo 0)" -ge "$1" ] 2>/dev/null; }

@test "status and output are the agent's" {
	run -0 strata supervise -- sh -c 'echo hello; echo 1 >/one'
	is "$output" hello
	# The changes of the agent are kept, even if it ends at once.
	is "$(strata cat HEAD:one)" 1
	is "$(strata show --json | jq -c '[.kind, .command]')" '["auto",null]'
	run -5 strata supervise -- sh -c 'exit 5'
	run -137 strata supervise -- sh -c 'kill -9 $$'
	run -127 strata supervise -- /no/such/agent
	[[ $output == *"/no/such/agent"* ]]
	is "$(echo in | strata supervise -- cat)" in
	usage strata supervise
}

@test "rolled back from outside it is started again" {
	own supervise -- /agent
	wait_for has_done 3
	strata tag good >/dev/null
	# The agent loses its program and its interpreter.  It may still write into the directory while
	# they are removed.
	strata exec -q -- rm -rf /bin/sh /agent /done || true
	strata checkout good >/dev/null
	wait_for said "agent: $(strata ls good:done --json | jq '.entries | length') done"
	wait_for has_done 5
	strata exec -- test -x /bin/sh
	kill -0 "$owner"
	# Several rollbacks, one after the other.
	for _ in 1 2 3; do strata checkout good >/dev/null; done
	kill -0 "$owner"
	wait_for answers
	# Wait until the agent works, since a signal during its start is another case.
	wait_for has_done 4
	kill -TERM "$owner"
	ended 143
	[ ! -e $SOCKET ]
}

# The rollback may be made by a strata process that does not find the socket, or that started before the
# owner.
@test "a rollback that the owner does not do is one, too" {
	own supervise -- /agent
	wait_for has_done 3
	strata tag good >/dev/null
	mv $SOCKET elsewhere
	for round in 2 3 4; do
		# A large uncommitted file takes time to capture, so HEAD moves long after the agent was
		# killed.
		in_env sh -c 'head -c 30000000 /dev/urandom >/big'
		strata checkout good >/dev/null
		again() { [ "$(grep -c agent: owner.out)" = $round ]; }
		wait_for again
	done
	grep -q "rolled back to $(strata show good --json | jq -r .id); the agent starts again" owner.err
	kill -0 "$owner"
	mv elsewhere $SOCKET
	kill -TERM "$owner"
	ended 143
}

@test "an agent that is killed is started again, or its end told, also during a tournament" {
	own supervise -- /agent
	wait_for has_done 3
	strata tag good >/dev/null
	strata ctl tournament test=true candidates='touch /tmp/running; sleep 1000' >/dev/null 2>&1 3>&- &
	running() { strata workspaces --json | jq -e 'any(.workspaces[]; .running and .name != "main")' >/dev/null; }
	wait_for running
	strata checkout good >/dev/null
	twice() { [ "$(grep -c agent: owner.out)" = 2 ]; }
	wait_for twice
	running
	wait_for has_done 5
	strata ctl kill process="$(strata ctl ps | jq '[.processes[] | select(.kind == "agent") | .process][0]')" signal=KILL >/dev/null
	ended 137
	grep -q "the agent was killed, and not by a rollback" owner.err
}

@test "a live checkout kills nobody" {
	own supervise -- /agent
	wait_for has_done 3
	strata tag good >/dev/null
	strata exec -q -- touch /extra
	strata checkout --live good >/dev/null
	strata exec -- test ! -e /extra
	is "$(grep -c agent: owner.out)" 1
}

@test "a signal is passed on, and the second one is meant" {
	own supervise -- sh -c 'trap "echo told; exit 9" TERM; echo ready; while :; do usleep 50000; done'
	wait_for said ready
	kill -TERM "$owner"
	ended 9
	said told
	own supervise -- sh -c 'trap "" TERM; echo deaf; while :; do usleep 50000; done'
	wait_for said deaf
	kill -TERM "$owner"
	sleep 0.5
	kill -TERM "$owner"
	ended 137
}

# The agent sleeps until the node of its changes is nearly made, and then kills itself.
@test "killed by somebody else it is not started again, also while a node is made" {
	run -137 timeout 60 "$STRATA" supervise -- sh -c 'echo begun
		head -c 60000000 /dev/urandom >/big; usleep 250000; kill -9 $$'
	is "$(grep -c begun <<<"$output")" 1
	is "$(strata ls HEAD --json | jq -r '.entries[] | select(.name == "big") | .size')" 60000000
}

@test "what the agent left running ends with it" {
	strata supervise -- sh -c "sleep 5$$ & echo 1 >/left"
	run ! pgrep -af "sleep 5$$\$"
	is "$(strata cat HEAD:left)" 1
}

@test "killed, its agent dies, and the next one takes over" {
	own supervise -- sh -c "echo up; exec sleep 6$$"
	wait_for said up
	agent() { pgrep -f "sleep 6$$" >/dev/null; }
	wait_for agent
	kill -KILL "$owner"
	wait "$owner" || true
	no_agent() { ! agent; }
	wait_for no_agent
	run -0 strata supervise -- sh -c 'echo 2 >/two'
	strata fsck >/dev/null
	is "$(strata cat HEAD:two)" 2
}

# Every node that a command has reported exists, whenever the owner was killed.
@test "killed at any moment, the next owner takes over and nothing is lost" {
	agent() { pgrep -f "busy $$" >/dev/null; }
	no_agent() { ! agent; }
	client() {
		while kill -0 "$owner" 2>/dev/null; do
			strata ctl exec shell="echo \$RANDOM >/mine" || break
			strata ctl commit message="told" || break
		done 2>/dev/null | jq -r '.node.id // .id // empty' >>told
	}
	for ((round = 0; round < ${OWNER_KILLS:-6}; round++)); do
		own supervise -- sh -c "i=0; while : busy $$; do
			i=\$((i+1)); mkdir -p /d/\$i; echo \$i >/n\$((i % 9)); [ \$((i % 5)) != 0 ] || rm -rf /d; usleep 10000
		done"
		client 3>&- &
		sleep "$((RANDOM % 2)).$((RANDOM % 1000))"
		kill -KILL "$owner"
		wait "$owner" "$!" || true
		wait_for no_agent
	done
	strata fsck >/dev/null
	[ "$(wc -l <told)" -ge $round ]
	# Retention may have dropped a node since then, and says so.
	while read -r id; do
		strata show "$id" >/dev/null 2>said || grep -q "dropped by retention" said || { cat said; return 1; }
	done <told
	own daemon
	in_env sh -c 'echo last >/last'
	wait_for captured
	disown_env
	is "$(strata cat HEAD:last)" last
}

@test "what was running goes into the node" {
	own supervise -- /agent
	wait_for has_done 2
	is "$(strata log --json | jq -c '[.nodes[] | select(.kind == "auto")][0].command')" '["/agent"]'
	strata blame done/0 >said
	grep -q agent said
}

# said_by PATH: wait until a node has the path, and print the command that blame names for it.
said_by() {
	there() { strata cat "HEAD:$1" >/dev/null 2>&1; }
	wait_for there "$1"
	strata blame "$1" --json | jq -c .last.command
}

@test "a change is put down to the program that made it, or to none" {
	own supervise -- sh -c 'echo 1 >/agents; while :; do usleep 50000; done'
	is "$(said_by agents)" '["sh","-c","echo 1 >/agents; while :; do usleep 50000; done"]'
	# A job that another command has left running makes the change.
	strata exec -q -- sh -c '(while [ ! -e /tmp/go ]; do usleep 50000; done; echo 1 >/jobs) >/dev/null 2>&1 &'
	strata exec -q -- touch /tmp/go
	is "$(said_by jobs)" null
	kill -TERM "$owner"
	ended 143
	# A job that ran before the agent makes the change.
	in_env sh -c '(while [ ! -e /tmp/now ]; do usleep 50000; done; echo 1 >/olds) >/dev/null 2>&1 &'
	own supervise -- sh -c 'usleep 300000; touch /tmp/now; while :; do usleep 50000; done'
	is "$(said_by olds)" null
}

@test "a person outside is not taken for the agent" {
	discard env
	strata init --from src --backend copy >/dev/null
	own supervise -- sh -c 'while :; do usleep 50000; done'
	echo 1 >$W/mine
	is "$(said_by mine)" null
}

@test "a shell is captured as it goes" {
	{
		echo 'echo 1 >/one'
		sleep 1
		echo 'echo 2 >/two; exit 4'
	} | "$STRATA" shell >owner.out 2>owner.err &
	owner=$!
	has_one() { strata cat HEAD:one >/dev/null 2>&1; }
	wait_for has_one
	run -1 strata cat HEAD:two
	ended 4
	is "$(strata cat HEAD:two)" 2
	is "$(strata log --json | jq -r '.nodes[].kind' | tr '\n' ' ')" "auto auto init "
	[ ! -e $SOCKET ]
	# If there is an owner, the shell joins its sandbox.
	own daemon
	echo 'echo 3 >/three' | strata shell
	wait_for captured
	is "$(strata cat HEAD:three)" 3
}

@test "an agent on a terminal has one, before and after a rollback" {
	need script
	SHELL=/bin/sh run -6 script -qec "'$STRATA' supervise -- sh -c 'tty; stty size >/dev/null && exit 6'" typed </dev/null
	[[ $output == */dev/pts/* ]]
	strata tag good >/dev/null
	SHELL=/bin/sh script -qfec "'$STRATA' supervise -- sh -c 'tty && exec /agent'" typed >/dev/null </dev/null 3>&- &
	owner=$!
	wait_for answers
	wait_for has_done 2
	strata checkout good >/dev/null
	twice() { [ "$(grep -c 'agent: 0 done' typed)" = 2 ] && [ "$(grep -c /dev/pts/ typed)" = 2 ]; }
	wait_for twice
	strata ctl ps | jq -e '.processes[0].kind == "agent"' >/dev/null
	strata ctl kill process="$(strata ctl ps | jq '.processes[0].process')" >/dev/null
	wait "$owner" || true
}
