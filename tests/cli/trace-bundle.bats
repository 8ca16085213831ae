# trace show, cat, diff, restore and verify: with bundles made by hand, which are good, from other tools,
# or hostile.
load helpers

# The tree b is the state before a command, and a the state after it. 'live' is a copy of b, and the
# bundle has the paths of 'live'.
setup() {
	strata_setup
	mkdir b a
	L=$BATS_TEST_TMPDIR/live
}

# bundle [plain]: make a bundle of the two trees, and make 'live' a copy of the tree before.
bundle() {
	cp -a b live
	"$TOOLS/linked/mkbundle" trees bun b a "$L" "$@"
}

some_trees() {
	mkdir -p b/d a/d/e
	echo one >b/x
	echo two >a/x
	echo same >b/same
	cp -a b/same a/same
	echo gone >b/gone
	ln -s x a/link
	echo new >a/d/e/n
	printf 'a\0b' >b/bin
	printf 'a\0c' >a/bin
	echo run >b/run
	cp -a b/run a/run
	chmod 755 a/run
}

# manifest JSON: make a bundle with this manifest.
manifest() {
	mkdir -p bun
	cat >bun/manifest.json
}

# record PATH BEFORE AFTER [OPERATION]: make a bundle with one record.
record() {
	manifest <<-EOM
		{"command": ["x"], "exit_status": 0, "start_cwd": "/", "uid": 0, "gid": 0, "files": [
			{"path": "$1", "operations": ["${4:-write}"], "before": $2, "after": $3}]}
	EOM
}

is() { [ "$1" = "$2" ] || { printf 'have: %s\nwant: %s\n' "$1" "$2"; return 1; }; }

# ----------------------------------------------------------------- looking

@test "show prints what was run and the tree of paths" {
	some_trees
	bundle
	run -0 strata trace show bun
	is "$(sed -n 1,8p <<<"$output")" "command    make \"a b\"
in         $L
exit       3
ran        2026-11-15 10:00:00, 1.500 s
engine     notify
complete   no
           one process was missed
paths      10 (+3 ~3 -1), 10 contents saved"
	grep -qE '^\+ -w---c--- +n$' <<<"$output"
	grep -qE '^- ----d---- +gone$' <<<"$output"
	grep -qE '^  r-------- +same$' <<<"$output"
	grep -qE '^  r-------- +d/$' <<<"$output"
}

@test "show --json has the summary and every record" {
	some_trees
	bundle
	run -0 strata trace show bun --json
	is "$(jq -c '[.command, .exit_status, .complete, .counts.files, .counts.created]' <<<"$output")" \
		'[["make","a b"],3,false,10,3]'
	is "$(jq -r --arg p "$L/x" '.files[] | select(.path == $p) | .before.blob' <<<"$output")" "before:$L/x"
	is "$(jq -r '.started_at' <<<"$output")" 2026-11-15T10:00:00Z
}

@test "cat prints either side, by absolute and relative path" {
	some_trees
	bundle
	is "$(strata trace cat bun before x)" one
	is "$(strata trace cat bun after "$L/x")" two
	is "$(strata trace cat bun after ./d/../d/e/n)" new
	strata trace cat bun before bin | cmp - b/bin
	is "$(strata trace cat bun after x --json | jq -r .content)" two
}

@test "cat says why there is nothing" {
	some_trees
	bundle
	run -1 --separate-stderr strata trace cat bun after gone
	is "$output" ""
	is "$stderr" "strata: '$L/gone': it did not exist after the command"
	run -1 --separate-stderr strata trace cat bun after link
	is "$stderr" "strata: '$L/link': it was a symlink, not a regular file"
	run -1 --separate-stderr strata trace cat bun after nowhere
	is "$stderr" "strata: no record of '$L/nowhere': the command did not touch it"
	run -2 --separate-stderr strata trace cat bun between x
}

