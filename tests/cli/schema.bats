# schema: every operation has a schema, and its replies have the form of the schema.
load helpers
load history
load rootfs
load owner

# as_described OPERATION -- ARGUMENT...: the reply with --json has the form of the operation's
# schema.
as_described() {
	local name=$1 words
	shift 2
	read -ra words <<<"${COMMAND:-${name//_/-}}"
	# shellcheck disable=SC2086 # an operation may have two words
	strata help --schema $name >schema.json
	strata "${words[@]}" --json "$@" >reply.json || echo "status $?"
	"$TOOLS/schemacheck" schema.json <reply.json || { echo "$name: ${words[*]} $*"; cat reply.json; return 1; }
	echo "$name" >>described
}

# asked METHOD KEY=VALUE...: the reply to a query has the form of the method's schema.
asked() { COMMAND=query as_described "$1" -- "$@"; }

# answered METHOD KEY=VALUE...: the answer of the owner has the form of the method's schema.
answered() {
	strata help --schema "$1" >schema.json
	strata ctl "$@" >reply.json
	"$TOOLS/schemacheck" schema.json <reply.json || { echo "$*"; cat reply.json; return 1; }
}

setup() {
	strata_setup
	mkdir src/dir
	printf 'line one\nline two\n' >src/file
	ln -s file src/link
	begin --backend copy
	first=$(id HEAD)
	put file changed
	put dir/new 'line two'
	node second >/dev/null
}

teardown() { end_owner; }

@test "every operation is described, with its parameters and its result" {
	strata help --schema >all.json
	is "$(jq -r '.[] | select(.description == null or .request.properties == null or .result.properties == null) | .name' all.json)" ""
	is "$(jq -r '.[].request.properties[] | select(.description == null)' all.json)" ""
	is "$(jq -r '.[].name' all.json | sort | uniq -d)" ""
	# Every command is an operation, or has further words that are operations.
	for name in $(strata help | sed -n 's/^  \([a-z-]*\) .*/\1/p' | grep -vxE 'help|version|policy' | tr - _); do
		jq -e --arg name "$name" 'any(.[]; .name == $name)' all.json >is || { echo "$name has no schema"; return 1; }
	done
	# All query methods but the restores are read-only, and their names are those of the agent.
	strata query agent_info --json >agent.json
	for name in $(jq -r '.methods[]' agent.json); do
		is "$name $(jq -r --arg name "$name" '.[] | select(.name == $name) | .read_only' all.json)" \
			"$name $([[ $name != restore_* ]] && echo true || echo false)"
	done
	is "$(jq -c '[.[] | select(.destructive) | .name] | sort' all.json)" '["delete","destroy","gc","retain"]'
	is "$(jq -r '.[] | select(.name == "read_file") | .request.required | join(" ")' all.json)" "snapshot path"
	is "$(jq -c '.[] | select(.name == "read_file") | .request.properties.max_bytes | [.type, .minimum, .default, .maximum]' all.json)" \
		'["integer",1,1048576,4194304]'
	# Every method of the control socket has a schema.  Methods that only strata calls are in no
	# list.
	for name in $(strata ctl help); do
		jq -e --arg name "$name" 'any(.[]; .name == $name)' all.json >is || { echo "$name has no schema"; return 1; }
	done
	is "$(strata ctl help | grep -xE 'kill|cancel|subscribe|spawn|exec|ps|init|query|read_file|relay.*' | paste -sd ' ')" \
		"cancel exec kill ps spawn subscribe"
	is "$(jq -r '.[].name | select(startswith("relay"))' all.json)" ""
	is "$(strata help --schema relay.signal | jq -c '.request.required')" '["signal"]'
	is "$(strata help --schema kill | jq -c '[.read_only, .request.required, (.result.properties | keys)]')" \
		'[false,["process"],["process","signal"]]'
	is "$(strata help --schema spawn | jq -c .request)" "$(strata help --schema exec | jq -c .request)"
	run -2 --separate-stderr strata help --schema nothing
	is "$stderr" "strata: no operation 'nothing' ('strata help --schema' lists all)"
}

@test "operations that read reply as described" {
	as_described log --
	as_described branches --
	as_described show --
	as_described head --
	as_described status --
	as_described du --
	as_described diff -- "$first" HEAD --patch
	as_described ls -- HEAD -r
	as_described cat -- HEAD:file
	as_described find -- HEAD 'f*'
	as_described grep -- line
	as_described file_log -- file
	as_described blame -- file
	as_described ps --
	as_described fsck --
	as_described doctor --
	printf '[hosts.a]\ntransport = "local"\nagent_path = "/nowhere"\n' >hosts.toml
	as_described hosts -- --config hosts.toml
	as_described hosts -- --config hosts.toml --check
	as_described worker -- --fd 9 --root src 9</dev/null
	as_described workspaces --
	COMMAND=tag as_described tags --
}

@test "operations that write reply as described" {
	as_described tag -- good "$first"
	put more text
	as_described commit -- -m more
	as_described commit --
	as_described checkout -- good
	as_described undo --
	as_described redo --
	as_described restore -- "$first" -- file
	as_described fork -- other
	as_described workspaces -- delete other
	as_described cp -- src/file work:copied
	as_described cp -- HEAD:file taken
	as_described export -- HEAD --format dir -o exported
	strata export HEAD -o exported.tar
	strata commit >/dev/null
	gone=$(strata head)
	put last text
	strata commit >/dev/null
	as_described import -- exported.tar
	as_described delete -- "$gone"
	as_described retain -- --keep 1
	as_described gc --
	as_described destroy -- --yes
	as_described init -- --from src
}

