# tournament: runs candidates in forks of one node, and keeps the one that passes.
load helpers
load history
load rootfs

setup() {
	strata_setup
	mini_rootfs src
	begin
	first=$(strata head)
	# An argument that no other process has.
	mark=$((SRANDOM % 900000000 + 100000000))
}

teardown() {
	# Ends the programs in the workspace.
	strata checkout HEAD >/dev/null 2>&1 || true
	strata_teardown
}

only_main() {
	is "$(strata workspaces --json | jq -c '[.workspaces[].name]')" '["main"]'
	is "$(ls env/work)" main
	is "$(find env/run -name '*tournament*')" ""
}
# Whether a command of this test runs.  The tournament itself has no argument that consists only of
# the mark.
runs() { grep -qlszx -e "$mark" /proc/[0-9]*/cmdline; }
eventually() {
	for _ in {1..250}; do
		! "$@" || return 0
		sleep 0.02
	done
	echo "not within 5 s: $*"
	return 1
}
# The process that maintains layers goes on for a moment, with the arguments of the tournament.
gone() { ! grep -qalsF -e "$mark" /proc/[0-9]*/cmdline; }
# race OPTION...: run a tournament with --json.  The output goes to out.json.
race() { strata tournament --json "$@" >out.json; }
of() { jq -c "$1" out.json; }

@test "the first to pass wins, is tagged and adopted" {
	strata tournament --test 'grep -q right /root/answer' -- 'echo wrong >/root/answer; exit 0' \
		'echo right >/root/answer' >out.txt 2>err.txt
	node=$(strata head)
	[ "$node" != "$first" ]
	is "$(tail -n 1 out.txt)" "winner candidate-2 $node"
	is "$(wc -l <out.txt)" 3
	is "$(cat err.txt)" ""
	is "$(strata tag winner --json | jq -r .node)" "$node"
	is "$(in_env cat /root/answer)" right
	is "$(strata show "$node" --json | jq -c '[.parent, .kind, .message, .command, .exit_status]')" \
		"[\"$first\",\"exec\",\"candidate-2: echo right >/root/answer\",[\"/bin/sh\",\"-c\",\"echo right >/root/answer\"],0]"
	only_main
	clean
}

@test "a fast winner does not wait for slow losers, which are killed" {
	SECONDS=0
	race --jobs 4 --test 'test -e /root/done' -- "sleep $mark" "sleep $mark & sleep $mark & wait" \
		'sleep 0.3; touch /root/done' "trap '' TERM INT HUP; while :; do sleep $mark; done"
	[ "$SECONDS" -lt 5 ]
	eventually gone
	is "$(of '[.winner, [.candidates[].cancelled]]')" '["candidate-3",[true,true,false,true]]'
	is "$(of '[.candidates[] | .exit_status]')" '[null,null,0,null]'
	is "$(of '[.candidates[] | .node != null]')" '[false,false,true,false]'
	only_main
}

@test "candidates that wait for their turn are not started once there is a winner" {
	race --jobs 1 --test true -- 'touch /root/one' 'touch /root/two' 'touch /root/three'
	is "$(of '[.candidates[] | [.cancelled, .seconds > 0, .log != null]]')" \
		'[[false,true,true],[true,false,false],[true,false,false]]'
	is "$(strata log --json | jq '.nodes | length')" 2
}

@test "the JSON has the documented shape, in the order of the candidates" {
	race --all --jobs 3 --test 'exit $(cat /root/n)' -- 'sleep 0.3; echo 3 >/root/n' 'echo 0 >/root/n' 'exit 7'
	is "$(of 'keys_unsorted | map(select(. == ("base", "winner", "winner_node", "candidates"))) | length')" 4
	is "$(of '[.base, .winner, .winner_node == .candidates[1].node, .adopted]')" "[\"$first\",\"candidate-2\",true,true]"
	is "$(of '[.candidates[] | [.name, .command, .exit_status, .test_exit, .score, .cancelled, .passed, .timed_out, .error]]')" \
		'[["candidate-1","sleep 0.3; echo 3 >/root/n",0,3,null,false,false,false,null],["candidate-2","echo 0 >/root/n",0,0,null,false,true,false,null],["candidate-3","exit 7",7,null,null,false,false,false,null]]'
	is "$(of '[.candidates[] | (.seconds | type), (.node | test("^[0-9a-f]{12}$")), (.log | test("/log/tournament-1/candidate-[123].log$"))] | unique')" '[true,"number"]'
	# Each candidate makes a branch of its own.
	is "$(for n in $(jq -r '.candidates[].node' out.json); do strata show "$n" --json | jq -r .parent; done | sort -u)" "$first"
}

