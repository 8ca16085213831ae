# userns-root: uid 0 of a user namespace, as in containers without privileges.
#
# There are two kinds: a namespace with one id (unshare -Ur), and one with a range of ids (rootless
# podman).  If an ordinary user runs these tests, the ids are those of that user.  If root runs
# them, the one id is that of the machine's root, and the range belongs to no user.
load helpers
load history
load rootfs
load owner

FIRST_ID=1000000000 # first id of the range that root provides
FEW_IDS=65536

setup() {
	strata_setup
	need_userns
	need nsenter setpriv
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR/.." "$BATS_TEST_TMPDIR"
	ns=()
	keeper=
	owner=
	mini_rootfs src
	cp "$TOOLS/treewalk-static" src/treewalk
	mkdir src/srv
}

teardown() {
	[ -z "$owner" ] || kill -KILL "$owner" 2>/dev/null || true
	strata checkout HEAD >/dev/null 2>&1 || true
	strata_teardown
	[ -z "$keeper" ] || kill -KILL "$keeper" 2>/dev/null || true
}

# keep COMMAND...: start a process in the namespace that COMMAND makes, which keeps the namespace
# alive.
keep() {
	"$@" sh -c 'echo >kept; exec sleep 1000' >/dev/null 2>&1 3>&- &
	keeper=$!
	disown $keeper
	wait_for test -e kept
}

# be KIND: from now on strata is run by root of a user namespace, 'alone' or with a 'range' of ids.
be() {
	local map
	kind=$1
	if [ "$kind" = alone ]; then
		keep unshare --user --map-root-user
	elif [ "$(command id -u)" != 0 ]; then
		has_subids || unavailable "not root"
		keep unshare --user --map-auto --map-root-user
	else
		keep unshare --user
		for map in uid_map gid_map; do echo "0 $2 $FEW_IDS" >"/proc/$keeper/$map"; done
		chown "$2:$2" env home src out .
	fi
	ns=(nsenter --target "$keeper" --user)
	# With one id, this process already has it.
	if [ "$kind" = alone ]; then ns+=(--preserve-credentials); else ns+=(--setuid 0 --setgid 0); fi
}

strata() { "${ns[@]}" "$STRATA" "$@"; }

# right: programs in the sandbox see the tree of HEAD, and nothing differs from HEAD.
right() {
	seen >seen.now
	is "$(strata status --json | jq -c '[.dirty, .dirty_paths]')" '[0,[]]'
}
at() { # NODE NAME
	strata checkout "$1" >/dev/null
	right
	diff "seen.$2" seen.now
}

FAR='mkdir /far; i=0; while [ $i -lt 500 ]; do echo $i >/far/$i; i=$((i + 1)); done; rm -r /usr/lib/sub'

history_of() { # KIND
	be "$1" $FIRST_ID
	strata init --from src >init.out
	first=$(strata head)
	right
	mv seen.now seen.first
	do_in 'echo 1 >/srv/a; mv /etc/group /etc/groups; ln /srv/a /srv/b'
	[ "$kind" = alone ] || do_in 'mkdir -m 700 /srv/theirs; echo x >/srv/theirs/x; chown -R 33:8 /srv/theirs'
	near=$(strata head)
	right
	mv seen.now seen.near
	strata checkout "$first" >/dev/null
	do_in "$FAR"
	far=$(strata head)
	right
	mv seen.now seen.far
	in_env sh -c 'echo hand >/srv/hand'
	strata commit -m 'by hand' >/dev/null
	is "$(strata cat HEAD:srv/hand)" hand
	at "$near" near
	at "$far" far
	at "$first" first
	strata undo >/dev/null
	right
	diff seen.far seen.now
	strata redo >/dev/null
	right
	diff seen.first seen.now
	# Make forks, run a tournament between them, and then remove the forks that are not needed.
	strata fork --count 2 try "$near" >/dev/null
	strata -w try1 exec -q -- sh -ec 'echo 1 >/srv/try'
	is "$(strata -w try2 exec --no-commit -- sh -c 'cat /srv/a; ls /srv/try 2>/dev/null')" 1
	strata tournament --test 'test -e /srv/won' -- 'touch /srv/won' 'false' >/dev/null
	strata ls HEAD:srv/won >/dev/null
	for w in try1 try2; do strata workspaces delete $w >/dev/null; done
	strata checkout "$first" >/dev/null
	strata delete "$far" >/dev/null
	strata gc >/dev/null
	is "$(strata du --json | jq '.total > 0')" true
	at "$near" near
	strata fsck >/dev/null
	strata destroy --yes >/dev/null
	[ ! -e env ]
}
@test "one id: history, forks, a tournament, gc, destroy" { history_of alone; }
@test "a range of ids: history, forks, a tournament, gc, destroy" { history_of range; }

