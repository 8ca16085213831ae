# daemon and ctl: automatic nodes and the control socket.
load helpers
load history
load rootfs
load owner

setup() {
	strata_setup
	need jq
	mini_rootfs src
	cp "$TOOLS/treewalk-static" src/treewalk
	cp "$TOOLS/scribble-static" src/scribble
	strata init --from src --backend overlay >/dev/null
}

teardown() { end_owner; }

@test "answers what the commands answer" {
	do_in 'echo 1 >/one'
	own daemon
	is "$(strata ctl head | jq -r .id)" "$(strata head)"
	is "$(strata ctl log limit=2 | jq -c .)" "$(strata log --json -n 2 | jq -c .)"
	is "$(strata ctl ls where=HEAD:etc | jq -c .)" "$(strata ls HEAD:etc --json | jq -c .)"
	is "$(strata ctl cat where=HEAD:one | jq -r .content)" 1
	is "$(strata ctl diff a=HEAD~1 b=HEAD | jq -c .changes)" "$(strata diff HEAD~1 HEAD --json | jq -c .changes)"
	is "$(strata ctl workspaces | jq -r '.workspaces[0].name')" main
	is "$(stat -c %a $SOCKET)" 600
	disown_env
	[ ! -e $SOCKET ]
	fails 1 "strata: workspace 'main' has no owner
hint: start one with 'strata daemon' or 'strata supervise'" strata ctl head
}

@test "what changes becomes a node by itself" {
	own daemon
	first=$(strata head)
	in_env sh -c 'mkdir -p /a/b/c; echo deep >/a/b/c/d; echo x >/etc/motd'
	moved() { [ "$(strata head)" != "$first" ]; }
	wait_for moved
	wait_for captured
	is "$(strata cat HEAD:a/b/c/d)" deep
	strata log --json | jq -e 'any(.nodes[]; .kind == "auto" and (.message | startswith("auto: ")))' >/dev/null
	# When nothing changes any more, no further node is made.
	sleep 1
	head=$(strata head)
	sleep 1
	is "$(strata head)" "$head"
}

@test "also in a fork that nobody has worked in" {
	strata fork other >/dev/null
	export STRATA_WORKSPACE=other
	own daemon
	in_env sh -c 'echo 1 >/one'
	wait_for captured
	is "$(strata cat HEAD:one)" 1
	is "$(strata -w main ls HEAD: | grep -c one)" 0
	disown_env
}

# While a program writes all the time, the gap between two nodes should be at most 2.5 s.  A test that
# runs beside others allows more (see make soak).
gaps() { # WRITES PAUSE: of a writer, between its nodes
	own daemon
	strata ctl spawn shell="i=0; while [ \$i -lt $1 ]; do echo \$i >>/steady; i=\$((i+1)); usleep $2; done" >/dev/null
	sleep 7.5
	strata log --json | jq -e --argjson gap "${STEADY_GAP:-6}" '[.nodes[] | select(.kind == "auto") | .time_ns / 1e9]
		| sort | length >= 3 and ([.[1:], .[:-1]] | transpose | map(.[0] - .[1]) | max) < $gap' >/dev/null
}

@test "a writer that never pauses gets nodes while it writes" { gaps 70 100000; }

@test "a writer of one file a second gets nodes while it writes" { gaps 7 1000000; }

# On a slow machine the writer takes longer, so the limit is computed from the time that it took.
@test "a writer that pauses for a moment each time gets no more than a node every 2 s" {
	own daemon
	began=$(date +%s%N)
	strata ctl spawn shell='i=0; while [ $i -lt 24 ]; do echo $i >>/steady; i=$((i+1)); usleep 250000; done' >/dev/null
	written() { is "$(in_env tail -n 1 /steady 2>/dev/null)" 23 >/dev/null; }
	wait_for written
	nodes=$(strata log --json | jq '[.nodes[] | select(.kind == "auto")] | length')
	ended=$(date +%s%N)
	echo "$nodes nodes in $(((ended - began) / 1000000)) ms"
	[ "$nodes" -ge 1 ]
	[ "$nodes" -le $(((ended - began) / 2000000000 + 1)) ]
	disown_env
}

