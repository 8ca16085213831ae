# json: with --json, every reading command prints one valid document with the documented fields.
load helpers
load history

setup() {
	strata_setup
	mkdir src/dir
	printf 'line one\nline two\n' >src/file
	# Make a name, a message and a link target that JSON must escape.
	touch src/$'odd "\\ \n\e \xff \xe2\x82\xac'
	ln -s $'to\x01\xfe' src/link
	begin
	put file changed
	strata commit -m $'quote " backslash \\ newline\n tab\t \e \xff \xe2\x82\xac' >/dev/null
	strata tag good >/dev/null
	put dir/new live
}

# fields FILTER COMMAND...: the command prints one JSON document for which FILTER is true, and
# nothing on stderr.
fields() {
	local filter=$1
	shift
	"$STRATA" "$@" >doc.json 2>err.txt || { cat err.txt; return 1; }
	[ ! -s err.txt ] || { cat err.txt; return 1; }
	is "$(jq -s length doc.json)" 1
	is "$(jq "$filter" doc.json)" true || { cat doc.json; return 1; }
}

node_fields='([.id, .tree, .time, .kind, .message] | all(type == "string"))
	and has("parent") and has("command") and has("exit_status")
	and (.changes | [.added, .modified, .deleted, .renamed] | all(type == "number"))
	and (.paths | type == "array") and (.tags | type == "array") and (.head | type == "boolean")
	and (.id | test("^[0-9a-f]{12}$")) and (.tree | test("^[0-9a-f]{64}$"))'

@test "log, branches, show and head" {
	fields ".nodes | length == 2 and all($node_fields)" log --json
	fields ".branches | length == 1 and all($node_fields)" branches --json
	fields "$node_fields" show --json
	fields '.id | test("^[0-9a-f]{12}$")' head --json
}

@test "status" {
	fields '([.root, .name, .workspace, .backend, .backend_reason, .head, .work_path] | all(type == "string"))
		and ([.dirty, .nodes, .tags, .store.bytes, .store.raw_bytes, .store.objects] | all(type == "number"))
		and ([.processes, .ignore, .degraded] | all(type == "array")) and .dirty == 1' status --json
}

@test "diff" {
	fields '(.a | length == 12) and .b == "work" and (.changes == [{op: "+", type: "file", path: "dir/new", what: []}])' diff HEAD --json
	fields '.changes | all((.op | test("^[-+MTR]$")) and (.type | type == "string") and (.path | type == "string") and (.what | type == "array"))' diff HEAD~1 HEAD --json
}

@test "ls, find, grep, file-log and blame" {
	fields '(.ref | length == 12) and .path == "" and (.entries | length == 4 and all(has("name") and has("type") and has("mode") and has("uid") and has("gid") and has("size") and has("mtime")))' ls --json
	fields '.matches | map(.path) == ["file"]' find HEAD fil? --json
	fields '.truncated == false and (.matches | map([.path, .line, .text]) == [["file", 1, "changed"]])' grep changed --json
	fields '.versions | length == 2 and all(has("node") and has("time") and .present)' file-log file --json
	fields '.present and .path == "file" and (.lines | map([.line, .text]) == [[1, "changed"]])' blame file --json
}

@test "tag" {
	fields '.tags == [{name: "good", node: .tags[0].node}]' tag --json
	fields '.name == "good" and (.node | length == 12) and .deleted == false' tag good --json
}

@test "fsck, doctor and version" {
	fields '.ok and .errors == [] and ([.checked.objects, .checked.nodes, .checked.bytes] | all(. > 0))' fsck --json
	fields '.checks | all((.name | type == "string") and (.ok | type == "boolean") and (.detail | type == "string") and has("remedy"))' doctor --json
	fields '.version | type == "string"' version --json
}

@test "cat" {
	fields 'has("content") or has("text") or has("data") or has("size")' cat HEAD:file --json
}

@test "the writing commands" {
	fields "$node_fields and .made" commit -m x --json
	x=$(strata head)
	fields '(.head | length == 12) and .safety == null and .changes.deleted == 1' checkout HEAD~1 --json
	fields '(.head | length == 12) and has("safety")' undo --json
	fields '(.head | length == 12) and has("safety")' redo --json
	fields '.changes | [.added, .modified, .deleted] | all(type == "number")' restore HEAD~1 --json -- file
	fields '([.kept, .dropped_count] | all(type == "number")) and (.dropped | type == "array")' retain --dry-run --json
	fields '.deleted | length == 12' delete "$x" --json
	fields '[.freed, .store] | all([.bytes, .raw_bytes, .objects] | all(type == "number"))' gc --json
	fields '(.id | length == 12) and .entries == 4 and (.exceptions.list == [])' export good -o x.tar --json
	fields "$node_fields and .kind == \"import\"" import x.tar --json
}

@test "bytes that are no UTF-8 survive the round trip through the one documented escape" {
	strata ls --json >ls.json
	name=$(jq -r '.entries[] | select(.name | startswith("odd")) | .name' ls.json)
	[[ $name == $'odd "\\ \n\e '* ]]
	# The document itself is valid UTF-8 without control characters.
	iconv -f UTF-8 -t UTF-8 ls.json >/dev/null
	if LC_ALL=C grep -q $'[\x01-\x08\x0b-\x1f]' ls.json; then return 1; fi
	strata log --json >log.json
	iconv -f UTF-8 -t UTF-8 log.json >/dev/null
	jq -e '.nodes[0].message | contains("quote \" backslash \\ newline\n tab\t") and contains("€")' log.json
}

@test "numbers are not rounded" {
	truncate -s 9007199254740993 $W/huge 2>/dev/null || truncate -s 8796093022207 $W/huge
	size=$(stat -c %s $W/huge)
	strata ls work --json | grep -q "\"size\": $size"
	touch -d '2001-02-03 04:05:06.987654321' $W/huge
	is "$(strata ls work --json | jq '.entries[] | select(.name == "huge") | .mtime_nsec')" 987654321
}

@test "--jsonl gives one document a line" {
	for command in log branches 'ls' 'diff HEAD' 'find HEAD *' 'grep .' 'file-log file' 'blame file' doctor; do
		# shellcheck disable=SC2086 # words
		set -f; strata $command --jsonl >rows.txt; set +f
		[ -s rows.txt ]
		is "$(jq -c . rows.txt | wc -l)" "$(wc -l <rows.txt)"
	done
}

@test "an error with --json is no half document" {
	run -1 --separate-stderr strata show nowhere --json
	[ -z "$output" ]
	run -1 --separate-stderr strata ls HEAD:nowhere --json
	[ -z "$output" ]
	run -1 --separate-stderr strata grep x nowhere --json
	[ -z "$output" ]
}
