# worker: files over frames, through the client in clients/python; hostile peers; pools.
load helpers
load history

setup() {
	strata_setup
	need python3
	mkdir ws out/side
	ws=$BATS_TEST_TMPDIR/ws
	printf 'outside\n' >out/file
	export PYTHONPATH=$BATS_TEST_DIRNAME/../../clients/python PYTHONDONTWRITEBYTECODE=1
	# A leak detector stops the threads of a worker by calls that the worker's filter refuses.
	export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
	export WS=$ws OUT=$BATS_TEST_TMPDIR/out SOCKET=$BATS_TEST_TMPDIR/sock
}

teardown() {
	[ -z "${pool:-}" ] || kill "$pool" 2>/dev/null || true
	strata_teardown
}

# Writes a program with a worker w in ws, and the imports that most tests need.
client() { # [OPTION of worker]...
	OPTIONS=$* python3 -c "
import os, socket, struct, subprocess, sys, time
from strata_worker import *
ws, out = os.environ['WS'], os.environ['OUT']
def refused(code, call, *args, **more):
    try:
        call(*args, **more)
    except WorkerError as error:
        assert code in (error.code, error.errno), (code, error.code, error.errno, str(error))
        return str(error)
    raise AssertionError(f'not refused: {call} {args}')
def spawn(**more):
    return Worker.spawn(root=ws, command=(os.environ['PROGRAM'], 'worker'),
        options=os.environ['OPTIONS'].split(), stderr=open('stderr', 'a'), **more)
$(cat)"
}
export PROGRAM

# Both programs give the same result.
each_program() {
	PROGRAM=$STRATA "$@"
	rm -rf "$ws" && mkdir "$ws"
	PROGRAM=$STRATA_AGENT "$@"
}

all_kinds() {
	client <<'END'
w = spawn()
w.ping()
assert w.write(f'{ws}/a/b.txt', b'one\ntwo\n') == 8
assert w.read(f'{ws}/a/b.txt') == b'one\ntwo\n'
assert w.edit(f'{ws}/a/b.txt', 'two', 'three') == 1
assert open(f'{ws}/a/b.txt').read() == 'one\nthree\n'
assert list(w.glob('**/*.txt', ws)) == [f'{ws}/a/b.txt']
assert list(w.grep('^t', ws)) == [Match(f'{ws}/a/b.txt', 2, 'three')]
assert w.stat(f'{ws}/a').is_dir and w.stat(f'{ws}/a/b.txt').size == 10
assert w.get_env('NO_SUCH_VARIABLE') == [None]
assert 'policy' in refused('policy_denied', w.read, f'{out}/file')
assert refused('io', w.edit, f'{ws}/a/b.txt', 'absent', '').startswith('old_string not found')
refused('ENOENT', w.read, f'{ws}/none')
refused('unimplemented', w.call, 'fly')
refused('protocol', w.call, 'read')
refused('protocol', w.grep, '[', ws)
w.ping()
w.shutdown()
assert w.close() == 0
END
}

@test "every request gets its reply, from strata and from strata-agent" {
	each_program all_kinds
}

@test "frames go over standard input and output" {
	frame() { printf '\0\0\0'; printf "\\x$(printf %x ${#1})"; printf %s "$1"; }
	{ frame '{"kind":"ping"}'; frame '{"kind":"get_env","names":["A"]}'; } | (cd ws && strata worker 2>/dev/null) >reply
	is "$(tr '\0\017' .. <reply)" '....{"kind":"pong"}..."{"kind":"get_env","values":[null]}'
	{ frame '{"kind":"shutdown"}'; frame '{"kind":"ping"}'; } | strata worker --root ws 2>/dev/null >reply
	is "$(tr '\0\017' .. <reply)" '....{"kind":"pong"}'
	strata worker --root ws 2>/dev/null </dev/null >reply
	[ ! -s reply ]
}

broken() { # BYTES: status 1, with an error frame
	local status=0
	printf "$1" | strata worker --root ws 2>/dev/null >reply || status=$?
	is "$status" 1
	grep -aq '"kind":"error","code":"protocol"' reply
}