@test "--jsonl gives each candidate when it has ended" {
	strata tournament --jsonl --jobs 2 --all --test true -- 'sleep 0.5' true >out.jsonl
	is "$(jq -r .name out.jsonl | paste -sd ' ')" "candidate-2 candidate-1"
}

@test "with --all the best score wins, and what is no number is worst" {
	race --all --jobs 2 --score 'cat /root/n' --test 'test -e /root/n' -- 'echo 3 >/root/n' 'echo nan >/root/n' \
		'echo -e " 12.5\nmore" >/root/n' 'echo none >/root/n' 'echo 4x >/root/n' 'echo -1 >/root/n' true
	is "$(of '[.winner, [.candidates[].score], [.candidates[].passed]]')" \
		'["candidate-3",[3,null,12.5,null,null,-1,null],[true,true,true,true,true,true,false]]'
	is "$(in_env head -n 1 /root/n)" " 12.5"
}

@test "without a score, and with equal ones, the first named wins" {
	race --all --jobs 3 --test true -- 'exit 1' 'sleep 0.4' true
	is "$(of .winner)" '"candidate-2"'
	race --all --jobs 3 --score 'echo 5' --test true -- 'exit 1' 'sleep 0.4' true
	is "$(of .winner)" '"candidate-2"'
	race --all --jobs 2 --score 'echo; exit 1' --test true -- 'sleep 0.4' true
	is "$(of .winner)" '"candidate-1"'
}

@test "a score is a first line with one number and nothing else" {
	scores=('echo 3 of 100' 'echo 0x10' 'printf "\n9\n"' 'printf "9\0"' 'echo 1e999' 'echo 5 seq' 'printf " 2.5e1 \nmore\n"')
	for i in "${!scores[@]}"; do printf -v "lines[i]" 'cat >/root/s <<"E"\n%s\nE' "${scores[i]}"; done
	race --all --jobs 2 --no-adopt --score 'sh /root/s' --test true -- "${lines[@]}"
	is "$(of '[.winner, [.candidates[].score]]')" '["candidate-7",[null,null,null,null,null,null,25]]'
}

@test "a score is noted without --all, too" {
	race --score 'echo 7; exit 1' --test true -- true
	is "$(of '[.winner, .candidates[0].score]')" '["candidate-1",7]'
}

@test "no winner leaves HEAD, work and workspaces as they were" {
	in_env sh -c 'echo dirty >/root/work; sleep 1000 </dev/null >/dev/null 2>&1 &'
	before=$(strata status --json | jq -c '[.head, .dirty, .workspace, (.processes | length)]')
	run -1 --separate-stderr strata tournament --test false -- 'rm -r /usr' 'exit 3' 'kill -9 $$'
	is "$stderr" "strata: no candidate passed"
	is "${#lines[@]}" 3
	is "$(strata status --json | jq -c '[.head, .dirty, .workspace, (.processes | length)]')" "$before"
	is "$(in_env cat /root/work)" dirty
	run -1 strata tag -d winner
	only_main
	is "$(strata branches --json | jq -c '[.branches[].exit_status] | sort')" '[0,3,137]'
	strata fsck >/dev/null
}

@test "adopting keeps uncaptured work in a safety node and kills what runs" {
	in_env sh -c "echo dirty >/root/work; sleep $mark </dev/null >/dev/null 2>&1 &"
	eventually runs
	race --test true -- 'test ! -e /root/work && touch /root/new'
	eventually gone
	is "$(strata head)" "$(jq -r .winner_node out.json)"
	run ! in_env test -e /root/work
	is "$(strata cat "$(jq -r .safety out.json):root/work")" dirty
	strata undo >/dev/null
	is "$(in_env cat /root/work)" dirty
	clean
}

@test "--no-adopt tags only, and the tag moves" {
	strata tag winner >/dev/null
	in_env sh -c 'echo dirty >/root/work'
	race --no-adopt --test true -- 'touch /root/new'
	is "$(of '[.winner, .adopted, .safety]')" '["candidate-1",false,null]'
	is "$(strata head)" "$first"
	is "$(in_env cat /root/work)" dirty
	is "$(strata tag winner --json | jq -r .node)" "$(jq -r .winner_node out.json)"
	strata ls winner:root | grep -q new
	only_main
}

@test "a candidate without a change has a node, too" {
	race --test true -- true
	is "$(strata head)" "$(jq -r .winner_node out.json)"
	[ "$(strata head)" != "$first" ]
	is "$(tree HEAD)" "$(tree "$first")"
}