@test "a content that is clean in git comes from the repository, while it has it" {
	need git
	git init -q repo
	echo hello >repo/f
	git -C repo add f
	git -C repo -c user.name=a -c user.email=a@x commit -qm one
	head=$(git -C repo rev-parse HEAD)
	oid=$(git -C repo rev-parse HEAD:f)
	sum=$(sha256sum <repo/f)
	manifest <<-EOM
		{"command": ["x"], "files": [{"path": "$PWD/repo/f", "operations": ["read"],
		"before": {"exists": true, "type": "file", "mode": 33188, "mtime": 1, "sha256": "${sum%% *}"},
		"after": {"exists": true, "type": "file", "mode": 33188, "mtime": 1, "sha256": "${sum%% *}"},
		"git": {"in_repo": true, "root": "$PWD/repo", "head": "$head", "relative_path": "f",
			"tracked": true, "dirty": false, "ignored": false, "oid": "$oid"}}]}
	EOM
	is "$(strata trace cat bun before "$PWD/repo/f")" hello
	sed -i "s/, \"oid\": \"$oid\"//" bun/manifest.json
	is "$(strata trace cat bun after "$PWD/repo/f")" hello
	sed -i "s/${sum%% *}/0${sum:1:63}/g" bun/manifest.json
	run -1 --separate-stderr strata trace cat bun before "$PWD/repo/f"
	[[ "$stderr" == *"what git has is not what was there"* ]] || [ "${sum:0:1}" = 0 ]
	rm -rf repo/.git
	run -1 --separate-stderr strata trace cat bun before "$PWD/repo/f"
	[[ "$stderr" == *"it was not saved, since it was clean in git, and no git repository at"* ]]
}

@test "diff shows texts line by line and says of the rest what it is" {
	some_trees
	bundle
	run -0 strata trace diff bun
	is "$output" "~	$L/bin  (binary or large content differs)
+	$L/d/e  (dir)
--- /dev/null
+++ b$L/d/e/n
@@ -0,0 +1 @@
+new
--- a$L/gone
+++ /dev/null
@@ -1 +0,0 @@
-gone
+	$L/link -> x  (symlink)
~	$L/run  (mode 0644 -> 0755)
--- a$L/x
+++ b$L/x
@@ -1 +1 @@
-one
+two"
}

@test "diff PATH is limited to it and below" {
	some_trees
	bundle
	run -0 strata trace diff bun d
	is "$(grep -c '^[+-]' <<<"$output")" 4
	run -0 strata trace diff bun same
	is "$output" ""
	run -1 strata trace diff bun nowhere
	run -0 strata trace diff bun --json
	is "$(jq -c '[.added, .modified, .deleted]' <<<"$output")" '[3,3,1]'
	is "$(jq -r '.changes[] | select(.path | endswith("/run")) | .what[0]' <<<"$output")" mode
}

# ---------------------------------------------------------------- restoring

@test "restore does a command again and --before undoes it, times and modes included" {
	some_trees
	touch -d '2001-02-03 04:05:06.123456789' a/x a/d/e
	chmod 700 a/d/e
	bundle
	strata trace restore bun
	same_tree live a
	run -0 strata trace restore bun
	is "$output" "0 restored, 0 deleted, 7 as they should be"
	strata trace restore bun --before
	same_tree live b
}

@test "restore --dry-run prints the plan and touches nothing" {
	some_trees
	bundle
	run -0 strata trace restore bun --dry-run
	is "$output" "write      $L/bin
mkdir      $L/d/e
write      $L/d/e/n
delete     $L/gone
symlink    $L/link
attributes $L/run
write      $L/x"
	same_tree live b
	is "$(strata trace restore bun --dry-run --json | jq -r '.plan[0].action')" write
}