# After any changes at any speed, the last node must be equal to the tree.
scribbled() { # ROUNDS
	local round seed=${SCRIBBLE_SEED:-$SRANDOM}
	for ((round = 0; round < $1; round++)); do
		echo "seed $((seed + round))"
		in_env /scribble /junk $((seed + round)) $((RANDOM % 300 + 20)) $((RANDOM % 3 * 300))
		sleep "0.$((RANDOM % 6))"
		wait_for auto_captured
	done
	# An ordinary user is root inside, so owners are not compared.
	unowned() { sed 's/ uid=[0-9]* gid=[0-9]*//'; }
	seen | unowned >inside
	elsewhere=$BATS_TEST_TMPDIR/elsewhere
	strata export HEAD --format dir -o "$elsewhere"
	walk "$elsewhere" --content | own_entries | unowned >outside
	diff inside outside
}
# The test must not look at the live tree by a command that captures it, so it compares with a fork.
auto_captured() {
	sleep 0.5
	strata fork probe >/dev/null && a=$(STRATA_WORKSPACE=probe seen) && b=$(seen)
	strata workspaces delete probe >/dev/null
	[ "$a" = "$b" ]
}

@test "a random writer is captured to the last byte" {
	own daemon
	scribbled "${SCRIBBLE_ROUNDS:-5}"
}

# The capture may take two seconds; see gaps() for tests that run beside others.
@test "a burst of files is few nodes, and is captured soon" {
	mkdir burst
	(cd burst && seq 20000 | split -l 1 -a 4)
	tar -cf burst.tar burst
	own daemon
	in_env tar -xf - -C / <burst.tar
	began=$(date +%s%N)
	all_there() { [ "$(strata ctl ls where=HEAD:burst 2>/dev/null | jq '.entries | length')" = 20000 ]; }
	wait_for all_there
	ended=$(date +%s%N)
	echo "captured after $(((ended - began) / 1000000)) ms"
	[ $((ended - began)) -lt $((${BURST_LAG:-10} * 1000000000)) ]
	[ "$(strata log --json | jq '.nodes | length')" -le 8 ]
}

@test "exec: output, status, node" {
	own daemon
	request exec '{"shell":"echo out; echo err >&2; printf \\\\377\\\\000; echo 1 >/made; exit 3"}' | rpc -u '"id":1,"result"' >answer
	is "$(jq -r 'select(.method == "exec.output" and .params.stream == "stderr") | .params.text' answer)" err
	is "$(jq -r 'select(.id == 1) | .result | [.exit_status, .signal, .node.kind, .changes.added] | @csv' answer)" '3,,"exec",1'
	# The output arrives byte for byte, even if it is not text.
	jq -j 'select(.params.stream == "stdout") | .params | if .text then .text | @base64 else .data_b64 end + "\n"' answer |
		while read -r line; do base64 -d <<<"$line"; done | cmp - <(printf 'out\n\377\000')
	is "$(strata cat HEAD:made)" 1
	# The answer comes after all output.
	[ "$(tail -n 1 answer | jq .id)" = 1 ]
}

@test "exec: nothing changed, killed, too long, not there" {
	own daemon
	is "$(strata ctl exec argv=true | jq -c '[.exit_status, .signal, .node]')" '[0,null,null]'
	is "$(strata ctl exec shell='kill -9 $$' | jq -c '[.exit_status, .signal]')" '[137,9]'
	is "$(strata ctl exec argv=sleep argv=100 timeout_ms=200 | jq -c '[.exit_status, .timed_out]')" '[143,true]'
	strata ctl exec argv=/no/such/program >answer
	is "$(jq -c '[.exit_status, .node]' answer)" '[127,null]'
	jq -e '.error | contains("/no/such/program")' answer >/dev/null
	is "$(strata ctl exec argv=env 'env={"A":"b c"}' 2>&1 >/dev/null | grep ^A=)" 'A=b c'
}

@test "spawn, ps, kill" {
	own daemon
	strata ctl subscribe >events 2>/dev/null &
	subscriber=$!
	wait_for test -s events
	process=$(strata ctl spawn argv=sleep argv=1000 | jq .process)
	is "$(strata ctl ps | jq -c '.processes[] | [.process, .kind, .argv[1]]')" "[$process,\"spawn\",\"1000\"]"
	strata ctl kill process="$process" signal=KILL >/dev/null
	nothing() { [ "$(strata ctl ps | jq '.processes | length')" = 0 ]; }
	wait_for nothing
	wait_for grep -q process.exited events
	is "$(jq -c 'select(.method == "process.exited") | .params | [.process, .exit_status, .signal]' events)" "[$process,137,9]"
	kill $subscriber
	run -1 strata ctl kill process=999
	[[ $output == *"-32010"* ]]
}

