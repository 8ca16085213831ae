# exec: runs commands in the environment.
load helpers
load history
load rootfs

setup() {
	strata_setup
	mini_rootfs src
	begin
	first=$(strata head)
}

teardown() {
	strata checkout HEAD >/dev/null 2>&1 || true
	strata_teardown
}

@test "--json: the result on standard output, what the command prints on standard error" {
	run -3 --separate-stderr strata exec --json -- sh -c 'echo said; echo aside >&2; echo 1 >/made; exit 3'
	is "$stderr" "said
aside"
	is "$(jq -c '[.exit_status, .signal, .changes.added, .error]' <<<"$output")" '[3,null,1,null]'
	is "$(jq -r .node.id <<<"$output")" "$(strata head)"
	run -127 --separate-stderr strata exec --json -- /no/such
	is "$(jq -c '[.exit_status, .node]' <<<"$output")" '[127,null]'
	run -125 --separate-stderr strata exec --json --user no-such-user -- true
	is "$output" ""
}

@test "exec passes standard input, output, error and the exit status through" {
	run -3 --separate-stderr strata exec -- sh -c 'cat; echo problem >&2; exit 3' <<<"some input"
	is "$output" "some input"
	is "$stderr" problem
}

@test "exec makes one node with the command, its status and what changed" {
	run -4 --separate-stderr strata exec -- sh -c 'echo new >/root/file; rm /usr/lib/one; exit 4'
	[[ $stderr =~ ^node\ [0-9a-f]{12}$ ]]
	is "$(strata head)" "${stderr#node }"
	is "$(strata show HEAD --json | jq -c '[.kind, .exit_status, .command[2], .changes.added, .changes.deleted]')" \
		'["exec",4,"echo new >/root/file; rm /usr/lib/one; exit 4",1,1]'
	[ "$(strata show HEAD --json | jq '.duration > 0')" = true ]
	is "$(strata cat HEAD:root/file)" new
	clean
}

@test "exec without a change makes no node" {
	run -0 --separate-stderr strata exec -- true
	is "$stderr" ""
	is "$(strata head)" "$first"
}

@test "exec -q and --no-commit" {
	run -0 --separate-stderr strata exec -q -- touch /a
	is "$stderr" ""
	[ "$(strata head)" != "$first" ]
	node=$(strata head)
	run -0 --separate-stderr strata exec --no-commit -- touch /b
	is "$(strata head)" "$node"
	is "$(strata status --json | jq -c .dirty_paths)" '["b"]'
}

@test "exec says 127, 126 and 128+N like a shell" {
	run -127 --separate-stderr strata exec -- no-such-command
	[[ $stderr == "strata: "*no-such-command* ]]
	run -127 --separate-stderr strata exec -- /no/such/command
	run -126 --separate-stderr strata exec -- /etc/passwd
	[[ $stderr == "strata: "*/etc/passwd* ]]
	run -126 --separate-stderr strata exec -- /etc
	run -137 --separate-stderr strata exec -- sh -c 'kill -9 $$'
	run -143 --separate-stderr strata exec -- sh -c 'kill -15 $$'
	is "$(strata head)" "$first"
}

@test "a missing interpreter is named" {
	do_in 'printf "#!/no/interpreter\n" >/script; chmod 755 /script'
	run -127 --separate-stderr strata exec -- /script
	[[ $stderr == *interpreter* ]]
}

@test "exec fails with 125 where strata itself fails" {
	run -125 --separate-stderr strata --root "$PWD/nowhere" exec -- true
	[[ $stderr == *"no environment"* ]]
	run -125 --separate-stderr strata -w nobody exec -- true
	usage strata exec
	usage strata exec true
	usage strata exec --net maybe -- true
	usage strata exec --cwd relative -- true
	usage strata exec --timeout -1 -- true
}