@test "later changes stop all of a restore; --force overwrites them" {
	some_trees
	bundle
	echo later >live/x
	chmod 600 live/gone
	cp -a live kept
	run -1 --separate-stderr strata trace restore bun
	is "$stderr" "strata: $L/gone could not be restored: its mode was changed since
strata: $L/x could not be restored: it was changed since
strata: 2 paths were changed since; nothing was touched
hint: '--force' overwrites later changes"
	same_tree live kept
	strata trace restore bun --force
	same_tree live a
}

@test "at most twenty later changes are listed" {
	for i in $(seq 30); do
		echo "$i" >"b/$i"
		echo "$i$i" >"a/$i"
	done
	bundle
	for i in $(seq 25); do echo later >"live/$i"; done
	run -1 --separate-stderr strata trace restore bun
	is "$(grep -c 'changed since$' <<<"$stderr")" 20
	grep -q 'and 5 more' <<<"$stderr"
}

@test "a file removed since is a later change; a touched one is not" {
	some_trees
	bundle
	touch live/x
	strata trace restore bun
	strata trace restore bun --before
	rm live/x
	run -1 --separate-stderr strata trace restore bun
	grep -q "x could not be restored: it was removed since" <<<"$stderr"
}

@test "restore --to puts everything below another root" {
	some_trees
	chmod 750 a b
	bundle
	mkdir to
	run -0 strata trace restore bun --to to --json
	is "$(jq -c '[.restored, .deleted, .unchanged, .skipped]' <<<"$output")" '[6,0,1,[]]'
	cmp a/x "to$L/x"
	is "$(readlink "to$L/link")" x
	is "$(stat -c %a "to$L")" 750
	same_tree live b
	# A file in neither of the two states is a later change, which is a conflict.
	echo later >"to$L/x"
	run -1 strata trace restore bun --to to
}

@test "a file becomes a directory and back" {
	echo file >b/was-file
	mkdir -p a/was-file/sub b/was-dir/sub
	echo deep >a/was-file/sub/deep
	echo deep >b/was-dir/sub/deep
	ln -s /etc b/was-link
	mkdir a/was-link
	echo in >a/was-link/in
	echo file >a/was-dir
	bundle
	strata trace restore bun
	same_tree live a
	strata trace restore bun --before
	same_tree live b
}

@test "a directory with files the bundle does not know is kept" {
	mkdir a/d
	echo n >a/d/n
	bundle
	strata trace restore bun
	echo mine >live/d/mine
	run -0 strata trace restore bun --before
	is "$output" "skipped    $L/d  (it holds files that the bundle does not know)
0 restored, 1 deleted, 0 as they should be"
	is "$(ls live/d)" mine
}

@test "names that are not UTF-8 come back as they were" {
	name=$(printf 'n\377\n\303')
	echo one >"b/$name"
	echo two >"a/$name"
	ln -s "$name" a/link
	bundle
	strata trace show bun >/dev/null
	is "$(strata trace cat bun before "$name")" one
	strata trace restore bun
	same_tree live a
}

@test "names of one file are linked again" {
	echo one >a/one
	ln a/one a/two
	mkdir a/d
	ln a/one a/d/three
	bundle
	strata trace restore bun
	is "$(stat -c %h live/one)" 3
	same_tree live a
}

@test "FIFOs are made, sockets are not" {
	mkfifo -m 640 a/fifo
	bundle
	strata trace restore bun
	is "$(stat -c '%F %a' live/fifo)" "fifo 640"
	record "$L/sock" '{"exists": false}' '{"exists": true, "type": "socket", "mode": 49645}' create
	run -0 strata trace restore bun
	is "${lines[0]}" "skipped    $L/sock  (a socket is made by the program that listens on it)"
}