@test "who subscribes hears of nodes and of HEAD" {
	own daemon
	head=$(strata head)
	strata ctl subscribe >events 2>/dev/null &
	subscriber=$!
	wait_for test -s events
	strata exec -- sh -c 'echo 1 >/heard'
	wait_for grep -q head.moved events
	id=$(strata head)
	is "$(jq -r 'select(.method == "node.created") | .params.node.id' events)" "$id"
	# The event has the same members as 'strata show'.
	is "$(jq -c 'select(.method == "node.created") | .params.node | [.paths, .path_changes, .command]' events)" \
		'[["heard"],[{"op":"+","path":"heard"}],["sh","-c","echo 1 >/heard"]]'
	is "$(jq -c 'select(.method == "head.moved") | .params' events)" "{\"from\":\"$head\",\"id\":\"$id\"}"
	strata checkout HEAD~1 >/dev/null
	back() { [ "$(jq -r 'select(.method == "head.moved") | .params.id' events | tail -n 1)" = "$head" ]; }
	wait_for back
	kill $subscriber
}

@test "--jsonl and --json print the events" {
	own daemon --jsonl
	strata exec -q -- sh -c 'echo 1 >/heard'
	wait_for grep -q head.moved owner.out
	id=$(strata head)
	is "$(jq -r 'select(.method == "node.created") | .params.node | .id, .paths[0]' owner.out)" "$id
heard"
	# The result of a relayed operation is printed by the strata process that relayed it.
	is "$(strata commit)" "nothing changed since $id"
	disown_env
	own daemon --json
	strata exec -q -- sh -c 'echo 2 >/heard'
	disown_env
	is "$(jq -c '[.events[].method]' owner.out)" '["node.created","head.moved"]'
}

@test "commands are done by the owner, and behave the same" {
	own daemon
	echo input >in
	is "$(strata exec -q -- sh -c 'cat; echo to stderr >&2' <in 2>err)" input
	is "$(cat err)" "to stderr"
	run -7 strata exec -- sh -c 'exit 7'
	run -127 strata exec -- /no/such
	strata exec -- sh -c 'echo 1 >/one' 2>err
	is "$(cat err)" "node $(strata head)"
	strata tag here >/dev/null
	strata exec -q -- sh -c 'rm /one'
	run -0 strata checkout here
	[[ $output == "HEAD is now "* ]]
	is "$(strata exec -- cat /one)" 1
	is "$(strata commit)" "nothing changed since $(strata head)"
	run -1 --separate-stderr strata checkout nonsense
	[[ $stderr == *"no node or tag 'nonsense'"* ]]
	usage strata checkout
	# A relative path is relative to the caller's working directory.
	mkdir there
	(cd there && strata export here --format dir -o tree)
	is "$(cat there/tree/one)" 1
	# The owner ran the operation, so no second process waits for the lock.
	[ "$(strata log --json | jq '.nodes | length')" -ge 3 ]
}

running() { [ "$(strata ctl ps | jq '.processes | length')" = 1 ]; }

# large COMMAND...: run a command with more environment variables than a request on the socket can have.
# shellcheck disable=SC2046 # one word a variable
large() { env $(printf 'LARGE_%d='"$(printf %0100000d 0)"' ' {1..14}) "$@"; }

@test "a command of any size is done by the owner" {
	own daemon
	large timeout 60 "$STRATA" exec --env LARGE_7 -- sh -c 'echo ${#LARGE_7}; sleep 50' >said 2>err 3>&- &
	client=$!
	wait_for test -s said
	is "$(cat said)" 100000
	kill -KILL "$owner"
	status=0
	wait "$client" || status=$?
	is "$status" 125
	grep -q "the owner of the workspace has ended" err
}

@test "a request of any size and any bytes is done by the owner" {
	own daemon
	strata exec -q -- sh -c 'printf %s "$1" >/bytes' sh $'\xff\x80"\\\n.'
	is "$(strata cat work:bytes | od -An -tx1)" " ff 80 22 5c 0a 2e"
	request relay '{"operation":"checkout"}' | rpc -n 1 >answer
	[[ $(jq -r .error.message answer) == "relay: the standard descriptors"* ]]
	request relay '{"operation":"log"}' | rpc -n 1 >answer
	is "$(jq -r .error.message answer)" "'log' is not done by owners"
	# The arguments are longer than a line on the socket may be.
	large=$(printf %0100000d 0)
	"$STRATA" exec -- sh -c 'echo $# ${#14}; sleep 50' sh $large $large $large $large $large $large $large \
		$large $large $large $large $large $large $large >said 2>err 3>&- &
	client=$!
	wait_for test -s said
	is "$(cat said)" "14 100000"
	kill -KILL "$owner"
	status=0
	wait "$client" || status=$?
	is "$status" 125
	grep -q "the owner of the workspace has ended" err
}