@test "--base begins elsewhere, and what the test changes is in no node" {
	do_in 'echo later >/root/later'
	race --base "$first" --test 'touch /root/test-was-here; test ! -e /root/later' -- 'touch /root/new'
	is "$(of .base)" "\"$first\""
	is "$(in_env ls /root)" new
	is "$(strata show --json | jq -r .parent)" "$first"
}

@test "-w chooses the workspace that adopts" {
	strata fork try >/dev/null
	strata -w try tournament --test true -- 'touch /root/new' >/dev/null
	is "$(strata head)" "$first"
	is "$(strata -w try exec -- ls /root)" new
	is "$(strata workspaces --json | jq -c '[.workspaces[].name]')" '["main","try"]'
}

@test "--timeout is for candidate and test together; whose time is up has failed" {
	race --all --jobs 4 --timeout 3 --test 'sleep 1.8' -- "touch /root/new; sleep $mark" 'sleep 1.8' true \
		"trap 'exit 0' TERM; sleep $mark & wait"
	is "$(of '[.winner, [.candidates[] | .timed_out]]')" '["candidate-3",[true,true,false,true]]'
	is "$(of '[.candidates[] | [.exit_status, .test_exit]]')" '[[143,null],[0,143],[0,0],[0,null]]'
	# The changes of the killed candidate are a branch, too.
	strata ls "$(jq -r '.candidates[0].node' out.json):root" | grep -q new
	eventually gone
}

@test "no more than --jobs run at a time" {
	line='cut -d " " -f 1 /proc/uptime; sleep 0.2; cut -d " " -f 1 /proc/uptime'
	race --all --jobs 2 --no-adopt --test true -- "$line" "$line" "$line" "$line" "$line" "$line"
	# Add 1 where a candidate begins, and -1 where it ends.  The sum is never more than two.
	for log in $(jq -r '.candidates[].log' out.json); do
		grep -E '^[0-9.]+$' "$log" | sed '1s/$/ 1/; 2s/$/ -1/'
	done | sort -k1,1n -k2,2n | awk '{ n += $2; if (n > most) most = n } END { print most, n }' >most
	is "$(cat most)" "2 0"
}

@test "the log has what candidate, test and score printed" {
	race --score 'echo 4; echo scored >&2' --test 'echo tested; echo aside >&2' -- 'echo one; echo two >&2; cat'
	log=$(jq -r '.candidates[0].log' out.json)
	is "$log" "$STRATA_ROOT/log/tournament-1/candidate-1.log"
	is "$(sed 's/after [0-9.]* s/after T/' "$log")" "== candidate: echo one; echo two >&2; cat
one
two
== candidate ended with status 0 after T
== test: echo tested; echo aside >&2
tested
aside
== test ended with status 0 after T
== score: echo 4; echo scored >&2
scored
== score ended with status 0 after T
== score printed: 4"
	is "$(stat -c %a "$log")" 600
}

# with_tests: make a base that contains its tests.
with_tests() {
	do_in 'mkdir -p /app/tests /app/src; cd /app
		printf "#!/bin/sh\ngrep -q right /app/src/answer\n" >run; chmod 755 run
		cp run tests/one; cp run score.sh; echo echo 1 >>score.sh; echo wrong >src/answer; echo right >expected'
	first=$(strata head)
}

@test "a candidate cannot rewrite its judge, and it is said when it tries" {
	with_tests
	cheat='printf "#!/bin/sh\nexit 0\n"'
	for line in /app/run 'sh /app/run' 'cd /app && ./run' 'cd app; A=1 sh -e ./run' "sh -ec 'cd /app; exec ./run'"; do
		run -1 --separate-stderr strata tournament --test "$line" -- "$cheat >/app/run"
		[[ $stderr == "strata: candidate-1 changed 'app/run', by which it is tested: it was tested with that of the base"* ]]
	done
	race --all --jobs 2 --test 'cd /app && for t in tests/*; do sh $t || exit; done; sh tests/one' -- \
		"$cheat >/app/tests/one" 'rm -r /app/tests' 'echo right >/app/src/answer' "echo right >/app/src/answer; $cheat >/app/tests/one"
	is "$(of '[.winner, [.candidates[].passed], [.candidates[].judge_changed]]')" \
		'["candidate-3",[false,false,true,true],[["app/tests/one"],["app/tests/one"],[],["app/tests/one"]]]'
}