@test "exec --cwd and --env" {
	is "$(in_env pwd)" /
	is "$(strata exec --cwd /usr/lib -- pwd)" /usr/lib
	run -125 --separate-stderr strata exec --cwd /no/such -- pwd
	[[ $stderr == *"/no/such"* ]]
	SECRET=1 run -0 strata exec --env A=1 --env 'B=two words' --env HOME -- env
	[[ $'\n'$output$'\n' == *$'\nA=1\n'* ]]
	[[ $'\n'$output$'\n' == *$'\nB=two words\n'* ]]
	[[ $'\n'$output$'\n' == *$'\nHOME='"$HOME"$'\n'* ]]
	[[ $output != *SECRET* ]]
	[[ $output != *STRATA* ]]
}

@test "exec --user has that user's variables and groups" {
	cat >>src/etc/passwd <<-EOF
	anna:x:0:0:Anna:/home/anna:/bin/ash
	EOF
	echo wheel:x:0:anna >>src/etc/group
	discard env && begin
	own() { strata exec --no-commit "$@" -- sh -c 'echo $HOME $USER $LOGNAME $SHELL'; }
	is "$(own)" "/root root root /bin/sh"
	is "$(own --user anna)" "/home/anna anna anna /bin/ash"
	is "$(own --user anna:wheel)" "/home/anna anna anna /bin/ash"
	is "$(own --user root)" "/root root root /bin/sh"
	is "$(own --user anna --env USER=other --env SHELL=)" "/home/anna other anna"
	is "$(strata exec -q --trace --user anna -- sh -c 'echo $HOME')" /home/anna
	fails 125 "strata: no user 'bert' in /etc/passwd of this environment" strata exec --user bert -- true
	fails 125 "strata: no group 'none' in /etc/group of this environment" strata exec --user anna:none -- true
}

@test "exec --user has groups of its own" {
	need_root
	cat >>src/etc/passwd <<-EOF
	bert:x:1001:100::/home/bert:/bin/sh
	EOF
	printf '%s\n' users:x:100: audio:x:29:bert,anna video:x:44:anna disk:x:6:bert >>src/etc/group
	discard env && begin
	is "$(strata exec --user bert -- id -u)" 1001
	is "$(strata exec --user bert -- sh -c 'id -G | tr " " "\n" | sort -n | tr "\n" " "')" "6 29 100 "
	is "$(strata exec --user 1001:44 -- sh -c 'echo $(id -u) $(id -G) $HOME')" "1001 44 /home/bert"
	is "$(strata exec --user 4711 -- sh -c 'echo $(id -u) $(id -G) $HOME $USER')" "4711 4711 / 4711"
}

@test "a directory among the standard descriptors is named" {
	run -0 --separate-stderr strata exec -- true <"$PWD/src"
	[[ $stderr == *"standard input (descriptor 0) is '$PWD/src' of this machine"* ]]
	run -0 --separate-stderr sh -c '"$0" exec -q -- true 1<"$1"' "$STRATA" "$PWD/src"
	[[ $stderr == *"standard output (descriptor 1) is '$PWD/src'"* ]]
	for given in /dev/null src/etc/passwd; do
		run -0 --separate-stderr strata exec -- true <$given
		is "$stderr" ""
	done
	# No other descriptors of the caller are passed on.
	run -0 --separate-stderr bash -c 'exec 3<"$1" 4<"$1" 77<"$1/etc/passwd"; "$0" exec -- ls /proc/self/fd' "$STRATA" src
	is "$output" $'0\n1\n2\n3'
	is "$stderr" ""
}

@test "exec --timeout ends the command" {
	began=$SECONDS
	run -143 --separate-stderr strata exec --timeout 1 -- sleep 100
	[[ $stderr == *"longer than 1 s"* ]]
	run -137 --separate-stderr strata exec --timeout 1 -- sh -c 'trap "" TERM; sleep 100 & wait; sleep 100'
	[ $((SECONDS - began)) -lt 30 ]
}

