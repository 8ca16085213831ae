# query --provider zfs: tests/tools/fake_zfs.py prints recorded outputs of zfs and zpool of OpenZFS
# 2.1 and 2.3.  The snapshots are plain directories.
load helpers
load history

setup() {
	strata_setup
	fake_zfs 2.3
	a=root/tank/a/.zfs/snapshot
	for name in 1 2 3 s1 s2 "with space" daily-2024-01-02_03:04.05; do
		mkdir -p "$a/$name"
	done
}

asking() { strata query --json --provider zfs --trust-mountpoints "$@"; }

# q JQ-FILTER METHOD...: prints the reply after this filter, as compact JSON.
q() {
	local filter=$1
	shift
	asking "$@" | jq -c "$filter"
}

# refused METHOD...: checks that the method fails.  Its message is in $stderr.
refused() {
	run -1 --separate-stderr asking "$@"
	[ -z "$output" ]
}

@test "datasets, their mountpoints and their snapshots are those of zfs" {
	for version in 2.1 2.3; do
		fake_zfs "$version"
		is "$(q '[.datasets[].name]' list_datasets)" \
			'["tank","tank/a","tank/home","tank/home/user","tank/legacy","tank/noauto","tank/none","tank/odd","tank/off","tank/sa","tank/vol","tank/with space"]'
		is "$(q '[.datasets[] | select(.name == "tank/vol") | [.type, .mountpoint]]' list_datasets)" '[["volume",null]]'
		is "$(q '.datasets[] | select(.name == "tank/legacy") | .mountpoint' list_datasets)" '"legacy"'
		# The mountpoint has a tab that zfs does not quote.
		is "$(q '.datasets[] | select(.name == "tank/odd") | .mountpoint' list_datasets)" "\"$PWD/root/mnt/tab\\tand é\""
		# The temporary snapshots of zfs diff are left out.
		is "$(q '[.snapshots[].snap]' list_snapshots dataset=tank/a)" \
			'["1","2","3","daily-2024-01-02_03:04.05","with space","s1","s2"]'
		is "$(q '[.snapshots[] | select(.dataset == "tank/home") | .snap]' list_snapshots)" '["daily-2024-01-02_03:04.05","s1"]'
	done
	is "$(q '.datasets[1]' list_datasets)" \
		"{\"name\":\"tank/a\",\"type\":\"filesystem\",\"mountpoint\":\"$PWD/root/tank/a\",\"used\":98304,\"avail\":113844224}"
	is "$(q '.snapshots[0]' list_snapshots dataset=tank/a)" \
		'{"name":"tank/a@1","dataset":"tank/a","snap":"1","creation":1794706762,"used":114688,"refer":131072}'
	is "$(q '.snapshots' list_snapshots dataset=tank/with\ space max_results=1)" \
		'[{"name":"tank/with space@daily-2024-01-02_03:04.05","dataset":"tank/with space","snap":"daily-2024-01-02_03:04.05","creation":1794706766,"used":0,"refer":98304}]'
	is "$(q '[.total_snapshots, .biggest_gap_seconds, .total_unique_bytes]' snapshot_cadence dataset=tank/a)" '[7,2,114688]'
	is "$(q '[.snapshots[] | [.snap, .used]]' stale_snapshots dataset=tank/a older_than=@1794706766)" '[["1",114688],["2",0]]'
}

@test "a snapshot that was destroyed since it was listed is left out of what is asked about all" {
	for name in 1 2 3 s1 s2; do
		echo "needle $name" >"$a/$name/f"
	done
	echo gone >"$a/2/old"
	rm -r "$a/1" "$a/3" "$a/with space" "$a/daily-2024-01-02_03:04.05" "$a/s2"
	is "$(q '[.matches[].text]' grep_history dataset=tank/a pattern=needle)" '["needle 2","needle s1"]'
	is "$(q '[.from_snapshot, .to_snapshot, .deleted]' find_deleted dataset=tank/a)" \
		'["tank/a@2","tank/a@s1",[{"path":"old","type":"file"}]]'
	is "$(q '[.transition.from_snapshot, .transition.to_snapshot, .total_snapshots]' bisect_change dataset=tank/a path=old predicate='{"kind":"exists"}')" \
		'["tank/a@2","tank/a@s1",2]'
	is "$(q .last.snapshot last_appearance dataset=tank/a path=f)" '"tank/a@s1"'
}