@test "the winner keeps its own version of the test, and what is tested is left alone" {
	with_tests
	race --test 'sh /app/run' -- 'echo right >/app/src/answer; echo "# better" >>/app/run'
	is "$(of '[.winner, .candidates[0].judge_changed]')" '["candidate-1",["app/run"]]'
	is "$(in_env tail -n 1 /app/run)" "# better"
	is "$(in_env cat /app/src/answer)" right
	clean
	# The file is only named, and not executed.
	race --base "$first" --test 'grep -q right /app/src/answer' -- 'echo right >/app/src/answer'
	is "$(of '[.winner, .candidates[0].judge_changed]')" '["candidate-1",[]]'
	# A file that a candidate adds to a directory of tests is removed before the test.
	race --base "$first" --no-adopt --test 'ls /app/tests | grep -qv one' -- 'echo x >/app/tests/two' || true
	is "$(of '[.winner, .candidates[0].judge_changed]')" '[null,["app/tests"]]'
}

@test "--test-path names more, --test-in-candidate leaves all to the candidate" {
	with_tests
	line='cmp /app/src/answer /app/expected'
	race --no-adopt --test "$line" -- 'echo wrong >/app/expected'
	is "$(of .winner)" '"candidate-1"'
	race --no-adopt --test-path app/expected --test-path /app/src/../x --test "$line" -- true 2>err.txt || true
	grep -q "test-path '/app/src/../x' is not in the base" err.txt
	race --no-adopt --test-path /app/./expected --test "$line" -- 'echo wrong >/app/expected' || true
	is "$(of '[.winner, .candidates[0].judge_changed]')" '[null,["app/expected"]]'
	race --no-adopt --test-in-candidate --test /app/run -- 'printf "#!/bin/sh\nexit 0\n" >/app/run' 2>err.txt
	is "$(of '[.winner, .candidates[0].judge_changed]')" '["candidate-1",["app/run"]]'
	race --no-adopt --all --test true --score 'sh /app/score.sh' -- 'echo "echo 99" >/app/score.sh'
	is "$(of '[.candidates[0] | .score, .judge_changed]')" '[1,["app/score.sh"]]'
	usage strata tournament --test-from-base --test-in-candidate --test true -- true
	is "$(strata workspaces --json | jq -c '[.workspaces[].name]')" '["main"]'
}

@test "a log has a limit: its beginning and its end stay" {
	race --log-limit 64K --score 'yes 7 | head -c 3000000; echo done >&2' --test 'echo tested' -- \
		'echo first; head -c 20000000 /dev/zero | tr "\0" x; echo; echo last'
	log=$(jq -r '.candidates[0].log' out.json)
	[ "$(stat -c %s "$log")" -le $((65536 + 200)) ]
	is "$(sed -n 2p "$log")" first
	is "$(grep -c '^== [0-9]* bytes were left out here$' "$log")" 1
	grep -qx tested "$log"
	grep -qx last "$log"
	# The log and the bytes that were left out are the whole output.
	left=$(sed -n 's/^== \([0-9]*\) bytes were left out here$/\1/p' "$log")
	[ $((left + $(stat -c %s "$log"))) -ge 20000000 ]
	is "$(of '.candidates[0].score')" 7
	usage strata tournament --log-limit 1K --test true -- true
	usage strata tournament --log-limit 2G --test true -- true
}

@test "logs of the last 20 tournaments are kept" {
	for n in {1..30}; do mkdir -p env/log/tournament-$n; done
	mkdir env/log/mine
	race --test true -- true
	is "$(of '.candidates[0].log | test("tournament-31/")')" true
	is "$(ls env/log | wc -l)" 21
	is "$(ls env/log | sort -V | sed -n '1p;2p;$p' | paste -sd ' ')" "mine tournament-12 tournament-31"
}

@test "ended by a signal it tidies up and says so" {
	for signal in INT TERM; do
		env --default-signal=INT "$STRATA" tournament --json --jobs 2 --test true -- "touch /root/x; sleep $mark" \
			"sleep $mark" true >out.json 2>err.txt 3>&- &
		pid=$!
		eventually runs
		status=0
		kill -$signal $pid
		wait $pid || status=$?
		is $status $((128 + $(kill -l $signal)))
		eventually gone
		grep -q "ended by signal" err.txt
		is "$(of '[.winner, [.candidates[].cancelled]]')" '[null,[true,true,true]]'
		is "$(strata head)" "$first"
		only_main
	done
	clean
}

