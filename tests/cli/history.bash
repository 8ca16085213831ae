# history - functions for tests that need an environment with a small history.
# Use: load helpers, then load history.  Paths are relative to $BATS_TEST_TMPDIR.
# shellcheck shell=bash

# The live tree of an environment that was not made in place.
W=env/work/main

# begin [OPTION of init]...: make an environment from src.
# shellcheck disable=SC2120 # the tests give options
begin() { strata init --from src "$@" >/dev/null; }

# put PATH TEXT: write a file of the live tree.
put() { mkdir -p "$W/$(dirname "$1")" && printf '%s\n' "$2" >"$W/$1"; }

# Starting jq takes longer than running most commands.  So values that are needed often are searched
# in the text.  jq is used only if that fails.

# node MESSAGE: commit, and print the id of the new node.
node() {
	local said
	said=$(strata commit -m "$1" --json) || return
	if [[ $said =~ ^\{$'\n  "made": true,\n  "id": "'([0-9a-f]{12})$'",\n' ]]; then
		echo "${BASH_REMATCH[1]}"
	else
		jq -er 'select(.made) | .id' <<<"$said"
	fi
}

# id REF: print the id of a node.  id -u is the usual command.  tree REF: print the node's tree.
id() { if [ "$1" = -u ]; then command id -u; else member id "$1"; fi; }
tree() { member tree "$1"; }
member() {
	local said
	said=$(strata show "$2" --json) || return
	if [[ $said =~ $'\n  "'$1'": "'([0-9a-f]+)$'",\n' ]]; then
		echo "${BASH_REMATCH[1]}"
	else
		jq -er ".$1" <<<"$said"
	fi
}

# three: make the nodes $one, $two and $three.  Each writes a file of its own name, and the file 'all'.
# shellcheck disable=SC2034,SC2119 # for the tests
three() {
	begin
	root=$(strata head)
	for n in one two three; do
		put $n "$n"
		put all "all $n"
		printf -v $n %s "$(node $n)"
	done
}

# make_tree [OPTION of mktree]...: make files with all kinds of attributes in src.
# mutate SEED: make all kinds of changes in $W.
# mktree skips the files that an ordinary user may not make.  Files that such a user could not read
# are then made readable.
make_tree() { "$TOOLS/mktree" src "$@" 2>/dev/null && readable src; }
mutate() { "$TOOLS/mktree" $W --mutate --seed "$1" >/dev/null 2>&1 && readable $W; }
readable() { [ "$(id -u)" = 0 ] || chmod -R u+rX "$1"; }

# is ACTUAL EXPECTED: compare two texts.  If they differ, print the difference and fail.
is() { [ "$1" = "$2" ] || diff -u --label expected <(printf '%s\n' "$2") --label actual <(printf '%s\n' "$1"); }

# fails STATUS TEXT COMMAND...: the command must end with the status and print exactly the text on
# stderr, and nothing on stdout.
fails() {
	local want=$1 text=$2 status=0
	shift 2
	"$@" >out.txt 2>err.txt </dev/null || status=$?
	[ $status = "$want" ] || { echo "status $status: $*"; cat err.txt; return 1; }
	is "$(cat err.txt)" "$text" && is "$(cat out.txt)" ""
}

# usage COMMAND...: the command must end with status 2 and print one line on stderr, and nothing on
# stdout.
usage() {
	local status=0
	"$@" >out.txt 2>err.txt </dev/null || status=$?
	[ $status = 2 ] || { echo "status $status: $*"; cat err.txt; return 1; }
	is "$(cat out.txt)" "" && [ "$(wc -l <err.txt)" = 1 ]
}

# clean: the live tree must equal HEAD, and store and history must be sound.
clean() {
	local said
	said=$(strata status --json) || return
	[[ $said == *$'\n  "dirty": 0,\n  "dirty_paths": [],\n'* ]] || is "$(jq -c '[.dirty, .dirty_paths]' <<<"$said")" '[0,[]]' || return
	strata fsck >fsck.txt || { cat fsck.txt; return 1; }
}

store_bytes() { strata status --json | jq .store.bytes; }

# prepare_nobody: make the environment accessible to 'nobody COMMAND...', which runs a command
# without privileges.  For an ordinary user there is nothing to prepare.
prepare_nobody() {
	[ "$(id -u)" = 0 ] || return 0
	need setpriv || return 1
	# Only bats itself may enter the directories that it makes, and the program may be in one of them.
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test" "$BATS_TEST_TMPDIR"
	cp "$STRATA" strata-copy
	STRATA=$BATS_TEST_TMPDIR/strata-copy
	chown -R 65534:65534 env home src out
}
nobody() {
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid 65534 --regid 65534 --clear-groups -- "$@"
	else
		"$@"
	fi
}

# fake_zfs VERSION: PATH has programs zfs and zpool that answer as OpenZFS of this version did.
# The directory root has the mountpoints, and the file calls gets a line for each call.
fake_zfs() {
	need python3
	mkdir -p bin
	ln -sf "$BATS_TEST_DIRNAME/../tools/fake_zfs.py" bin/zfs
	ln -sf "$BATS_TEST_DIRNAME/../tools/fake_zfs.py" bin/zpool
	export PATH=$PWD/bin:$PATH ZFS_ROOT=$PWD/root ZFS_LOG=$PWD/calls ZFS_DOES=
	export ZFS_ANSWERS=$BATS_TEST_DIRNAME/../data/zfs-$1.txt
}
