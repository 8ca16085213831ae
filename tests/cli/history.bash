# history - what tests of an environment with a small history share.
# Use: load helpers, then load history.  Paths are relative to $BATS_TEST_TMPDIR.
# shellcheck shell=bash

# The live tree of an environment that was not made in place.
W=env/work/main

# begin [OPTION of init]...: an environment from src.
# shellcheck disable=SC2120 # the tests give options
begin() { strata init --from src "$@" >/dev/null; }

# put PATH TEXT: a file of the live tree.
put() { mkdir -p "$W/$(dirname "$1")" && printf '%s\n' "$2" >"$W/$1"; }

# jq needs longer to start than most commands to run: what is asked all the time is looked for in
# the text, and by jq only where it is not found there.

# node MESSAGE: commit; prints the id of the new node.
node() {
	local said
	said=$(strata commit -m "$1" --json) || return
	if [[ $said =~ ^\{$'\n  "made": true,\n  "id": "'([0-9a-f]{12})$'",\n' ]]; then
		echo "${BASH_REMATCH[1]}"
	else
		jq -er 'select(.made) | .id' <<<"$said"
	fi
}

# id REF, tree REF
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

# three: nodes $one, $two and $three; each writes a file of its name, and 'all'.
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

# make_tree [OPTION of mktree]..., mutate SEED: every attribute in src, every
# kind of change in $W.  What an ordinary user may not make is skipped by
# mktree; what that user then could not read is made readable.
make_tree() { "$TOOLS/mktree" src "$@" 2>/dev/null && readable src; }
mutate() { "$TOOLS/mktree" $W --mutate --seed "$1" >/dev/null 2>&1 && readable $W; }
readable() { [ "$(id -u)" = 0 ] || chmod -R u+rX "$1"; }

# is ACTUAL EXPECTED: the same text; fails with the difference.
is() { [ "$1" = "$2" ] || diff -u --label expected <(printf '%s\n' "$2") --label actual <(printf '%s\n' "$1"); }

# fails STATUS TEXT COMMAND...: exactly this on stderr, nothing on stdout.
fails() {
	local want=$1 text=$2 status=0
	shift 2
	"$@" >out.txt 2>err.txt </dev/null || status=$?
	[ $status = "$want" ] || { echo "status $status: $*"; cat err.txt; return 1; }
	is "$(cat err.txt)" "$text" && is "$(cat out.txt)" ""
}

# usage COMMAND...: status 2, one line on stderr, nothing on stdout.
usage() {
	local status=0
	"$@" >out.txt 2>err.txt </dev/null || status=$?
	[ $status = 2 ] || { echo "status $status: $*"; cat err.txt; return 1; }
	is "$(cat out.txt)" "" && [ "$(wc -l <err.txt)" = 1 ]
}

# clean: nothing differs from HEAD, and store and history are sound.
clean() {
	local said
	said=$(strata status --json) || return
	[[ $said == *$'\n  "dirty": 0,\n  "dirty_paths": [],\n'* ]] || is "$(jq -c '[.dirty, .dirty_paths]' <<<"$said")" '[0,[]]' || return
	strata fsck >fsck.txt || { cat fsck.txt; return 1; }
}

store_bytes() { strata status --json | jq .store.bytes; }

# prepare_nobody: from now on 'nobody COMMAND...' runs without privilege; an
# ordinary user is nobody already.
prepare_nobody() {
	[ "$(id -u)" = 0 ] || return 0
	need setpriv || return 1
	# bats makes its directories for itself alone; the program may lie in such a one, too.
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