@test "a command that the owner cannot finish ends as it would without one" {
	own daemon
	strata exec -q -- sh -c 'exec sleep 1000' 2>err 3>&- &
	client=$!
	wait_for running
	# The youngest child of the owner is the task.
	kill -KILL "$(pgrep -n -P "$owner")"
	status=0
	wait $client || status=$?
	is $status 137
	is "$(cat err)" "strata: the process that did this for us was killed by signal 9"
	# A signal ends a task that waits for the workspace, and no message is printed.
	for command in exec commit; do
		exec 9>env/run/main.lock
		flock 9
		case $command in
		exec) "$STRATA" exec -- true 2>err 3>&- 9>&- & ;;
		commit) "$STRATA" commit 2>err 3>&- 9>&- & ;;
		esac
		client=$!
		waits() { [ "$(pgrep -c -P "$owner")" -ge 2 ]; }
		wait_for waits
		kill -TERM $client
		status=0
		wait $client || status=$?
		exec 9>&-
		is "$status" 143
		is "$(cat err)" ""
	done
}

@test "a command that ignores a signal, as under nohup, does not pass it to its task" {
	own daemon
	(trap '' HUP; exec "$STRATA" exec -q -- sh -c 'exec sleep 1000' 2>err 3>&-) &
	client=$!
	wait_for running
	kill -HUP $client
	sleep 0.5
	kill -0 $client
	kill -TERM $client
	status=0
	wait $client || status=$?
	is $status 143
}

@test "ctl ends with a word when the owner does, or who reads it" {
	own daemon
	strata ctl log | true
	kill -STOP "$owner"
	# The request is larger than the buffer of a socket.
	large=$(printf %0100000d 0)
	"$STRATA" ctl exec argv=$large argv=$large argv=$large argv=$large argv=$large argv=$large 2>err 3>&- &
	client=$!
	blocked() { [ -n "$(find /proc/$client/fd -lname 'socket:*')" ] && grep -q 'State:.S' /proc/$client/status; }
	wait_for blocked
	kill -KILL "$owner"
	status=0
	wait $client || status=$?
	is $status 1
	is "$(cat err)" "strata: the owner has ended"
	owner=
}

@test "a checkout does not wait for an exec that hangs" {
	own daemon
	strata exec -q -- sh -c 'echo 1 >/one'
	strata ctl exec argv=sleep argv=1000 >hung 2>&1 &
	hung=$!
	wait_for running
	SECONDS=0
	# Commands that only read do not wait either.
	strata ctl log >/dev/null
	strata ctl checkout ref=HEAD~1 >/dev/null
	[ $SECONDS -lt 5 ]
	wait $hung || true
	jq -e '.signal == 9' hung >/dev/null
}

@test "a request can be cancelled" {
	own daemon
	{
		request exec '{"argv":["sleep","1000"]}' '"slow"'
		sleep 0.5
		request cancel '{"id":"slow"}' 2
		sleep 1
	} | rpc -n 2 >answers
	is "$(jq -c 'select(.id == 2) | .result' answers)" '{"cancelled":true}'
	is "$(jq -c 'select(.id == "slow") | .result.signal' answers)" 9
}

# The request may be cancelled before it begins, while it runs, or after its end.  It must never be left
# half done.
@test "a request that is cancelled as soon as it begins ends nothing else" {
	own daemon
	for i in {1..20}; do
		request status '{}' "$i"
		request cancel "{\"id\":$i}" $((100 + i))
	done | rpc -n 40 >answers
	is "$(jq -s length answers)" 40
	answers
	disown_env
}