@test "exec sees nothing of the machine" {
	# The command sees only its own processes and the first one.
	is "$(in_env sh -c 'echo /proc/[0-9]*' | wc -w)" 2
	exec 9<"$BATS_TEST_FILENAME"
	is "$(in_env sh -c 'ls /proc/self/fd' | tr '\n' ' ')" "0 1 2 3 "
	exec 9<&-
	run -0 in_env cat /proc/self/mountinfo
	[[ $output != *"$BATS_TEST_TMPDIR"*" /home"* ]]
	is "$(in_env sh -c 'cut -d" " -f5 /proc/self/mountinfo | grep -v "^/\(proc\|sys\|dev\|etc/resolv.conf\)\(/\|$\)"')" /
	is "$(in_env hostname)" strata
	run ! in_env sh -c 'echo 1 >/proc/sys/kernel/core_uses_pid'
	run ! in_env sh -c 'echo nameserver 192.0.2.1 >/etc/resolv.conf'
	run ! in_env sh -c 'mkdir /sys/fs/cgroup/strata-test'
	is "$(in_env sh -c 'ls /dev | grep -v fuse | tr "\n" " "')" "fd full null ptmx pts random shm stderr stdin stdout tty urandom zero "
	in_env sh -c 'echo x >/dev/null; head -c 4 /dev/urandom >/dev/shm/x; [ -s /dev/shm/x ]'
	is "$(strata head)" "$first"
}

@test "resolv.conf is the machine's, also over a symlink" {
	[ -s /etc/resolv.conf ] || skip "no resolv.conf here"
	is "$(in_env cat /etc/resolv.conf)" "$(cat /etc/resolv.conf)"
	do_in 'rm -f /etc/resolv.conf; ln -s ../run/nowhere /etc/resolv.conf' || true
	clean
}

@test "a command that could not start leaves nothing that has a network" {
	for _ in 1 2 3 4 5 6 7 8; do
		run -127 strata exec -- nowhere
		is "$(strata exec --net none -- ls /sys/class/net)" lo
		run -127 strata exec --net none -- nowhere
		strata exec -- true
	done
}

@test "exec --net none has a loopback interface only" {
	is "$(strata exec --net none -- sh -c 'ls /sys/class/net')" lo
	strata exec --net none -- sh -c 'ping -c 1 -W 1 127.0.0.1 >/dev/null || ip link show lo | grep -q UP'
}

@test "background jobs go on, later commands join them, checkout ends them" {
	strata exec --no-commit -- sh -c 'sleep 1000 </dev/null >/dev/null 2>&1 & echo $! >/tmp/pid'
	in_env sh -c 'kill -0 $(cat /tmp/pid)'
	is "$(strata workspaces --json | jq -c '[.workspaces[].running]')" '[true]'
	[ "$(strata status --json | jq '.processes | length')" -ge 1 ]
	strata checkout HEAD >/dev/null
	is "$(strata workspaces --json | jq -c '[.workspaces[].running]')" '[false]'
	run ! in_env sh -c 'kill -0 $(cat /tmp/pid)'
}

@test "a node made while something writes is never torn" {
	strata exec --no-commit -- sh -c '
		(i=0
		while :; do
			i=$((i + 1))
			echo $i >/a.new; mv /a.new /a
			echo $i >/b.new; mv /b.new /b
		done) </dev/null >/dev/null 2>&1 &
		until test -e /b; do :; done'
	for _ in $(seq ${TORN_ROUNDS:-40}); do strata commit -m torn >/dev/null; done
	strata checkout HEAD >/dev/null
	strata log --json | jq -r '.nodes[] | select(.message == "torn") | .id' >ids
	[ "$(wc -l <ids)" -ge 10 ]
	while read -r id; do
		a=$(strata cat "$id:a") b=$(strata cat "$id:b")
		[ "$a" = "$b" ] || [ "$a" = $((b + 1)) ] || { echo "$id: $a and $b"; return 1; }
	done <ids
}

