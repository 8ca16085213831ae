# mcp: strata serves a client of the Model Context Protocol on standard input and output.
load helpers
load history
load rootfs
load owner

# client [OPTION...] <<END: run a Python script that talks to 'strata mcp' with these options.
client() {
	{
		echo 'from mcppeer import *'
		cat
	} >client.py
	PYTHONPATH=$BATS_TEST_DIRNAME/../tools timeout -k 5 100 python3 -u client.py "$STRATA" mcp "$@" ||
		{ cat mcp.stderr; return 1; }
}

environment() {
	mkdir -p src/dir
	echo one >src/file
	printf 'a\nb\n' >src/dir/list
	strata init --from src >/dev/null
}

@test "the beginning: version, capabilities, and what may come before it" {
	environment
	client <<-'END'
		server = Server()
		assert server.call('ping') == {}
		assert server.refuses('tools/list') == -32600
		assert server.refuses('initialize', {}) == -32602
		assert server.refuses('initialize', {'protocolVersion': 7}) == -32602
		result = server.begin()
		assert result['protocolVersion'] == '2025-11-25'
		assert set(result['capabilities']) == {'tools', 'resources', 'prompts', 'completions', 'logging'}
		assert result['serverInfo']['name'] == 'strata'
		assert 'undo' in result['instructions']
		assert server.begin('2025-06-18')['protocolVersion'] == '2025-06-18'
		assert server.begin('2031-01-01')['protocolVersion'] == '2025-11-25'
		assert server.refuses('no/such') == -32601
		assert server.refuses('tools/list', {'cursor': 'x'}) == -32602
		server.notify('notifications/unknown')
		server.notify('notifications/roots/list_changed')
		server.send({'jsonrpc': '2.0', 'id': 'x', 'result': {}})
		assert server.call('ping') == {}
		assert server.close() == 0
		assert server.stderr() == ''
	END
}

@test "every tool has a schema and annotations, and rights decide which are there" {
	environment
	for options in '' --read-only --allow-write; do
		client $options <<-'END' >"tools$options"
			server = Server()
			server.begin()
			for name, tool in sorted(server.tools.items()):
			    assert tool['title'] and tool['description'].endswith('.'), name
			    assert tool['inputSchema']['type'] == tool['outputSchema']['type'] == 'object', name
			    notes = tool['annotations']
			    reads = notes['readOnlyHint']
			    assert reads == ('destructiveHint' not in notes), name
			    for given in ['bind', 'policy', 'denials', 'host_sockets', 'config']:
			        assert given not in tool['inputSchema']['properties'], name
			    print('reads' if reads else 'writes', name)
		END
	done
	is "$(grep -c ^writes tools--read-only || true)" 0
	is "$(grep ^writes tools)" 'writes commit'
	for tool in checkout restore undo redo tag exec fork tournament gc retain delete; do
		grep -qx "writes $tool" tools--allow-write
	done
	for tool in head log branches show diff status grep file_log blame cat ls find list_hosts list_datasets bisect_change; do
		grep -qx "reads $tool" tools
		grep -qx "reads $tool" tools--read-only
	done
	# These reach beyond the environment, or give rights.
	for tool in grant revoke export import cp init destroy daemon supervise ctl query relay restore_file; do
		run -1 grep -w "$tool" tools--allow-write
	done
	# Each query method is a tool.
	strata query agent_info --json | jq -r '.methods[]' | grep -v ^restore_ >methods
	while read -r method; do grep -qx "reads $method" tools; done <methods
	run -2 strata mcp --read-only --allow-write
	run -2 strata mcp --policy p.json
	run -2 strata mcp --allow-write --policy -
}

@test "tools read and move the history" {
	environment
	client --allow-write <<-'END'
		server = Server()
		server.begin()
		first = server.tool('head')['id']
		assert first in server.text
		with open('env/work/main/file', 'w') as file:
		    file.write('two\n')
		assert server.tool('status')['dirty']
		made = server.tool('commit', message='second')
		assert made['made'] and made['message'] == 'second', made
		assert not server.tool('commit')['made']
		assert [node['message'] for node in server.tool('log', limit=1)['nodes']] == ['second']
		changes = server.tool('diff', a='HEAD~1', b='HEAD', patch=True)['changes']
		assert [change['path'] for change in changes] == ['file'] and '+two' in changes[0]['patch']
		assert server.tool('cat', where='HEAD~1:file')['content'] == 'one\n' and server.text == 'one\n'
		assert {entry['name'] for entry in server.tool('ls', where='HEAD')['entries']} == {'dir', 'file'}
		assert server.tool('grep', pattern='^b$')['matches'][0]['path'] == 'dir/list'
		assert len(server.tool('file_log', path='file')['versions']) == 2
		server.tool('tag', name='good')
		server.tool('checkout', ref=first)
		assert open('env/work/main/file').read() == 'one\n'
		server.tool('undo')
		assert open('env/work/main/file').read() == 'two\n'
		server.tool('restore', ref='HEAD~1', paths=['file'])
		assert open('env/work/main/file').read() == 'one\n'
		server.tool('fork', name='other', ref='good')
		assert server.tool('head', workspace='other')['id'] == server.tool('show', ref='good')['id']
		assert {one['name'] for one in server.tool('workspaces')['workspaces']} == {'main', 'other'}
		assert server.close() == 0
	END
}