# listing ARGUMENTS ROWS: print the answer of fake_zfs for a list of snapshots.  A row is
# "DATASET@SNAPSHOT CREATION".
listing() {
	printf '\n$ zfs list -H -p -t snapshot -o name,creation,used,referenced%s\n' "$1"
	# shellcheck disable=SC2086 # several words
	printf '%s\t%s\t0\t0\n' $2
	echo '--- exit 0'
}

@test "the snapshots of child datasets are no snapshots of their parent" {
	local parent='tank/home@old 1000 tank/home@new 2000' data=$ZFS_ANSWERS
	# Among the snapshots of both, the first has the name new, and the last has the name old.
	local child='tank/home/user@new 500 tank/home/user@old 3000' printed
	local home=root/tank/home/.zfs/snapshot user=root/tank/home/user/.zfs/snapshot
	mkdir -p $home/old $home/new/user $user/old $user/new
	touch $home/old/{gone,kept} $home/new/{kept,made} $user/new/theirs $user/old/mine
	# With "-d 1", zfs prints no snapshots of children.  They are left out even if it prints them.
	for printed in "$parent" "$parent $child"; do
		{
			listing ' -d 1 tank/home' "$printed"
			listing ' -d 1 tank/home/user' "$child"
			for form in '' ' -r tank/home' ' -d 1 -r tank/home' ' tank/home'; do
				listing "$form" "$parent $child"
			done
			cat "$data"
		} >answers
		ZFS_ANSWERS=$PWD/answers
		is "$(q '[.from_snapshot, .to_snapshot, .deleted]' find_deleted dataset=tank/home)" \
			'["tank/home@old","tank/home@new",[{"path":"gone","type":"file"}]]'
		is "$(q '[.from_snapshot, .to_snapshot, .deleted]' find_deleted dataset=tank/home after=@2001)" '[null,null,[]]'
		is "$(q '[.from_snapshot, .to_snapshot]' find_deleted dataset=tank/home before=@999)" '[null,null]'
		is "$(q '[.from_snapshot, .to_snapshot, .deleted]' find_deleted dataset=tank/home/user)" \
			'["tank/home/user@new","tank/home/user@old",[{"path":"theirs","type":"file"}]]'
		is "$(q '[.snapshots[].name]' list_snapshots dataset=tank/home)" '["tank/home@old","tank/home@new"]'
		is "$(q '[.versions[] | [.snapshot, .present]]' file_history dataset=tank/home path=gone)" \
			'[["tank/home@old",true],["tank/home@new",false]]'
		is "$(q '[.total_snapshots, .transition.to_snapshot]' bisect_change dataset=tank/home path=gone predicate='{"kind":"exists"}')" \
			'[2,"tank/home@new"]'
	done
}

