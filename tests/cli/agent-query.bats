# agent-query: an agent reads JSON-RPC requests from standard input, and writes replies to standard
# output.
load helpers
load history

# peer <<END: run a Python script that sends requests to the agent $PROGRAM.
peer() {
	local -a command
	read -ra command <<<"$PROGRAM"
	{
		echo 'from agentpeer import *'
		cat
	} >peer.py
	PYTHONPATH=$BATS_TEST_DIRNAME/../tools python3 -u peer.py "${command[@]}"
}

# each_agent TEST: run the test with each program that answers queries.
each_agent() {
	local -a programs=("$STRATA_AGENT query" "$STRATA agent")
	for PROGRAM in "${programs[@]}"; do
		echo "with $PROGRAM"
		"$@"
	done
}

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