@test "a tool that fails says why and what to do" {
	environment
	client --allow-write <<-'END'
		server = Server()
		server.begin()
		text = server.fails('checkout', ref='nonsense')
		assert 'nonsense' in text, text
		assert 'is a directory' in server.fails('cat', where='HEAD:dir')
		assert 'Remedy: ' in server.text
		assert 'where' in server.fails('cat')
		assert "'limit'" in server.fails('log', limit='many')
		assert 'unknown' in server.fails('head', unknown=1)
		assert 'bind' in server.fails('exec', argv=['true'], bind=['/etc:/mnt'])
		assert 'policy' in server.fails('exec', argv=['true'], policy='/dev/null')
		assert 'HOME' in server.fails('exec', argv=['env'], env=['HOME'])
		assert 'argv' in server.fails('exec')
		assert 'no workspace' in server.fails('head', workspace='nowhere')
		assert server.refuses('tools/call', {'name': 'no_tool'}) == -32602
		assert server.refuses('tools/call', {}) == -32602
		assert server.refuses('tools/call') == -32602
		assert 'object' in server.fails_with({'name': 'head', 'arguments': [1]})
		assert 'agent_id' not in server.tool('head')
		assert server.close() == 0
	END
}

@test "questions go to the agent of this machine, and of a host" {
	environment
	mkdir -p snaps/2026-01-01 snaps/2026-01-02
	echo old >snaps/2026-01-01/file
	echo new >snaps/2026-01-02/file
	cat >hosts.toml <<-END
		[hosts.here]
		transport = "local"
		agent_path = "$STRATA_AGENT"
	END
	client --folder days=snaps --hosts hosts.toml <<-'END'
		server = Server()
		server.begin()
		assert {one['name'] for one in server.tool('list_datasets')['datasets']} >= {'days'}
		history = server.tool('file_history', dataset='days', path='file')
		assert len(history['versions']) == 2, history
		assert server.tool('read_file', snapshot='days@2026-01-01', path='file')['content'] == 'old\n'
		assert server.text == 'old\n'
		text = server.fails('read_file', snapshot='days@2026-01-01', path='missing')
		assert 'missing' in text, text
		assert 'snapshot' in server.fails('list_dir')
		assert [host['name'] for host in server.tool('list_hosts')['hosts']] == ['here']
		assert server.tool('agent_info', host='here')['protocol_version'] == '1'
		assert 'nowhere' in server.fails('agent_info', host='nowhere')
		assert server.tool('agent_info', host='here')['protocol_version'] == '1'
		assert server.close() == 0
	END
}

@test "without an environment there are only questions" {
	mkdir -p snaps/2026-01-01
	client --folder days=snaps <<-'END'
		server = Server()
		result = server.begin()
		assert 'head' not in server.tools and 'list_datasets' in server.tools
		assert 'undo' not in result['instructions']
		assert server.call('resources/list')['resources'] == []
		assert server.call('prompts/list')['prompts'] == []
		# Other tests may have mounted btrfs meanwhile.
		assert 'days' in [one['name'] for one in server.tool('list_datasets')['datasets']]
		assert server.close() == 0
	END
}

