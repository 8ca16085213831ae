# query: the methods of the query agent, from the command line.
load helpers
load history

# q JQ-FILTER METHOD...: print the result of the filter for the reply, compact.
q() {
	local filter=$1
	shift
	strata query "$@" | jq -c "$filter"
}

@test "query prints the result as one line of JSON" {
	three
	run -0 --separate-stderr strata query read_file snapshot="$one" path=one
	is "$output" '{"snapshot":"strata@'"$one"'","path":"one","size":4,"bytes_returned":4,"encoding":"utf-8","content":"one\n","truncated":false}'
}

@test "query --json prints the same over several lines" {
	three
	strata query list_dir snapshot=HEAD path=/ >line.json
	strata query list_dir snapshot=HEAD path=/ --json >lines.json
	is "$(wc -l <line.json)" 1
	is "$(jq . lines.json)" "$(jq . line.json)"
	is "$(cat lines.json)" "$(jq . line.json)"
}

@test "query lists itself" {
	three
	is "$(q '.methods == (.methods | sort) and (.methods | index("list_dir") > 0)' agent_info)" true
	is "$(q .datasets[].name list_datasets)" '"strata"'
}

@test "query knows the environment by its name" {
	begin --name box
	is "$(q .datasets[0].name list_datasets)" '"box"'
	is "$(q .snapshots[0].name list_snapshots)" "\"box@$(strata head)\""
	is "$(q '.versions | length' file_history dataset=box path=x)" 1
}

@test "query accepts what it names" {
	three
	snapshot=$(strata query list_snapshots | jq -r .snapshots[1].name)
	is "$snapshot" "strata@$one"
	is "$(q .content read_file snapshot="$snapshot" path=all)" '"all one\n"'
	strata tag good "$two" >/dev/null
	is "$(q .content read_file snapshot=strata@good path=all)" '"all two\n"'
	is "$(q .content read_file snapshot="${two:0:6}" path=all)" '"all two\n"'
}

@test "query takes strings as they are, and other values as JSON" {
	begin
	put 123 number
	put true truth
	put '"q"' quotes
	node one >/dev/null
	is "$(q .content read_file snapshot=HEAD path=123)" '"number\n"'
	is "$(q .content read_file snapshot=HEAD path=true)" '"truth\n"'
	is "$(q .content read_file snapshot=HEAD path='"123"')" '"number\n"'
	is "$(q .content read_file snapshot=HEAD path='"\"q\""')" '"quotes\n"'
	is "$(q '.entries | length' list_dir snapshot=HEAD path= max_entries=2)" 2
	is "$(q '.entries | length' list_dir snapshot=HEAD path= max_entries=null)" 3
	is "$(q .transition.to_value bisect_change dataset=strata path=123 predicate='{"kind":"exists"}')" true
	fails 1 "strata: 'max_entries' must be an integer" strata query list_dir snapshot=HEAD path= max_entries=two
	fails 1 "strata: 'max_entries' must be an integer" strata query list_dir snapshot=HEAD path= 'max_entries="2"'
}

@test "query takes all parameters at once, and pairs win over them" {
	three
	params='{"snapshot":"HEAD","path":"one","unknown":1}'
	is "$(q .content read_file --params "$params")" '"one\n"'
	is "$(q .content read_file --params "$params" path=two)" '"two\n"'
	fails 1 "strata: --params: not a JSON object" strata query read_file --params '[]'
	run -1 --separate-stderr strata query read_file --params '{'
	[[ $stderr == "strata: --params: not JSON: "* ]]
}

@test "query passes names that are not UTF-8 in and out" {
	begin
	name=$'n\xff'
	put "$name" raw
	node one >/dev/null
	run -0 strata query list_dir snapshot=HEAD path=
	[[ $output == *'"name":"n\udcff"'* ]]
	is "$(q .size read_file snapshot=HEAD path="$name")" 4
	is "$(q .size read_file snapshot=HEAD path='"n\udcff"')" 4
}

@test "query goes on with a cursor" {
	three
	first=$(strata query find_files snapshot=HEAD pattern='*' max_results=3)
	is "$(jq -c '[.truncated, .cursor, [.matches[].name]]' <<<"$first")" '[true,"3",["all","one","three"]]'
	is "$(q '[.truncated, .cursor, [.matches[].name]]' find_files snapshot=HEAD pattern='*' max_results=3 cursor=3)" '[false,null,["two"]]'
}

@test "query follows a path through time" {
	three
	is "$(q '[.versions[].present]' file_history dataset=strata path=two)" '[false,false,true,true]'
	is "$(q .first.snapshot first_appearance dataset=strata path=two)" "\"strata@$two\""
	is "$(q '[.versions[].size]' versions_of dataset=strata path=all)" '[8,8,10]'
	is "$(q '[.matches[] | [.text, .first.snapshot, .last.snapshot]]' grep_history dataset=strata pattern='all t')" \
		"[[\"all two\",\"strata@$two\",\"strata@$two\"],[\"all three\",\"strata@$three\",\"strata@$three\"]]"
	is "$(q .last.message blame_path dataset=strata path=one)" '"one"'
}