@test "a checkout that is cancelled did not happen, or says that it did" {
	for i in {1..800}; do echo "$i" >"out/$i"; done
	export STRATA_ROOT=$PWD/home/env
	strata init --from out --backend copy >/dev/null
	SOCKET=home/env/run/main.sock
	one=$(strata head)
	for i in {1..800}; do echo "two $i" >"home/env/work/main/$i"; done
	strata commit >/dev/null
	two=$(strata head)
	own daemon
	for delay in 0.01 0.03 0.05 0.08 0.12 0.18; do
		head=$(strata head)
		target=$one
		[ "$head" = "$two" ] && target=$one || target=$two
		{
			request checkout "{\"ref\":\"$target\"}" 1
			sleep $delay
			request cancel '{"id":1}' 2
		} | rpc -n 2 >answers
		is "$(strata status --json | jq -c '[([.degraded[] | select(test("interrupted"))] | length), .dirty]')" "[0,0]"
		if [ "$(jq -c 'select(.id == 1) | has("result")' answers)" = true ]; then
			is "$(strata head)" "$target"
		else
			is "$(strata head)" "$head"
		fi
	done
	disown_env
}

nothing_runs() { [ "$(strata ctl ps | jq '.processes | length')" = 0 ]; }

seventh_runs() { strata ctl ps | grep -q '"1007"'; }

# Sixty-four requests of one client run at a time.
@test "however many requests are at work, one is cancelled, others wait, and who goes ends them" {
	own daemon
	{
		for i in {1..64}; do request exec "{\"argv\":[\"sleep\",\"$((1000 + i))\"]}" "$i"; done
		# A request that is cancelled before its command runs has no signal.
		wait_for seventh_runs || wait_for seventh_runs || wait_for seventh_runs
		request head '{}' 100
		request exec '{"argv":["sleep","1000"]}' 101
		request cancel '{"id":101}' 102
		request cancel '{"id":7}' 103
	} | rpc -u '"id":100' -t 60000 >answers
	is "$(jq -c 'select(.id == 102 or .id == 103) | .result.cancelled' answers | tr '\n' ' ')" 'true true '
	is "$(jq -r 'select(.id == 101) | .error.code' answers)" -32016
	is "$(jq -r 'select(.id == 7) | .result.signal' answers)" 9
	is "$(jq -r 'select(.id == 100) | .result.id' answers)" "$(strata head)"
	# There are many commands, and each has to wait for the lock of the workspace.
	wait_for nothing_runs || wait_for nothing_runs || wait_for nothing_runs
}

@test "a command that is cancelled while it waits for the workspace never runs" {
	own daemon
	wait_for captured
	mkfifo release
	(flock 9 && head -n 1 <release >/dev/null) 9>env/run/main.lock 3>&- &
	held() { ! flock -n env/run/main.lock true; }
	wait_for held
	: >answers
	# The task has blocked the signal that cancels its command (SIGUSR1, number 10).
	waits() { grep -qs '^SigBlk:.*[2367abef]..$' "/proc/$(pgrep -n -P "$owner")/status"; }
	{
		request exec '{"shell":"echo 1 >/ran"}' 1
		wait_for waits >&2
		request cancel '{"id":1}' 2
		until grep -q '"id":2' answers; do sleep 0.05; done
		echo >release
		until grep -q '"id":1' answers; do sleep 0.05; done
	} | rpc -n 2 -t 60000 >answers
	is "$(jq -c 'select(.id == 1) | .result | [.exit_status, .signal, .node]' answers)" '[137,9,null]'
	run ! in_env test -e /ran
}

# A command is cancelled at any stage, also while it is entering the sandbox and has no session of its
# own yet.
@test "a command that is cancelled never stays behind" {
	own daemon
	for round in 1 2 3 4 5 6; do
		{
			for i in {1..12}; do request exec '{"argv":["sleep","1000"]}' "$i"; done
			sleep "0.$((RANDOM % 5))$((RANDOM % 10))"
			for i in {1..12}; do request cancel "{\"id\":$i}" $((i + 100)); done
		} | rpc -n 24 -t 60000 >answers
		is "$(jq -s 'map(select(.id < 100)) | length' answers)" 12
		is "$(strata ctl ps | jq -c .processes)" '[]'
	done
}

@test "who has said all gets the answers, and who then goes ends what runs" {
	own daemon
	{
		request exec '{"shell":"usleep 700000; echo late"}' 1
		request head '{}' 2
		printf '{"jsonrpc":"2.0","id":3,"method":"head"}'
	} | rpc -s >answers
	is "$(jq -r 'select(.id == 1) | .result.exit_status' answers)" 0
	is "$(jq -r 'select(.method) | .params.text' answers)" late
	is "$(jq -r 'select(.id == 2 or .id == 3) | .result.id' answers | uniq)" "$(strata head)"
	request exec '{"shell":"echo up; exec sleep 1000"}' | rpc -s -n 1 >answers
	wait_for nothing_runs
}