@test "files of snapshots are read below .zfs/snapshot" {
	echo one >"$a/1/f"
	echo two >"$a/2/f"
	echo x >"$a/with space/g"
	is "$(q '[.entries[].name]' list_dir snapshot=tank/a@1 path=)" '["f"]'
	is "$(q .content read_file snapshot=tank/a@2 path=/f)" '"two\n"'
	is "$(q '.matches' find_files 'snapshot=tank/a@with space' pattern='*')" '[{"path":"g","name":"g","type":"file"}]'
	is "$(q '[.versions[] | [.snapshot, .present]]' file_history dataset=tank/a path=f)" \
		'[["tank/a@1",true],["tank/a@2",true],["tank/a@3",false],["tank/a@daily-2024-01-02_03:04.05",false],["tank/a@with space",false],["tank/a@s1",false],["tank/a@s2",false]]'
	is "$(q '[.deleted[].path]' find_deleted dataset=tank/a before=@1794706766)" '["f"]'
	is "$(q '.versions | length' versions_of dataset=tank/a path=f)" 2
	is "$(q .identical file_diff snap_a=tank/a@1 snap_b=tank/a@2 path=f)" false
	mkdir -p "root/mnt/tab	and é/.zfs/snapshot/x"
	touch "root/mnt/tab	and é/.zfs/snapshot/x/here"
	is "$(q '[.entries[].name]' list_dir snapshot=tank/odd@x path=)" '["here"]'
	# One call gives the snapshots of all datasets.
	: >calls
	asking list_snapshots >all.json
	is "$(<calls)" "zfs list -H -p -t filesystem,volume -o name,type,mountpoint,used,available
zfs list -H -p -t snapshot -o name,creation,used,referenced"
	is "$(jq '.snapshots | length' all.json)" 19
	# Only what a method needs is asked: the mountpoint for a file, the list for a history.
	: >calls
	asking read_file snapshot=tank/a@1 path=f >one.json
	is "$(<calls)" "zfs get -H -p -o value mountpoint tank/a"
	: >calls
	asking file_history dataset=tank/a path=f >one.json
	is "$(<calls)" "zfs list -H -p -t snapshot -o name,creation,used,referenced -d 1 tank/a
zfs get -H -p -o value mountpoint tank/a"
}

@test "pools, their status and properties" {
	is "$(q .pools list_pools)" '[{"name":"tank","size":251658240,"allocated":1863680,"free":249794560,"health":"ONLINE"}]'
	for pool in '' pool=tank; do
		is "$(q .pools pool_status ${pool:+"$pool"})" \
			'[{"name":"tank","state":"ONLINE","errors":"No known data errors","vdevs":[{"name":"tank","state":"ONLINE","read_errors":0,"write_errors":0,"cksum_errors":0,"depth":0},{"name":"/tmp/d0","state":"ONLINE","read_errors":0,"write_errors":0,"cksum_errors":0,"depth":1}]}]'
	done
	is "$(q '[.dataset, (.properties | length), .properties[0]]' dataset_properties dataset=tank/a)" \
		'["tank/a",76,{"name":"type","value":"filesystem","source":"-"}]'
	is "$(q .properties dataset_properties dataset=tank/a properties='["compression","atime"]')" \
		'[{"name":"atime","value":"off","source":"inherited from tank"},{"name":"compression","value":"on","source":"default"}]'
	# The value has a tab that zfs does not quote.
	is "$(q '.properties[0].value' dataset_properties dataset=tank/odd properties='["mountpoint","mounted"]')" "\"$PWD/root/mnt/tab\\tand é\""
	is "$(q .written_bytes size_delta snap_a=tank/a@1 snap_b=tank/a@2)" 122880
}

@test "diff_snapshots gives what zfs diff lists, with its escapes decoded" {
	for version in 2.1 2.3; do
		fake_zfs "$version"
		asking diff_snapshots snap_a=tank/a@1 snap_b=tank/a@2 >diff.json
		is "$(jq '.changes | length' diff.json)" 52
		is "$(jq -c '[.changes[] | select(.op == "R") | [.path, .new_path]][0]' diff.json)" '["/tank/a/rename_me","/tank/a/renamed"]'
		for path in 'name with space' 'tab\there' 'new\nline' 'back\\slash' 'naïve-日本語-😀' 'bad\udcff\udcfeutf8' 'ctl\u0001\u001b\u007fx' "quote\\\"s'x" hl_old; do
			grep -qF "\"/tank/a/$path\"" diff.json
		done
		is "$(jq -c '[.changes[] | select(.path | test("/(fifo2|chr|newlink|newdir|sock)$")) | [.op, .type]] | unique' diff.json)" \
			'[["+","dir"],["+","other"],["+","symlink"]]'
	done
	is "$(q '[.truncated, (.changes | length), .cursor]' diff_snapshots snap_a=tank/a@1 snap_b=tank/a@2 max_results=52)" '[false,52,null]'
	is "$(q '[.truncated, (.changes | length), .cursor]' diff_snapshots snap_a=tank/a@1 snap_b=tank/a@2 max_results=50)" '[true,50,"50"]'
	is "$(q '[.truncated, [.changes[].path]]' diff_snapshots snap_a=tank/a@1 snap_b=tank/a@2 max_results=50 cursor=50)" \
		'[false,["/tank/a/newdir/b c","/tank/a/created"]]'
	is "$(q '[.changes, .truncated]' diff_snapshots snap_a=tank/a@2 snap_b=tank/a@3)" '[[],false]'
	refused diff_snapshots snap_a=tank/a@2 snap_b=tank/a@1
	[[ $stderr == "strata: 'zfs' failed with exit status 1: Unable to obtain diffs"* ]]
	refused diff_snapshots snap_a=tank/a@1 snap_b=tank/home@s1
	[[ $stderr == "strata: the snapshots must be of one dataset"* ]]
	refused diff_snapshots snap_a=tank/a@1 snap_b=tank/a@s1
	[[ $stderr == *"Unable to obtain diffs"*"privilege or diff delegated permission is needed"* ]]
}

