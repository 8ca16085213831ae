# Where datasets are mounted, and directories that only look like snapshots.
load pools

# make NAME OPTION...: make a dataset with the snapshot 1, which has the file 'here'.
make() {
	local name=$1 at=$BATS_FILE_TMPDIR/made
	shift
	zfs create -o mountpoint=legacy "$POOL/$name"
	mkdir -p "$at"
	mount -t zfs "$POOL/$name" "$at"
	echo "in $name" >"$at/here"
	umount "$at"
	zfs snapshot "$POOL/$name@1"
	[ $# = 0 ] || zfs set "$@" "$POOL/$name"
}

fill() {
	make legacy
	make none mountpoint=none
	make noauto canmount=noauto mountpoint="$POINT/noauto"
	make off mountpoint="$POINT/off"
	zfs unmount "$POOL/off"
	make "with space" mountpoint="$POINT/with space"
	make tab mountpoint="$POINT/"$'tab\tand \\ é'
	make parent mountpoint="$POINT/parent"
	make parent/child mountpoint="$POINT/parent/child"
	zfs snapshot "$POOL/parent@2"
	zfs create -V 8M "$POOL/volume"
	zfs snapshot "$POOL/volume@1"
}

# mount_at DIR OPTION...: make a mount that goes with the test.
mount_at() {
	local at=$1
	shift
	mkdir -p "$at"
	mount "$@" "$at"
	mounted+=("$at")
}
unmount_last() {
	# The kernel has mounted snapshots below it.
	umount "${mounted[-1]}"/.zfs/snapshot/* 2>/dev/null || true
	umount "${mounted[-1]}"
	unset 'mounted[-1]'
}

teardown() {
	cd /
	while [ ${#mounted[@]} -gt 0 ]; do unmount_last; done
	strata_teardown
}

@test "a dataset is read where it is mounted, whatever its property mountpoint is" {
	mount_at "$PWD/noauto" -t zfs -o zfsutil "$POOL/noauto"
	mount_at "$PWD/legacy" -t zfs "$POOL/legacy"
	# The kernel mounts snapshots only below the first mount of a dataset.
	mount_at "$PWD/again" -t zfs "$POOL/legacy"
	TEST=$PWD compare <<'END'
for name, point in (("legacy", os.environ["TEST"] + "/legacy"), ("noauto", os.environ["TEST"] + "/noauto"),
                    ("with space", None), ("tab", None), ("parent", None), ("parent/child", None)):
    data = Dataset(f"{POOL}/{name}", point)
    snap = data.name + "@1"
    data.same("list_dir", snapshot=snap, path="")
    data.same("read_file", snapshot=snap, path="here")
    data.same("file_history", dataset=data.name, path="here")
    equal(ask("read_file", snapshot=snap, path="here")["content"], f"in {name}\n")
# The mountpoint of a dataset inside another one is an empty directory in the snapshots of the outer one.
parent = Dataset(POOL + "/parent")
parent.same("find_files", snapshot=parent.name + "@2", pattern="*")
refused(-32002, "", "read_file", snapshot=parent.name + "@2", path="child/here")
END
}

@test "a dataset that is not mounted is refused with -32001" {
	compare <<'END'
for name, reason in (("legacy", "'legacy'"), ("none", "'none'"), ("noauto", POINT + "/noauto"), ("off", POINT + "/off"),
                     ("volume", "no file system")):
    for method, params in (
            ("read_file", {"snapshot": f"{POOL}/{name}@1", "path": "here"}),
            ("file_history", {"dataset": f"{POOL}/{name}", "path": "here"})):
        data = refused(-32001, reason, method, **params)
        equal(data["argv"], ["zfs", "get", "-H", "-p", "-o", "value", "mountpoint", f"{POOL}/{name}"])
# Lists need no mount.
Dataset(POOL + "/none", "/").same("list_snapshots", dataset=POOL + "/none")
refused(-32001, "does not exist", "list_dir", snapshot=POOL + "/nope@1", path="")
END
}

@test "a directory that only looks like a snapshot is refused" {
	# On the parent's file system, where the dataset would be mounted.
	mkdir -p "$POINT/off/.zfs/snapshot/1" "$POINT/none/.zfs/snapshot/1"
	echo false >"$POINT/off/.zfs/snapshot/1/here"
	each_user look_alike off "is not mounted"
	# On another file system that covers the mountpoint.
	mount_at "$POINT/with space" -t tmpfs none
	each_user look_alike "with space" "cannot be used"
	mkdir -p "$POINT/with space/.zfs/snapshot/1"
	echo false >"$POINT/with space/.zfs/snapshot/1/here"
	each_user look_alike "with space" "cannot be used"
	unmount_last
	# Below another dataset, which has such a snapshot, too.
	mount_at "$POINT/with space" -t zfs "$POOL/legacy"
	each_user look_alike "with space" "cannot be used"
	unmount_last
	# On a file system of another type, whose source has the name of the dataset.
	mount_at "$PWD/fake" -t tmpfs "$POOL/none"
	mkdir -p "$PWD/fake/.zfs/snapshot/1"
	echo false >"$PWD/fake/.zfs/snapshot/1/here"
	each_user look_alike none "is not mounted"
	unmount_last
	is "$(q .content read_file snapshot="$POOL/with space@1" path=here)" '"in with space\n"'
	rm -r "$POINT/off/.zfs" "$POINT/none"
}
look_alike() { # NAME TEXT
	run -1 --separate-stderr asking read_file snapshot="$POOL/$1@1" path=here
	[[ $stderr == *"$2"* ]]
	is "$output" ""
}

@test "an agent keeps nothing open that hinders unmounting or destroying" {
	script_as_root <<'END'
name = POOL + "/busy"
run("zfs", "create", name)
with open(f"{POINT}/busy/here", "w") as file:
    file.write("one\n")
run("zfs", "snapshot", name + "@1")
equal(ask("read_file", snapshot=name + "@1", path="here")["content"], "one\n")
equal(len(ask("versions_of", dataset=name, path="here")["versions"]), 1)
# The agent still runs, and keeps nothing open that would hinder these.
run("zfs", "unmount", name)
refused(-32001, "is not mounted", "read_file", snapshot=name + "@1", path="here")
run("zfs", "mount", name)
equal(ask("read_file", snapshot=name + "@1", path="here")["content"], "one\n")
run("zfs", "destroy", "-r", name)
refused(-32001, "does not exist", "read_file", snapshot=name + "@1", path="here")
END
}

@test "snapshots that are made, renamed and destroyed while an agent runs" {
	script_as_root <<'END'
name = POOL + "/moving"
run("zfs", "create", name)
def write(text):
    with open(f"{POINT}/moving/here", "w") as file:
        file.write(text)
def names():
    rows = ask("list_snapshots", dataset=name)["snapshots"]
    equal(rows, Dataset(name).rows)
    return [row["snap"] for row in rows]
def contents():
    rows = agent().call("versions_of", dataset=name, path="here")["versions"]
    return [[seen["snapshot"].partition("@")[2] for seen in row["snapshots"]] for row in rows]
for number in "123":
    write(number)
    run("zfs", "snapshot", f"{name}@{number}")
    equal(contents(), [[str(i)] for i in range(1, int(number) + 1)])
equal(names(), ["1", "2", "3"])
run("zfs", "rename", name + "@3", name + "@three")
equal(contents(), [["1"], ["2"], ["three"]])
# The kernel has each of them mounted.
equal(agent().call("read_file", snapshot=name + "@2", path="here")["content"], "2")
run("zfs", "destroy", name + "@2")
refused(-32002, f"'{name}@2'", "read_file", snapshot=name + "@2", path="here")
equal(contents(), [["1"], ["three"]])
equal(names(), ["1", "three"])
equal([row["snapshot"] for row in agent().call("file_history", dataset=name, path="here")["versions"]],
      [name + "@1", name + "@three"])
# Destroyed and made again under the same name, with other content.
write("again")
run("zfs", "destroy", name + "@1")
run("zfs", "snapshot", name + "@1")
equal(agent().call("read_file", snapshot=name + "@1", path="here")["content"], "again")
equal(contents(), [["three"], ["1"]])
run("zfs", "destroy", "-r", name)
END
}
