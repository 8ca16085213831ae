# supervise --policy: the agent is under the policy each time it is started.
load helpers
load history
load rootfs
load owner

setup() {
	strata_setup
	need jq
	mini_rootfs src
	mkdir src/work src/root/.ssh
	echo "the secret" >src/root/.ssh/id_rsa
	cat >src/agent <<-'EOF'
		#!/bin/sh
		# The agent prints the files that it can read, works, and goes on for ever.
		key=$(cat /root/.ssh/id_rsa 2>/dev/null)
		(echo x >/outside) 2>/dev/null && key="$key outside"
		echo "agent: '$key'"
		while :; do
			touch "done-$(ls | wc -l)"
			usleep 100000
		done
	EOF
	chmod +x src/agent
	strata init --from src --backend overlay >/dev/null
	echo '{"preset": "offline"}' >policy.json
}

teardown() { end_owner; }

starts() { grep -c '^agent:' owner.out; }
started() { [ "$(starts)" = "$1" ]; }
said() { grep -qF "$1" owner.err; }
works() { [ "$(strata ls HEAD:work --json 2>/dev/null | jq '.entries | length')" -ge "$1" ] 2>/dev/null; }
# denied_in NODE: print the paths for which the node lists denied writes.
denied_in() { strata show "$1" --json | jq -c '[.denials[]? | select(.what == "write") | .subject]'; }

@test "started again after a rollback, the agent is under the policy that was read first" {
	own supervise --policy policy.json --denials denials.jsonl --cwd /work -- /agent
	wait_for works 2
	strata tag good >/dev/null
	# A policy that allows everything, and no policy, give the same result.
	echo '{"preset": "open"}' >policy.json
	strata checkout good >/dev/null
	wait_for started 2
	wait_for works 4
	rm policy.json
	strata checkout good >/dev/null
	wait_for started 3
	wait_for works 4
	run -1 in_env test -e /outside
	kill -TERM "$owner"
	ended 143
	is "$(sort -u owner.out)" "agent: ''"
	# Each of the agents got the same denial, which was printed at its end.
	is "$(jq -s 'map(select(.path == "/outside")) | length' denials.jsonl)" 3
	is "$(grep -c "strata: denied: write /outside (fs.allow_write" owner.err)" 3
	said "rolled back to"
}

@test "an automatic node has what was denied before it, and the next one has not" {
	own supervise --policy policy.json --cwd /work -- sh -c '
		(echo x >/outside); echo 1 >one
		while [ ! -e /tmp/go ]; do usleep 20000; done
		echo 2 >two
		while [ ! -e /tmp/on ]; do usleep 20000; done
		(echo x >/elsewhere); echo 3 >three; sleep 100'
	wait_for strata cat HEAD:work/one >/dev/null 2>&1
	first=$(strata log --json | jq -r '[.nodes[] | select(.path_changes | any(.path == "work/one"))][0].id')
	is "$(denied_in "$first")" '["/outside"]'
	in_env touch /tmp/go
	wait_for strata cat HEAD:work/two >/dev/null 2>&1
	is "$(denied_in HEAD)" '[]'
	in_env touch /tmp/on
	wait_for strata cat HEAD:work/three >/dev/null 2>&1
	is "$(denied_in HEAD)" '["/elsewhere"]'
}

@test "subscribers hear of denials with the node" {
	own supervise --policy policy.json --cwd /work -- sh -c '
		while [ ! -e /tmp/go ]; do usleep 20000; done
		(echo x >/outside); echo 1 >one; sleep 100'
	strata ctl subscribe >events 2>/dev/null 3>&- &
	subscriber=$!
	wait_for test -s events
	in_env touch /tmp/go
	heard() { jq -es 'any(.[]; .method == "node.created" and any(.params.node.denials[]?; .subject == "/outside"))' events >/dev/null; }
	wait_for heard
	kill $subscriber
}

@test "other commands are under a policy only if they ask for one" {
	own supervise --policy policy.json -- sleep 100
	is "$(strata exec --no-commit -- cat /root/.ssh/id_rsa)" "the secret"
	is "$(strata ctl exec shell='echo x >/outside' no_commit=true | jq '[.exit_status, .denials]' -c)" '[0,[]]'
	run -1 strata exec --policy policy.json --cwd /work -- sh -c 'echo x >/inside'
	[[ $output == *"denied: write /inside (fs.allow_write"* ]]
	# The path is relative to the directory of the owner.
	is "$(cd home && strata ctl exec policy=policy.json cwd=/work shell='echo x >/inside' | jq '[.exit_status, .denials[0].subject]' -c)" '[1,"/inside"]'
	# A command that goes on also has a policy and a file of denials.
	strata ctl spawn policy=policy.json denials="$PWD/spawned" cwd=/work shell='echo x >/inside' >/dev/null
	wait_for test -s spawned
	is "$(jq -r .path spawned)" /inside
}

@test "a command gets at its own descriptors, and a request at none of the owner's" {
	own supervise -- sleep 100
	# The owner does not get descriptor 9 from this process, and has no such descriptor itself.
	run -1 strata exec -q --policy policy.json --denials 9 --cwd /work -- sh -c 'echo x >/outside' 9>nine
	is "$(jq -r .path nine)" /outside
	run -1 strata exec -q --policy - --cwd /work -- sh -c 'echo x >/outside' <policy.json
	for number in 0 3 9; do
		run -1 strata ctl exec policy=policy.json denials=$number shell=true
		[[ $output == *"'denials' must be a path: a request has no descriptors"* ]]
	done
	run -1 strata ctl spawn policy=- shell=true
	[[ $output == *"'policy' must be a path: the socket has no other input"* ]]
}

@test "with a policy that cannot be read the agent is not started" {
	echo '{"preset": "offline", "fs": {"allow_raed": []}}' >bad.json
	run -125 strata supervise --policy bad.json -- touch /started
	[[ $output == *"bad.json: fs.allow_raed: no such key; the nearest is 'fs.allow_read' (line 1, column "* ]]
	run -125 strata supervise --policy missing.json -- touch /started
	[[ $output == *"missing.json"* ]]
	run -125 strata supervise --policy . -- touch /started
	run -125 strata supervise --policy policy.json --denials missing/denials -- touch /started
	[[ $output == *"--denials: no file 'missing/denials'"* ]]
	run -2 strata supervise --denials denials.jsonl -- touch /started
	[[ $output == *"--denials goes with --policy"* ]]
	run -1 in_env test -e /started
	is "$(strata log --json | jq '.nodes | length')" 1
}

@test "a look at what may not be read is told with the number of the process inside" {
	[ -w /dev/fuse ] || { need_root && unavailable "no /dev/fuse"; }
	strata supervise --policy policy.json --denials denials.jsonl -- sh -c 'echo $$ >/tmp/pid; exec cat /root/.ssh/id_rsa' || true
	is "$(jq -c 'select(.what == "read") | [.path, .pid]' denials.jsonl)" "[\"/root/.ssh/id_rsa\",$(strata cat HEAD:tmp/pid)]"
}