@test "query follows a path past nodes that did not touch it" {
	begin
	put dir/a 1
	put dir/b 1
	node first >/dev/null
	put dir/b 22
	node second >/dev/null
	put dir/a 333
	node third >/dev/null
	rm $W/dir/a
	node fourth >/dev/null
	put dir/a 4444
	node fifth >/dev/null
	mv $W/dir $W/moved
	node sixth >/dev/null
	mv $W/moved $W/dir
	node seventh >/dev/null
	strata checkout HEAD~5 >/dev/null
	put dir/b 55555
	node branch >/dev/null
	local path snapshot
	for path in dir/a dir/b moved/a; do
		strata query list_snapshots | jq -r .snapshots[].name >names
		while read -r snapshot; do
			strata query list_dir snapshot="$snapshot" path="$(dirname $path)" 2>/dev/null >listing || echo '{"entries":[]}' >listing
			jq -r --arg name "${path##*/}" '.entries[] | select(.name == $name) | .size' listing | paste -sd' '
		done <names >looked_up
		strata query file_history dataset=strata path="$path" | jq -r '.versions[] | .size // ""' >followed
		is "$(paste names looked_up)" "$(paste names followed)"
	done
	is "$(paste -sd, followed)" ",,,,,,5,,"
}

@test "grep_history reads a content once, whatever paths had it" {
	begin
	put a needle
	put copies/b needle
	node first >/dev/null
	mv $W/a $W/c
	cp -r $W/copies $W/more
	node second >/dev/null
	strata query grep_history dataset=strata pattern=needle >reply
	is "$(jq .searched_contents reply)" 1
	is "$(jq -c '[.matches[] | [.path, .line]] | sort' reply)" '[["a",1],["c",1],["copies/b",1],["more/b",1]]'
	is "$(jq -c '[.matches[] | select(.first == .last) | .path]' reply)" '["a","c","more/b"]'
}

@test "query compares nodes" {
	three
	is "$(q '[.changes[] | [.op, .path]]' diff_snapshots snap_a="$two" snap_b=HEAD)" '[["M","all"],["+","three"]]'
	is "$(q .diff file_diff snap_a="$one" snap_b="$two" path=all)" '"--- a/all\n+++ b/all\n@@ -1 +1 @@\n-all one\n+all two\n"'
	is "$(q .written_bytes size_delta snap_a="$two" snap_b=HEAD)" 16
}

@test "query lists what was deleted" {
	echo old >src/old
	three
	rm $W/old
	node gone >/dev/null
	is "$(q .deleted find_deleted dataset=strata)" '[{"path":"old","type":"file"}]'
}

@test "query looks along the way to the HEAD of the workspace" {
	three
	strata checkout "$one" >/dev/null
	put side x
	node side >/dev/null
	is "$(q .last.snapshot blame_path dataset=strata path=all)" "\"strata@$one\""
	is "$(q .total_snapshots bisect_change dataset=strata path=side predicate='{"kind":"exists"}')" 3
}

@test "query refuses paths that lead out, and what is no file" {
	begin
	ln -s /etc/passwd $W/link
	mkdir $W/dir
	node one >/dev/null
	fails 1 "strata: 'path' has a '..'" strata query read_file snapshot=HEAD path=dir/../../x
	fails 1 "strata: 'link' is a symlink, not a regular file" strata query read_file snapshot=HEAD path=link
	fails 1 "strata: 'dir' is a dir, not a regular file" strata query read_file snapshot=HEAD path=dir
	fails 1 "strata: no path 'none' there" strata query list_dir snapshot=HEAD path=none
	fails 1 "strata: no path 'link/x' there" strata query list_dir snapshot=HEAD path=link/x
}

@test "query needs a method it knows, and pairs of its parameters" {
	begin
	usage strata query
	usage strata query list_dir path
	usage strata query list_dir =x
	usage strata query list_dir colour=red
	run -2 --separate-stderr strata query destroy
	is "${stderr_lines[0]}" "strata: no method 'destroy'"
	fails 1 "strata: 'snapshot' is missing: a string" strata query list_dir path=x
	fails 1 "strata: no dataset 'other'" strata query file_history dataset=other path=x
}

@test "query needs no right to write" {
	three
	prepare_nobody
	chmod -R a-w env
	is "$(nobody "$STRATA" query read_file snapshot=HEAD path=one | jq -r .content)" one
	[ "$(nobody "$STRATA" query list_snapshots | jq '.snapshots | length')" = 4 ]
}
