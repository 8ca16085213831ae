# helpers - functions for all end-to-end tests.  Use: load helpers.
#
# STRATA is the path of the program, and TOOLS is the directory of test programs.
# tools/run-tests sets both.  Each test runs in $BATS_TEST_TMPDIR with an empty
# directory env as STRATA_ROOT and a home of its own.  If a test file has its own
# setup(), this function calls strata_setup first.
# shellcheck shell=bash

bats_require_minimum_version 1.5.0

strata_setup() {
	: "${STRATA:?set by tools/run-tests}" "${TOOLS:?set by tools/run-tests}"
	cd "$BATS_TEST_TMPDIR" || return 1
	umask 022
	mkdir env home src out
	export STRATA_ROOT=$BATS_TEST_TMPDIR/env HOME=$BATS_TEST_TMPDIR/home
	export LC_ALL=C.UTF-8 TZ=UTC0 NO_COLOR=1
	unset STRATA_WORKSPACE STRATA_NOW XDG_DATA_HOME XDG_CONFIG_HOME XDG_RUNTIME_DIR
}

# Remove files that belong to subordinate ids, and make all directories readable.  Otherwise bats could
# not remove the directory of the test.
strata_teardown() {
	! acts_with_subids || with_ids find "$BATS_TEST_TMPDIR" -mindepth 1 -xdev -delete 2>/dev/null || true
	chmod -R u+rwX "$BATS_TEST_TMPDIR" 2>/dev/null || true
}

# Whether the user has subordinate ids.
has_subids() {
	local uid name
	uid=$(command id -u)
	name=$(command id -un 2>/dev/null || echo "$uid")
	command -v newuidmap newgidmap >/dev/null &&
		grep -qsE "^($name|$uid):" /etc/subuid && grep -qsE "^($name|$uid):" /etc/subgid
}
acts_with_subids() { [ "$(command id -u)" != 0 ] && has_subids; }

# with_ids COMMAND...: run a command that has all the ids which files of an environment can have.
with_ids() {
	if acts_with_subids; then
		unshare --map-auto --map-root-user -- "$@"
	else
		"$@"
	fi
}

# discard PATH...: remove environments without using strata.
discard() { with_ids rm -rf -- "$@"; }

setup() { strata_setup; }
teardown() { strata_teardown; }

strata() { "$STRATA" "$@"; }

# walk DIR [OPTION of treewalk]...: print all attributes of each entry of a tree, on one line, sorted.
walk() { "$TOOLS/treewalk" "$@"; }

# same_tree A B [OPTION of treewalk]...: compare two trees with their contents.  If they differ, print the
# difference and fail.
same_tree() {
	local a=$1 b=$2
	shift 2
	walk "$a" --content "$@" >"$BATS_TEST_TMPDIR/.walk-a" || return 1
	walk "$b" --content "$@" >"$BATS_TEST_TMPDIR/.walk-b" || return 1
	diff -u --label "$a" --label "$b" "$BATS_TEST_TMPDIR/.walk-a" "$BATS_TEST_TMPDIR/.walk-b"
}

# unavailable REASON: skip the test.  If MUST_WORK is set, fail instead, unless only root or the
# network is missing.
unavailable() {
	if [ "${MUST_WORK:-}" = 1 ] && [ "$1" != "not root" ] && [ "$1" != "no network" ]; then
		echo "MUST_WORK is set, but: $1"
		return 1
	fi
	skip "$1"
}

need_root() { [ "$(id -u)" = 0 ] || unavailable "not root"; }

# need COMMAND...: skip the test if one of these programs is missing.
need() {
	local command
	for command; do
		PATH=$PATH:/usr/sbin:/sbin command -v "$command" >/dev/null || unavailable "no $command" || return 1
	done
}

# Skip a test that uses strace and needs subordinate ids: under strace, the kernel gives setuid programs
# such as newuidmap no additional rights.
need_ids_traced() { ! acts_with_subids || unavailable "not root"; }

# traced COMMAND...: run a command without leak detection, which does not work under strace or ptrace.
traced() { ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 "$@"; }

need_userns() { unshare --user --map-root-user true 2>/dev/null || unavailable "no user namespaces"; }

# without_userns COMMAND...: run a command that cannot make user namespaces, as on a machine where they
# are switched off.
without_userns() {
	unshare --user --map-root-user sh -ec 'echo 0 >/proc/sys/user/max_user_namespaces; exec "$@"' - "$@"
}