@test "exec: output, status, a node, a policy, and its end by cancel" {
	mini_rootfs src
	environment
	client --allow-write <<-'END'
		server = Server()
		server.begin()
		result = server.tool('exec', shell='echo out; echo bad >&2; echo x >made; exit 3')
		assert (result['stdout'], result['stderr'], result['exit_status']) == ('out\n', 'bad\n', 3), result
		assert result['changes']['added'] == 1 and result['node']['id'] in server.text
		result = server.tool('exec', argv=['sh', '-c', 'yes | head -c 1000000'])
		assert result['output_left_out'] == 1000000 - 65536, result['output_left_out']
		assert 'left out' in result['stdout'] and len(result['stdout']) < 70000
		# How the command ended is told however long the output is.
		server.tool('exec', shell='yes | head -c 100000; yes | head -c 100000 >&2; exit 5')
		assert '[exit status 5, no node was made]' in server.text[-300:], server.text[-300:]
		# The text claims nothing about changes that no node was made of.
		assert server.tool('exec', shell='echo y >unseen', no_commit=True)['node'] is None
		assert server.text == '[exit status 0, no node was made]\n', server.text
		number = server.start_tool('exec', shell='echo begun; sleep 1000; echo never', token='t')
		# A command that prints nothing sends progress, too.
		while len(server.notifications) < 3:
		    server.notifications.append(server.message())
		assert {one['method'] for one in server.notifications} == {'notifications/progress'}, server.notifications
		begun = time.monotonic()
		server.notify('notifications/cancelled', requestId=number, reason='test')
		result = server.tool('exec', argv=['true'])
		assert time.monotonic() - begun < 10
		assert number not in server.replies
		listed = server.tool('ps')
		assert 'sleep' not in json.dumps(listed), listed
		assert server.close() == 0
	END
}

@test "with an owner of the workspace, the owner does what writes" {
	mini_rootfs src
	environment
	own daemon
	strata ctl subscribe --lines >events &
	local listener=$!
	wait_for grep -q subscribed events
	client --allow-write <<-'END'
		server = Server()
		server.begin()
		assert server.tool('commit', message='by the owner', allow_empty=True)['made']
		result = server.result('exec', server.start_tool('exec', shell='echo out; echo bad >&2; sleep 2.5; exit 4', token='t'))
		assert (result['stdout'], result['stderr'], result['exit_status']) == ('out\n', 'bad\n', 4), result
		told = [one['params']['progress'] for one in server.notifications]
		assert len(told) >= 2 and told == sorted(set(told)), told
		assert 'nonsense' in server.fails('checkout', ref='nonsense')
		assert server.close() == 0
	END
	wait_for grep -q process.exited events
	disown_env
	is "$(strata log --json -n 1 | jq -r '.nodes[].message')" 'by the owner'
	kill "$listener" 2>/dev/null || true
}

@test "resources and completion" {
	environment
	printf '\xff\xfe' >env/work/main/'b n%'
	strata commit -m second >/dev/null
	strata tag good
	client <<-'END'
		server = Server()
		server.begin()
		uris = [one['uri'] for one in server.call('resources/list')['resources']]
		assert uris == ['strata://log', 'strata://status']
		for uri in uris:
		    content, = server.call('resources/read', {'uri': uri})['contents']
		    assert content['uri'] == uri and content['mimeType'] == 'application/json'
		    assert json.loads(content['text'])
		template, = server.call('resources/templates/list')['resourceTemplates']
		assert template['uriTemplate'] == 'strata://node/{id}/{path}'
		def read(uri):
		    return server.call('resources/read', {'uri': uri})['contents'][0]
		assert read('strata://node/HEAD/file')['text'] == 'one\n'
		assert read('strata://node/good/dir/list')['text'] == 'a\nb\n'
		assert read('strata://node/HEAD/dir%2Flist')['text'] == 'a\nb\n'
		assert read('strata://node/HEAD/b%20n%25')['blob'] == '//4='
		assert len(json.loads(read('strata://node/HEAD/dir')['text'])['entries']) == 1
		for uri in ['strata://node/HEAD/none', 'strata://node/none/file', 'strata://', 'strata://node/',
		            'strata://node/HEAD', 'strata://node//file', 'strata://node/HEAD/%zz', 'strata://node/HEAD/a%00',
		            'file:///etc/passwd', 'strata://node/work:etc/passwd', '']:
		    assert server.refuses('resources/read', {'uri': uri}) in (-32002, -32603), uri
		assert server.refuses('resources/read', {'uri': 5}) == -32602
		def complete(name, value, **filled):
		    params = {'ref': {'type': 'ref/resource', 'uri': 'strata://node/{id}/{path}'},
		              'argument': {'name': name, 'value': value}, 'context': {'arguments': filled}}
		    return server.call('completion/complete', params)['completion']['values']
		assert complete('id', 'go') == ['good'] and complete('id', 'HE') == ['HEAD']
		assert complete('id', server.tool('head')['id'][:6]) == [server.tool('head')['id']]
		assert complete('path', '', id='HEAD~1') == ['dir/', 'file']
		assert complete('path', 'dir/l', id='good') == ['dir/list']
		assert complete('path', 'none/') == [] and complete('other', '') == []
		assert server.refuses('completion/complete', {'argument': {}}) == -32602
		assert server.close() == 0
	END
}

