# golden: environments and bundles written by earlier versions (tests/data/make-golden).
load helpers
load history

DATA=$BATS_TEST_DIRNAME/../data

# The owners that files of an ordinary user have depend on the ids that this user may give.
owners() { [ "$(command id -u)" = 0 ] || echo --no-owner; }
# as_walked DIR FILE: the tree must equal the tree for which FILE was written.
as_walked() {
	local fields=(cat)
	[ "$(command id -u)" = 0 ] || fields=(sed -E 's/ uid=[0-9]+ gid=[0-9]+//')
	# shellcheck disable=SC2046 # none, or one
	diff -u <("${fields[@]}" "$2") <(walk "$1" --content --no-holes $(owners))
}

# unpacked FORMAT-BACKEND: unpack an environment.
unpacked() {
	rmdir env
	tar --xattrs --xattrs-include='*' -xJf "$DATA/env-$1.tar.xz"
}

# readable_whole: run all commands that only read: history, contents, whole trees, checks.
readable_whole() { # FORMAT-BACKEND
	local format=${1%-*} nodes
	unpacked "$1"
	strata log --json | diff -u "$DATA/env-$1.log.json" -
	mapfile -t nodes < <(jq -r '.nodes[].id' "$DATA/env-$1.log.json")
	is "$(strata cat HEAD:one)" changed
	is "$(strata cat begin:d/hard-link)" one
	is "$(strata cat "${nodes[1]}:large" | sha256sum)" "$(yes 'one of many lines' | head -c 3000000 | sha256sum)"
	is "$(strata show begin --json | jq -r .id)" "${nodes[1]}"
	is "$(strata diff begin HEAD --name-status | grep -v ^M)" "$(printf '%s\t%s\n' - d/deep/er - d/deep/er/nothing R 'd/program -> moved' + two)"
	strata export HEAD --format dir -o after
	strata export begin --format dir -o before
	as_walked after "$DATA/env-$format.walk-0"
	as_walked before "$DATA/env-$format.walk-1"
	strata fsck >fsck.txt
	is "$(strata workspaces --json | jq -c '[.workspaces[].name]')" '["main","other"]'
}

# live_is FORMAT N: the live tree and HEAD must be N steps before the last node.
live_is() {
	clean
	rm -rf live
	strata export HEAD --format dir -o live
	as_walked live "$DATA/env-$1.walk-$2"
	[ ! -e $W/one ] || as_walked $W "$DATA/env-$1.walk-$2"
}

# usable_whole: run the commands that write.
usable_whole() { # FORMAT-BACKEND
	local format=${1%-*}
	unpacked "$1"
	live_is "$format" 0
	strata checkout begin >/dev/null
	live_is "$format" 1
	strata undo >/dev/null
	live_is "$format" 0
	strata tag -d begin >/dev/null
	strata workspaces delete other >/dev/null
	strata delete HEAD~1 >/dev/null
	strata gc >/dev/null
	live_is "$format" 0
}

# The files of these environments belong to root.  Other users can read them, but cannot give files to
# root.
@test "format 2, copy: history and contents" { readable_whole 2-copy; }
@test "format 2, copy: checkout, undo, gc" { need_root; usable_whole 2-copy; }
@test "format 2, overlay: history and contents" { need_root; readable_whole 2-overlay; }
@test "format 2, overlay: checkout, undo, gc" { need_root; usable_whole 2-overlay; }

@test "an environment of another format says what to do" {
	need sqlite3
	unpacked 2-copy
	sqlite3 env/strata.db "UPDATE meta SET value = '1' WHERE key = 'format'"
	run -1 --separate-stderr strata log
	is "${stderr_lines[0]}" "strata: the environment at '$PWD/env' has format 1, and this strata knows only format 2"
	[[ ${stderr_lines[1]} == "hint: bring its nodes over: 'strata export'"* ]]
	sqlite3 env/strata.db "UPDATE meta SET value = '10' WHERE key = 'format'"
	run -1 --separate-stderr strata checkout begin
	is "${stderr_lines[1]}" "hint: a newer strata made it: use that one"
	# init does not replace the environment.
	run -1 --separate-stderr strata init --from src
	[[ $stderr == *"there is an environment at"* ]]
}

# ------------------------------------------------------------------------- bundles

@test "bundle format 1: what it tells" {
	tar -xJf "$DATA/bundle-1.tar.xz"
	strata trace show bundle --json | diff -u "$DATA/bundle-1.show.json" -
	is "$(strata trace cat bundle before one)" one
	is "$(strata trace cat bundle after one)" changed
	strata trace verify bundle
	run -0 strata trace diff bundle two
	[[ $output == *"+two"* ]]
}

# files_are before|after PATH...: the files that the command changed must be in this state, and no others
# may exist.
files_are() {
	local side=$1 names
	shift
	names=$(IFS='|'; echo "$*")
	grep -E "^($names) " "$DATA/bundle-1.$side" >want
	walk to/golden/work --content --no-holes | grep ' file ' >have
	if [ "$(command id -u)" != 0 ]; then sed -i -E 's/ uid=[0-9]+ gid=[0-9]+//' want have; fi
	diff -u want have
}

@test "bundle format 1: restore" {
	tar -xJf "$DATA/bundle-1.tar.xz"
	mkdir -p to/golden/work/d
	strata trace restore bundle --to to >/dev/null
	files_are after one d/hard-link two moved
	strata trace restore bundle --before --to to >/dev/null
	files_are before one d/hard-link d/program d/deep/er/nothing
}

@test "a bundle of a newer format says what to do" {
	mkdir bundle
	echo '{"format_version": 99, "files": []}' >bundle/manifest.json
	run -1 --separate-stderr strata trace show bundle
	[[ $stderr == *"it has format version 99; this strata reads up to 1"*"hint: a newer strata wrote it: use that one" ]]
}
