# hostile: unusual trees, places, callers and disks.  A command works, or fails with a message that
# gives the reason.  No file outside the environment changes, and earlier files still exist.
load helpers
load history
load rootfs

setup() {
	strata_setup
	need busybox
	tiny_rootfs src
	# No test may change this directory.  Links that lead out of a tree lead here.
	mkdir canary canary/pts canary/shm canary/net
	echo untouched >canary/file
	echo evil:x:0:0::/:/bin/sh >canary/passwd
	echo nameserver 192.0.2.9 >canary/resolv.conf
	: >canary/null
	outside >outside.before
}

teardown() {
	[ -z "${mark:-}" ] || end_marked
	for place in "$BATS_TEST_TMPDIR"/disk*; do
		! mountpoint -q "$place" || umount -l "$place"
	done
	strata_teardown
}

# tiny_rootfs DIR: make the smallest tree in which programs run.  It is made once and then copied.
tiny_rootfs() {
	local made=$BATS_FILE_TMPDIR/tiny
	if [ ! -e "$made" ]; then
		rm -rf "$made.new"
		make_tiny_rootfs "$made.new" && mv "$made.new" "$made" || return 1
	fi
	cp -a "$made/." "$1"
}
make_tiny_rootfs() {
	mkdir -p "$1"/{bin,etc,root,tmp,proc,sys,dev}
	cp "$(command -v busybox)" "$1/bin/busybox"
	for name in sh cat echo ls sleep true false yes env dd mkdir rm mv wc head id test touch ln md5sum pwd; do
		ln -s busybox "$1/bin/$name"
	done
	echo root:x:0:0:root:/root:/bin/sh >"$1/etc/passwd"
	echo root:x:0: >"$1/etc/group"
}

# Ends jobs that have the number of this run as argument, and their holders, wherever they are.
end_marked() {
	local holder
	for holder in $(holder_of "$mark"); do
		kill -KILL "$holder" 2>/dev/null || true
	done
}

# outside: print the content of the canary, and the mounts that could be visible from here.
outside() {
	find "$BATS_TEST_TMPDIR/canary" -printf '%p %i %m %u %g %s %T@ %C@\n' | sort
	cut -d ' ' -f 4- /proc/self/mountinfo | grep -F "$BATS_TEST_TMPDIR" || true
}
untouched() { outside | diff outside.before -; }

# Checks that the environment is undamaged and works.
sound() {
	strata fsck >fsck.txt || { cat fsck.txt; return 1; }
	is "$(in_env echo works)" works
}

# again BACKEND: make a new environment from src.
again() {
	strata_forget
	strata init --from src --backend "$1" >/dev/null
}
strata_forget() {
	with_ids chmod -R u+rwX env
	discard env
	mkdir env
}