@test "prompts, logging levels" {
	environment
	client <<-'END'
		server = Server()
		server.begin()
		names = {one['name'] for one in server.call('prompts/list')['prompts']}
		assert names == {'what-changed', 'undo-last', 'find-when-it-broke'}
		def text(name, **given):
		    message, = server.call('prompts/get', {'name': name, 'arguments': given})['messages']
		    assert message['role'] == 'user'
		    return message['content']['text']
		assert 'since HEAD~1.' in text('what-changed') and 'since good.' in text('what-changed', since='good')
		assert "'undo'" in text('undo-last')
		assert 'make fails' in text('find-when-it-broke', symptom='make fails')
		for params in [{'name': 'none'}, {}, None, {'name': 'find-when-it-broke'},
		               {'name': 'what-changed', 'arguments': {'since': 5}}, {'name': 'what-changed', 'arguments': []}]:
		    assert server.refuses('prompts/get', params) == -32602, params
		for level in ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']:
		    assert server.call('logging/setLevel', {'level': level}) == {}
		assert server.refuses('logging/setLevel', {'level': 'loud'}) == -32602
		assert server.close() == 0
	END
}

@test "bytes that are not UTF-8 come as U+FFFD" {
	mini_rootfs src
	printf 'x' >src/$'b\xff'
	environment
	client --allow-write <<-'END'
		server = Server()
		server.begin()
		def strict(reply):
		    # Lone surrogates cannot be encoded.
		    json.dumps(reply, ensure_ascii=False).encode()
		    return reply
		names = [entry['name'] for entry in strict(server.tool('ls', where='HEAD'))['entries']]
		assert 'b\ufffd' in names, names
		script = "printf 'a\\377b\\\\udc80 \\303\\244'; printf '\\377' >&2"
		result = strict(server.tool('exec', shell=script))
		assert result['stdout'] == 'a\ufffdb\\udc80 \u00e4', result
		assert result['stderr'] == '\ufffd', result
		strict(server.text)
		assert server.close() == 0
	END
}

@test "exec: a program that is left behind does not keep the result back" {
	mini_rootfs src
	environment
	client --allow-write <<-'END'
		server = Server()
		server.begin()
		begun = time.monotonic()
		result = server.tool('exec', shell='echo out; yes & exit 0')
		assert result['exit_status'] == 0 and result['stdout'].startswith('out\n'), result
		assert time.monotonic() - begun < 10
		assert server.close() == 0
	END
}

@test "--policy: a tool whose commands take no policy is not there" {
	environment
	echo '{"preset":"offline"}' >p.json
	client --allow-write --policy p.json <<-'END'
		server = Server()
		server.begin()
		assert 'exec' in server.tools and 'tournament' not in server.tools
		assert server.close() == 0
	END
}

@test "an environment that is named must be there, and a workspace, too" {
	run -1 strata mcp --env nowhere
	[[ $output == *"no environment at 'nowhere'"* ]]
	environment
	run -1 strata -w nowhere mcp </dev/null
	is "$output" "strata: no workspace 'nowhere'"
	is "$(strata -w main mcp </dev/null)" ''
}

@test "arguments that grow on their way to the agent are refused alone" {
	client <<-'END'
		server = Server()
		server.begin()
		number = server.start_tool('agent_info')
		server.send(b'{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"agent_info","arguments":{"junk":['
		            + b'1e300,' * 150000 + b'1]}}}\n')
		try:
		    server.reply('x')
		    raise AssertionError('not refused')
		except Refused as refused:
		    assert refused.code == -32602, refused
		assert server.result('agent_info', number)['protocol_version'] == '1'
		assert server.close() == 0
	END
}

@test "a host of a wrong type is not taken for this machine" {
	client <<-'END'
		server = Server()
		server.begin()
		for host in [5, [], {}, '', 'a\x00b', True]:
		    assert server.refuses('tools/call', {'name': 'agent_info', 'arguments': {'host': host}}) == -32602, host
		assert server.refuses('tools/call', {'name': 'agent_info', 'arguments': []}) == -32602
		assert server.tool('agent_info')['protocol_version'] == '1'
		assert server.close() == 0
	END
}

@test "a client that is killed leaves no command running" {
	mini_rootfs src
	environment
	client --allow-write <<-'END'
		server = Server()
		server.begin()
		server.start_tool('exec', shell='echo begun; sleep 1000', token='t')
		while not any(one['method'] == 'notifications/progress' for one in server.notifications):
		    server.notifications.append(server.message())
		server.process.stdin.close()
		server.process.stdout.close()
		assert server.process.wait(SECONDS) == 0
	END
	strata ps --json >listed
	run -1 grep -q sleep listed
}