@test "a dataset without files, and a snapshot that is none, are refused" {
	refused list_dir snapshot=tank/legacy@x path=
	is "$stderr" "strata: 'tank/legacy' is not mounted; its property mountpoint is 'legacy'"
	refused list_dir snapshot=tank/none@x path=
	is "$stderr" "strata: 'tank/none' is not mounted; its property mountpoint is 'none'"
	refused list_dir snapshot=tank/vol@x path=
	is "$stderr" "strata: 'tank/vol' has no mountpoint, since it is no file system"
	refused list_dir snapshot=tank/off@x path=
	is "$stderr" "strata: 'tank/off' has no usable mountpoint: no file '$PWD/root/tank/off'"
	mkdir -p root/tank/off
	refused list_dir snapshot=tank/off@x path=
	is "$stderr" "strata: the mountpoint '$PWD/root/tank/off' of 'tank/off' has no directory '.zfs/snapshot'"
	refused file_history dataset=tank/off path=f
	refused list_dir snapshot=tank/nope@x path=
	is "$stderr" "strata: 'zfs' failed with exit status 1: cannot open 'tank/nope': dataset does not exist"
	refused list_dir snapshot=tank/a@none path=
	is "$stderr" "strata: there is no snapshot 'tank/a@none'"
	ln -s 1 "$a/link"
	mkfifo "$a/pipe"
	refused list_dir snapshot=tank/a@link path=
	is "$stderr" "strata: 'tank/a@link' is a symbolic link, not a snapshot"
	refused list_dir snapshot=tank/a@pipe path=
	is "$stderr" "strata: 'tank/a@pipe' is not a directory"
	# A listed snapshot without a directory was destroyed meanwhile.
	rmdir "$a/3"
	is "$(q '[.versions[].snapshot]' file_history dataset=tank/a path=f)" \
		'["tank/a@1","tank/a@2","tank/a@daily-2024-01-02_03:04.05","tank/a@with space","tank/a@s1","tank/a@s2"]'
	# Without --trust-mountpoints, a plain directory is not accepted as the root of a snapshot.
	run -1 --separate-stderr strata query --provider zfs list_dir snapshot=tank/a@1 path=
	is "$stderr" "strata: 'tank/a' is not mounted; its mountpoint is '$PWD/root/tank/a'"
}

