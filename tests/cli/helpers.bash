# helpers - what every end-to-end test starts from; use: load helpers
#
# STRATA and TOOLS name the program and the directory of test programs;
# tools/run-tests sets them.  Each test runs in $BATS_TEST_TMPDIR with an empty
# directory env as STRATA_ROOT and a home of its own.  A file with its own
# setup() calls strata_setup first.
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

# Directories a test made unreadable would keep bats from removing them, and so would
# files that belong to subordinate ids.
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

# with_ids COMMAND...: with all the ids that files of an environment can have.
with_ids() {
	if acts_with_subids; then
		unshare --map-auto --map-root-user -- "$@"
	else
		"$@"
	fi
}

# discard PATH...: remove environments, without asking strata.
discard() { with_ids rm -rf -- "$@"; }

setup() { strata_setup; }
teardown() { strata_teardown; }

strata() { "$STRATA" "$@"; }

# Everything that can be seen of a directory tree, one line an entry, sorted.
walk() { "$TOOLS/treewalk" "$@"; }

# same_tree A B [OPTION of treewalk]...: contents included; fails with the difference.
same_tree() {
	local a=$1 b=$2
	shift 2
	walk "$a" --content "$@" >"$BATS_TEST_TMPDIR/.walk-a" || return 1
	walk "$b" --content "$@" >"$BATS_TEST_TMPDIR/.walk-b" || return 1
	diff -u --label "$a" --label "$b" "$BATS_TEST_TMPDIR/.walk-a" "$BATS_TEST_TMPDIR/.walk-b"
}

# unavailable REASON: skip, or fail where everything must work.  A run as an
# ordinary user is allowed to lack root.
unavailable() {
	if [ "${MUST_WORK:-}" = 1 ] && [ "$1" != "not root" ] && [ "$1" != "no network" ]; then
		echo "MUST_WORK is set, but: $1"
		return 1
	fi
	skip "$1"
}

need_root() { [ "$(id -u)" = 0 ] || unavailable "not root"; }

# need COMMAND...
need() {
	local command
	for command; do
		PATH=$PATH:/usr/sbin:/sbin command -v "$command" >/dev/null || unavailable "no $command" || return 1
	done
}

# The kernel takes the rights of setuid programs, such as newuidmap, away under strace.
need_ids_traced() { ! acts_with_subids || unavailable "not root"; }

# traced COMMAND...: under strace or ptrace leak detection cannot run.
traced() { ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 "$@"; }

need_userns() { unshare --user --map-root-user true 2>/dev/null || unavailable "no user namespaces"; }

# As a machine where user namespaces are switched off, without switching them off here.
without_userns() {
	unshare --user --map-root-user sh -ec 'echo 0 >/proc/sys/user/max_user_namespaces; exec "$@"' - "$@"
}
