# tracing - functions that trace a command, and compare its bundle with two walks of the file system:
# one before the command and one after it.
# shellcheck shell=bash disable=SC2016 # for jq

ENGINE=auto

# Print the reason why the engine bpf does not work here, or nothing if it works.  The reason comes from
# 'strata doctor', which is run once for each test file.
without_bpf() {
	local kept=$BATS_FILE_TMPDIR/without-bpf
	[ -e "$kept" ] || "$STRATA" doctor --json |
		jq -r '.checks[] | select(.name == "trace_bpf") | if .ok then "" else .detail end' >"$kept"
	cat "$kept"
}

# Print the engines that work here.  bpf needs root of the machine, outside of any PID namespace.
engines() {
	[ -n "$(without_bpf)" ] || echo bpf
	echo notify ptrace
}

need_bpf() {
	local why
	need_root
	why=$(without_bpf)
	[ -z "$why" ] || unavailable "engine bpf: $why"
}
WALK= # option of treewalk for put_back

is() { [ "$1" = "$2" ] || { printf 'have: %s\nwant: %s\n' "$1" "$2"; return 1; }; }

# trace COMMAND...: trace a command in the directory 'work'.  Its bundle is the directory 'bundle'.
trace() {
	local how=env
	[ "$ENGINE" != ptrace ] || how=traced
	rm -rf "$BATS_TEST_TMPDIR/bundle"
	(cd "$BATS_TEST_TMPDIR/work" && "$how" "$STRATA" trace --snapshot-dir "$BATS_TEST_TMPDIR/bundle" --engine "$ENGINE" -- "$@")
}

# appears FILE: wait until the file exists, for up to ten seconds.
appears() {
	for _ in $(seq 100); do
		[ ! -e "$1" ] || return 0
		sleep 0.1
	done
	echo "there is no $1"
	return 1
}

manifest() { jq "$@" "$BATS_TEST_TMPDIR/bundle/manifest.json"; }

# record PATH EXPRESSION: print the value of a jq expression for the record of a path in 'work', as in
# 'record a .before.exists'.
record() { manifest -c --arg path "$(realpath work)/$1" '.files[] | select(.path == $path) | '"$2"; }

# Print the paths at which the two walks of 'work' differ.  The walks have no sizes of directories.
changed_by_walk() {
	diff before.walk after.walk | sed -n 's/^[<>] \([^ ]*\) .*/\1/p' | sort -u
}

# Print what the bundle has: first whether it is complete, the engine and the exit status, then the
# paths whose state after the command differs from the state before it.
told_by_bundle() {
	manifest -r --arg root "$(realpath work)" '
		def state: if .type == "dir" then del(.size, .nlink) else del(.nlink) end | del(.blob, .tombstone);
		"\(.complete) \(.engine) \(.exit_status)",
		(.files[]
		| select(.path == $root or (.path | startswith($root + "/")))
		| select((.before | state) != (.after | state))
		| if .path == $root then "." else .path[($root | length) + 1:] end)'
}

# witness COMMAND...: trace a command.  The bundle must have exactly the changes that the two walks find.
# A restore must then bring back the state before the command.  A restore on a copy of the old tree must
# make the state after the command.
witness() {
	local root copy complete engine ended status=0
	root=$(realpath work)
	copy=$BATS_TEST_TMPDIR/copy
	rm -rf "$copy"
	mkdir -p "$copy$(dirname "$root")"
	cp -a work "$copy$root"
	walk work --content --no-holes --exclude .git >before.walk
	trace "$@" >trace.out 2>trace.err || status=$?
	walk work --content --no-holes --exclude .git >after.walk
	told_by_bundle >told.bundle
	read -r complete engine ended <told.bundle
	is "$complete" true || { manifest .incomplete_reasons; return 1; }
	[ "$ENGINE" = auto ] || is "$engine" "$ENGINE"
	is "$ended" "$status"
	is "$(sed 1d told.bundle | sort -u)" "$(changed_by_walk)"
	"$STRATA" trace verify bundle
	put_back "$copy$root"
	return "$status"
}

# put_back DIR: restore both states.  Sockets are not compared, since a restore cannot make them.
put_back() {
	"$STRATA" trace restore bundle --to "$copy" >restore.out 2>&1 || { cat restore.out; return 1; }
	walk "$1" --content --no-holes --exclude .git ${WALK:+"$WALK"} | grep -v ' socket ' >copy.walk
	walk work --content --no-holes --exclude .git ${WALK:+"$WALK"} | grep -v ' socket ' | diff -u - copy.walk
	"$STRATA" trace restore bundle --before >restore.out 2>&1 || { cat restore.out; return 1; }
	walk work --content --no-holes --exclude .git | diff -u before.walk -
}