# running_candidate: whether a program runs in another workspace than main.
running_candidate() { strata workspaces --json | jq -e 'any(.workspaces[]; .running and .name != "main")' >/dev/null; }
no_candidate() { [ "$(strata workspaces | wc -l)" = 1 ]; }

@test "a tournament ends with who asked for it, and leaves nothing" {
	own daemon
	head=$(strata head)
	race='{"test":"true","candidates":["touch /new; sleep 1000"]}'
	# The client disconnects, is killed, and then cancels the request.
	request tournament "$race" | "$TOOLS/rpc" -t 60000 $SOCKET >/dev/null 3>&- &
	client=$!
	wait_for running_candidate
	kill -KILL $client
	wait_for no_candidate
	"$STRATA" tournament --test true -- 'touch /new; sleep 1000' >/dev/null 2>&1 3>&- &
	client=$!
	wait_for running_candidate
	kill -KILL $client
	wait_for no_candidate
	{
		request tournament "$race" 5
		wait_for running_candidate >&2
		request cancel '{"id":5}' 6
	} | rpc -n 2 -t 60000 >answers
	is "$(jq -c 'select(.id == 5) | .result | [.winner, .adopted, .candidates[0].cancelled]' answers)" '[null,false,true]'
	wait_for no_candidate
	is "$(strata head)" "$head"
	run -1 strata tag -d winner
	disown_env
	strata fsck >/dev/null
}

@test "what is wrong is answered, and the connection goes on" {
	own daemon
	{
		echo 'garbage'
		echo '{"jsonrpc":"2.0","id":1,"method":"no_such"}'
		echo '{"jsonrpc":"2.0","id":2,"method":"checkout","params":{"ref":7}}'
		echo '{"jsonrpc":"2.0","id":3,"method":"log","params":{"limt":7}}'
		echo '{"jsonrpc":"2.0","id":4,"method":"log","params":[1]}'
		echo '{"jsonrpc":"1.0","id":5,"method":"head"}'
		echo '[]'
		echo
		echo '{"jsonrpc":"2.0","id":6,"method":"show","params":{"ref":"nonsense"}}'
		echo '{"jsonrpc":"2.0","id":7,"method":"exec","params":{}}'
		echo '{"jsonrpc":"2.0","id":8,"method":"kill","params":{"process":"x"}}'
		echo '{"jsonrpc":"2.0","id":9,"method":"init","params":{}}'
		echo '{"jsonrpc":"2.0","method":"no_such"}'
		echo '{"jsonrpc":"2.0","id":10,"method":"head"}'
	} | rpc -n 12 >answers
	code() { jq -r "select(.id == $1) | .error.code" answers; }
	is "$(jq -r 'select(.id == null) | .error.code' answers | sort | tr '\n' ' ')" "-32600 -32700 "
	is "$(for i in 1 2 3 4 5 6 7 8 9; do code $i; done | tr '\n' ' ')" \
		"-32601 -32602 -32602 -32602 -32600 -32010 -32602 -32602 -32601 "
	is "$(jq -r 'select(.id == 10) | .result.id' answers)" "$(strata head)"
}

@test "too much is refused and costs nobody anything" {
	own daemon
	# Send a line of 100 MB and then a valid request.  The owner must not keep the 100 MB.
	{
		head -c 100000000 /dev/zero | tr '\0' x
		echo
		request head
	} | rpc -n 2 -t 20000 >answers
	is "$(jq -r '.error.code // .result.id' answers)" "-32013
$(strata head)"
	# A client sends half a line and disconnects.
	printf '{"jsonrpc":' | rpc -t 100 || true
	# A client sends requests and never reads the answers.
	for _ in {1..300}; do request log; done | "$TOOLS/rpc" -z -t 3000 $SOCKET &
	slow=$!
	request exec '{"shell":"yes | head -c 30000000"}' | "$TOOLS/rpc" -z -t 3000 $SOCKET &
	for _ in {1..20}; do strata ctl head >/dev/null; done
	[ "$(awk '/VmRSS/ { print $2 }' /proc/$owner/status)" -lt 40000 ] || [ -n "${SANITIZED:-}" ]
	kill $slow $! 2>/dev/null || true
	strata ctl head >/dev/null
}

@test "all output arrives, however slowly it is read" {
	own daemon
	# A client disconnects while it gets output.
	request exec '{"shell":"yes | head -c 3000000"}' | rpc -n 1 >/dev/null
	request exec '{"shell":"seq 500000"}' | rpc -u '"id":1,"result"' -t 20000 | { sleep 1; cat; } |
		jq -j 'select(.method) | .params.text' | cmp - <(seq 500000)
}

