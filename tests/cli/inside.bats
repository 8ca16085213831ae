# inside: programs in a sandbox cannot change strata outside.  tests/tools/breakout.c makes the
# attacks with system calls of its own.
load helpers
load history
load rootfs

setup() {
	strata_setup
	mini_rootfs src
	# The attacker also has a loader, for programs that are outside of the tree.
	mkdir -p src/lib64 src/lib
	for place in bin/breakout lib64/ld-linux-x86-64.so.2 lib/ld-linux-aarch64.so.1; do
		cp "$TOOLS/breakout" "src/$place"
	done
	printf '#!/proc/self/exe\n' >src/bin/attack
	chmod 755 src/bin/attack
	# The user who runs this test owns that program.
	mkdir own
	cp "$STRATA" own/strata
	STRATA=$PWD/own/strata
	begin
	program >program.before
}

teardown() {
	strata checkout HEAD >/dev/null 2>&1 || true
	strata_teardown
}

program() { stat -c '%a %u %s' own/strata && sha256sum <own/strata; }
untouched() { diff program.before <(program); }

# The attacker's child stays for a second, and goes on while the holder ends.
attacked() { # OPTION of exec...
	run strata exec "$@" -- /bin/attack
	[ "$status" != 0 ]
	untouched
	sleep 1.2
	untouched
	strata checkout HEAD >/dev/null
	sleep 0.2
	untouched
}

@test "the interpreter line #!/proc/self/exe does not lead to strata" {
	attacked --no-commit
}

@test "nor does it under exec --trace" {
	attacked --trace
}

@test "nobody inside gets at the program or the descriptors of the holder, also while it ends" {
	local mark=$((SRANDOM % 900000000 + 100000000)) holder
	for _ in 1 2 3; do
		strata exec --no-commit -- sh -c '
			for i in 1 2 3; do breakout holder /got </dev/null >/dev/null 2>&1 & done
			sleep '$mark' </dev/null >/dev/null 2>&1 &
			until grep -q . /got; do :; done' 2>/dev/null
		holder=$(holder_of "$mark")
		[ -n "$holder" ]
		kill -KILL $holder
		while [ -e "/proc/${holder%%$'\n'*}/fd" ] && ! ended "${holder%%$'\n'*}"; do sleep 0.05; done
		is "$(in_env sort -u /got)" "."
	done
	untouched
}

@test "a /proc of another PID namespace: the right process gets the ids" {
	need_userns
	# Run as root of a user namespace in which there is no other process with that number.
	mkdir other
	unshare --user --map-root-user "$STRATA" --root other init --from src >/dev/null
	run -0 --separate-stderr unshare --user --map-root-user --pid --fork "$STRATA" --root other exec --no-commit -- echo inside
	is "$output" inside
	need_root
	run -0 --separate-stderr unshare --pid --fork "$STRATA" exec --no-commit -- echo inside
	is "$output" inside
}

# with_programs NAME...: copy programs of this machine into the tree, with the libraries that they
# need.
with_programs() {
	local name path
	need "$@" || return 1
	for name; do
		path=$(PATH=$PATH:/usr/sbin:/sbin command -v "$name")
		cp -L "$path" "tree/bin/$name.real"
		ldd "$path" | grep -o '/[^ ]*' | while read -r path; do
			mkdir -p "tree$(dirname "$path")"
			cp -L "$path" "tree$path"
		done
	done
}

# nested: make an environment in which programs make sandboxes of their own.
nested() {
	mini_rootfs tree
	with_programs bwrap unshare mount setcap getcap chown
	STRATA_ROOT=$PWD/nested strata init --from tree >/dev/null
	STRATA_ROOT=$PWD/nested
}

@test "sandboxes inside the sandbox: bubblewrap and unshare" {
	need_userns
	nested
	is "$(in_env bwrap.real --ro-bind / / --proc /proc --dev /dev echo nested)" nested
	is "$(in_env bwrap.real --unshare-all --ro-bind / / --proc /proc --dev /dev --tmpfs /tmp sh -c 'echo x >/tmp/x; cat /tmp/x')" x
	is "$(in_env unshare.real -m sh -c 'mount -t tmpfs none /tmp && echo mounted')" mounted
	is "$(in_env unshare.real -Urmpf --mount-proc sh -c 'echo /proc/[0-9]*')" /proc/1
	in_env unshare.real -Urm sh -c 'mount -t tmpfs none /tmp; mkdir /tmp/u /tmp/w /tmp/m;
		mount.real -t overlay none -o lowerdir=/usr/lib,upperdir=/tmp/u,workdir=/tmp/w,userxattr /tmp/m && cat /tmp/m/one >/dev/null'
	for file in /proc/sys/vm/drop_caches /proc/sys/kernel/core_pattern /proc/sysrq-trigger /sys/kernel/uevent_helper; do
		run ! in_env sh -c "echo 1 >$file"
	done
	run -0 --separate-stderr strata exec --no-commit -- true
	is "$stderr" ""
}

@test "root inside: owners, setuid and capabilities are on disk what they are inside" {
	need_root
	nested
	strata exec -q -- sh -ec '
		for id in 1 33 1000 65534 65536 100000 2000000000; do echo $id >/f$id; chown $id:$id /f$id; done
		cp /bin/busybox /suid; chown 33 /suid; chmod 4755 /suid
		cp /bin/busybox /capable; setcap.real cap_net_raw+ep /capable
		mkdir /d; chown 7:8 /d; ln -s x /link; chown -h 9:10 /link'
	is "$(in_env sh -c 'stat -c "%u:%g" /f1 /f33 /f1000 /f65534 /f65536 /f100000 /f2000000000 | tr "\n" " "')" \
		"1:1 33:33 1000:1000 65534:65534 65536:65536 100000:100000 2000000000:2000000000 "
	[[ $(in_env getcap.real /capable) == *cap_net_raw* ]]
	# The history, and a tree made from it, are the same as without a sandbox.
	strata export HEAD -o - | tar -t --numeric-owner -v | awk '{ sub("^[.]/", "", $6); print $2, $6 }' >listed
	grep -qx '2000000000/2000000000 f2000000000' listed
	grep -qx '33/0 suid' listed
	grep -qx '9/10 link' listed
	node=$(strata head)
	strata checkout "$node~1" >/dev/null 2>&1 || strata undo >/dev/null
	run ! in_env test -e /capable
	# This works while a program runs, too.
	in_env sh -c 'sleep 1000 </dev/null >/dev/null 2>&1 &'
	strata checkout --live "$node" >/dev/null
	is "$(in_env stat -c %u:%g /f100000)" 100000:100000
	is "$(in_env stat -c %u:%a /suid)" 33:4755
	[[ $(in_env getcap.real /capable) == *cap_net_raw* ]]
	clean
}
