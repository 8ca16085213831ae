# agent-query: an agent reads JSON-RPC requests from standard input, and writes replies to standard
# output.
load helpers
load history
load agentpeer

# lines TEXT: send the text to the agent, and print the id and the code of each reply.
lines() {
	local -a command
	read -ra command <<<"$PROGRAM"
	printf "$1" | "${command[@]}" | jq -rc '"\(.id | tojson) \(.error.code // 0)"' | sort
}

framing() {
	local ok='{"id":1,"method":"agent_info"}'
	is "$(lines '')" ''
	is "$(lines "$ok")" '1 0'
	is "$(lines "$ok\r\n")" '1 0'
	is "$(lines "\n \t\r\n\r\n$ok\n\n")" '1 0'
	is "$(lines '{"id":1,"method":"agent_info","params":{}}')" '1 0'
	is "$(lines '{"id":1,"method":"agent_info","params":{"unknown":[1]}}')" '1 0'
	is "$(lines 'nonsense\n')" 'null -32700'
	is "$(lines '{"id":1,"method":\n')" 'null -32700'
	is "$(lines '{"id":1,"method":"\xff"}')" 'null -32700'
	is "$(lines "$ok $ok")" 'null -32700'
	is "$(lines '[]')" 'null -32600'
	is "$(lines "[$ok]")" 'null -32600'
	is "$(lines '"agent_info"\n5\nnull\n')" $'null -32600\nnull -32600\nnull -32600'
	is "$(lines '{"id":7}')" '7 -32600'
	is "$(lines '{"id":7,"method":null}')" '7 -32600'
	is "$(lines '{}')" 'null -32600'
	is "$(lines '{"id":7,"method":"destroy_pool"}')" '7 -32601'
	is "$(lines '{"id":7,"method":"agent_info\\u0000"}')" '7 -32601'
	is "$(lines '{"id":7,"method":""}')" '7 -32601'
	is "$(lines '{"id":7,"method":"agent_info","params":null}')" '7 -32602'
	is "$(lines '{"id":7,"method":"agent_info","params":[]}')" '7 -32602'
	is "$(lines '{"id":7,"method":"nope","params":"x"}')" '7 -32602'
	# After each of these errors, the next request is answered.
	is "$(lines "nonsense\n[]\n{}\n$ok\n")" $'1 0\nnull -32600\nnull -32600\nnull -32700'
}

@test "each rule of the framing has its code" {
	each_agent framing
}

ids() {
	peer <<'END'
agent = Agent()
for id in ['0', '-7', '1.50', '1e2', 'null', 'true', '""', '"a\\u0041\\n"', '"\\udc80"', '"ä"',
           '18446744073709551615', '[]', '{"a":[1,"x y"]}', '[' * 63 + ']' * 63]:
    agent.send(b'{"id" : %s, "method":"agent_info"}\n' % id.encode())
    assert agent.line().startswith(b'{"jsonrpc":"2.0","id":%s,"result":{' % id.encode()), id
agent.send(b'{"method":"agent_info"}\n{"method":"nope"}\n{"method":"agent_info","params":[]}\n')
agent.silent()
agent.alive()
assert agent.close() == 0
assert agent.stderr() == ''
END
}

@test "an id is repeated as it was given, and without an id there is no reply" {
	each_agent ids
}

limits() {
	peer <<'END'
agent = Agent()
request = lambda value: b'{"id":1,"method":"agent_info","params":{"x":%s}}\n' % value
refused = (None, -32700)
assert agent.code(request(b'[' * 62 + b']' * 62)) == (1, 0)
assert agent.code(request(b'[' * 63 + b']' * 63)) == refused
assert agent.code(request(b'[' * 400000)) == refused
assert agent.code(request(b'9' * 64)) == (1, 0)
assert agent.code(request(b'9' * 5000)) == refused
assert agent.code(request(b'"\xc3("')) == refused
assert agent.code(request(b'"\\ud800"')) == (1, -32602)
assert agent.code(request(b'1e400')) == (1, 0)
assert agent.code(request(b'"' + b'x' * ((1 << 20) - len(request(b'""')) + 1) + b'"')) == (1, 0)
assert agent.code(request(b'"' + b'x' * ((1 << 20) - len(request(b'""')) + 2) + b'"')) == refused
agent.alive()
for _ in range(100):
    agent.send(b'x' * 1000000)
assert agent.reply()['error']['message'] == 'a request is longer than 1048576 bytes'
agent.silent()
agent.send(b'\n')
agent.alive()
assert SANITIZED or agent.peak() < 16 << 20, agent.peak()
agent.send(b'y' * 2000000)
assert agent.reply()['error']['code'] == -32700
assert agent.close() == 0
END
}

@test "a request over a limit is refused, and the next one is served" {
	each_agent limits
}