commands_of() { # KIND
	be "$1" $FIRST_ID
	is "$(strata doctor --json | jq -c '.checks[] | select(.name == "overlay") | [.ok, (.detail | contains("not "))]')" '[true,false]'
	strata init --from src >/dev/null
	is "$(in_env id -u)" 0
	if [ "$kind" = range ]; then
		is "$(strata exec --no-commit --user 33 -- id -u)" 33
	else
		run -125 --separate-stderr strata exec --user 33 -- id -u
		[[ $stderr == *"the sandbox has no id 33"* ]]
	fi
	is "$(strata exec --no-commit --net none -- ls /sys/class/net)" lo
	# Use files of the machine.
	echo given >out/given
	is "$(strata exec --no-commit --bind "$PWD/out:/srv:ro" -- sh -c 'cat /srv/given; touch /srv/no 2>/dev/null || echo refused')" \
		$'given\nrefused'
	[ "$kind" = alone ] || chown $FIRST_ID out 2>/dev/null || true
	strata exec --no-commit --bind "$PWD/out:/srv" -- sh -c 'echo back >/srv/back'
	is "$(cat out/back)" back
	strata cp out/given work:/root/copy >/dev/null
	is "$(in_env cat /root/copy)" given
	"${ns[@]}" "$STRATA" cp work:/root/copy home/copy >/dev/null
	is "$(cat home/copy)" given
	# Leave a program running after its command, and start a shell.
	strata exec -q -- sh -c 'sleep 1000 >/dev/null 2>&1 & echo 1 >/root/running'
	is "$(strata ps --json | jq -c '[.processes[].argv]')" '[["sleep","1000"]]'
	is "$(in_env cat /root/running)" 1
	strata checkout HEAD >/dev/null
	is "$(strata ps --json | jq -c .processes)" '[]'
	run -0 "$BATS_TEST_DIRNAME/../tools/terminal.py" "${ns[@]}" "$STRATA" shell <<-'END'
		type echo $((6 * 7)) >/root/shell; tty\n
		expect /dev/pts/
		type exit\n
	END
	is "$(strata cat HEAD:root/shell)" 42
}
@test "one id: commands, binds, copies, a shell" { commands_of alone; }
@test "a range of ids: commands, binds, copies, a shell" { commands_of range; }

traces_of() { # KIND
	be "$1" $FIRST_ID
	"${ns[@]}" sh -ec 'cd home; mkdir d; echo one >d/one; echo two >d/two'
	walk home/d --content >before.walk
	for engine in notify ptrace; do
		"${ns[@]}" "$STRATA" trace --engine $engine --snapshot-dir "$PWD/home/$engine" -- \
			sh -ec 'cd home; cat d/one >d/three; echo more >>d/two; rm d/one'
		strata trace verify home/$engine >/dev/null
		is "$(strata trace cat home/$engine before "$PWD/home/d/two")" two
		strata trace restore home/$engine --before >/dev/null
		diff <(grep -v '^\. ' before.walk) <(walk home/d --content | grep -v '^\. ')
	done
	strata init --from src >/dev/null
	strata exec -q --trace -- sh -c 'cat /usr/lib/one >/root/copy'
	strata show HEAD --json | jq -e .trace >/dev/null
}
@test "one id: trace" { traces_of alone; }
@test "a range of ids: trace" { traces_of range; }

start_owner() { # ARGUMENT of strata...
	"${ns[@]}" "$STRATA" "$@" >owner.out 2>owner.err </dev/null 3>&- &
	owner=$!
	wait_for answers
}
has_done() { [ "$(strata ls HEAD:done --json 2>/dev/null | jq '.entries | length')" -ge "$1" ] 2>/dev/null; }
said() { grep -qF "$1" owner.out; }