# Checks after 'run' that the status is 0, or 125 with one clear message.
works_or_says_why() {
	[ "$status" != 0 ] || return 0
	[ "$status" = 125 ] && [[ ${stderr_lines[0]} == "strata: "* ]] && [ ${#stderr_lines[@]} -le 2 ]
}

# --------------------------------------------------------------------- trees

# odd SCRIPT...: run a script that makes trees with unusual properties.
odd() {
	local script backend
	cp -a src plain
	for script; do
		for backend in overlay copy; do
			chmod -R u+rwX src
			rm -rf src
			cp -a plain src
			(cd src && eval "$script")
			echo "$backend: $script"
			again $backend
			run --separate-stderr timeout 20 "$STRATA" exec -- /bin/busybox sh -c \
				'echo ran; echo 1 >/new; for f in /etc/file /dev/file /proc/file /sys/file; do echo bad >$f; done 2>/new.err; true'
			works_or_says_why
			[ "$status" != 0 ] || is "$output" ran
			run --separate-stderr timeout 20 "$STRATA" exec --user evil -- /bin/busybox id
			[ "$status" = 125 ]
			[[ ${stderr_lines[0]} == "strata: "* ]]
			strata fsck >/dev/null
			untouched
		done
	done
}

@test "/etc, /proc, /dev or /sys is a link that leads outside" {
	odd "for d in etc proc dev sys; do rm -r \$d; ln -s '$PWD/canary' \$d; done" \
		"rm -r etc; ln -s '../../../../../../../../..$PWD/canary' etc" \
		"rm -r proc; ln -s '../../../../../../../../..$PWD/canary' proc" \
		"rm -r dev; ln -s '../../../../../../../../..$PWD/canary' dev"
}

@test "/etc, /proc, /dev or /sys is a file, a link to itself, or missing" {
	odd 'rm -r etc; echo file >etc' 'rm -r proc; echo file >proc' 'rm -r dev; echo file >dev' 'rm -r sys; ln -s sys sys' \
		'rm -r etc proc dev sys root tmp'
}

@test "/etc/resolv.conf is a link that leads outside, a directory or a pipe" {
	odd "ln -s '$PWD/canary/resolv.conf' etc/resolv.conf" \
		"ln -s '../../../../../../../../../..$PWD/canary/resolv.conf' etc/resolv.conf" \
		'mkdir etc/resolv.conf' 'mkfifo etc/resolv.conf'
}

@test "/etc/passwd is a link that leads outside, a pipe, a directory, endless" {
	odd "rm etc/passwd; ln -s '$PWD/canary/passwd' etc/passwd" \
		"rm etc/passwd; ln -s '../../../../../../../../../..$PWD/canary/passwd' etc/passwd" \
		'rm etc/passwd; mkfifo etc/passwd' 'rm etc/passwd; mkdir etc/passwd' 'rm etc/passwd; ln -s /dev/zero etc/passwd'
}

@test "what a tree lacks is said" {
	rm -r src/dev src/proc
	echo file >src/dev
	echo file >src/proc
	begin --backend overlay
	# The message comes from exec itself, or from status while exec runs.
	"$STRATA" exec --no-commit -- sh -c 'echo 1 >/root/ready; sleep 1000' 2>err.txt 3>&- &
	for _ in {1..100}; do
		[ "$(strata status --json | jq .dirty)" = 0 ] || break
		sleep 0.05
	done
	is "$(strata workspaces --json | jq '.workspaces[0].running')" true
	strata status --json | jq -r '.degraded[]' >>err.txt
	strata checkout HEAD >/dev/null
	wait || true
	grep /proc err.txt
	grep /dev err.txt
}

@test "a tree without a /proc to mount: changes are still committed" {
	rm -r src/proc
	echo file >src/proc
	begin --backend overlay
	for i in {1..8}; do
		strata exec -q -- sh -c "echo $i >/root/file"
		is "$(strata cat HEAD:root/file)" $i
	done
	strata exec -q -- sh -c 'sleep 1000 >/dev/null 2>&1 </dev/null & echo 9 >/root/file'
	is "$(strata cat HEAD:root/file)" 9
	strata checkout HEAD >/dev/null
}

@test "names of every kind in the live tree" {
	begin --backend overlay
	first=$(strata head)
	long=$(printf '%0255d' 0)
	mkdir names
	: >"names/$long"
	: >$'names/new\nline'
	: >$'names/\xff\xfe\x80'
	: >'names/ spaces, commas: colons "quotes" \back\slash\012'
	: >'names/-rf'
	: >'names/*'
	mkdir 'names/.wh.gone' $'names/\t'
	# The names are made in the sandbox, from bytes of standard input.
	tar -C names -cf - . | strata exec -q -- /bin/busybox tar -xf - -C /root
	in_env /bin/busybox tar -C /root -cf - . | tar -tf - --quoting-style=escape | sort >got
	tar -C names -cf - . | tar -tf - --quoting-style=escape | sort | diff - got
	strata checkout "$first" >/dev/null
	is "$(in_env ls -A /root)" ""
	strata undo >/dev/null
	in_env /bin/busybox tar -C /root -cf - . | tar -tf - --quoting-style=escape | sort | diff got -
	# All names are removed again, one by one, through the overlay.
	do_in 'cd /root; for f in * .wh*; do rm -r -- "$f"; done'
	is "$(in_env ls -A /root)" ""
	strata undo >/dev/null
	in_env /bin/busybox tar -C /root -cf - . | tar -tf - --quoting-style=escape | sort | diff got -
	clean
}

@test "what overlays mean by special entries is not taken for it" {
	begin --backend overlay
	do_in 'mkdir /root/d; echo 1 >/root/d/f'
	first=$(strata head)
	# A program may set the marks of its own overlays.
	if [ "$(id -u)" = 0 ]; then
		in_env /bin/busybox mknod /root/white c 0 0 || true
	fi
	run in_env /bin/busybox sh -c 'echo new >/root/d/g; rm /root/d/f; mkdir /root/e; echo x >/root/e/x'
	strata commit >/dev/null
	is "$(strata ls HEAD:root/d --json | jq -r '.entries[].name')" g
	strata checkout "$first" >/dev/null
	is "$(in_env cat /root/d/f)" 1
	clean
}

# ------------------------------------------------------------------- programs

# Programs in the sandbox try this even as root of a machine on which they are not root.
@test "the machine's control groups are out of reach" {
	begin --backend overlay
	group=canary-strata-$SRANDOM
	hierarchy=$(sed -nE 's!^[^ ]+ [^ ]+ [^ ]+ / ([^ ]+) .* - cgroup2 .*!\1!p' /proc/self/mountinfo | head -n 1)
	if [ "$(id -u)" = 0 ] && [ -n "$hierarchy" ]; then mkdir "$hierarchy/$group"; fi
	in_env /bin/busybox sh -c '
		mkdir -p /tmp/m
		for what in "cgroup2" "cgroup -o pids" "cgroup -o freezer" "cgroup -o devices" "cgroup -o none,name=systemd"; do
			/bin/busybox mount -t $what none /tmp/m 2>/dev/null || continue
			[ ! -e "/tmp/m/'$group'" ] || echo "sees them: $what"
			! /bin/busybox mkdir /tmp/m/'$group'-new 2>/dev/null || echo "makes one: $what"
			/bin/busybox umount /tmp/m
		done' >said
	if [ "$(id -u)" = 0 ]; then
		find /sys/fs/cgroup -maxdepth 3 -name "$group-new" >made
		[ -z "$hierarchy" ] || rmdir "$hierarchy/$group"
		while read -r place; do rmdir "$place"; done <made
		is "$(cat made)" ""
	fi
	! grep 'sees them' said
}

@test "mounts of the sandbox cannot be taken away or made writable from inside" {
	begin --backend overlay
	in_env /bin/busybox sh -c '
		for place in /proc /sys /dev /dev/null /dev/pts /etc/resolv.conf /proc/sys; do
			! /bin/busybox umount -l $place || echo "$place: umount"
		done
		for place in /sys /proc/sys /dev/null /etc/resolv.conf; do
			! /bin/busybox mount -o remount,rw,bind $place || echo "$place: remount"
		done
		! /bin/busybox chmod 0 /dev/null || echo chmod
		! /bin/busybox mknod /tmp/disk b 8 0 || echo mknod
		! echo 1 >/proc/sys/kernel/core_uses_pid || echo sysctl
		! cat /proc/1/environ /proc/1/maps || echo holder
		! ls /proc/1/root/ /proc/1/cwd/ || echo root
		! /bin/busybox nsenter -t 1 -m true || echo nsenter
		mkdir -p /tmp/m
		if /bin/busybox mount -t sysfs none /tmp/m; then echo x >/tmp/m/power/state && echo sysfs; fi
		/bin/busybox kill -9 1
		/bin/busybox kill -STOP 1
		echo end' >said 2>/dev/null || true
	is "$(cat said)" end
	untouched
	sound
}

@test "a later command has to do with the jobs of an earlier one" {
	begin --backend overlay
	strata exec --no-commit -- sh -c 'sleep 1000 </dev/null >/dev/null 2>&1 & echo $! >/tmp/pid'
	in_env sh -ec 'p=$(cat /tmp/pid); /bin/busybox readlink /proc/$p/exe; /bin/busybox readlink /proc/$p/cwd; cat /proc/$p/environ >/dev/null' >said
	is "$(cat said)" $'/bin/busybox\n/'
	in_env sh -c '/bin/busybox kill $(cat /tmp/pid)'
	strata checkout HEAD >/dev/null
}

# -------------------------------------------------------------------- places

# at PLACE: an environment at PLACE works like any other.
at() {
	export STRATA_ROOT=$1
	echo "at ${1:0:60} (${#1} bytes)"
	mkdir -p "$STRATA_ROOT"
	strata init --from src --backend "${2:-overlay}" >/dev/null
	do_in 'echo 1 >/root/file; rm /bin/yes'
	strata exec --no-commit -- sh -c 'sleep 1000 </dev/null >/dev/null 2>&1 &'
	in_env test -e /root/file
	is "$(strata status --json | jq '.processes | length')" 1
	strata commit >/dev/null
	strata fork other >/dev/null
	is "$(strata -w other exec -- cat /root/file)" 1
	strata checkout HEAD~1 >/dev/null
	in_env test ! -e /root/file -a -e /bin/yes
	strata undo >/dev/null
	is "$(in_env cat /root/file)" 1
	strata workspaces delete other >/dev/null
	clean
	discard "$STRATA_ROOT"
}

@test "an environment whose path has blanks, colons, commas, quotes, line breaks" {
	for name in 'with space' 'co:lon' 'com,ma' "quo'te\"s" $'new\nline' 'back\slash' 'a,upperdir=b:c' '%s%n' $'\xff\xfe' '-dash'; do
		at "$BATS_TEST_TMPDIR/$name"
	done
	untouched
}

@test "a directory used in place whose path has all that" {
	for name in 'with space' 'co:lon' 'com,ma' "quo'te\"s" $'new\nline' 'back\slash' 'a,upperdir=b:c'; do
		cp -a src "$name"
		walk "$name" --content >in-place.before
		strata_forget
		echo "in place: $name"
		strata init --from "$name" --in-place --backend overlay >/dev/null
		do_in 'echo 1 >/root/file; rm /bin/yes'
		is "$(in_env cat /root/file)" 1
		strata checkout HEAD~1 >/dev/null
		in_env test ! -e /root/file -a -e /bin/yes
		clean
		walk "$name" --content | diff in-place.before -
		rm -rf "$name"
	done
}

@test "an environment whose path is longer than a socket's" {
	long=$(printf '%0100d' 0)
	at "$BATS_TEST_TMPDIR/$long/env"
	at "$BATS_TEST_TMPDIR/$long/$long/$long/env"
	untouched
}

@test "an environment whose path is nearly as long as a path can be" {
	long=$(printf '%0250d' 0)
	path=$BATS_TEST_TMPDIR
	while [ ${#path} -lt 3600 ]; do path+=/$long; done
	mkdir -p "$path/env"
	export STRATA_ROOT=$path/env
	run --separate-stderr strata init --from src --backend overlay
	if [ "$status" = 0 ]; then
		do_in 'echo 1 >/root/file'
		is "$(in_env cat /root/file)" 1
		strata checkout HEAD~1 >/dev/null
		clean
	else
		[ "$status" = 1 ]
		[[ ${stderr_lines[0]} == "strata: "* ]]
	fi
}

@test "workspace names as long as they may be" {
	begin --backend overlay
	name=$(printf 'w%062d' 0)
	strata fork "$name" >/dev/null
	is "$(strata -w "$name" exec -- echo there)" there
	strata -w "$name" exec --no-commit -- sh -c 'sleep 1000 </dev/null >/dev/null 2>&1 &'
	strata -w "$name" exec -q -- touch /root/x
	is "$(strata -w "$name" status --json | jq '.processes | length')" 1
	strata workspaces delete "$name" >/dev/null
	run -2 strata fork "${name}x"
}

@test "an environment on tmpfs" {
	need_root
	mkdir disk
	mount -t tmpfs -o size=64m tmpfs disk
	outside >outside.before
	at "$PWD/disk/env" auto
	untouched
}

@test "an environment on overlayfs: the next backend, or why not" {
	need_root
	mkdir disk disk.lower disk.parts
	mount -t tmpfs tmpfs disk.parts
	mkdir disk.parts/{upper,work}
	mount -t overlay -o lowerdir=disk.lower,upperdir=disk.parts/upper,workdir=disk.parts/work overlay disk
	outside >outside.before
	export STRATA_ROOT=$PWD/disk/env
	run -1 --separate-stderr strata init --from src --backend overlay
	[[ ${stderr_lines[0]} == "strata: "*overlay* ]]
	rm -rf disk/env
	run -0 --separate-stderr strata init --from src
	[[ $output == *copy* ]]
	do_in 'echo 1 >/root/file'
	is "$(in_env cat /root/file)" 1
	strata checkout HEAD~1 >/dev/null
	in_env test ! -e /root/file
	clean
	untouched
}

@test "user namespaces are switched off: another backend, or what to do" {
	need_userns
	need setpriv
	export STRATA_ROOT=$PWD/env
	[ "$(id -u)" != 0 ] || chown -R 0:0 src env
	run -1 --separate-stderr without_userns "$STRATA" init --from src --backend overlay
	[[ ${stderr_lines[0]} == "strata: "*"user namespace"* ]]
	[[ $stderr == *max_user_namespaces* ]]
	strata_forget
	run -0 --separate-stderr without_userns "$STRATA" init --from src
	is "$(without_userns "$STRATA" status --json | jq -r .backend)" copy
	# The user has the rights of root, or needs a namespace first.
	for rights in "" "setpriv --bounding-set=-all --inh-caps=-all --"; do
		run -125 --separate-stderr without_userns $rights "$STRATA" exec -- true
		[[ ${stderr_lines[0]} == "strata: "*"/proc/sys/user/max_user_namespaces is 0" ]]
		[[ ${stderr_lines[1]} == "hint: "*"sysctl user.max_user_namespaces="* ]]
	done
	# Everything except running programs still works.
	echo 1 >env/work/main/root/file
	without_userns "$STRATA" commit >/dev/null
	is "$(strata cat HEAD:root/file)" 1
	strata fsck >/dev/null
}

@test "root of a user namespace" {
	need_userns
	inside() { unshare --user --map-root-user "$STRATA" "$@"; }
	chmod -R a+rX src
	inside init --from src >/dev/null
	inside exec -q -- sh -c 'echo 1 >/root/file'
	is "$(inside exec -- cat /root/file)" 1
	inside checkout HEAD~1 >/dev/null
	run ! inside exec -- cat /root/file
	inside fsck >/dev/null
	untouched
}

# If /proc is partly covered, as in containers, the kernel allows no new /proc.
@test "a masked /proc: changes are committed all the same" {
	need_root
	need setpriv
	prepare_nobody
	masked() {
		unshare --mount sh -ec 'mount --bind /dev/null /proc/keys; exec setpriv --reuid 65534 --regid 65534 --clear-groups -- "$@"' - "$STRATA" "$@"
	}
	masked init --from src --backend overlay >/dev/null
	run --separate-stderr masked exec -- true
	is "$status" 0
	for i in {1..8}; do
		masked exec -q -- sh -c "echo $i >/root/file"
		is "$(masked cat HEAD:root/file)" $i
	done
	masked exec -q -- sh -c 'sleep 1000 </dev/null >/dev/null 2>&1 & echo 9 >/root/file'
	is "$(masked cat HEAD:root/file)" 9
	masked checkout HEAD >/dev/null
}

# ----------------------------------------------------------------- full disks

full_disk() { # TYPE
	need_root
	mkdir disk
	case $1 in
	ext4)
		need mkfs.ext4
		truncate -s 24M disk.img
		mkfs.ext4 -q -m 0 disk.img
		mount -o loop disk.img disk || unavailable "no loop devices"
		;;
	tmpfs) mount -t tmpfs -o size=24m tmpfs disk ;;
	esac
	export STRATA_ROOT=$PWD/disk/env
	mkdir disk/env
	strata init --from src --backend overlay >/dev/null
	do_in 'mkdir /data; for i in 1 2 3 4 5 6; do dd if=/dev/urandom of=/data/$i bs=64k count=4 2>/dev/null; done'
	one=$(strata head)
	do_in 'for i in 1 2 3 4 5 6; do dd if=/dev/urandom of=/data/$i bs=64k count=4 2>/dev/null; done'
	two=$(strata head)
	in_env sh -c 'md5sum /data/*' >sums.two
	outside >outside.before
}

# fill LEFT: fill the disk, except LEFT KiB.
fill() {
	local left
	left=$(($(df --output=avail -k disk | tail -n 1) - $1))
	[ $left -le 0 ] || head -c "${left}K" /dev/zero >>disk/ballast || true
	[ "$1" != 0 ] || { cat /dev/zero >>disk/ballast; } 2>/dev/null || true
}
empty() { rm -f disk/ballast; }

# failed_well: the command has failed because it found no room, and reports this.
failed_well() {
	[ "$status" = 1 ] || [ "$status" = 125 ] || { echo "status $status: $output $stderr"; return 1; }
	[[ ${stderr_lines[*]} == *"strata: "* ]]
	[[ $stderr == *[Nn]"o space"* || $stderr == *full* ]] || { echo "$stderr"; return 1; }
}

no_room() { # TYPE
	full_disk "$1"
	# The program and the commit after it find no room.
	run --separate-stderr strata exec -- sh -c 'dd if=/dev/urandom of=/data/large bs=64k 2>/dev/null; exit 7'
	is "$status" 7
	strata fsck >/dev/null
	# Whatever state this has left, the space can be freed again.
	strata checkout "$two" >/dev/null || { strata exec --no-commit -- rm /data/large && strata checkout "$two" >/dev/null; }
	strata gc >/dev/null
	for left in 0 16 100 300; do
		echo "commit with $left KiB left"
		strata checkout "$two" >/dev/null
		in_env sh -c 'dd if=/dev/urandom of=/data/new bs=64k count=12 2>/dev/null'
		head=$(strata head)
		fill $left
		run --separate-stderr strata commit -m full
		[ "$status" = 0 ] || { failed_well; is "$(strata head)" "$head"; }
		strata fsck >/dev/null
		empty
		strata commit >/dev/null
		in_env sh -c 'md5sum /data/?' | diff sums.two -
		is "$(strata cat HEAD:data/new | wc -c)" $((12 * 65536))
	done
	for left in 0 16 100 600; do
		echo "checkout with $left KiB left"
		strata checkout "$two" >/dev/null
		in_env sh -c 'echo uncaptured >/root/work'
		rm -rf disk/env/layers/*
		fill $left
		run --separate-stderr strata checkout "$one"
		[ "$status" = 0 ] || { failed_well; is "$(strata log --json | jq '[.nodes[].id] | index("'"$two"'") != null')" true; }
		empty
		[ "$status" = 0 ] || {
			in_env sh -c 'md5sum /data/?' | diff sums.two -
			is "$(in_env cat /root/work)" uncaptured
		}
		sound
		strata checkout "$one" >/dev/null
		run ! in_env cat /root/work
		in_env sh -c 'md5sum /data/?' >sums
		run ! cmp -s sums sums.two
		strata checkout HEAD >/dev/null
		clean
	done
	for left in 0 8 100; do
		echo "fork with $left KiB left"
		fill $left
		run --separate-stderr strata fork --count 20 "f$left-"
		[ "$status" = 0 ] || failed_well
		empty
		if [ "$status" = 0 ]; then
			strata -w "f$left-20" exec -- true
		else
			is "$(strata workspaces --json | jq '.workspaces | length')" 1
			strata fork --count 20 "f$left-" >/dev/null
			strata -w "f$left-20" exec -- true
		fi
		for i in {1..20}; do strata workspaces delete "f$left-$i" >/dev/null; done
	done
	sound
	untouched
}

@test "a full disk: ext4" { no_room ext4; }

# The index of the database's log has pages of 4 KiB.  The test leaves room for one byte of each
# page.  The other blocks must not be found missing when they are used.
@test "a full disk with blocks smaller than pages kills nobody" {
	need_root
	need mkfs.ext4
	mkdir disk
	truncate -s 24M disk.img
	mkfs.ext4 -q -m 0 -b 1024 disk.img
	mount -o loop disk.img disk || unavailable "no loop devices"
	export STRATA_ROOT=$PWD/disk/env
	mkdir disk/env
	strata init --from src --backend overlay >/dev/null
	for round in 1 2 3; do
		fill 0
		run --separate-stderr strata fork --count 20 "f$round-"
		[ "$status" = 0 ] || failed_well
		fill 0
		for command in head log status; do
			run -0 --separate-stderr strata $command
		done
		empty
	done
	# The index is made where there is no room for it at all.
	rm disk/env/strata.db-shm
	fill 0
	run --separate-stderr strata head
	[ "$status" = 0 ] || failed_well
	empty
	clean
}
@test "a full disk: tmpfs" { no_room tmpfs; }

# rolled_back BACKEND: a rollback works with no free block, when work that no node contains has
# filled the disk.
rolled_back() {
	need_root
	need mkfs.ext4
	mkdir disk
	truncate -s 24M disk.img
	mkfs.ext4 -q -m 0 disk.img
	mount -o loop disk.img disk || unavailable "no loop devices"
	export STRATA_ROOT=$PWD/disk/env
	mkdir disk/env
	strata init --from src --backend "$1" >/dev/null
	case $1 in
	overlay) change() { in_env sh -ec "cd /; $1"; } ;;
	copy) change() { (cd disk/env/work/main && sh -ec "$1"); } ;;
	esac
	change 'mkdir data; echo 1 >data/1; head -c 300000 /dev/urandom >data/2; ln data/2 data/3'
	strata commit >/dev/null
	one=$(strata head)
	change 'echo 2 >data/1; rm data/3; echo kept >data/4'
	strata commit >/dev/null
	two=$(strata head)
	for target in "$two" "$one"; do
		change 'echo changed >data/1; mkdir -p new/er; rm data/4; cat /dev/urandom >new/er/large || :' 2>/dev/null
		cat /dev/zero >disk/ballast 2>/dev/null || true
		run --separate-stderr strata checkout "$target"
		failed_well
		[[ $stderr == *"hint: "*"--no-safety"* ]] || { echo "$stderr"; return 1; }
		is "$(strata head)" "$two"
		strata checkout --no-safety "$target" --json >said
		is "$(jq -c '[.head, .safety]' said)" "[\"$target\",null]"
		rm disk/ballast
		is "$(strata status --json | jq -c '[.head, .dirty]')" "[\"$target\",0]"
		strata export "$target" --format dir -o "want-$target" >/dev/null
		[ "$1" != copy ] || same_tree "want-$target" disk/env/work/main
		[ "$1" != overlay ] || diff <(cd "want-$target" && cat data/* && ls data .) <(change 'cat data/*; ls data .')
		sound
	done
	strata undo >/dev/null
	is "$(strata cat work:data/1)" 2
	umount disk
}

@test "on a full disk work can be given up: overlay" { rolled_back overlay; }
@test "on a full disk work can be given up: copy" { rolled_back copy; }

# fill_btrfs: fill the disk up to its last block.
fill_btrfs() {
	local i
	for ((i = 0; i < 3; i++)); do
		cat /dev/zero >>disk/ballast 2>/dev/null || true
		sync -f disk
	done
}

@test "on a Btrfs without a free block, work can be given up and gc gives room back" {
	need_root
	need mkfs.btrfs
	mini_rootfs src
	mkdir disk
	truncate -s 160M disk.img
	mkfs.btrfs -q disk.img
	mount -o loop disk.img disk || unavailable "no loop devices"
	export STRATA_ROOT=$PWD/disk/env
	strata init --from src --backend overlay >/dev/null
	in_env sh -c 'echo 1 >/one; head -c 3000000 /dev/urandom >/first'
	strata commit >/dev/null
	one=$(strata head)
	for round in 1 2; do
		in_env sh -c 'rm /one; cat /dev/urandom >/large || :' 2>/dev/null
		fill_btrfs
		run --separate-stderr strata checkout "$one"
		failed_well
		[[ $stderr == *"No space left"* ]]
		[ -e disk/env/reserve ]
		is "$(strata checkout --no-safety "$one" --json | jq -c '[.head, .safety]')" "[\"$one\",null]"
		rm disk/ballast
		is "$(strata status --json | jq .dirty)" 0
		is "$(strata cat work:one)" 1
		[ -e disk/env/reserve ]
	done
	strata exec -q -- sh -c 'head -c 20000000 /dev/urandom >/second'
	two=$(strata head)
	strata checkout "$one" >/dev/null
	strata delete "$two" >/dev/null
	fill_btrfs
	strata gc --json >said
	[ "$(jq .freed.bytes said)" -gt 15000000 ]
	rm disk/ballast
	sound
	# The maintenance of the layers may still be running in the background.
	for ((i = 0; i < 500; i++)); do
		! umount disk 2>/dev/null || return 0
		sleep 0.02
	done
	umount disk
}

# -------------------------------------------------------------------- callers

@test "two commands at once in one workspace" {
	begin --backend overlay
	for round in 1 2 3 4; do
		for i in 1 2; do
			strata exec -q -- sh -c "echo $round >/root/f$i; sleep 0.1; echo $round >/root/g$i" 3>&- &
			pids[i]=$!
		done
		wait "${pids[1]}"
		wait "${pids[2]}"
		is "$(in_env sh -c 'cat /root/f1 /root/f2 /root/g1 /root/g2' | sort -u)" $round
		clean
	done
}

@test "many commands at once in one workspace: none fails" {
	begin --backend overlay
	for i in {1..12}; do
		("$STRATA" exec -q -- sh -c "echo $i >/root/f$i" || echo "$i: $?" >>failed) 3>&- &
	done
	wait
	[ ! -e failed ] || { cat failed; return 1; }
	is "$(in_env ls /root | wc -l)" 12
	clean
}

@test "more commands at once than one expects" {
	begin --backend overlay
	mark=$((SRANDOM % 900000000 + 100000000))
	strata exec --no-commit -- sh -c "sleep $mark </dev/null >/dev/null 2>&1 &"
	for i in {1..70}; do
		(
			status=0
			"$STRATA" exec --no-commit -- sh -c "/bin/busybox usleep 2500000; echo $i >/root/f$i" 2>"err$i" || status=$?
			echo "$i $status" >>said
		) 3>&- &
	done
	sleep 1.5
	# All commands run in one sandbox.
	in_env echo joined
	wait
	# Each command has run, or has got the reason why not.
	while read -r i status; do
		case $status in
		0) is "$(in_env cat "/root/f$i")" "$i" ;;
		125) grep -q '^strata: ' "err$i" ;;
		*) echo "$i: $status"; cat "err$i"; return 1 ;;
		esac
	done <said
	is "$(wc -l <said)" 70
	is "$(strata status --json | jq '.processes | length')" 1
	strata checkout HEAD >/dev/null
	is "$(strata status --json | jq '.processes | length')" 0
	# No process is left in a sandbox that no command uses any more.
	is "$(grep -alsF -e "$mark" /proc/[0-9]*/cmdline)" ""
	clean
}

@test "twenty commands at once in twenty forks, again and again: each has its own, and the store is sound" {
	begin --backend overlay
	strata fork --count 20 f >/dev/null
	for round in 1 2 3 4; do
		for i in {1..20}; do
			(
				status=0
				"$STRATA" -w f$i exec -q -- sh -c "echo $round $i >/root/me; sleep 0.1; exit $i" || status=$?
				echo "$i $status" >>"said$round"
			) 3>&- &
		done
		wait
		for i in {1..20}; do
			grep -qx "$i $i" "said$round"
			is "$(strata cat "$(strata -w f$i head):root/me")" "$round $i"
		done
		strata fsck >fsck.txt || { cat fsck.txt; return 1; }
	done
	is "$(strata workspaces --json | jq -c '[.workspaces[] | select(.running)]')" '[]'
}

@test "standard input, output or error are closed" {
	begin --backend overlay
	is "$("$STRATA" exec -- sh -c 'cat; echo hi' <&- 2>/dev/null)" hi
	status=0
	"$STRATA" exec -q -- sh -c 'echo lost; echo 1 >/root/file; exit 3' >&- || status=$?
	is $status 3
	status=0
	"$STRATA" exec -q -- sh -c 'echo lost >&2; echo 2 >/root/file; exit 4' 2>&- || status=$?
	is $status 4
	status=0
	"$STRATA" exec -q -- sh -c 'echo lost; echo lost >&2; cat; echo 3 >/root/file; exit 5' <&- >&- 2>&- || status=$?
	is $status 5
	is "$(strata cat HEAD:root/file)" 3
	# Closed descriptors are not replaced by files of the outside.
	local look='exec 9>/root/links; for i in 0 1 2; do readlink /proc/$$/fd/$i | cat >&9; done'
	"$STRATA" exec -q -- sh -c "$look" <&-
	is "$(strata cat HEAD:root/links | head -1)" /dev/null
	"$STRATA" exec -q -- sh -c "$look" <&- >&- 2>&-
	is "$(strata cat HEAD:root/links)" $'/dev/null\n/dev/null\n/dev/null'
	# The output was written to no file of the environment.
	run ! grep -rqs lost env/strata.db env/run env/index
	for command in "status" "commit -m x" "checkout HEAD" "fork f1" "workspaces" "workspaces delete f1"; do
		"$STRATA" $command <&- >&- 2>&- || true
		sound
	done
}

@test "a command from a directory that was deleted" {
	begin --backend overlay
	mkdir gone
	(
		cd gone
		rmdir ../gone
		is "$("$STRATA" exec -- pwd)" /
		"$STRATA" exec -q -- touch /root/x
		"$STRATA" commit >/dev/null
		"$STRATA" checkout HEAD~1 >/dev/null
		"$STRATA" fork f >/dev/null
		"$STRATA" -w f exec -- true
	)
	sound
}

@test "the environment of the caller" {
	begin --backend overlay
	run -0 env -i "STRATA_ROOT=$STRATA_ROOT" "$STRATA" exec -- env
	[[ $'\n'$output$'\n' == *$'\nPATH='* ]]
	[[ $'\n'$output$'\n' == *$'\nHOME=/root\n'* ]]
	LD_PRELOAD='' LD_LIBRARY_PATH=/nowhere SHELLOPTS_X=1 TERM=$'odd\nterm' run -0 --separate-stderr strata exec -- sh -c 'echo "$TERM"; env'
	[[ $output == odd$'\n'term* ]]
	[[ $output != *LD_* ]]
	run -0 strata exec --env "LARGE=$(printf '%0100000d' 7)" -- sh -c 'echo ${#LARGE}'
	is "$output" 100000
	run -0 strata exec --env $'X=a\nb=\xff' --env Y= --env X=second -- sh -c 'echo "[$X][$Y]"'
	usage strata exec --env =x -- true
	usage strata exec --env '' -- true
	run -0 strata exec --env NOT_SET_ANYWHERE -- env
	[[ $output != *NOT_SET_ANYWHERE* ]]
	run -0 strata exec --env PATH=/nowhere:/bin -- ls -d /
	run -127 --separate-stderr strata exec --env PATH=/nowhere -- ls
}

@test "--user" {
	begin --backend overlay
	is "$(strata exec --user root -- id -u)" 0
	is "$(strata exec --user 0 -- id -u)" 0
	for user in nobody-here '' ' ' 'root:x' root$'\n' 4294967295 99999999999 -1 "$(printf '%05000d' 1)" $'\xff'; do
		run -125 --separate-stderr strata exec --user "$user" -- id
		[[ ${stderr_lines[0]} == "strata: "* ]]
	done
	clean
}

@test "odd commands and arguments" {
	begin --backend overlay
	do_in 'printf "#!/bin/sh\necho spaces \"\$@\"\n" >"/bin/a b"; printf "#!/bin/sh\necho break\n" >"/bin/new
line"; chmod 755 "/bin/a b" "/bin/new
line"' || true
	in_env /bin/busybox chmod 755 '/bin/a b' $'/bin/new\nline'
	is "$(in_env 'a b' 'c  d' '')" 'spaces c  d '
	is "$(in_env $'new\nline')" break
	run -127 --separate-stderr strata exec -- 'no such'
	run -127 --separate-stderr strata exec -- ''
	[[ ${stderr_lines[0]} == "strata: "* ]]
	run -127 --separate-stderr strata exec -- $'\xff\xfe'
	[[ ${stderr_lines[0]} == "strata: "* ]]
	run -126 --separate-stderr strata exec -- /
	run -126 --separate-stderr strata exec -- "/$(printf '%0300d' 0)"
	is "$(in_env echo -- -n --json)" '-- -n --json'
	is "$(in_env sh -c 'echo $#' - '' '' '')" 3
	# A file of unknown format is executed as a script.
	do_in 'echo "echo script \$1" >/bin/plain; /bin/busybox chmod 755 /bin/plain'
	is "$(in_env plain x)" 'script x'
}

@test "an argument of 120 KiB, and 200 KiB of arguments" {
	begin --backend overlay
	# The memory that strata needs is not many times the size of the arguments.
	[ -n "${SANITIZED:-}" ] || ulimit -v 1000000
	large=$(printf '%0120000d' 7)
	is "$(in_env sh -c 'echo ${#1}' - "$large")" 120000
	mapfile -t many < <(seq 40000)
	is "$(in_env sh -c 'echo $#' - "${many[@]}")" 40000
	# The part that a node keeps can be read again.
	strata exec -q -- sh -c 'echo 1 >/root/file' - "$large" "${many[@]}"
	is "$(strata cat HEAD:root/file)" 1
	strata log >/dev/null
	strata show HEAD >/dev/null
	strata show HEAD --json | jq .id >/dev/null
	clean
}

@test "nobody reads the output" {
	begin --backend overlay
	SECONDS=0
	strata exec -- yes 2>err | head -n 1 >out.txt
	is "${PIPESTATUS[0]} $(cat out.txt)" "141 y"
	strata exec -- sh -c 'while echo y; do :; done' 2>err | head -n 1 >out.txt
	[ $SECONDS -lt 10 ]
	strata exec -- yes 2>/dev/full >/dev/full || true
	[ $SECONDS -lt 10 ]
	sound
}

@test "a large input comes through byte by byte, and so does a large output" {
	begin --backend overlay
	head -c 50000000 /dev/urandom >large
	want=$(md5sum <large)
	is "$(in_env md5sum <large)" "$want"
	is "$(in_env cat <large | md5sum)" "$want"
	is "$(cat large | in_env cat | md5sum)" "$want"
	strata exec -q -- sh -c 'cat >/root/large' <large
	is "$(strata cat HEAD:root/large | md5sum)" "$want"
	# If a command does not read its standard input, the input is left for the caller.
	(in_env true; head -c 3) < <(printf 'abcdef') >rest
	is "$(cat rest)" abc
	clean
}

@test "a command that ends while others keep its output open" {
	begin --backend overlay
	SECONDS=0
	run -3 --separate-stderr timeout 20 "$STRATA" exec --no-commit -- sh -c 'echo said; sleep 1000 >/dev/null 2>&1 </dev/null & exit 3'
	is "$output" said
	[ $SECONDS -lt 5 ]
	strata checkout HEAD >/dev/null
	sound
}

@test "status of what cannot be run at all" {
	begin --backend overlay
	run -125 --separate-stderr strata exec --cwd /nowhere -- true
	run -125 --separate-stderr strata exec --cwd /etc/passwd -- true
	run -125 --separate-stderr strata -w other exec -- true
	run -2 strata -w ../main exec -- true
	run -125 --separate-stderr strata --root /dev/null exec -- true
	run -125 --separate-stderr strata --root "$PWD/src" exec -- true
	# The status of strata is that of the command.
	for want in 0 1 77 125 126 127 128 255; do
		run -$want --separate-stderr strata exec -- sh -c "exit $want"
	done
	for signal in HUP INT ABRT KILL SEGV PIPE ALRM TERM USR1; do
		number=$(kill -l $signal)
		run -$((128 + number)) --separate-stderr strata exec -- sh -c "kill -$signal \$\$"
	done
	sound
}
