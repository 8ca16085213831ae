# inside: what is inside a sandbox stays there.  The attacks are made by tests/tools/breakout.c with system calls
# of its own, not by a program that might be kind to us.
load helpers
load history
load rootfs

setup() {
	strata_setup
	mini_rootfs src
	# The attacker has a loader for whatever leads out of the tree, too.
	mkdir -p src/lib64 src/lib
	for place in bin/breakout lib64/ld-linux-x86-64.so.2 lib/ld-linux-aarch64.so.1; do
		cp "$TOOLS/breakout" "src/$place"
	done
	printf '#!/proc/self/exe\n' >src/bin/attack
	chmod 755 src/bin/attack
	# Whoever runs this owns that program.
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

# The attacker's child stays behind for a second, and goes on while the holder ends.
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
	# As root of a user namespace, in which there is no other process of that number.
	run -0 --separate-stderr unshare --user --map-root-user --pid --fork "$STRATA" exec --no-commit -- echo inside
	is "$output" inside
	need_root
	run -0 --separate-stderr unshare --pid --fork "$STRATA" exec --no-commit -- echo inside
	is "$output" inside
}