@test "an ordinary user can restore in a directory without write permission" {
	[ "$(id -u)" != 0 ] || need setpriv
	mkdir b/ro a/ro
	echo one >b/ro/x
	echo two >a/ro/x
	echo new >a/ro/n
	chmod 555 b/ro a/ro
	bundle
	as=()
	[ "$(id -u)" != 0 ] || as=(setpriv --bounding-set=-all --inh-caps=-all --)
	run ! "${as[@]}" touch live/ro/y
	"${as[@]}" "$STRATA" trace restore bun
	is "$(cat live/ro/x live/ro/n | tr '\n' ' ')" "two new "
	is "$(stat -c %a live/ro)" 555
	"${as[@]}" "$STRATA" trace restore bun --before
	is "$(ls live/ro)" x
	is "$(stat -c %a live/ro)" 555
}

@test "a bundle with nothing of ours in it is restored as well" {
	some_trees
	bundle plain
	strata trace verify bun
	strata trace restore bun
	diff -r live a
	strata trace restore bun --before
	diff -r live b
	echo later >live/x
	run -1 strata trace restore bun
}

# ------------------------------------------------------------------ hostile

@test "a link in the way is not followed" {
	mkdir b/d a/d
	echo new >a/d/n
	bundle
	mkdir elsewhere
	rmdir live/d
	ln -s ../elsewhere live/d
	run -1 --separate-stderr strata trace restore bun --force
	grep -q "'$L/d' is a link or a file where a directory should be" <<<"$stderr"
	is "$(ls elsewhere)" ""
	mkdir to
	ln -s "$PWD/elsewhere" "to/${PWD%%/*}x"
	first=${PWD#/}
	ln -s "$PWD/elsewhere" "to/${first%%/*}"
	run -1 --separate-stderr strata trace restore bun --to to
	grep -q "is a link or a file where a directory should be" <<<"$stderr"
	is "$(ls elsewhere)" ""
}

@test "paths that lead elsewhere are damage" {
	for path in ../x /a/../../x relative ./x /a//b /a/ /a/./b "" /a/..; do
		record "$path" '{"exists": false}' '{"exists": false}'
		for command in show verify restore diff; do
			run -1 strata trace $command bun
		done
		run -1 --separate-stderr strata trace show bun
		grep -qE "record 1: (its path|'path' is empty)" <<<"$stderr"
	done
	[ ! -e ../x ]
}

@test "what a record may not hold is named" {
	while IFS='|' read -r state text; do
		record /x "$state" '{"exists": false}'
		run -1 --separate-stderr strata trace show bun
		grep -qF -- "$text" <<<"$stderr" || { echo "$state: $stderr"; return 1; }
	done <<-'EOF_CASES'
		{"exists": 1}|'exists' is not true or false
		{"exists": true, "mode": "x"}|'mode' is not a whole number
		{"exists": true, "size": -1}|'size' is out of range
		{"exists": true, "sha256": "12"}|'sha256' is not 64 hex digits
		{"exists": true, "blob": 1}|'blob' is not a string
		{"exists": true, "target": "a\u0000b"}|'target' is too long or holds a NUL
		{"exists": true, "target_bytes": "&"}|'target_bytes' is not base64
		{"exists": true, "xattrs": {"user.x": 1}}|'xattrs' is not an object of base64
		{"exists": true|not JSON
		{"exists": true, "type": "zebra"}|'type' is not a type of file
		{"exists": true, "type": "file", "mode": 16877}|'mode' and 'type' do not agree
		[]|'before' is not an object
	EOF_CASES
}

@test "a manifest that is none is refused, and no bundle is said to be none" {
	mkdir bun
	run -1 --separate-stderr strata trace show bun
	is "$stderr" "strata: 'bun': no bundle: it has no file 'manifest.json'"
	for text in '' '[]' '{' '{}' '{"files": {}}' '{"files": [1]}' '{"files": []} x' '{"files": [], "files": [{}]}' nonsense; do
		printf '%s' "$text" >bun/manifest.json
		run -1 strata trace show bun
		run -1 strata trace verify bun
	done
	record /x '{"exists": false}' '{"exists": false}'
	run -0 strata trace verify bun
	echo '{"format_version": 99, "files": []}' >bun/manifest.json
	run -1 --separate-stderr strata trace restore bun
	[[ $stderr == *"format version 99"*newer* ]]
	rm bun/manifest.json
	mkfifo bun/manifest.json
	run -1 timeout 10 "$STRATA" trace show bun
	rm bun/manifest.json
	ln -s /etc/passwd bun/manifest.json
	run -1 strata trace show bun
}

@test "a content that is not in the table stops a restore before anything is touched" {
	some_trees
	bundle
	jq --arg p "$L/x" '(.files[] | select(.path == $p) | .after.blob) = "after:/other"' \
		bun/manifest.json >m && mv m bun/manifest.json
	run -1 --separate-stderr strata trace restore bun
	grep -q "$L/x could not be restored: blobs.parquet has no 'after:/other'" <<<"$stderr"
	grep -q "nothing was touched" <<<"$stderr"
	same_tree live b
	run -1 strata trace verify bun
	grep -qxF "$L/x: after: blobs.parquet has no 'after:/other'" <<<"$output"
	grep -qxF "after:$L/x: no state names this content" <<<"$output"
	rm bun/blobs.parquet
	run -1 --separate-stderr strata trace restore bun
	grep -q "there is no blobs.parquet" <<<"$stderr"
	same_tree live b
}

@test "a content that is another one is found by verify and never put in place" {
	some_trees
	bundle
	jq --arg p "$L/x" '(.files[] | select(.path == $p) | .after) |= (.blob = ("before:" + $p))' \
		bun/manifest.json >m && mv m bun/manifest.json
	run -1 strata trace verify bun
	grep -qxF "$L/x: after: its content is not the one recorded" <<<"$output"
	run -1 strata trace restore bun
	grep -q "skipped    $L/x  (its content is not the one recorded)" <<<"$output"
	is "$(cat live/x)" one
	is "$(ls -A live)" "$(ls -A a)"
}

@test "a damaged table is damage, wherever it is cut or changed" {
	some_trees
	bundle
	cp bun/blobs.parquet whole
	size=$(stat -c %s whole)
	for cut in 0 3 4 8 20 $((size / 2)) $((size - 8)) $((size - 1)); do
		head -c "$cut" whole >bun/blobs.parquet
		run -1 strata trace verify bun
		[ -n "$output" ]
		run -1 strata trace restore bun
		same_tree live b
	done
	for at in $(seq 0 37 "$size"); do
		cp whole bun/blobs.parquet
		printf '\377' | dd of=bun/blobs.parquet bs=1 seek="$at" conv=notrunc status=none
		status=0
		timeout 20 "$STRATA" trace verify bun >out.txt 2>&1 || status=$?
		[ $status -le 1 ] || { echo "byte $at: status $status"; return 1; }
	done
}

@test "verify tells keys that come twice and records out of order" {
	"$TOOLS/linked/mkbundle" blobs bun after:/x one after:/x two
	manifest <<-EOM
		{"files": [{"path": "/y", "before": {"exists": false}, "after": {"exists": false}},
			{"path": "/x", "before": {"exists": false}, "after": {"exists": true, "type": "file", "blob": "after:/x"}}]}
	EOM
	run -1 strata trace verify bun
	is "$output" "manifest.json: its records are not sorted by path
after:/x: the key is there twice"
	is "$(strata trace verify bun --json | jq -c '[.ok, .files, .blobs, (.problems | length)]')" '[false,2,2,2]'
	manifest <<<'{"files": [{"path": "/x"}, {"path": "/x"}]}'
	run -1 strata trace verify bun
	is "$output" "manifest.json: two records of '/x'"
}

@test "what is no subcommand is one line and status 2" {
	for words in "" bundle "show" "cat x" "restore --no-such x" "verify a b"; do
		# shellcheck disable=SC2086 # words on purpose
		run -2 --separate-stderr strata trace $words
		is "${#stderr_lines[@]}" 1
	done
}