@test "one owner at a time; one that was killed leaves nothing in the way" {
	own daemon
	run -1 --separate-stderr strata daemon
	[[ $stderr == *"in use by process $owner (strata daemon)"* ]]
	strata ctl spawn shell="exec sleep 7$$" >/dev/null
	sleeping() { pgrep -f "sleep 7$$" >/dev/null; }
	wait_for sleeping
	wait_for captured
	nodes=$(strata log --json | jq '.nodes | length')
	kill -KILL "$owner"
	wait "$owner" || true
	not_sleeping() { ! sleeping; }
	wait_for not_sleeping
	# The socket of the killed owner is still there, and commands work without an owner.
	[ -e $SOCKET ]
	strata exec -q -- sh -c 'echo 2 >/two'
	own daemon
	is "$(strata ctl cat where=HEAD:two | jq -r .content)" 2
	[ "$(strata log --json | jq '.nodes | length')" -gt "$nodes" ]
	strata fsck >/dev/null
}

@test "the socket of another user is not for us" {
	need_root
	own daemon
	chmod 755 "$BATS_TEST_TMPDIR" env env/run
	chmod 666 $SOCKET
	request head | setpriv --reuid 65534 --regid 65534 --clear-groups "$TOOLS/rpc" -n 1 $SOCKET >answer || true
	is "$(jq .error.code answer)" -32011
	strata ctl head >/dev/null
}

@test "a plain directory is watched, too" {
	discard env
	strata init --from src --backend copy >/dev/null
	own daemon
	for round in 1 2 3; do
		"$TOOLS/scribble" $W/junk $((round + SRANDOM % 1000)) 400
		mkdir -p "$W/deep/$round/a/b/c/d/e/f"
		echo $round >"$W/deep/$round/a/b/c/d/e/f/g"
		mv "$W/deep" "$W/deeper$round"
		kept() { rm -rf "out/$round" && strata export HEAD --format dir -o "out/$round" && same_tree $W "out/$round" >differs; }
		wait_for kept || { cat differs; return 1; }
	done
	strata log --json | jq -e '[.nodes[] | .kind] | index("manual") == null' >/dev/null
}

# A capture is a process.  If two commands have consecutive process numbers, no capture was made between
# them.
is_quiet() {
	local first last try
	for try in 1 2 3 4 5; do
		first=$(strata ctl spawn argv=true | jq .process) && sleep 1
		last=$(strata ctl spawn argv=true | jq .process)
		[ "$last" != $((first + 1)) ] || return 0
	done
	echo "try $try: woken $((last - first - 1)) times in a second"
	return 1
}

@test "what is not in the history does not wake it: the environment itself, what is left out" {
	export STRATA_ROOT=$PWD/src/.strata
	mkdir src/junk
	strata init --from src --in-place --backend copy --exclude junk >/dev/null
	own daemon
	is_quiet
	echo 1 >src/seen
	wait_for captured
	is_quiet
	while :; do date >src/junk/file; sleep 0.1; done 3>&- &
	writer=$!
	is_quiet || { kill $writer; false; }
	kill $writer
	is "$(strata cat HEAD:seen)" 1
	disown_env
}

recording() { strata status --json | jq -c "[.recording | $1]"; }

@test "status says whether anything records, and how" {
	is "$(recording '.owner_pid, .mode, .last_node, .degraded')" '[null,"none",null,null]'
	[[ $(strata status) == *$'\nrecording    nothing by itself: '* ]]
	own daemon
	is "$(recording '.owner_pid, .by, .mode, .every, .degraded')" "[$owner,\"daemon\",\"watching\",null,null]"
	in_env sh -c 'echo 1 >/one'
	kept() { [ "$(recording .last_node)" = "[\"$(strata head)\"]" ]; }
	wait_for kept
	[[ $(strata status) == *$'\n'"recording    by daemon, process $owner, watching, last node $(strata head)"$'\n'* ]]
	disown_env
	is "$(recording '.owner_pid, .mode')" '[null,"none"]'
	own daemon
	kill -KILL "$owner"
	wait "$owner" || true
	is "$(recording .mode)" '["none"]'
}