@test "a process that waits in vfork keeps no change from being captured" {
	cp "$TOOLS/vforker-static" src/vforker
	discard env && begin --backend overlay
	run -7 --separate-stderr strata exec -- /vforker /numbers
	[[ $stderr =~ ^node\ [0-9a-f]{12}$ ]]
	is "$(strata show HEAD --json | jq -c '[.exit_status, .changes.added]')" '[7,1]'
	# The process goes on, and can be captured again.
	in_env sh -c 'n=$(cat /numbers); until [ "$(cat /numbers)" != "$n" ]; do sleep 0.01; done'
	strata commit -m again >/dev/null
	is "$(strata status --json | jq '.processes | length >= 2')" true
}

@test "killing exec kills what runs in the environment" {
	"$STRATA" exec --no-commit -- sh -c 'sleep 1234 & sleep 4321' >/dev/null 2>&1 3>&- &
	exec_pid=$!
	for _ in $(seq 100); do
		[ "$(strata workspaces --json | jq '.workspaces[0].running')" = true ] && break
		sleep 0.05
	done
	kill -9 $exec_pid
	for _ in $(seq 100); do
		[ "$(strata workspaces --json | jq '.workspaces[0].running')" = false ] && break
		sleep 0.05
	done
	is "$(strata workspaces --json | jq '.workspaces[0].running')" false
	clean
}

@test "signals reach the command" {
	"$STRATA" exec --no-commit -- sh -c 'trap "echo got it >/tmp/got; exit 7" TERM; touch /tmp/ready; while :; do sleep 0.1; done' 3>&- &
	exec_pid=$!
	for _ in $(seq 100); do
		[ "$(strata status --json | jq '.dirty_paths | index("tmp/ready") != null')" = true ] && break
		sleep 0.05
	done
	kill -TERM $exec_pid
	status=0
	wait $exec_pid || status=$?
	is $status 7
	is "$(strata cat work:tmp/got)" "got it"
}

@test "exec in a tree without a shell" {
	discard env
	mkdir env
	mkdir -p src2/bin
	cp src/bin/busybox src2/bin/
	strata init --from src2 --backend overlay >/dev/null
	run -0 strata exec -- /bin/busybox echo works
	is "$output" works
	run -127 --separate-stderr strata exec -- sh
	[[ $stderr == *"no root file system"* ]]
}

@test "exec works on every backend" {
	for backend in overlay copy; do
		discard env
		mkdir env
		strata init --from src --backend $backend >/dev/null
		run -0 --separate-stderr strata exec -- sh -c 'echo 1 >/root/x; mkdir /root/d; mv /usr/lib/one /root/d'
		is "$(strata show HEAD --json | jq -c '[.changes.added, .changes.deleted, .changes.renamed]')" '[2,0,1]'
		run -0 --separate-stderr strata exec -- true
		is "$stderr" ""
		strata checkout HEAD~1 >/dev/null
		is "$(in_env ls /root)" ""
		is "$(in_env cat /usr/lib/one)" library
		clean
	done
}

@test "checkout --live and restore change the tree under what runs" {
	do_in 'echo two >/root/file'
	strata exec --no-commit -- sh -c '
		(while [ "$(cat /root/file 2>/dev/null)" = two ]; do sleep 0.05; done
		cat /root/file >/tmp/saw 2>&1; sleep 1000) </dev/null >/dev/null 2>&1 &'
	strata checkout "$first" --live >/dev/null
	is "$(strata head)" "$first"
	for _ in $(seq 100); do
		[ "$(strata status --json | jq '.dirty_paths | index("tmp/saw") != null')" = true ] && break
		sleep 0.05
	done
	is "$(strata workspaces --json | jq '.workspaces[0].running')" true
	[[ $(strata cat work:tmp/saw) == *"No such file"* ]]
	strata restore '@{-1}' -- root/file >/dev/null
	is "$(in_env cat /root/file)" two
	is "$(strata workspaces --json | jq '.workspaces[0].running')" true
	strata checkout HEAD >/dev/null
}

