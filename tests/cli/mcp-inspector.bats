# mcp-inspector: the command line of the MCP inspector (tests/npm/inspector) uses 'strata mcp'.  The
# inspector needs a newer node than that of Debian 12, which comes from npm as well.
load helpers
load history
load npm

setup_file() { npm_packages inspector; }

setup() {
	strata_setup
	need jq
	need_packages
	echo one >src/file
	strata init --from src >/dev/null
}

# inspect METHOD [OPTION]...: one call of a server, whose result is in the file reply.
inspect() {
	local packages
	packages=$(cat "$BATS_FILE_TMPDIR/packages")
	PATH=$(echo "$packages"/node-linux-*/bin):$PATH timeout -k 5 60 \
		node "$packages/.bin/inspector" --cli "$STRATA" mcp --env "$STRATA_ROOT" --allow-write \
		--method "$@" >reply 2>reply.err </dev/null || { cat reply reply.err; return 1; }
}
shown() { jq -r "$1" reply; }

@test "the inspector lists, calls and reads" {
	# --strict fails if a schema has an error.
	inspect tools/list --strict
	is "$(shown '[.tools[].name | select(. == "commit" or . == "head" or . == "list_datasets")] | join(" ")')" \
		'commit head list_datasets'
	inspect tools/call --tool-name head
	is "$(shown .structuredContent.id)" "$(strata head)"
	inspect tools/call --tool-name commit --tool-arg message=inspected --tool-arg allow_empty=true
	is "$(strata log --json -n 1 | jq -r '.nodes[].message')" inspected
	inspect tools/call --tool-name log --tool-arg limit=1
	is "$(shown '.structuredContent.nodes | length')" 1
	inspect resources/list
	is "$(shown '[.resources[].uri] | join(" ")')" 'strata://log strata://status'
	inspect resources/templates/list
	is "$(shown '.resourceTemplates[].uriTemplate')" 'strata://node/{id}/{path}'
	inspect resources/read --uri strata://node/HEAD/file
	is "$(shown '.contents[].text')" one
	inspect prompts/list
	is "$(shown '.prompts | length')" 3
	inspect prompts/get --prompt-name what-changed --prompt-args since=HEAD~1
	[[ $(shown '.messages[].content.text') == *'since HEAD~1.'* ]]
	inspect logging/setLevel --log-level debug
}

@test "the inspector shows why a tool fails" {
	run -1 inspect tools/call --tool-name cat --tool-arg where=HEAD:none
	is "$(shown .isError)" true
	[[ $(shown '.content[].text') == *none* ]]
	run -1 inspect tools/call --tool-name nothing
	run -1 inspect resources/read --uri file:///etc/passwd
	run -1 inspect prompts/get --prompt-name nothing
}
