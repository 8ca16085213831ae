# agent-safety: requests and snapshots that do not play along get a clear answer from an agent, and the
# next request is served.  An agent restores files only where it may.
load helpers
load history
load agentpeer

setup() {
	strata_setup
	mkdir -p bk/1 bk/2 ok outside
}

# prelude: functions for scripts of 'peer'.
prelude() {
	cat <<'END'
import threading
HERE = os.getcwd()

def code(agent, method, /, **params):
    """Returns the error code of a request, or 0.  The agent answers the next request."""
    try:
        agent.call(method, **params)
        result = 0
    except Refused as error:
        assert error.message and len(error.message) < 600, error
        result = error.code
    agent.alive()
    return result

def read(path):
    with open(path) as file:
        return file.read()

def restore(agent, **params):
    """Ask to restore the file f of bk@1 to ok/t."""
    return agent.ask("restore_file", {"snapshot": "bk@1", "snapshot_path": "f",
                                      "target_path": HERE + "/ok/t", **params})
END
	cat
}

snapshots() {
	prelude <<'END' | peer
agent = Agent("--folder", "bk=bk")
for method, path in (("read_file", "file"), ("checksum_file", "file"), ("read_file", "dir/f"),
                     ("list_dir", "dir"), ("content_grep", "dir"), ("read_file", "pipe"),
                     ("content_grep", "pipe"), ("list_dir", "pipe"), ("read_file", "d/../f"),
                     ("read_file", "/dev/null"), ("read_file", "d"), ("read_file", "f\0")):
    params = {"snapshot": "bk@1", "path": path}
    if method == "content_grep":
        params["pattern"] = "secret"
    assert code(agent, method, **params) == -32002, (method, path)
assert code(agent, "list_dir", snapshot="bk@2", path="") == -32002
assert [row["snap"] for row in agent.call("list_snapshots", dataset="bk")["snapshots"]] == ["1"]
assert agent.call("content_grep", snapshot="bk@1", pattern="secret")["matches"] == []
types = {row["name"]: row["type"] for row in
         agent.call("list_dir", snapshot="bk@1", path="")["entries"]}
assert types["pipe"] == "other" and types["file"] == types["dir"] == "symlink", types
if "zero" in types:
    assert code(agent, "read_file", snapshot="bk@1", path="zero") == -32002
assert agent.call("read_file", snapshot="bk@1", path="n\udcff")["content"] == "raw"
assert agent.close() == 0
END
}

@test "an agent follows no symbolic link, and opens no FIFO or device" {
	mkdir bk/1/d
	rmdir bk/2
	echo secret >outside/f
	ln -s "$PWD/outside/f" bk/1/file
	ln -s "$PWD/outside" bk/1/dir
	ln -s "$PWD/outside" bk/2
	mkfifo bk/1/pipe
	printf raw >bk/1/"$(printf 'n\377')"
	[ "$(command id -u)" != 0 ] || mknod bk/1/zero c 1 5
	each_agent snapshots
}

contents() {
	prelude <<'END' | peer
agent = Agent("--folder", "bk=bk")
assert code(agent, "content_grep", snapshot="bk@1", pattern="(a+)+$") in (0, -32602)
assert code(agent, "grep_history", dataset="bk", pattern="(a|aa)+$") in (0, -32602)
diff = agent.call("file_diff", snap_a="bk@1", snap_b="bk@2", path="lines")
assert diff["encoding"] == "utf-8" and diff["diff"].startswith("---"), diff["diff"][:100]
base = {"snapshot": "bk@1", "path": ""}
assert len(agent.call("top_consumers", **base)["entries"]) > 0
assert len(agent.call("find_files", snapshot="bk@1", pattern="deep")["matches"]) == 1
assert agent.call("size_breakdown", **base)["walked_entries"] > 1200
deep = "/".join(["level"] * 1200)
assert agent.call("read_file", snapshot="bk@1", path=deep + "/deep")["content"] == "deep\n"
assert agent.call("find_deleted", dataset="bk")["deleted"], "the tree is only in the first one"
assert code(agent, "read_file", snapshot="bk@1", path="/".join(["x"] * 300000)) in (-32002, -32602)
for size in (b"9" * 5000, b"1e400", b"-1", b"true", b"1.0", b'"1"', b"[]"):
    agent.send(b'{"id":9,"method":"list_dir","params":{"snapshot":"bk@1","path":"","max_entries":%s}}\n' % size)
    reply = agent.reply()
    assert (reply["id"], reply["error"]["code"]) in ((9, -32602), (None, -32700)), reply
for text in (b'"\xff"', b'"\\ud800"', b'"\\udc7f"', b'"\\udfff\\ud83d"', b'"\\u12"', b'"\n'):
    agent.send(b'{"id":9,"method":"read_file","params":{"snapshot":"bk@1","path":%s}}\n' % text)
    reply = agent.reply()
    assert (reply["id"], reply["error"]["code"]) in ((9, -32602), (None, -32700)), reply
    if text.endswith(b"\n"):
        assert agent.reply()["error"]["code"] == -32700
agent.alive()
assert agent.close() == 0
END
}

