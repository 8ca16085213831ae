# Pools, datasets, snapshots and properties, compared with what zfs and zpool print.
load pools

fill() {
	fill_history
	zfs create "$POOL/home" && zfs create "$POOL/home/user name" && zfs create "$POOL/none" -o mountpoint=none
	zfs create -V 8M "$POOL/volume"
	zfs create -o mountpoint="$POINT"/$'tab\there' "$POOL/tab"
	zfs snapshot -r "$POOL/home@a b"
	zfs snapshot "$POOL/volume@one"
	zfs set strata:note=$'two\nlines and\ta tab' "$POOL/home"
}

# steady GOT EXPECTED: compare the output of two commands.  Other tests use other pools at the same time,
# and ZFS updates sizes some seconds later, so this is tried several times.
steady() {
	local i
	for ((i = 0; i < 10; i++)); do
		[ "$($1)" != "$($2)" ] || return 0
		sleep 1
	done
	is "$($1)" "$($2)"
}

# fields: print the members of each object on one line, as zfs list -H does.
fields() {
	jq -r --arg pool "$POOL" "$1 | select(.name | test(\"^\\(\$pool)(/|@|\$)\"))
		| [$2 | . // \"-\" | tostring] | join(\"\\t\")"
}
pools_told() { asking list_pools | fields '.pools[]' '.[]'; }
pools_true() { zpool list -H -p -o name,size,allocated,free,health "$POOL"; }
datasets_told() { asking list_datasets | fields '.datasets[]' '.[]'; }
datasets_true() { zfs list -H -p -r -t filesystem,volume -o name,type,mountpoint,used,available "$POOL"; }
snapshots_told() { asking list_snapshots | fields '.snapshots[]' '(.name, .creation, .used, .refer)' | sort; }
snapshots_true() { zfs list -H -p -r -t snapshot -o name,creation,used,referenced "$POOL" | sort; }

@test "list_pools, list_datasets and list_snapshots" {
	each_user steady pools_told pools_true
	each_user steady datasets_told datasets_true
	each_user steady snapshots_told snapshots_true
	is "$(q '.datasets[] | select(.name == "'"$POOL"'/tab") | .mountpoint' list_datasets)" "\"$POINT/tab\\there\""
	compare <<'END'
for name in "data", "home", "home/user name", "volume", "tab", "none":
    Dataset(f"{POOL}/{name}", "/").same("list_snapshots", dataset=f"{POOL}/{name}")
refused(-32001, "dataset does not exist", "list_snapshots", dataset=POOL + "/nope")
END
}

@test "snapshot_cadence and stale_snapshots" {
	compare <<'END'
data = Dataset(POOL + "/data")
data.same("snapshot_cadence", dataset=data.name)
for row in data.rows:
    for seconds in row["creation"], row["creation"] + 1:
        data.same("stale_snapshots", dataset=data.name, older_than=f"@{seconds}")
everything = ask("snapshot_cadence")
assert everything["dataset"] is None and everything["biggest_gap_seconds"] is None, everything
assert everything["total_snapshots"] >= 7 and everything["total_unique_bytes"] is not None, everything
rows = ask("stale_snapshots", older_than="@9000000000")["snapshots"]
assert [row["used"] for row in rows] == sorted((row["used"] for row in rows), reverse=True), rows
assert {f"{POOL}/home/user name@a b", f"{POOL}/volume@one"} <= {row["name"] for row in rows}, rows
END
}

@test "dataset_properties" {
	compare <<'END'
data = Dataset(POOL + "/data")
names = ["type", "creation", "mountpoint", "compression", "atime"]
data.same("dataset_properties", dataset=data.name, properties=names)
Dataset(POOL + "/volume", "/").same("dataset_properties", dataset=POOL + "/volume", properties=["volsize"])
# zfs get prints a newline in a value as it is.
home = ask("dataset_properties", dataset=POOL + "/home", properties=["strata:note", "mounted"])["properties"]
equal(home, [{"name": "strata:note", "value": "two\nlines and\ta tab", "source": "local"},
             {"name": "mounted", "value": "yes", "source": "-"}])
every = ask("dataset_properties", dataset=POOL + "/home")["properties"]
names = [line.split("\t")[0] for line in zfs("get", "-H", "-o", "property", "all", data.name)]
assert len(every) == len(names) + 1 and home[0] in every, every
refused(-32001, "", "dataset_properties", dataset=POOL + "/nope")
END
}

@test "pool_status tells about a mirror that lacks a disk and has been scrubbed" {
	local mirror=$POOL-mirror disk
	for disk in 1 2 3; do truncate -s 64M "$PWD/m$disk"; done
	zpool create -O mountpoint=none "$mirror" mirror "$PWD/m1" "$PWD/m2" spare "$PWD/m3"
	zpool offline "$mirror" "$PWD/m2"
	zpool scrub -w "$mirror"
	MIRROR=$mirror compare <<'END'
mirror = os.environ["MIRROR"]
status, = ask("pool_status", pool=mirror)["pools"]
text = run("zpool", "status", mirror).decode()
facts = dict(re.findall(r"^ *(\w+): ((?:.*)(?:\n\t.*|\n {8}.*)*)", text, re.M))
equal({name: " ".join(status[name].split()) for name in ("state", "status", "action", "scan", "errors")},
      {name: " ".join(facts[name].split()) for name in ("state", "status", "action", "scan", "errors")})
assert status["state"] == "DEGRADED" and "scrub" in status["scan"], status
rows = [line for line in text.partition("CKSUM\n")[2].partition("\n\n")[0].splitlines()]
equal([(row["depth"], row["name"], row["state"]) for row in status["vdevs"]],
      [((len(line) - len(line.lstrip()) - 1) // 2, *(line.split() + [None])[:2]) for line in rows])
assert [row["state"] for row in status["vdevs"] if row["name"].endswith("/m2")] == ["OFFLINE"], status
names = {pool["name"] for pool in ask("pool_status")["pools"]}
assert {mirror, POOL} <= names, names
refused(-32001, "no such pool", "pool_status", pool="nope")
END
	zpool destroy "$mirror"
}

@test "temporary snapshots of a live zfs diff are left out" {
	local at=$POINT/live i diff long
	zfs create "$POOL/live"
	zfs allow strata-plain diff "$POOL/live"
	zfs snapshot "$POOL/live@1"
	# Its output fills the pipe, so zfs diff does not end and its temporary snapshot stays.
	printf -v long 'a-name-that-fills-the-pipe-%.0s' {1..7}
	for i in {100..600}; do : >"$at/$i-$long"; done
	mkfifo pipe
	exec 7<>pipe
	zfs diff "$POOL/live@1" >pipe 3>&- &
	diff=$!
	for ((i = 0; i < 100; i++)); do
		zfs list -H -t snapshot -o name "$POOL/live" >now
		! grep -q '@zfs-diff-' now || break
		sleep 0.1
	done
	grep '@zfs-diff-' now
	each_user one_snapshot
	kill "$diff"
	exec 7>&-
	wait "$diff" || true
	zfs destroy -r "$POOL/live"
}
one_snapshot() {
	is "$(q '[.snapshots[].snap]' list_snapshots dataset="$POOL/live")" '["1"]'
	is "$(q '[.versions[].snapshot]' file_history dataset="$POOL/live" path=1000)" "[\"$POOL/live@1\"]"
	is "$(q .total_snapshots snapshot_cadence dataset="$POOL/live")" 1
}

@test "lists of everything, while datasets are made and destroyed" {
	local pid
	: >going
	while [ -e going ]; do
		zfs create -u "$POOL/fleeting" && zfs snapshot "$POOL/fleeting@1" && zfs destroy -r "$POOL/fleeting" || exit
	done >fleeting.txt 2>&1 3>&- &
	pid=$!
	compare <<'END'
for _ in range(2):
    for method in "list_datasets", "list_snapshots", "snapshot_cadence":
        agent().call(method)
    agent().call("stale_snapshots", older_than="now")
END
	rm going
	wait "$pid" || { cat fleeting.txt; return 1; }
}

@test "every method has a test on real pools" {
	local method
	asking agent_info | jq -r '.methods[]' >methods
	[ "$(wc -l <methods)" -gt 25 ]
	is "$(q .providers agent_info)" '["zfs"]'
	while read -r method; do
		grep -qw "$method" "$BATS_TEST_DIRNAME"/*.bats || { echo "no test: $method"; return 1; }
	done <methods
}