owners_of() { # KIND
	be "$1" $FIRST_ID
	strata init --from src >/dev/null
	first=$(strata head)
	start_owner daemon
	strata exec -q -- sh -c 'echo 1 >/root/file'
	is "$(strata cat HEAD:root/file)" 1
	strata checkout "$first" >/dev/null
	run ! in_env cat /root/file
	disown_env
	start_owner supervise -- sh -c 'echo "agent: $(ls /done 2>/dev/null | wc -l) done"; mkdir -p /done
		while :; do touch "/done/$(ls /done | wc -l)"; usleep 100000; done'
	wait_for has_done 2
	strata tag good >/dev/null
	strata exec -q -- rm -rf /bin/sh /done
	strata checkout good >/dev/null
	wait_for said "agent: $(strata ls good:done --json | jq '.entries | length') done"
	kill -TERM "$owner"
	wait "$owner" || true
	owner=
	strata checkout good >/dev/null
	right
}
@test "one id: daemon and supervise" { owners_of alone; }
@test "a range of ids: daemon and supervise" { owners_of range; }

# ------------------------------------------------------------ owners of the ids

@test "files of several owners are not for who has one id" {
	[ "$(command id -u)" = 0 ] || has_subids || unavailable "not root"
	strata init --from src >/dev/null
	do_in 'echo 1 >/root/theirs; chown 33 /root/theirs'
	be alone
	for command in status 'exec -- touch /root/x' 'checkout HEAD~1' 'fork other'; do
		# shellcheck disable=SC2086 # words
		run ! --separate-stderr strata $command
		[[ $stderr == *"files of this environment have several owners"* ]]
	done
	strata log >/dev/null
	ns=()
	right
}

@test "who lent the ids uses the environment outside, too" {
	[ "$(command id -u)" != 0 ] || skip "not root" # root has other ids there
	be range
	strata init --from src >/dev/null
	do_in 'echo 1 >/root/theirs; chown 33:8 /root/theirs'
	right
	mv seen.now seen.there
	ns=()
	right
	diff seen.there seen.now
	do_in 'echo 2 >>/root/theirs; chown 34 /root/theirs'
	right
	mv seen.now seen.here
	ns=(nsenter --target "$keeper" --user --setuid 0 --setgid 0)
	right
	diff seen.here seen.now
	# The program was started on the other side.  The holder starts commands for both sides.
	strata exec -q -- sh -c 'sleep 1000 >/dev/null 2>&1 &'
	(ns=(); in_env cat /root/theirs; strata checkout HEAD) >/dev/null
	(ns=(); strata exec -q -- sh -c 'sleep 1000 >/dev/null 2>&1 &')
	strata exec -q -- sh -c 'echo 3 >>/root/theirs'
	is "$(strata cat HEAD:root/theirs)" $'1\n2\n3'
	strata checkout HEAD >/dev/null
	in_env true
}

@test "root inside that is root of the machine can mount nothing" {
	need_root
	for kind in alone range; do
		rm -f kept
		be $kind 0
		strata init --from src >/dev/null
		run -0 --separate-stderr strata exec --no-commit -- sh -c '
			for type in cgroup2 sysfs proc tmpfs; do mount -t $type none /srv 2>/dev/null && echo $type; done
			value=$(cat /proc/sys/vm/overcommit_memory)
			echo $value 2>/dev/null >/proc/sys/vm/overcommit_memory && echo sysctl
			:'
		is "$output" ""
		[[ $stderr == *"root inside is root of the machine, so that it can mount nothing: this user namespace has no ids to give away"* ]]
		strata destroy --yes >/dev/null
		mkdir env
		kill -KILL "$keeper"
	done
}

@test "root inside that is somebody else makes sandboxes with a /proc of their own" {
	local kinds=(alone range)
	[ "$(command id -u)" != 0 ] || kinds=(range)
	[ "$(command id -u)" = 0 ] || has_subids || kinds=(alone)
	for kind in "${kinds[@]}"; do
		rm -f kept
		be $kind $FIRST_ID
		strata init --from src >/dev/null
		run -0 --separate-stderr in_env unshare -m -p -f sh -c 'mount -t proc proc /proc; echo $$; ls -d /proc/[0-9]*'
		is "$output" $'1\n/proc/1'
		is "$stderr" ""
		strata destroy --yes >/dev/null
		mkdir env
		kill -KILL "$keeper"
	done
}