@test "expensive and deep contents, and odd parameters, are answered in time" {
	printf 'a%.0s' {1..5000} >bk/1/as
	printf '!\n' >>bk/1/as
	yes 'the same line' | head -c 1048576 >bk/1/lines
	{ echo first; yes 'the same line' | head -c 1048000; echo last; } >bk/2/lines
	(cd bk/1 && python3 -c '
import os
for _ in range(1200):
    os.mkdir("level")
    os.chdir("level")
with open("deep", "w") as file:
    file.write("deep\n")')
	touch -d 2020-01-01 bk/1
	each_agent contents
}

commits() {
	prelude <<'END' | peer
strata = sys.argv[1]
def run(*words):
    subprocess.run([strata, *words], check=True, stdout=subprocess.DEVNULL)

def commit(text):
    with open("env/work/main/f", "w") as file:
        file.write(text)
    run("commit", "-m", text)

agent = Agent()
# There is no environment yet, and nothing else to ask.
assert "strata" not in [row["type"] for row in agent.call("list_datasets")["datasets"]]
run("init", "--from", "src", "--backend", "copy")
for text in ("one", "two", "three"):
    commit(text)
    assert agent.call("read_file", snapshot="HEAD", path="f")["content"] == text
names = [row["name"] for row in agent.call("list_datasets")["datasets"] if row["type"] == "environment"]
assert len(names) == 1, names
rows = agent.call("file_history", dataset=names[0], path="f")["versions"]
assert [row["present"] for row in rows] == [False, True, True, True], rows
# The live tree goes back, and on from there.
run("undo")
assert agent.call("read_file", snapshot="HEAD", path="f")["content"] == "two"
# Several processes of the agent see the same.
commit("four")
numbers = [agent.ask("read_file", {"snapshot": "HEAD", "path": "f"}) for _ in range(40)]
assert {agent.reply()["result"]["content"] for _ in numbers} == {"four"}
# The environment is replaced by another one, and then removed.
run("destroy", "--yes")
assert code(agent, "read_file", snapshot="HEAD", path="f") != 0
run("init", "--from", "src", "--backend", "copy")
commit("other")
assert agent.call("read_file", snapshot="HEAD", path="f")["content"] == "other"
assert agent.close() == 0
END
}

@test "an agent sees the environment that is made, committed to and replaced while it runs" {
	PROGRAM="$STRATA agent"
	commits
}

restores() {
	rm -rf ok
	mkdir ok
	prelude <<'END' | peer
agent = Agent("--folder", "bk=bk")
number = restore(agent)
error = agent.reply()["error"]
assert error["code"] == -32002 and error["message"] == "nothing may be restored here", error
assert os.listdir("ok") == []
assert agent.close() == 0
agent = Agent("--folder", "bk=bk", "--allow-restore", "ok")
for params, expected in (({"target_path": HERE + "/outside/t"}, -32002),
                         ({"target_path": HERE + "/ok/../outside/t"}, -32002),
                         ({"target_path": "t"}, -32002), ({"overwrite": "yes"}, -32602),
                         ({"overwrite": 1}, -32602), ({"backup": "false"}, -32602),
                         ({"snapshot_path": "gone"}, -32002), ({"snapshot_path": "../f"}, -32002)):
    restore(agent, **params)
    assert agent.reply()["error"]["code"] == expected, params
assert os.listdir("ok") == [] and os.listdir("outside") == []
restore(agent)
reply = agent.reply()["result"]
assert reply == {"snapshot": "bk@1", "snapshot_path": "f", "target_path": HERE + "/ok/t",
                 "size_bytes": 4, "backup_path": None}, reply
assert read("ok/t") == "new\n"
restore(agent)
assert agent.reply()["result"]["unchanged"] is True
assert agent.close() == 0
END
}

@test "an agent restores only where --allow-restore says so" {
	echo new >bk/1/f
	each_agent restores
}

lost_replies() {
	rm -rf ok
	mkdir ok
	prelude <<'END' | peer
def notes():
    return [name for name in os.listdir("ok") if name.startswith(".strata-restore-")]

request = {"snapshot": "bk@1", "snapshot_path": "d", "target_path": HERE + "/ok/d",
           "overwrite": True, "backup": True}
os.mkdir("ok/d")
with open("ok/d/old", "w") as file:
    file.write("old")
# The connection is lost before, while and after the request is carried out.
for moment in (lambda: True, notes, lambda: os.path.exists("ok/d/f50"), notes):
    agent = Agent("--folder", "bk=bk", "--allow-restore", "ok")
    agent.alive()
    workers = agent.workers()
    agent.ask("restore_dir", request)
    until(lambda: moment() or os.path.exists("ok/d/f50"))
    agent.process.stdout.close()
    agent.process.kill()
    until(lambda: all(gone(pid) for pid in workers))
    agent.process.wait()
agent = Agent("--folder", "bk=bk", "--allow-restore", "ok")
first = agent.call("restore_dir", **request)
again = agent.call("restore_dir", **request)
assert again["unchanged"] is True and again["backup_path"] == first["backup_path"], (first, again)
assert sorted(os.listdir("ok/d")) == sorted(os.listdir("bk/1/d"))
assert read(first["backup_path"] + "/old") == "old"
assert sorted(os.listdir("ok")) == ["d", os.path.basename(first["backup_path"])], os.listdir("ok")
assert agent.close() == 0
END
}

@test "a restore whose reply was lost is asked for again" {
	local i
	mkdir bk/1/d
	for i in {1..99}; do echo "$i" >"bk/1/d/f$i"; done
	each_agent lost_replies
}

at_once() {
	rm -rf ok
	mkdir ok
	prelude <<'END' | peer
agent = Agent("--folder", "bk=bk", "--allow-restore", "ok")
for params in ({}, {"overwrite": True}, {"overwrite": True, "backup": True}):
    for round in range(10):
        with open("ok/t", "w") as file:
            file.write("old")
        if not params:
            os.unlink("ok/t")
        numbers = [restore(agent, **params) for _ in range(2)]
        replies = [agent.reply() for _ in numbers]
        assert sorted(reply["id"] for reply in replies) == numbers
        assert any("result" in reply for reply in replies), replies
        for reply in replies:
            assert "result" in reply or reply["error"]["code"] == -32002, reply
        assert read("ok/t") == "new\n"
        kept = [name for name in os.listdir("ok") if name != "t"]
        assert all(name.startswith("t.bak-") for name in kept), kept
        # Nothing that was there is lost.
        assert [read("ok/" + name) for name in kept] in (
            (["old"], ["old", "new\n"], ["new\n", "old"]) if "backup" in params else ([],)), kept
        for name in kept:
            os.unlink("ok/" + name)
assert agent.close() == 0
END
}

@test "two restores of one target at once leave it complete" {
	echo new >bk/1/f
	each_agent at_once
}

swapped() {
	rm -rf ok
	mkdir -p ok/d
	prelude <<'END' | peer
agent = Agent("--folder", "bk=bk", "--allow-restore", "ok")
done = threading.Event()

def swap():
    """Put links to outside in the places of the directory and of the target."""
    while not done.is_set():
        os.rename("ok/d", "ok/away")
        os.symlink(HERE + "/outside", "ok/d")
        os.unlink("ok/d")
        os.rename("ok/away", "ok/d")
        for name in ("ok/t", "ok/d/t"):
            os.symlink(HERE + "/outside/victim", name + ".link")
            os.rename(name + ".link", name)
            os.unlink(name)

def counted():
    codes = []
    for place in ("/ok/d/t", "/ok/t") * 60:
        restore(agent, target_path=HERE + place, overwrite=True)
        codes.append(agent.reply().get("error", {"code": 0})["code"])
    return set(codes)

thread = threading.Thread(target=swap)
thread.start()
try:
    codes = counted()
finally:
    done.set()
    thread.join()
assert codes <= {0, -32002}, codes
assert os.listdir("outside") == ["victim"] and read("outside/victim") == "keep\n"
agent.alive()
assert agent.close() == 0
END
}

@test "a link that is swapped in during a restore leads nowhere" {
	echo new >bk/1/f
	echo keep >outside/victim
	each_agent swapped
}

@test "an agent of an ordinary user restores what that user may" {
	need_root
	prepare_nobody
	echo new >bk/1/f
	echo secret >bk/1/closed
	chmod 600 bk/1/closed
	mkdir ok/closed
	chmod 700 ok/closed
	mkdir mine
	chown 65534:65534 mine ok
	cp "$BATS_TEST_DIRNAME/../tools/agentpeer.py" .
	{ echo 'from agentpeer import *'; prelude; } <<'END' >peer.py
agent = Agent("--folder", "bk=bk", "--allow-restore", "ok")
reply = agent.call("restore_file", snapshot="bk@1", snapshot_path="f", target_path=HERE + "/ok/t")
assert reply["not_kept"] == ["owner"] and read("ok/t") == "new\n", reply
assert os.stat("ok/t").st_uid == os.getuid() != 0
for source, target in (("closed", "ok/x"), ("f", "ok/closed/x"), ("f", "bk/1/x")):
    assert code(agent, "restore_file", snapshot="bk@1", snapshot_path=source,
                target_path=HERE + "/" + target) == -32002, (source, target)
assert sorted(os.listdir("ok")) == ["closed", "t"]
assert agent.close() == 0
END
	cd mine
	ln -s ../bk ../ok .
	nobody env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$BATS_TEST_TMPDIR" python3 -u ../peer.py "$STRATA" agent
}