@test "status says when not all can be watched" {
	need_userns
	discard env
	strata init --from src --backend copy >/dev/null
	few='echo 2 >/proc/sys/user/max_inotify_watches; exec "$@"'
	unshare --user --map-root-user sh -ec "$few" - "$STRATA" daemon >owner.out 2>owner.err </dev/null 3>&- &
	owner=$!
	looking() { [ "$(recording '.mode, .every')" = '["looking",5]' ]; }
	wait_for looking
	strata status --json | jq -e '.recording.degraded as $why | .degraded | index($why)' >/dev/null
	[[ $(recording .degraded) == *max_user_watches* ]]
	[[ $(strata status) == *", looking every 5 s"* ]]
}

@test "the parameters of every method can be asked for, and are told where one is wrong" {
	strata ctl help | while read -r method; do strata ctl help "$method" >help && is "$(head -n 1 help)" "$method"; done
	is "$(strata ctl help checkout | head -n 3)" "checkout
  ref=TEXT
  abort=true|false"
	is "$(strata ctl help kill)" "kill
  process=NUMBER (needed)
  signal=TEXT"
	fails 1 "strata: no method 'nonsense'
hint: 'strata ctl help' lists them" strata ctl help nonsense
	own daemon
	fails 1 "strata: checkout has no parameter 'reff' (-32602)
hint: parameters of checkout: $(strata ctl help checkout | sed -n 's/^  \([^=]*\)=[^ ]*/\1/p' | paste -sd , | sed 's/,/, /g')" strata ctl checkout reff=HEAD
	fails 1 "strata: kill has no parameter 'x' (-32602)
hint: parameters of kill: process (needed), signal" strata ctl kill x=1
	fails 1 "strata: grep: 'pattern' is missing (-32602)
hint: parameters of grep: $(strata ctl help grep | sed -n 's/^  \([^=]*\)=[^ ]*/\1/p' | paste -sd , | sed 's/,/, /g')" strata ctl grep
	fails 1 "strata: no method 'nonsense' (-32601)
hint: 'strata ctl help' lists them" strata ctl nonsense
}

@test "many clients at once" {
	own daemon
	strata exec -q -- sh -c 'echo 0 >/count'
	client() {
		local end=$((SECONDS + ${STRESS_SECONDS:-6})) n=0
		while [ $SECONDS -lt $end ]; do
			case $((($1 + n++) % 8)) in
			0) strata ctl log limit=5 ;;
			1) strata ctl exec shell="echo $1 $n >>/count" | tee -a "told.$1" ;;
			2) strata ctl diff a=HEAD b=work ;;
			3) strata ctl commit message="$1" | tee -a "told.$1" ;;
			4) strata ctl tag name="t$1" ref=HEAD ;;
			5) strata ctl checkout ref=HEAD ;;
			6) strata ctl status ;;
			7) [ $(($1 % 4)) = 0 ] && strata ctl gc || strata ctl retain ;;
			esac || true
		done >/dev/null 2>>"errors.$1"
		return 0
	}
	for i in $(seq "${STRESS_CLIENTS:-12}"); do
		client "$i" &
		clients+=($!)
	done
	wait "${clients[@]}"
	# Commands may only have failed because the workspace was in use, was killed by a checkout, or
	# was moved.
	! cat errors.* | grep -v -e '(-32012)' -e '^hint:' -e '^$' | grep strata: || false
	disown_env
	strata fsck >/dev/null
	# Every node that a command has reported still exists, or retention has dropped it and says so.
	cat told.* | jq -r '.node.id // .id // empty' | sort -u >nodes
	[ -s nodes ]
	while read -r id; do
		strata show "$id" >/dev/null 2>why || grep -q "node $id was d" why || { cat why; false; }
	done <nodes
}

# Retention runs after every fifty nodes.  If there is a limit of bytes, gc runs right after it.
@test "old nodes go in the background, and their content with them" {
	own daemon --keep 5 --max-bytes 1M
	strata ctl tag name=kept >/dev/null
	# Commands make these nodes, since automatic nodes are seconds apart.
	for _ in {1..54}; do
		strata ctl exec shell='head -c 100000 /dev/urandom >/f' >/dev/null
	done
	nodes() {
		local said
		said=$(strata log -n 1000) && wc -l <<<"$said"
	}
	few() { [ "$(nodes)" -lt 20 ]; }
	small() { [ "$(du -s --bytes "$STRATA_ROOT/packs" | cut -f 1)" -lt 4000000 ]; }
	wait_for few
	wait_for small
	is "$(strata tag --json | jq -r '.tags[].name')" kept
	wait_for captured
	strata fsck >/dev/null
}
