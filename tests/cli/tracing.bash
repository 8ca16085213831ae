# tracing - run a command under strata trace and compare what its bundle says with two
# walks of the file system.
# shellcheck shell=bash disable=SC2016 # for jq

ENGINE=auto

# Why the engine bpf does not work here, from doctor, which is asked once a file; "" if it does.
without_bpf() {
	local kept=$BATS_FILE_TMPDIR/without-bpf
	[ -e "$kept" ] || "$STRATA" doctor --json |
		jq -r '.checks[] | select(.name == "trace_bpf") | if .ok then "" else .detail end' >"$kept"
	cat "$kept"
}

# All engines that work here; bpf needs root of the machine, outside of any PID namespace.
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
WALK= # option of treewalk, for the copy

is() { [ "$1" = "$2" ] || { printf 'have: %s\nwant: %s\n' "$1" "$2"; return 1; }; }

# trace COMMAND...: in the directory work; the bundle is bundle.
trace() {
	local how=env
	[ "$ENGINE" != ptrace ] || how=traced
	rm -rf "$BATS_TEST_TMPDIR/bundle"
	(cd "$BATS_TEST_TMPDIR/work" && "$how" "$STRATA" trace --snapshot-dir "$BATS_TEST_TMPDIR/bundle" --engine "$ENGINE" -- "$@")
}

# Waits until a file is there, but not for ever.
appears() {
	for _ in $(seq 100); do
		[ ! -e "$1" ] || return 0
		sleep 0.1
	done
	echo "there is no $1"
	return 1
}

manifest() { jq "$@" "$BATS_TEST_TMPDIR/bundle/manifest.json"; }

# Of a path in work: an expression about its record, e.g. record a .before.exists
record() { manifest -c --arg path "$(realpath work)/$1" '.files[] | select(.path == $path) | '"$2"; }

# Which paths two walks of work tell apart.  Directories have no size there.
changed_by_walk() {
	diff before.walk after.walk | sed -n 's/^[<>] \([^ ]*\) .*/\1/p' | sort -u
}

# How it ended, and which paths have another state after than before, as the bundle has it.
told_by_bundle() {
	manifest -r --arg root "$(realpath work)" '
		def state: if .type == "dir" then del(.size, .nlink) else del(.nlink) end | del(.blob, .tombstone);
		"\(.complete) \(.engine) \(.exit_status)",
		(.files[]
		| select(.path == $root or (.path | startswith($root + "/")))
		| select((.before | state) != (.after | state))
		| if .path == $root then "." else .path[($root | length) + 1:] end)'
}

# witness COMMAND...: trace it; the bundle must tell of exactly the changes two walks find.  Then
# its before must be back after a restore, and its after on a copy of the tree as it was.
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

# Sockets are nothing a bundle can make again.
put_back() {
	"$STRATA" trace restore bundle --to "$copy" >restore.out 2>&1 || { cat restore.out; return 1; }
	walk "$1" --content --no-holes --exclude .git ${WALK:+"$WALK"} | grep -v ' socket ' >copy.walk
	walk work --content --no-holes --exclude .git ${WALK:+"$WALK"} | grep -v ' socket ' | diff -u - copy.walk
	"$STRATA" trace restore bundle --before >restore.out 2>&1 || { cat restore.out; return 1; }
	walk work --content --no-holes --exclude .git | diff -u before.walk -
}