# stop_holder: start a job in the background, and stop its holder.
stop_holder() {
	local mark=$((SRANDOM % 900000000 + 100000000))
	strata exec --no-commit -- sh -c "sleep $mark </dev/null >/dev/null 2>&1 &"
	holder=$(holder_of $mark)
	[ -n "$holder" ]
	kill -STOP "$holder"
}

# silent: check the message of a command that needs the holder.
silent() {
	is "${stderr_lines[0]}" "strata: the sandbox of 'main': process $holder (strata-holder) does not answer: it is stopped"
	is "${stderr_lines[1]}" "hint: 'kill -CONT $holder' lets it go on; 'strata checkout HEAD' ends it and all that runs in the workspace"
}

@test "a holder that was stopped: who looks goes on, who needs it says so, checkout ends it" {
	stop_holder
	SECONDS=0
	strata status --json >s.json
	is "$(jq -c '[.processes, .dirty]' s.json)" '[null,0]'
	[[ $(jq -r '.degraded[]' s.json) == *"process $holder (strata-holder) does not answer: it is stopped"* ]]
	[ $SECONDS -le 2 ]
	grep -qx 'processes    unknown' < <(strata status)
	is "$(strata diff HEAD work)" ""
	strata ls work >/dev/null
	is "$(strata workspaces --json | jq -c '[.workspaces[].running]')" '[true]'
	run -125 --separate-stderr strata exec -- true
	silent
	run -1 --separate-stderr strata commit
	silent
	run -1 --separate-stderr strata checkout --live HEAD
	silent
	# A wrong reference ends no program.
	run -1 strata checkout nowhere
	[ $SECONDS -le 8 ]
	kill -CONT "$holder"
	is "$(in_env echo again)" again
	is "$(strata status --json | jq '.processes | length')" 1
	kill -STOP "$holder"
	SECONDS=0
	strata checkout HEAD >/dev/null
	[ $SECONDS -le 3 ]
	ended "$holder"
	is "$(strata workspaces --json | jq -c '[.workspaces[].running]')" '[false]'
	is "$(in_env echo again)" again
	for command in undo redo; do
		do_in 'date >/root/file'
		[ $command = undo ] || strata undo >/dev/null
		stop_holder
		strata $command >/dev/null
		ended "$holder"
	done
	clean
}

@test "a workspace whose holder was stopped can be deleted" {
	strata fork other >/dev/null
	export STRATA_WORKSPACE=other
	stop_holder
	unset STRATA_WORKSPACE
	strata workspaces delete other >/dev/null
	ended "$holder"
}

@test "a command that a checkout overtakes on its way in runs behind it" {
	need strace
	strata exec --no-commit -- sh -c 'sleep 1000 </dev/null >/dev/null 2>&1 &'
	# The first message to the holder starts the command.
	traced strace -qq -o calls -e trace=sendmsg -e inject=sendmsg:delay_enter=1500000:when=1 \
		"$STRATA" exec -q -- sh -c 'echo ran; ls /proc/1 >/dev/null' >out.txt 2>err.txt 3>&- &
	late=$!
	sleep 0.5
	strata checkout HEAD >/dev/null
	status=0
	wait $late || status=$?
	is "$status $(cat out.txt err.txt)" "0 ran"
	# The message came too late once, and in time at the second try.
	grep -q 'DELAYED' calls
	[ "$(grep -c 'sendmsg' calls)" -ge 2 ]
}

