# A static program tries each way out of the sandbox with raw system calls.  Each attempt must
# succeed outside and fail in the sandbox.  Otherwise the test would prove nothing.
load helpers
load history
load rootfs

setup() {
	strata_setup
	mini_rootfs src
	cp "$TOOLS/escape-static" src/escape
}

teardown() {
	[ -z "${listener:-}" ] || kill "$listener" 2>/dev/null || true
	strata checkout HEAD >/dev/null 2>&1 || true
	umount disk 2>/dev/null || true
	strata_teardown
}

# attempts: print the output of escape without attempts that this machine does not support.
attempts() { grep -v ': ENOSYS$' || true; }

# ------------------------------------------------------------ abstract sockets

# listening COMMAND...: run a command in the background until the test ends, and wait until it is
# ready.
listening() {
	"$@" >ready 3>&- &
	listener=$!
	for ((i = 0; i < 500; i++)); do
		! grep -q ready ready || return 0
		sleep 0.02
	done
	return 1
}

@test "abstract sockets of the machine are out of reach with its network, unless they are asked for" {
	strata doctor --json | jq -e '.checks[] | select(.name == "socket_scopes") | .ok' >/dev/null ||
		unavailable "no scopes for sockets"
	begin
	listening "$TOOLS/escape-static" listen "strata-$$"
	run -1 "$TOOLS/escape-static" abstract "strata-$$"
	is "$(grep -c "done" <<<"$output")" 4
	run -0 strata exec -- /escape abstract "strata-$$"
	is "$output" $'connect: EPERM\nsendto: EPERM\nsendmsg: EPERM\nconnect of datagrams: EPERM'
	run -1 strata exec --host-sockets -- /escape abstract "strata-$$"
	is "$(grep -c "done" <<<"$output")" 4
	# A descendant in namespaces of its own has the same limits.
	if unshare -Ur true 2>/dev/null; then
		run -0 strata exec -- unshare -U -r /escape abstract "strata-$$"
	fi
	# With --trace the command is started in another way.
	run -0 --separate-stderr strata exec --trace -- /escape abstract "strata-$$"
	is "$(grep -c EPERM <<<"$output")" 4
	fails 2 "strata: --host-sockets needs the machine's network: not with --net none" \
		strata exec --host-sockets --net none -- true
}

@test "commands of one workspace reach each other: sockets, signals, debuggers" {
	begin
	strata exec --no-commit -- sh -c '/escape listen inside >/ready 2>&1 & while ! grep -q ready /ready; do usleep 10000; done'
	run -1 strata exec -q -- /escape abstract inside
	is "$(grep -c "done" <<<"$output")" 4
	# This needs the right to debug other processes.
	strata exec -q -- sh -ec 'pid=$(pidof escape); ls -l /proc/$pid/fd /proc/$pid/exe >/dev/null; kill -9 $pid'
}

@test "what runs has the machine's sockets or not, and says so to those who want the other" {
	strata doctor --json | jq -e '.checks[] | select(.name == "socket_scopes") | .ok' >/dev/null ||
		unavailable "no scopes for sockets"
	begin
	strata exec --no-commit -- sh -c 'sleep 1000 >/dev/null 2>&1 &'
	fails 125 "strata: programs in workspace 'main' do not have the machine's sockets
hint: end them first, or give no --host-sockets" strata exec --host-sockets -- true
	strata exec -- true
	strata checkout HEAD >/dev/null
	strata exec --no-commit --host-sockets -- sh -c 'sleep 1000 >/dev/null 2>&1 &'
	fails 125 "strata: programs in workspace 'main' have the machine's sockets
hint: end them first, or give this command, too, --host-sockets" strata exec -- true
	strata exec --host-sockets -- true
}

# ---------------------------------------------------------------------- vsock

@test "without a network there are no sockets to the hypervisor" {
	begin
	"$TOOLS/escape-static" vsock | attempts | sed 's/:.*//' >outside || true
	grep -q '^socket$' outside || unavailable "no AF_VSOCK"
	run -0 strata exec --net none -- /escape vsock
	[[ $output != *done* ]]
	[[ $output == *$'socket: EAFNOSUPPORT\n'* ]]
	is "$(attempts <<<"$output" | grep -v ': EAFNOSUPPORT$')" ""
	# Other sockets still work, also between processes.
	strata exec --net none -- sh -ec 'nc -l -p 7 -e echo hello & sleep 0.3; nc 127.0.0.1 7' | grep -x hello
	# With the machine's network, all attempts are possible.
	run -1 strata exec -- /escape vsock
	is "$(grep -c "done" <<<"$output")" "$(wc -l <outside)"
}

@test "what is refused inside is refused in nested namespaces, which can still be made" {
	need_userns
	begin
	run -0 strata exec --net none -- unshare -U -r -n /escape vsock
	[[ $output != *done* ]]
	is "$(strata exec --net none -- unshare -U -r -m -p -f sh -c 'echo $$')" 1
}

# ---------------------------------------------------------------------- btrfs

btrfs_disk() {
	need_root
	need mkfs.btrfs btrfs
	truncate -s 300M disk.img
	mkfs.btrfs -q disk.img
	mkdir disk
	mount -o loop,user_subvol_rm_allowed disk.img disk || unavailable "no loop devices"
	export STRATA_ROOT=$PWD/disk/env
	strata init --from src "$@" >/dev/null
	btrfs -q subvolume create disk/precious
	touch disk/precious/kept
	precious=$(btrfs inspect-internal rootid disk/precious)
}

# refused ERROR ATTEMPT...: in the sandbox, all of these attempts are refused.
refused() {
	run -0 strata exec --no-commit -- /escape "${@:2}"
	[ "$(grep -c ": $1\$" <<<"$output")" -ge 1 ]
	[[ $output != *done* ]]
	is "$(attempts <<<"$output" | grep -v ": $1\$")" ""
}

@test "the inside of a subvolume destroys no subvolume by its number" {
	btrfs_disk --backend btrfs
	refused ENOTTY destroy "$precious"
	[ -e disk/precious/kept ]
	# The same program succeeds outside.
	"$TOOLS/escape-static" destroy "$precious" disk | grep -x 'ioctl: done'
	[ ! -e disk/precious ]
}

@test "a plain tree on btrfs destroys none either" {
	btrfs_disk --backend copy
	refused ENOTTY destroy "$precious"
	[ -e disk/precious/kept ]
}

@test "the inside cannot make its own root read-only" {
	btrfs_disk --backend btrfs
	refused EPERM readonly /
	do_in 'echo new >/root/new'
	strata checkout HEAD~1 >/dev/null
	[ ! -e disk/env/work/main/root/new ]
}

@test "a live tree that was made read-only from outside is rolled back" {
	btrfs_disk --backend btrfs
	do_in 'echo new >/root/new'
	"$TOOLS/escape-static" readonly disk/env/work/main | grep -x 'ioctl: done'
	run ! touch disk/env/work/main/x
	strata checkout HEAD~1 >/dev/null
	[ ! -e disk/env/work/main/root/new ]
	do_in 'echo again >/root/new'
	strata fork other >/dev/null
	"$TOOLS/escape-static" readonly disk/env/work/other >/dev/null || true
	strata workspaces delete other >/dev/null
	[ ! -e disk/env/work/other ]
}
