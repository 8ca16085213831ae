# covered: file systems that are mounted inside the live tree do not belong to the tree.
load helpers
load history
load owner

setup() {
	strata_setup
	need_root
	need jq
	mkdir -p src/d/below src/keep
	echo one >src/d/file
	echo two >src/d/below/file
	echo three >src/lone
	echo 1 >src/keep/n
	strata init --from src --in-place --backend copy >/dev/null
	export STRATA_ROOT=$PWD/env
	SOCKET=$PWD/env/run/main.sock
	first=$(strata head)
	cd src || return 1
}

teardown() {
	end_owner
	cd "$BATS_TEST_TMPDIR" || return 1
	umount src/d 2>/dev/null || true
	umount src/lone 2>/dev/null || true
	strata_teardown
}

# cover: mount a file system over d, with some of the names that d has, and a file over lone.
cover() {
	mount -t tmpfs none d || unavailable "cannot mount a tmpfs"
	mkdir d/below
	echo other >d/file
	echo other >d/below/file
	touch -r ../times d/file d/below/file 2>/dev/null || true
	echo other >../other
	mount --bind ../other lone
}

# untouched: the mounted files must be as cover has made them.
untouched() { is "$(cat d/file d/below/file lone)" $'other\nother\nother'; }

uncover() { umount d && umount lone; }

@test "what lies below a mount stays in the history as it was" {
	cover
	echo 2 >keep/n
	run -0 --separate-stderr strata commit -m covered
	[[ $stderr == *"strata: d was left out: another file system is mounted here"* ]]
	[[ $stderr == *"strata: lone was left out: another file system is mounted here"* ]]
	is "$(strata diff "$first" HEAD --json | jq -c '[.changes[].path]')" '["keep/n"]'
	is "$(strata cat HEAD:d/below/file)" two
	uncover
	is "$(strata status --json | jq .dirty)" 0
	is "$(cat d/file d/below/file lone)" $'one\ntwo\nthree'
}

@test "checkout writes nothing into what is mounted, and says so" {
	echo changed >d/file
	echo changed >d/below/file
	echo changed >lone
	chmod 600 lone
	rm -r keep
	strata commit >/dev/null
	cover
	chmod 644 lone
	run -1 --separate-stderr strata checkout "$first"
	[[ $stderr == *"d"*"another file system is mounted there"* ]]
	[[ $stderr == *"lone"*"another file system is mounted there"* ]]
	untouched
	is "$(stat -c %a lone)" 644
	# The other files are restored.
	is "$(cat keep/n)" 1
	# The other direction, in which the directories have to be removed.
	uncover
	strata checkout "$first" >/dev/null
	mkdir -p new/sub
	echo x >new/sub/f
	strata commit >/dev/null
	mount -t tmpfs none new/sub
	echo precious >new/sub/f
	run -1 --separate-stderr strata checkout "$first"
	is "$(cat new/sub/f)" precious
	umount new/sub
}

@test "the daemon does not take what a mount covers for deleted" {
	cd ..
	own daemon
	cd src
	cover
	echo 2 >keep/n
	wait_for captured
	is "$(strata diff "$first" HEAD --json | jq -c '[.changes[].path]')" '["keep/n"]'
	echo more >>d/file
	echo 3 >keep/n
	wait_for captured
	is "$(strata diff "$first" HEAD --json | jq -c '[.changes[].path]')" '["keep/n"]'
	uncover
	echo 4 >keep/n
	wait_for captured
	is "$(strata diff "$first" HEAD --json | jq -c '[.changes[].path]')" '["keep/n"]'
	is "$(strata cat HEAD:d/file)" one
}