@test "limits and priorities of a command are those of the strata that runs it" {
	need taskset
	local look='ulimit -n; set -- $(cat /proc/self/stat); echo ${19}' here
	here=$(sh -c "$look")
	# A program that goes on keeps the holder of the first command alive.
	local stay='sleep 1000 </dev/null >/dev/null 2>&1 &'
	strata exec --no-commit -- sh -c "$stay"
	is "$(bash -c 'ulimit -n 123; exec nice -n 7 "$0" exec -q -- sh -c "$1"' "$STRATA" "$look")" $'123\n7'
	is "$(taskset -c 0 "$STRATA" exec -q -- grep Cpus_allowed_list /proc/self/status)" $'Cpus_allowed_list:\t0'
	is "$(setarch -R "$STRATA" exec -q -- cat /proc/self/personality)" 00040000
	# newuidmap is set-user-id, so no_new_privs prevents it.
	acts_with_subids || is "$(setpriv --no-new-privs "$STRATA" exec -q -- grep NoNewPrivs /proc/self/status)" $'NoNewPrivs:\t1'
	is "$(strata exec -q -- cat /proc/self/personality)" "$(cat /proc/self/personality)"
	is "$(strata exec -q -- sh -c "$look")" "$here"
	strata checkout HEAD >/dev/null
	bash -c 'ulimit -S -n 99; exec "$0" exec --no-commit -- sh -c "$1"' "$STRATA" "$stay"
	is "$(strata exec -q -- sh -c "$look")" "$here"
}

@test "many commands run at a time where few descriptors can be open" {
	bash -c 'ulimit -n 64; exec "$0" exec --no-commit -- sh -c "sleep 1000 </dev/null >/dev/null 2>&1 &"' "$STRATA"
	local pids=() i
	for i in {1..40}; do
		strata exec -q --no-commit -- sh -c "usleep 300000; exit $i" >"out$i" 2>&1 3>&- &
		pids+=($!)
	done
	for i in {1..40}; do
		status=0
		wait "${pids[i - 1]}" || status=$?
		is "$status $(cat "out$i")" "$i "
	done
}

@test "a command that stays keeps nobody out where few descriptors can be open" {
	# Allow only a few more descriptors than a sandbox needs.
	bash -c 'ulimit -n 40; exec "$0" exec -q --no-commit -- sleep 1000' "$STRATA" 3>&- &
	local first=$! i
	for ((i = 0; i < 250; i++)); do
		! strata ps 2>/dev/null | grep -q 'sleep 1000' || break
		sleep 0.02
	done
	is "$(strata exec -q --no-commit -- echo in)" in
	is "$(strata ps | grep -c 'sleep 1000')" 1
	kill $first
	wait $first || true
}

@test "a command that a checkout overtakes is killed, or says so" {
	(
		while [ ! -e stop ]; do
			"$STRATA" checkout HEAD >/dev/null 2>>checkout.err || touch failed
		done
	) 3>&- &
	for i in {1..60}; do
		status=0
		"$STRATA" exec --no-commit -- true >/dev/null 2>err.txt || status=$?
		case $status in
		0 | 137) ;;
		125) grep -q "the sandbox has ended" err.txt || { cat err.txt; touch failed; } ;;
		*) echo "$i: $status"; cat err.txt; touch failed ;;
		esac
	done
	touch stop
	wait
	[ ! -e failed ] || { cat checkout.err; return 1; }
	clean
}

# While the command runs, the store stays open, but gc may remove packs.
@test "gc while a command runs takes nothing from under it" {
	need sqlite3
	do_in 'echo 1 >/one'
	in_env sh -c 'head -c 8000000 /dev/urandom >/loose'
	# Simulate an interrupted checkout: exec completes it first, and stores the files that it
	# finds.
	sqlite3 env/strata.db "UPDATE workspace SET pending = head WHERE name = 'main'"
	strata exec -q -- sh -c 'echo begun; while [ ! -e /go ]; do usleep 20000; done; echo 2 >/two' >said 2>why 3>&- </dev/null &
	running=$!
	for ((i = 0; i < 500; i++)); do
		! grep -q begun said || break
		sleep 0.02
	done
	cat why
	found=$(strata branches --json | jq -r '.branches[] | .id' | grep -v "$(strata head)")
	strata delete "$found" >/dev/null
	strata gc >/dev/null
	in_env touch /go
	wait $running
	strata fsck >/dev/null
	is "$(strata cat HEAD:two)" 2
}