@test "what is no frame or no JSON ends the connection with status 1" {
	broken '\0\0'
	broken '\0\0\0\144abcd'
	broken '\100\0\0\0'
	broken '\0\20\0\1'
	broken '\0\0\0\4nope'
	broken '\0\0\0\2[]'
	broken '\0\0\0\2{}'
}

@test "deep nesting is refused, and so is an oversize frame before it is sent" {
	PROGRAM=$STRATA client <<'END'
w = spawn()
deep = b'{"kind":"ping","x":' + b'[' * 400000 + b']' * 400000 + b'}'
w._sock.sendall(struct.pack('>I', len(deep)) + deep)
assert w.receive()['code'] == 'protocol'
assert w.close() == 1
w = spawn()
try:
    w.write(f'{ws}/large', b'x' * 1000000)
    raise AssertionError('sent')
except ValueError:
    pass
w.ping()
assert w.close() == 0
END
}

@test "a large file is read in pieces, and what fits is marked as truncated" {
	head -c 3000000 /dev/urandom >ws/large
	PROGRAM=$STRATA client <<'END'
w = spawn()
content = open(f'{ws}/large', 'rb').read()
assert w.read(f'{ws}/large') == content
reply = w.call('read', path=f'{ws}/large')
assert reply['truncated'] and bytes(reply['content']) == content[:len(reply['content'])]
reply = w.call('read', path=f'{ws}/large', max_bytes=10)
assert 'truncated' not in reply and len(reply['content']) == 10
assert w.call('write', path=f'{ws}/x', content='\u00e4', encoding='utf8')['bytes_written'] == 2
assert w.call('read', path=f'{ws}/x', encoding='utf8') == {'kind': 'read', 'content': '\u00e4', 'encoding': 'utf8'}
os.mkdir(os.fsencode(ws) + b'/\xff')
assert w.write(os.fsencode(ws) + b'/\xff/\xfe', b'odd') == 3
assert [os.fsencode(p) for p in w.glob('**/*', ws)][-1] == os.fsencode(ws) + b'/\xff/\xfe'
END
}

@test "requests with ids are answered when they are done, and cancelled" {
	mkdir ws/tree
	for i in $(seq 300); do mkdir "ws/tree/$i"; touch "ws/tree/$i/"{1..40}; done
	PROGRAM=$STRATA client <<'END'
w = spawn()
slow = '{' + ','.join('*a*b*c*d*e' for _ in range(3000)) + '}'
first = w.start('glob', pattern='**/' + slow, root=ws)
second = w.start('ping')
start = time.time()
assert w.finish(second) == {'kind': 'pong', 'id': second}
w.cancel(first)
refused('ECANCELED', w.finish, first)
assert time.time() - start < 5
many = [w.start('stat', path=ws) for _ in range(200)]
assert all(w.finish(n)['is_dir'] for n in reversed(many))
w.cancel(12345)
# The worker finishes the request before it ends.
last = w.start('grep', pattern='x', root=ws)
w.send({'kind': 'shutdown'})
assert [w.receive().get('id') for _ in range(2)] == [last, None]
assert w.close() == 0
END
}

@test "a peer that hangs up ends the work within a second, and a slow one is served" {
	mkdir ws/tree
	for i in $(seq 300); do mkdir "ws/tree/$i"; touch "ws/tree/$i/"{1..40}; done
	PROGRAM=$STRATA client <<'END'
slow = '**/{' + ','.join('*a*b*c*d*e' for _ in range(3000)) + '}'
for ids in ({}, {'id': 1}):
    w = spawn()
    w.ping()
    w.send({'kind': 'glob', 'pattern': slow, 'root': ws, **ids})
    time.sleep(0.3)
    assert w._process.poll() is None
    start = time.time()
    w.close()
    assert time.time() - start < 1, time.time() - start
w = spawn()
for byte in struct.pack('>I', 15) + b'{"kind":"ping"}':
    w._sock.sendall(bytes([byte]))
    time.sleep(0.01)
assert w.receive() == {'kind': 'pong'}
END
}