@test "names, lists and texts of another form never reach zfs" {
	local name
	: >calls
	for name in -r tank/ä 'tank/a ' ' tank' 'tank@x' 'tank;id' 'tank$(id)' "tank'" 'tank%' /tank '' .; do
		refused list_snapshots "dataset=\"$name\""
		refused dataset_properties "dataset=\"$name\""
		refused file_history "dataset=\"$name\"" path=f
		refused list_dir "snapshot=\"$name@x\"" path=
		refused pool_status "pool=\"$name\""
	done
	for name in '' -r 'a/b' 'a ' 'a\n' 'é'; do
		refused list_dir "snapshot=\"tank/a@$name\"" path=
		refused size_delta snap_a=tank/a@1 "snap_b=\"tank/a@$name\""
		refused diff_snapshots snap_a=tank/a@1 "snap_b=\"tank/a@$name\""
		refused pool_status "pool=\"$name\""
		refused dataset_properties dataset=tank/a "properties=[\"$name\"]"
	done
	refused pool_status pool=tank/a
	refused pool_status --params '{"pool":1}'
	refused pool_status --params '{"pool":["tank"]}'
	for name in '[]' '"all"' '{}' '[1]' '[null]' '["a","-x"]' '["a,b"]' '["_x"]' true; do
		refused dataset_properties dataset=tank/a "properties=$name"
	done
	refused dataset_properties
	refused size_delta snap_a=tank/a@1
	refused size_delta snap_a=tank/a@1 snap_b=tank/home@s1
	refused list_dir snapshot=tank/a@1 path=../1
	refused list_dir snapshot=tank/a@1 path=x max_entries=0
	refused content_grep snapshot=tank/a@1 pattern='('
	is "$(<calls)" ""
}

@test "zfs that is missing, fails, or prints what it should not gives a clear error" {
	local method
	refused dataset_properties dataset=tank/a properties='["nosuchprop"]'
	[[ $stderr == *"no answer for"* || $stderr == *"bad property list"* ]]
	refused pool_status pool=nope
	is "$stderr" "strata: 'zpool' failed with exit status 1: cannot open 'nope': no such pool"
	refused list_snapshots dataset=tank/gone
	[[ $stderr == "strata: 'zfs' failed with exit status 1: The ZFS modules cannot be"*loaded* ]]
	refused size_delta snap_a=tank/a@2 snap_b=tank/a@1
	is "$stderr" "strata: zfs does not know what was written between 'tank/a@2' and 'tank/a@1'"
	for method in list_datasets list_snapshots "list_snapshots dataset=tank/a" list_pools pool_status \
		"dataset_properties dataset=tank/a" "size_delta snap_a=tank/a@1 snap_b=tank/a@2" \
		"diff_snapshots snap_a=tank/a@1 snap_b=tank/a@2" "file_history dataset=tank/a path=f" \
		"list_dir snapshot=tank/a@1 path="; do
		# shellcheck disable=SC2086 # several words
		for ZFS_DOES in fail garbage endless junk; do
			refused $method
			case $ZFS_DOES in
			fail) [[ $stderr == *"failed with exit status 1: cannot open 'tank': pool I/O is currently suspended"* ]] ;;
			*) [[ $stderr == *" printed "* ]] ;;
			esac
		done
	done
	ZFS_DOES=million
	refused list_snapshots dataset=tank/a
	is "$stderr" "strata: 'tank/a' has more than 400000 snapshots"
	refused list_datasets
	[[ $stderr == "strata: 'zfs list' printed '"*tank/a@n0*"' instead of a dataset" ]]
	rm bin/zfs bin/zpool
	mkdir empty
	for method in list_datasets list_pools "list_snapshots dataset=tank/a" "list_dir snapshot=tank/a@1 path="; do
		# shellcheck disable=SC2086 # several words
		run -1 --separate-stderr env PATH="$PWD/empty" "$STRATA" query --provider zfs --trust-mountpoints $method
		[[ $stderr == "strata: there is no program 'z"*" on PATH" ]]
	done
}