cancels() {
	peer <<'END'
agent = Agent("--folder", "bk=bk")
slow = agent.ask(*ENDLESS)
agent.until_busy()
cancel = agent.ask("$/cancel", id=slow)
replies = {reply["id"]: reply for reply in (agent.reply(), agent.reply())}
assert replies[cancel]["result"] == {"cancelled": 1}, replies
assert replies[slow]["error"] == {"code": -32003, "message": "cancelled"}, replies
until(lambda: not agent.busy(), 5)
agent.alive()
assert agent.call("$/cancel", id=slow) == {"cancelled": 0}
# A process that does not look whether its request was cancelled is killed.
slow = agent.ask(*ENDLESS)
agent.until_busy()
stuck = [pid for pid in agent.workers() if process_state(pid) == "R"]
for pid in stuck:
    os.kill(pid, signal.SIGSTOP)
agent.send({"method": "$/cancel", "params": {"id": slow}})
assert agent.reply()["error"]["code"] == -32003
until(lambda: all(gone(pid) for pid in stuck), 5)
agent.alive()
assert agent.close() == 0
END
}

@test "a request that runs is cancelled at once, and the next one is served" {
	endless bk/1 bk/2
	each_agent cancels
}

in_any_order() {
	peer <<'END'
agent = Agent("--provider", "zfs")
slow = [agent.ask("list_datasets") for _ in range(8)]
until(lambda: len(agent.workers()) == 8)
# All processes have work, so these two have to wait.
waiting, cancelled = agent.ask("agent_info"), agent.ask("agent_info")
agent.send({"method": "$/cancel", "params": {"id": cancelled}})
reply = agent.reply()
assert reply["id"] == cancelled and reply["error"]["code"] == -32003, reply
agent.silent()
agent.send({"method": "$/cancel", "params": {"id": slow[5]}})
replies = [agent.reply(), agent.reply()]
assert [reply["id"] for reply in replies] == [slow[5], waiting], replies
assert "result" in replies[1], replies
# The requests that were sent last are answered first.
fast = [agent.ask("agent_info") for _ in range(3)]
assert sorted(agent.reply()["id"] for _ in fast) == fast
del slow[5]
for number in slow:
    agent.send({"method": "$/cancel", "params": {"id": number}})
assert sorted(agent.reply()["id"] for _ in slow) == slow
agent.alive()
assert agent.close() == 0
END
}

@test "requests in flight are answered in any order" {
	fake_zfs 2.3
	ZFS_DOES=hang each_agent in_any_order
}

killed() {
	peer <<'END'
agent = Agent("--folder", "bk=bk")
for _ in range(2):
    slow = agent.ask(*ENDLESS)
    agent.until_busy()
    for pid in agent.workers():
        os.kill(pid, signal.SIGKILL)
    reply = agent.reply()
    assert reply == {"jsonrpc": "2.0", "id": slow, "error": {"code": -32603,
        "message": "the process that answered this was killed by signal 9"}}, reply
    agent.alive()
# A process without a request may be killed, too.
for pid in agent.workers():
    os.kill(pid, signal.SIGKILL)
until(lambda: not agent.workers())
agent.alive()
assert agent.close() == 0
END
}

@test "a process of the agent that is killed fails its request only" {
	endless bk/1 bk/2
	each_agent killed
}

hang_up() {
	peer <<'END'
agent = Agent("--folder", "bk=bk")
for _ in range(2):
    agent.ask(*ENDLESS)
agent.until_busy()
workers = agent.workers()
agent.process.stdout.close()
assert agent.process.wait(5) == 1
until(lambda: all(gone(pid) for pid in workers), 5)
assert "the peer has hung up" in agent.stderr(), agent.stderr()
# An agent that is killed takes its processes along.
agent = Agent("--folder", "bk=bk")
agent.ask(*ENDLESS)
agent.until_busy()
workers = agent.workers()
agent.process.kill()
until(lambda: all(gone(pid) for pid in workers), 5)
# The end of the input is no hang-up: everything is answered.
agent = Agent("--folder", "bk=bk")
numbers = [agent.ask("list_dir", snapshot="bk@1", path="") for _ in range(40)]
agent.end_input()
assert sorted(agent.reply()["id"] for _ in numbers) == numbers
assert agent.line() == b"" and agent.process.wait(5) == 0
END
}

@test "a peer that hangs up ends the work" {
	endless bk/1 bk/2
	each_agent hang_up
}

streams() {
	local -a command
	local ok='{"id":1,"method":"agent_info"}'
	read -ra command <<<"$PROGRAM"
	run -1 --separate-stderr sh -c '"$@" >&-' - "${command[@]}" <<<"$ok"
	[[ $stderr == *": cannot write replies: Bad file descriptor"* ]]
	run -1 --separate-stderr sh -c '"$@" <&-' - "${command[@]}"
	[[ $stderr == *": cannot read requests: Bad file descriptor"* ]]
	run -0 sh -c '"$@" 2>&-' - "${command[@]}" <<<"$ok"
	[[ $output == *'"protocol_version":"1"'* ]]
	run -1 --separate-stderr sh -c '"$@" >/dev/full' - "${command[@]}" <<<"$ok"
	[[ $stderr == *": cannot write replies: No space left on device"* ]]
	run -1 --separate-stderr "${command[@]}" </
	[[ $stderr == *": cannot read requests: Is a directory"* ]]
}

@test "standard streams that are closed, full or no stream are errors" {
	each_agent streams
}