@test "the policy decides, with links and names of all sorts" {
	cat >policy.json <<-END
		{"fs": {"allow_read": ["$ws"], "allow_write": ["\$WORKSPACE/rw"], "deny_read": ["$ws/secret"]}}
	END
	mkdir ws/secret ws/rw
	echo key >ws/secret/key
	ln -s "$OUT/file" ws/rw/absolute
	ln -s ../../out/side ws/rw/side
	ln -s ../secret/key ws/rw/key
	mkfifo ws/rw/fifo
	PROGRAM=$STRATA client --policy policy.json --denials denials.json <<'END'
w = spawn()
for path in f'{out}/file', f'{ws}/rw/absolute', f'{ws}/secret/key', f'{ws}/rw/key', f'{ws}/../out/file', \
        f'{ws}/rw/side/x', '/proc/self/root/etc/passwd', '/etc/passwd', f'{ws}/secret/none':
    refused('policy_denied', w.read, path)
for path in f'{ws}/new', f'{ws}/rw/side/new', f'{ws}/rw/absolute', f'{out}/new':
    refused('policy_denied', w.write, path, b'x')
assert 'fs.deny_read' in refused('policy_denied', w.read, f'{ws}/secret/key')
refused('ENXIO', w.read, f'{ws}/rw/fifo')
refused('EINVAL', w.read, f'{ws}/a\0b')
refused('EINVAL', w.read, 'relative')
assert w.write(f'{ws}/rw/a/b', b'x') == 1
assert [m.path for m in w.grep('key|outside', ws)] == []
END
	is "$(cat out/file)" outside
	is "$(ls out/side)" ""
	jq -es 'any(.[]; .what == "read" and (.path | endswith("/secret/key")) and (.rule | startswith("fs.deny_read")))' denials.json >is
}

@test "a layer that the policy requires and that is missing is status 78" {
	echo '{"trust": "require", "fs": {"allow_read": ["$WORKSPACE"]}}' >policy.json
	if strata worker --policy policy.json --root ws </dev/null >reply 2>stderr; then
		is "$(grep -c 'not enforced' stderr)" 0
	else
		is "$?" 78
		grep -q 'requires' stderr
		grep -aq '"code":"internal"' reply
	fi
}

@test "the environment is that of the policy" {
	echo '{"fs": {"allow_read": ["$WORKSPACE"]}, "env": {"allow": ["KEEP_*"], "set": {"MADE": "yes"}}}' >policy.json
	KEEP_ME=1 SECRET=2 PROGRAM=$STRATA client --policy policy.json <<'END'
w = spawn()
assert w.get_env('MADE', 'SECRET', 'KEEP_ME', 'HOME') == ['yes', None, '1', None]
END
}

@test "no descriptor of ours is open in the worker" {
	exec 7<out/file
	PROGRAM=$STRATA client <<'END'
w = spawn(close_fds=False)
w.ping()
fds = f'/proc/{w._process.pid}/fd'
targets = [os.readlink(f'{fds}/{n}') for n in os.listdir(fds)]
assert not any(t.startswith(out) for t in targets), targets
END
}

@test "a socket is ours alone, and for one peer" {
	"$STRATA" worker --socket sock --root ws 2>/dev/null >ready 3>&- &
	pool=$!
	until [ -s ready ]; do sleep 0.01; done
	is "$(cat ready)" ready
	is "$(stat -c %a sock)" 600
	PROGRAM=$STRATA client <<'END'
w = Worker.connect('sock')
w.write(f'{ws}/f', b'x')
assert not os.path.exists('sock')
w.close()
END
	wait "$pool"
	run -2 strata worker --socket sock --fd 3
	run -2 strata worker --pool 2
	run -1 strata worker --fd 77
	run -1 strata worker --root none
}

@test "a pool gives each connection a worker of its own" {
	"$STRATA" worker --pool 3 --socket sock --root ws 2>/dev/null >ready 3>&- &
	pool=$!
	until [ -s ready ]; do sleep 0.01; done
	PROGRAM=$STRATA client <<'END'
workers = [Worker.connect('sock') for _ in range(8)]
for number, w in enumerate(workers):
    w.write(f'{ws}/{number}', b'x')
workers[0]._sock.sendall(b'\0\0\0\4nope')
assert workers[0].receive()['code'] == 'protocol'
for w in workers[1:]:
    w.ping()
    w.shutdown()
END
	is "$(ls ws | wc -l)" 8
	kill "$pool"
	wait "$pool"
	[ ! -e sock ]
}