@test "what a tournament that was killed left is removed by the next" {
	leave() {
		"$STRATA" tournament --jobs 2 --test true -- "sleep $mark" "sleep $mark" true >/dev/null 2>&1 3>&- &
		pid=$!
		eventually runs
		kill -9 $pid
		wait $pid || true
		eventually gone
		is "$(strata workspaces | wc -l)" 4
	}
	leave
	# A user may give such a name to a workspace.
	strata fork tournament-1-9 >/dev/null
	race --test true -- true
	is "$(strata workspaces --json | jq -c '[.workspaces[].name]')" '["main","tournament-1-9"]'
	strata workspaces delete tournament-1-9 >/dev/null
	leave
	strata gc >/dev/null
	only_main
	clean
}

@test "a sweep leaves alone what is alive" {
	"$STRATA" tournament --test true -- "sleep $mark" >/dev/null 2>&1 3>&- &
	pid=$!
	eventually runs
	strata gc >/dev/null
	strata tournament --test true -- true >/dev/null
	runs
	is "$(strata workspaces | wc -l)" 2
	kill -TERM $pid
	wait $pid || true
	only_main
}

@test "several tournaments at once" {
	for n in 1 2 3; do
		"$STRATA" tournament --json --no-adopt --all --test true -- "echo $n >/root/n" 'sleep 0.2' >out$n.json 2>err$n.txt 3>&- &
	done
	wait
	cat err?.txt
	is "$(jq -r '.candidates[0].log' out?.json | grep -o 'tournament-[0-9]*' | sort | paste -sd ' ')" \
		"tournament-1 tournament-2 tournament-3"
	for n in 1 2 3; do is "$(strata cat "$(jq -r '.candidates[0].node' out$n.json):root/n")" $n; done
	only_main
	clean
}

@test "who reads the output may leave" {
	strata tournament --jobs 1 --test false -- 'sleep 0.2' 'sleep 0.2' 'sleep 0.2' "sleep $mark" | head -n 1
	eventually gone
	only_main
}

@test "what a candidate leaves running ends with the tournament" {
	race --test 'cat /tmp/pid && kill -0 $(cat /tmp/pid)' -- "sleep $mark </dev/null >/dev/null 2>&1 & echo \$! >/tmp/pid"
	is "$(of .winner)" '"candidate-1"'
	eventually gone
}

@test "the copy backend" {
	discard env
	mkdir env
	begin --backend copy
	first=$(strata head)
	race --jobs 3 --test 'grep -q right /root/answer' -- "sleep $mark" 'echo wrong >/root/answer' 'echo right >/root/answer; rm /usr/lib/one'
	eventually gone
	is "$(of '[.winner, .candidates[0].cancelled]')" '["candidate-3",true]'
	is "$(in_env cat /root/answer)" right
	run ! in_env test -e /usr/lib/one
	only_main
	clean
}

@test "a table shows what runs on a terminal" {
	need script
	SHELL=/bin/sh script -qec "'$STRATA' tournament --jobs 1 --test true -- 'sleep 0.5; exit 1' 'sleep 0.3'" typescript >/dev/null </dev/null
	grep -qF $'\e[J' typescript
	grep -q 'candidate-1 *running .*sleep 0.5; exit 1' typescript
	grep -q '1 of 2 ended, 0 waiting' typescript
	grep -q 'winner candidate-2 [0-9a-f]' typescript
}

@test "a base without a shell is told at once" {
	do_in 'rm /bin/sh'
	run -1 --separate-stderr strata tournament --test true -- true true true
	[[ $stderr == *"/bin/sh"* ]]
	is "$output" ""
	only_main
	# A candidate that removes the shell fails.
	race --base "$first" --all --test true -- 'rm /bin/sh' true
	is "$(of '[.winner, .candidates[0].test_exit]')" '["candidate-2",127]'
}

@test "wrong usage" {
	usage strata tournament
	usage strata tournament --test true
	usage strata tournament --test true --
	usage strata tournament -- true
	usage strata tournament --test '' -- true
	usage strata tournament --test ' ' -- true
	usage strata tournament --test true --score '' -- true
	usage strata tournament --test true -- true ''
	is "$(cat err.txt)" "strata: tournament: candidate 2 is empty"
	usage strata tournament --test true --jobs 0 -- true
	usage strata tournament --test true --timeout 0 -- true
	usage strata tournament --test true --timeout 99999999 -- true
	usage strata tournament --test true true
	mapfile -t many < <(yes true | head -n 65)
	usage strata tournament --test true -- "${many[@]}"
	is "$(cat err.txt)" "strata: tournament: at most 64 candidates, not 65"
	run -1 --separate-stderr strata tournament --base no-such-node --test true -- true
	[[ $stderr == *no-such-node* ]]
	run -1 strata tournament --base work --test true -- true
	[ ! -e env/log ]
	only_main
}