@test "operations on bundles reply as described" {
	mkdir work
	echo one >work/one
	as_described trace -- --output bundle -- sh -c 'cat work/one; echo two >work/two; rm work/one'
	strata trace --output bundle2 -- sh -c 'echo three >work/three'
	as_described "trace show" -- bundle2
	as_described "trace diff" -- bundle2
	as_described "trace verify" -- bundle2
	as_described "trace cat" -- bundle2 after work/three
	COMMAND="trace restore" as_described "trace plan" -- bundle2 --before --dry-run
	as_described "trace restore" -- bundle2 --before
	as_described "trace replay" -- bundle2
}

@test "operations on policies reply as described" {
	echo '{"preset": "workspace", "trust": "forbid"}' >p.json
	echo '{"net": {"mode": "allowlist", "allowed_domains": ["a.example"]}}' >q.json
	as_described "policy check" -- p.json
	as_described "policy compose" -- p.json q.json
	as_described "policy explain" -- p.json
	as_described "policy explain" -- p.json /etc
	as_described "policy explain" -- q.json b.example
}

@test "query methods reply as described" {
	asked agent_info
	asked list_datasets
	strata query list_snapshots --json >list.json
	dataset=$(jq -r '.snapshots[0].dataset' list.json)
	a=$(jq -r '.snapshots[0].name' list.json)
	b=$(jq -r '.snapshots[-1].name' list.json)
	asked list_snapshots dataset="$dataset"
	asked snapshot_cadence dataset="$dataset"
	asked snapshot_cadence
	asked stale_snapshots older_than=now
	asked stale_snapshots older_than="2 days ago" dataset="$dataset" max_results=1
	asked list_snapshots dataset="$dataset" max_results=1
	asked list_dir snapshot="$b" path=/
	asked list_dir snapshot="$b" path=/ max_entries=1
	asked find_files snapshot="$b" pattern='*'
	asked read_file snapshot="$b" path=file
	asked checksum_file snapshot="$b" path=file
	asked size_breakdown snapshot="$b" path=/
	asked top_consumers snapshot="$b" path=/
	asked file_history dataset="$dataset" path=file
	asked snapshots_containing dataset="$dataset" path=file
	asked first_appearance dataset="$dataset" path=file
	asked last_appearance dataset="$dataset" path=nothing
	asked versions_of dataset="$dataset" path=file
	asked blame_path dataset="$dataset" path=file
	asked blame_path dataset="$dataset" path=file lines=true
	asked blame_path dataset="$dataset" path=nothing
	asked bisect_change dataset="$dataset" path=file predicate='{"kind":"contains","needle":"changed"}'
	asked bisect_change dataset="$dataset" path=file predicate='{"kind":"exists"}'
	asked find_deleted dataset="$dataset"
	asked diff_snapshots snap_a="$a" snap_b="$b"
	asked size_delta snap_a="$a" snap_b="$b"
	asked file_diff snap_a="$a" snap_b="$b" path=file
	asked file_diff snap_a="$a" snap_b="$b" path=dir/new
	asked content_grep snapshot="$b" pattern=line
	asked grep_history dataset="$dataset" pattern=line
	asked restore_file snapshot="$a" snapshot_path=file target_path="$PWD/out/file" --allow-restore out
	asked restore_file snapshot="$b" snapshot_path=file target_path="$PWD/out/file" overwrite=true backup=true --allow-restore out
	asked restore_file snapshot="$b" snapshot_path=file target_path="$PWD/out/file" --allow-restore out
	asked restore_dir snapshot="$b" snapshot_path=dir target_path="$PWD/out/dir" --allow-restore out
	fake_zfs 2.3
	for method in list_pools pool_status "dataset_properties dataset=tank/a"; do
		# shellcheck disable=SC2086 # several words
		COMMAND="query --provider zfs --trust-mountpoints" as_described "${method%% *}" -- $method
	done
	# The test has left out no method.
	strata query agent_info --json | jq -r '.methods[]' | sort >methods
	sort -u described >asked
	diff -u methods asked
}

@test "operations that run commands reply as described" {
	discard env
	mkdir env
	mini_rootfs root
	strata init --from root >/dev/null
	as_described exec -- -- sh -c 'echo one >/one'
	as_described exec -- -- false
	as_described exec -- -- nothing
	as_described tournament -- --test 'test -e /x' -- 'echo 1 >/x' false
}

@test "methods of an owner answer as described" {
	discard env
	mkdir env
	mini_rootfs root
	strata init --from root >/dev/null
	own daemon
	answered ps
	answered cancel id=7
	answered exec shell='echo one >/one'
	answered spawn argv=sleep argv=1000
	number=$(jq .process reply.json)
	answered kill process="$number"
	# Events may follow the answer.
	ask "$(request subscribe)" | jq .result >reply.json
	strata help --schema subscribe >schema.json
	"$TOOLS/schemacheck" schema.json <reply.json
}