# peer <<END: run a script of Python that is a peer of the agent.
peer() {
	{
		cat <<'END'
from agentpeer import *

AGENT = ("query", "--provider", "zfs", "--trust-mountpoints")

def refused(code, agent, method, /, **params):
    try:
        agent.call(method, **params)
    except Refused as error:
        assert error.code == code, error
        return error
    raise AssertionError(method + " succeeds")

def hanging():
    """The process of zfs that hangs, once it runs."""
    until(lambda: os.path.exists("calls.pid") and open("calls.pid").read().endswith("\n"))
    with open("calls.pid") as file:
        return int(file.read())

def gone(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return not file.read()
    except FileNotFoundError:
        return True
END
		cat
	} >peer.py
	PYTHONPATH=$BATS_TEST_DIRNAME/../tools python3 -u peer.py "$STRATA_AGENT"
}

@test "the agent answers about ZFS, with the codes of the protocol" {
	echo one >"$a/1/f"
	peer <<'END'
agent = Agent(*AGENT)
assert agent.call("agent_info")["providers"] == ["zfs"]
assert len(agent.call("list_datasets")["datasets"]) == 12
assert agent.call("read_file", snapshot="tank/a@1", path="f")["content"] == "one\n"
assert agent.call("size_delta", snap_a="tank/a@1", snap_b="tank/a@2")["written_bytes"] == 122880
assert len(agent.call("diff_snapshots", snap_a="tank/a@1", snap_b="tank/a@2")["changes"]) == 52
for code, method, params in (
    (-32602, "list_dir", {"snapshot": "t;x@1", "path": ""}),
    (-32602, "list_dir", {"snapshot": "tank/a", "path": ""}),
    (-32602, "list_dir", {"snapshot": "tank/a@1", "path": "", "max_entries": 1.5}),
    (-32602, "list_dir", {"snapshot": "tank/a@1", "path": "..", "max_entries": True}),
    (-32602, "list_dir", {"snapshot": 1, "path": ""}),
    (-32602, "list_dir", {"path": ""}),
    (-32602, "pool_status", {"pool": "tank/a"}),
    (-32602, "pool_status", {"pool": ["tank"]}),
    (-32602, "dataset_properties", {"dataset": "tank/a", "properties": []}),
    (-32602, "dataset_properties", {"dataset": "tank/a", "properties": ["a b"]}),
    (-32602, "size_delta", {"snap_a": "tank/a@1", "snap_b": "tank/home@s1"}),
    (-32602, "content_grep", {"snapshot": "tank/a@1", "pattern": "("}),
    (-32602, "bisect_change", {"dataset": "tank/a", "path": "f", "predicate": {"kind": "no"}}),
    (-32602, "stale_snapshots", {"older_than": "whenever"}),
    (-32002, "list_dir", {"snapshot": "tank/a@1", "path": "a/../.."}),
    (-32002, "list_dir", {"snapshot": "tank/a@none", "path": ""}),
    (-32002, "list_dir", {"snapshot": "tank/a@1", "path": "f"}),
    (-32002, "read_file", {"snapshot": "tank/a@1", "path": "g"}),
):
    assert "argv" not in (refused(code, agent, method, **params).data or {}), method
for method, params, stderr, argv in (
    ("list_snapshots", {"dataset": "tank/nope"}, "cannot open 'tank/nope': dataset does not exist",
     "zfs list -H -p -t snapshot -o name,creation,used,referenced -d 1 tank/nope"),
    ("pool_status", {"pool": "nope"}, "cannot open 'nope': no such pool", "zpool status nope"),
    ("list_dir", {"snapshot": "tank/legacy@x", "path": ""}, "",
     "zfs get -H -p -o value mountpoint tank/legacy"),
    ("diff_snapshots", {"snap_a": "tank/a@1", "snap_b": "tank/a@nope"},
     "Unable to obtain diffs: No such file or directory", "zfs diff -H -F tank/a@1 tank/a@nope"),
):
    data = refused(-32001, agent, method, **params).data
    assert data == {"stderr": stderr, "argv": argv.split(" ")}, data
agent.alive()
assert agent.close() == 0
END
}

@test "a zfs that hangs is killed when its request is cancelled, and when the peer hangs up" {
	ZFS_DOES=hang peer <<'END'
agent = Agent(*AGENT)
number = agent.ask("list_datasets")
pid = hanging()
agent.alive_beside = agent.ask("agent_info")
assert agent.reply()["id"] == agent.alive_beside
agent.send({"method": "$/cancel", "params": {"id": number}})
reply = agent.reply(2)
assert reply["id"] == number and reply["error"]["code"] == -32003, reply
until(lambda: gone(pid), 1)
os.unlink("calls.pid")
agent.ask("diff_snapshots", snap_a="tank/a@1", snap_b="tank/a@2")
pid = hanging()
agent.process.stdout.close()
agent.end_input()
until(lambda: gone(pid), 1)
agent.process.wait(5)
END
}