# ------------------------------------------------------------------ exec --trace

@test "exec --trace keeps with the node what the command read and wrote" {
	run -3 --separate-stderr strata exec --trace -- sh -c 'cat /usr/lib/one >/root/copy; rm /usr/lib/one; exit 3'
	node=$(strata head)
	[ "$node" != "$first" ]
	is "$(strata show HEAD --json | jq -c .trace.complete)" true
	is "$(strata show HEAD --json | jq -c '.trace.written | map(select(startswith("/root") or startswith("/usr/lib/")))')" \
		'["/root/copy","/usr/lib/one"]'
	is "$(strata show HEAD --json | jq -c '.trace.read | contains(["/usr/lib/one"])')" true
	strata show HEAD | grep -q '^trace    read'
	strata show HEAD | grep -qx '  w /root/copy'
	is "$(strata blame root/copy --json | jq -c '.last.trace.read | contains(["/usr/lib/one"])')" true
	is "$(strata show "$first" --json | jq .trace)" null
	clean
}

@test "exec --trace makes a node also when nothing changed, and passes everything through" {
	run -0 --separate-stderr strata exec --trace -- cat /etc/passwd - <<<input
	[[ $output == *input ]]
	[ "$(strata head)" != "$first" ]
	is "$(strata show HEAD --json | jq -c '.trace.written')" '[]'
	is "$(strata show HEAD --json | jq -c '.trace.read | contains(["/etc/passwd"])')" true
	run -143 --separate-stderr strata exec --trace -- sh -c 'kill -TERM $$'
	run -127 --separate-stderr strata exec --trace -- no-such-command
	[[ $stderr == *no-such-command* ]]
	run -2 --separate-stderr strata exec --trace --no-commit -- true
}

@test "exec --trace as another user, and with a time limit" {
	strata exec -q -- sh -c 'echo "u:x:1234:1234::/:/bin/sh" >>/etc/passwd; mkdir -m 777 /open'
	run --separate-stderr strata exec --trace --user 0 -- sh -c 'echo x >/open/x'
	[ "$status" = 0 ]
	is "$(strata show HEAD --json | jq -c '.trace.written | contains(["/open/x"])')" true
	run --separate-stderr strata exec --trace --timeout 1 -- sleep 20
	[ "$status" = 143 ] || [ "$status" = 137 ]
	clean
}

@test "gc drops the trace of a node that is gone" {
	strata exec -q --trace -- touch /a
	gone=$(strata head)
	strata checkout "$first" >/dev/null
	[ -d "env/traces/$gone" ]
	strata delete "$gone" >/dev/null
	strata gc >/dev/null
	[ ! -e "env/traces/$gone" ]
}

@test "exec --trace: signals are the command's, its daemons run on, and names that are gone have no trace" {
	run -3 --separate-stderr strata exec --trace --timeout 1 -- sh -c 'trap "echo bye; exit 3" TERM; while :; do sleep 0.1; done'
	is "$output" bye
	is "$(strata show HEAD --json | jq -c .trace.complete)" true
	run -0 --separate-stderr timeout 10 "$STRATA" exec --trace -- sh -c '(sleep 2; touch /root/later) >/dev/null 2>&1 & echo started'
	is "$output" started
	is "$(strata show HEAD --json | jq -c .trace.complete)" false
	for _ in $(seq 60); do
		strata status --json | jq -e '.dirty_paths | index("root/later")' >/dev/null && break
		sleep 0.1
	done
	strata status --json | jq -e '.dirty_paths | index("root/later")'
}

@test "what the inside of a plain tree lacks is said" {
	discard env
	mkdir env
	rmdir src/proc
	strata init --from src --backend copy >/dev/null
	run -0 --separate-stderr strata exec -- true
	[[ $stderr == *"no /proc"* ]] || { echo "$stderr"; return 1; }
}