@test "bad input: no line stops the server" {
	environment
	client <<-'END'
		server = Server()
		def refused(line, code):
		    server.send(line + b'\n')
		    message = server.message()
		    assert message['error']['code'] == code, (line[:100], message)
		refused(b'nonsense', -32700)
		refused(b'[]', -32600)
		refused(b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600)
		refused(b'{}', -32600)
		refused(b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600)
		refused(b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600)
		refused(b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600)
		refused(b'{"jsonrpc":"2.0","id":1,"method":5}', -32600)
		refused(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602)
		refused(b'{"jsonrpc":"2.0","id":1,"method":"' + b'x' * 2000000 + b'"}', -32700)
		refused(b'[' * 100000, -32700)
		refused(b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', -32700)
		server.send(b'\n\r\n')
		server.begin()
		assert server.tool('head')['id']
		assert server.close() == 0
	END
}

@test "1,000 requests at once, in any order" {
	environment
	client <<-'END'
		import threading
		server = Server()
		server.begin()
		head = server.tool('head')['id']
		def send():
		    for number in range(1000):
		        method = ['head', 'ls', 'agent_info', 'log'][number % 4]
		        server.send({'jsonrpc': '2.0', 'id': f'n{number}', 'method': 'tools/call',
		                     'params': {'name': method, 'arguments': {}}})
		sender = threading.Thread(target=send)
		sender.start()
		for number in range(1000):
		    method = ['head', 'ls', 'agent_info', 'log'][number % 4]
		    result = server.result(method, f'n{number}')
		    if method == 'head':
		        assert result['id'] == head
		    elif method == 'log':
		        assert result['nodes'][0]['id'] == head
		sender.join()
		assert server.close() == 0
	END
}

@test "a client that hangs up, and one that does not read" {
	mini_rootfs src
	environment
	client --allow-write <<-'END'
		server = Server()
		server.begin()
		number = server.start_tool('exec', shell='sleep 1000')
		time.sleep(0.2)
		server.process.stdin.close()
		server.process.stdout.close()
		server.process.terminate()
		assert server.process.wait(SECONDS) == 0
	END
	strata ps --json >listed
	run -1 grep -q sleep listed
	echo '{"jsonrpc":"2.0","id":1,"method":"ping"}' >in
	is "$(strata mcp <in)" '{"jsonrpc":"2.0","id":1,"result":{}}'
	strata mcp <in >reply
	is "$(cat reply)" '{"jsonrpc":"2.0","id":1,"result":{}}'
	is "$(strata mcp </dev/null)" ''
}

@test "while many requests wait, a ping is answered and a waiting request can be cancelled" {
	mini_rootfs src
	environment
	client --allow-write <<-'END'
		server = Server()
		server.begin()
		numbers = [server.start_tool('exec', shell='sleep 1000') for _ in range(70)]
		assert server.call('ping') == {}
		for number in reversed(numbers):
		    server.notify('notifications/cancelled', requestId=number)
		assert server.tool('head')['id']
		assert not any(number in server.replies for number in numbers)
		assert server.close() == 0
	END
	strata ps --json >listed
	run -1 grep -q sleep listed
}

@test "what a client has asked to write is completed after the client has gone" {
	environment
	client <<-'END'
		server = Server()
		server.begin()
		server.start_tool('commit', message='the last wish', allow_empty=True)
		server.process.stdin.close()
		server.process.stdout.close()
		server.process.wait(SECONDS)
	END
	is "$(strata log --json -n 1 | jq -r '.nodes[].message')" 'the last wish'
}

@test "--policy holds for commands that an owner runs, wherever the owner was started" {
	mini_rootfs src
	environment
	echo '{"preset":"offline","fs":{"allow_write":["/tmp"]}}' >p.json
	mkdir elsewhere
	cd elsewhere
	own daemon
	cd ..
	client --allow-write --policy p.json <<-'END'
		server = Server()
		server.begin()
		assert server.tool('exec', shell='echo x >/tmp/file && cat /tmp/file')['stdout'] == 'x\n'
		result = server.tool('exec', shell='echo x >/etc/file')
		assert result['exit_status'] != 0 and result['denials'], result
		assert '[denied: write /etc/file; ' in server.text, server.text
		assert server.close() == 0
	END
	cd elsewhere
	disown_env
	run -1 strata mcp --allow-write --policy missing.json
	[[ $output == *missing.json* ]]
}
