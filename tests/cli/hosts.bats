# hosts: questions to other machines, over ssh.  The other machines are sshds on this one.
load helpers
load history
load sshd
load agentpeer

setup() {
	strata_setup
	sshd_keys
	export STRATA_AGENT
	HASH=$(sha256sum <"$STRATA_AGENT" | cut -d ' ' -f 1)
	mkdir -p bk/daily.1 bk/daily.0
	echo one >bk/daily.1/a
	echo two >bk/daily.0/a
	touch -d 2025-01-01 bk/daily.1
	touch -d 2025-01-02 bk/daily.0
}

teardown() {
	sshd_stop
	[ -z "${PLACE:-}" ] || rm -rf "$PLACE"
	strata_teardown
}

# asking HOST METHOD...: ask about the folder bk.
asking() {
	local host=$1
	shift
	strata query --json --host "$host" --folder "bk=$PWD/bk" "$@"
}

# checked HOST: what the check of a host says: where the agent came from, or the error.
checked() { strata hosts --check "$1" --json | jq -r '.hosts[0].check | .agent // .error'; }

# like TEXT PATTERN: the text must match the pattern.
like() {
	# shellcheck disable=SC2053 # a pattern
	[[ $1 == $2 ]] || { echo "$1"; return 1; }
}

# refused HOST PATTERN: the host cannot be asked, for this reason.
refused() {
	run -1 --separate-stderr asking "$1" list_datasets
	like "$stderr" "$2"
}

@test "hosts are listed, and strictly read" {
	is "$(strata hosts 2>&1)" "strata: there are no hosts, because there is no file '$HOME/.config/strata/hosts.toml'"
	mkdir -p .config/strata
	XDG_CONFIG_HOME=$PWD/.config
	export XDG_CONFIG_HOME
	cat >.config/strata/hosts.toml <<-'END'
		[hosts.nas]
		ssh_target = "me@nas"   # the big one
		sudo = true
		allow_restore = true
		restore_paths = ["/srv"]
		[hosts.old]
		agent_mode = "preinstalled"
		[hosts.here]
		transport = "local"
	END
	is "$(strata hosts)" "$(printf '%-16s %s\n' nas 'me@nas, sudo, may restore' old 'old, preinstalled' here 'this machine')"
	is "$(strata hosts old --json | jq -c '.hosts')" \
		'[{"name":"old","transport":"ssh","ssh_target":"old","agent_mode":"preinstalled","agent_path":null,"sudo":false,"ssh_options":[],"allow_restore":false,"restore_paths":[]}]'
	run -1 --separate-stderr strata hosts none
	is "$stderr" "$(printf "strata: no host 'none' in '%s'\nhint: the hosts are nas, old, here" "$PWD/.config/strata/hosts.toml")"
	printf '[hosts.a]\nsudoo = true\n' >bad.toml
	fails 1 "strata: bad.toml: unknown key 'sudoo' (line 2, column 1)" strata hosts --config bad.toml
	STRATA_HOSTS=bad.toml fails 1 "strata: bad.toml: unknown key 'sudoo' (line 2, column 1)" strata query --host a list_datasets
	STRATA_HOSTS=gone.toml fails 1 "strata: no file 'gone.toml'" strata hosts
	fails 2 "strata: query: --config needs --host" strata query --config bad.toml list_datasets
	fails 2 "strata: query: --allow-restore is for this machine; the hosts file says where a host may restore" \
		strata query --host nas --allow-restore /srv list_datasets
}

@test "the agent is sent once, and verified before it runs again" {
	sshd_start nas
	cached=home-nas/.cache/strata/agent-$HASH
	is "$(asking nas read_file snapshot=bk@daily.1 path=a | jq -r .content)" one
	cmp "$STRATA_AGENT" "$cached"
	is "$(stat -c %a home-nas/.cache/strata "$cached" | paste -sd ' ')" "700 700"
	is "$(ls home-nas/.cache/strata)" "agent-$HASH"
	is "$(checked nas)" cache
	# A program that is not the one its name says never runs.
	printf '#!/bin/sh\ntouch %s/ran\nexec "%s" "$@"\n' "$PWD" "$STRATA_AGENT" >"$cached"
	is "$(checked nas)" replaced
	[ ! -e ran ]
	cmp "$STRATA_AGENT" "$cached"
	is "$(checked nas)" cache
	# Other versions go when they were not used for a month.
	touch home-nas/.cache/strata/agent-recent
	touch -d '40 days ago' home-nas/.cache/strata/agent-old
	rm "$cached"
	is "$(checked nas)" sent
	is "$(cd home-nas/.cache/strata && echo *)" "agent-$HASH agent-recent"
}

@test "two hosts, and two questions to one host, at the same time" {
	sshd_start nas
	sshd_start other
	for i in 1 2 3; do
		asking nas list_dir snapshot=bk@daily.0 path= >nas.$i 2>&1 3>&- &
		asking other list_dir snapshot=bk@daily.0 path= >other.$i 2>&1 3>&- &
	done
	for job in $(jobs -p); do
		grep -qx "$job" sshd.pids || wait "$job"
	done
	for i in nas.1 nas.2 nas.3 other.1 other.2 other.3; do
		is "$(jq -r '.entries[].name' $i)" a
	done
	for i in nas other; do
		cmp "$STRATA_AGENT" "home-$i/.cache/strata/agent-$HASH"
		is "$(ls home-$i/.cache/strata)" "agent-$HASH"
	done
	is "$(strata hosts --check --jsonl | jq -r '"\(.name) \(.check.ok) \(.check.agent)"')" $'nas true cache\nother true cache'
}

@test "an agent that is installed, and a key that can run nothing else" {
	EXTRA="agent_mode = \"preinstalled\"
agent_path = \"$STRATA_AGENT\"" sshd_start nas
	is "$(checked nas)" installed
	is "$(asking nas read_file snapshot=bk@daily.0 path=a | jq -r .content)" two
	[ ! -e home-nas/.cache ]
	sed -i "s#^#restrict,command=\"$STRATA_AGENT query --folder bk=$PWD/bk\" #" keys/authorized
	is "$(strata query --json --host nas read_file snapshot=bk@daily.0 path=a | jq -r .content)" two
	EXTRA="agent_mode = \"preinstalled\"
agent_path = \"/nowhere/strata-agent\"" sshd_start bare
	cp keys/user.pub keys/authorized
	refused bare "strata: host 'bare': strata-agent does not exist there: *
hint: set 'agent_path' to its path there, or agent_mode = \"bootstrap\""
}

@test "errors of the agent are those of this machine, with the host" {
	sshd_start nas
	fails 1 "strata: host 'nas': no dataset 'gone'" asking nas file_history dataset=gone path=a
	fails 1 "strata: host 'nas': 'path' has a '..'" asking nas read_file snapshot=bk@daily.0 path=../x
	fails 2 "strata: no method 'nothing'" asking nas nothing
}

@test "a host that refuses, does not know the user, or wants a password" {
	printf '[hosts.closed]\nssh_target = "127.0.0.1"\nssh_options = ["-F", "none", "-p", "1"]\n' >>hosts.toml
	sshd_start nas
	refused closed "strata: host 'closed': it refuses the connection: ssh: connect to host 127.0.0.1 port 1: Connection refused"
	ssh-keygen -q -t ed25519 -N '' -f keys/stranger
	cp keys/stranger.pub keys/authorized
	refused nas "strata: host 'nas': it refuses this user without a password: *Permission denied (publickey).
hint: *ssh-copy-id*"
	sshd_start ask "PasswordAuthentication yes"
	refused ask "strata: host 'ask': it refuses this user without a password: *Permission denied (publickey,password).*"
	: >keys/known
	refused nas "strata: host 'nas': its host key is not known, or has changed: *Host key verification failed.
hint: connect once with ssh by hand, and check the key"
}

@test "a host that prints a banner" {
	sshd_start nas "ForceCommand echo Welcome to the machine; echo quota exceeded >&2; eval \"\$SSH_ORIGINAL_COMMAND\""
	refused nas "strata: host 'nas': it prints text before the agent answers: Welcome to the machine*
hint: a login file there, such as ~/.bashrc, must not print to stdout*"
	EXTRA='agent_mode = "preinstalled"' sshd_start set "ForceCommand echo Welcome to the machine; cat >/dev/null"
	refused set "strata: host 'set': it prints text before the agent answers: Welcome to the machine*"
	# What is printed on stderr, or before the login, does no harm.
	echo 'ACME. No trespassing.' >banner
	sshd_start loud "Banner $PWD/banner" "ForceCommand echo loud >&2; eval \"\$SSH_ORIGINAL_COMMAND\""
	is "$(checked loud)" sent
}

@test "a host with a silent login takes no longer than is allowed" {
	sshd_start nas "ForceCommand echo still starting >&2; sleep 60"
	run -1 strata hosts --check --timeout 4 nas
	# sshd may print something itself, such as that there is no home.
	[[ $output == *"host 'nas': no answer within 4 seconds: "*"still starting"* ]]
}

# read_only DIR...: sshd sees these directories without the right to write, and home-NAME as well.
read_only() {
	local dir
	{
		echo '#!/bin/sh'
		for dir; do
			[ ! -d "$dir" ] || echo "mount --bind $dir $dir && mount -o remount,bind,ro $dir || exit"
		done
		echo 'exec "$@"'
	} >mounted
	chmod +x mounted
	IN="unshare --mount $PWD/mounted"
}

@test "a read-only home is no obstacle, nor is a machine without /tmp" {
	need_root
	mkdir -p home-nas home-bare
	read_only "$PWD/home-nas"
	sshd_start nas
	is "$(checked nas)" temporary
	is "$(asking nas read_file snapshot=bk@daily.0 path=a | jq -r .content)" two
	is "$(ls home-nas)" ""
	read_only "$PWD" /tmp /var/tmp
	sshd_start bare
	is "$(checked bare)" temporary
	is "$(asking bare read_file snapshot=bk@daily.0 path=a | jq -r .content)" two
	# The agent does not stay behind.
	run -0 find /tmp /var/tmp /dev/shm -maxdepth 1 -name 'strata-agent-*'
	is "$output" ""
}

@test "a host where no directory takes a program says so" {
	need_root
	read_only "$PWD" /tmp /var/tmp /dev/shm /run
	sshd_start nas
	refused nas "strata: host 'nas': no directory there takes a program: mkdir: *Read-only file system*
hint: make one of them writable, or install strata-agent there*"
}

@test "a host of another architecture" {
	mkdir -p odd-bin
	printf '#!/bin/sh\n[ "$1" = -s ] && echo Linux || echo riscv64\n' >odd-bin/uname
	chmod +x odd-bin/uname
	SET_ENV="PATH=$PWD/odd-bin:/usr/bin:/bin" sshd_start nas
	refused nas "strata: host 'nas': its architecture is riscv64, and * is for *
hint: set 'agent_path' to a strata-agent built for riscv64, or install one there*"
	[ ! -e home-nas/.cache/strata/agent-"$HASH" ]
}

@test "sudo gives the agent the rights of root, and never asks" {
	need_root
	need sudo
	# A user who may run everything by sudo, in mounts that only this sshd sees.  The directory of the
	# test is closed to that user.
	PLACE=$(mktemp -d /tmp/strata-hosts.XXXXXX)
	cd "$PLACE"
	chmod 755 .
	sshd_keys
	install -m 644 /etc/passwd passwd
	install -m 640 /etc/shadow shadow
	echo "asker:x:7777:7777::$PWD/home-nas:/bin/sh" >>passwd
	echo 'asker:*:19000:0:99999:7:::' >>shadow
	mkdir -p sudoers.d home-nas
	echo 'asker ALL=(root) NOPASSWD: ALL' >sudoers.d/asker
	chmod 440 sudoers.d/asker
	cat >mounted <<-END
		#!/bin/sh
		mount --bind $PWD/passwd /etc/passwd && mount --bind $PWD/shadow /etc/shadow &&
			mount --bind $PWD/sudoers.d /etc/sudoers.d || exit
		exec "\$@"
	END
	chmod +x mounted
	chown 7777 home-nas
	mkdir -p bk/daily.0
	echo two >bk/daily.0/a
	chmod 700 bk
	IN="unshare --mount $PWD/mounted" SSH_USER=asker EXTRA='sudo = true' sshd_start nas
	is "$(checked nas)" sent
	is "$(checked nas)" cache
	is "$(asking nas read_file snapshot=bk@daily.0 path=a | jq -r .content)" two
	is "$(stat -c %u home-nas/.cache/strata/agent-"$HASH")" 7777
	sed -i 's/^sudo = true//' hosts.toml
	run -1 --separate-stderr asking nas read_file snapshot=bk@daily.0 path=a
	echo 'asker ALL=(root) ALL' >sudoers.d/asker
	echo 'sudo = true' >>hosts.toml
	refused nas "strata: host 'nas': sudo there asks for a password: sudo: a password is required
hint: allow the agent in sudoers with NOPASSWD, or set sudo = false"
	: >sudoers.d/asker
	run -1 --separate-stderr asking nas list_datasets
	[[ $stderr == "strata: host 'nas': sudo there "* ]]
}

@test "a local host runs the agent here" {
	printf '[hosts.here]\ntransport = "local"\n' >hosts.toml
	export STRATA_HOSTS=$PWD/hosts.toml
	is "$(asking here read_file snapshot=bk@daily.1 path=a | jq -r .content)" one
	is "$(checked here)" local
	printf '[hosts.here]\ntransport = "local"\nagent_path = "/nowhere/strata-agent"\n' >hosts.toml
	run -1 --separate-stderr asking here list_datasets
	is "$stderr" "strata: host 'here': execute '/nowhere/strata-agent': No such file or directory"
}

# slow_agent WORD: make the program 'slow', an agent that holds back the first request with this word until
# its connection is lost.
slow_agent() {
	cat >slow <<-END
		#!/bin/sh
		while IFS= read -r line; do
			printf '%s\n' "\$line" >>$PWD/requests
			case \$line in *$1*)
				if mkdir $PWD/held 2>/dev/null; then sleep 60; exit; fi ;;
			esac
			printf '%s\n' "\$line"
		done | "$STRATA_AGENT" "\$@"
	END
	chmod +x slow
	EXTRA="agent_mode = \"preinstalled\"
agent_path = \"$PWD/slow\"
${EXTRA:-}" sshd_start nas
}

# relay: pass the requests on stdin to the host nas in the background.  The replies come into the file replies.
relay() {
	cat >input
	strata agent --host nas --folder "bk=$PWD/bk" <input >replies 2>notices 3>&- &
	RELAY=$!
	for _ in {1..400}; do
		[ ! -d held ] || return 0
		sleep 0.05
	done
	return 1
}

@test "a program asks an agent of another machine as one of this machine" {
	sshd_start nas
	cat >input <<-'END'
		{"jsonrpc":"2.0","id":"a","method":"read_file","params":{"snapshot":"bk@daily.1","path":"a"}}
		{"id":2.50,"method":"read_file","params":{"snapshot":"bk@daily.0","path":"none"}}
		nonsense
		{"method":"list_datasets"}
		{"id":[3],"method":"list_datasets"}
	END
	strata agent --folder "bk=$PWD/bk" --provider btrfs <input | jq -cS . | sort >local.out
	strata agent --host nas --folder "bk=$PWD/bk" --provider btrfs <input | jq -cS . | sort >remote.out
	is "$(wc -l <remote.out)" 4
	diff local.out remote.out
	is "$(strata agent --host nas </dev/null)" ""
	fails 2 "strata: agent: --config needs --host" strata agent --config x
	fails 1 "strata: no host 'none' in '$PWD/hosts.toml'
hint: the hosts are nas" strata agent --host none
}

@test "a question is asked again when its connection is killed" {
	slow_agent read_file
	relay <<-'END'
		{"id":1,"method":"list_dir","params":{"snapshot":"bk@daily.0","path":""}}
		{"id":2,"method":"read_file","params":{"snapshot":"bk@daily.0","path":"a"}}
		{"id":3,"method":"checksum_file","params":{"snapshot":"bk@daily.0","path":"a"}}
	END
	sshd_cut nas
	wait "$RELAY"
	is "$(jq -r .id replies | sort | paste -sd ' ')" "1 2 3"
	is "$(jq -r 'select(.id == 2) | .result.content' replies)" two
	is "$(grep -c read_file requests)" 2
	like "$(cat notices)" "strata: host 'nas': the connection ended*; connecting again"
}

@test "a restore is never sent twice" {
	mkdir -p target
	EXTRA="allow_restore = true
restore_paths = [\"$PWD/target\"]" slow_agent restore_file
	relay <<-END
		{"id":1,"method":"restore_file","params":{"snapshot":"bk@daily.0","snapshot_path":"a","target_path":"$PWD/target/a"}}
		{"id":2,"method":"list_dir","params":{"snapshot":"bk@daily.0","path":""}}
	END
	sshd_cut nas
	wait "$RELAY"
	is "$(grep -c restore_file requests)" 1
	is "$(jq -c 'select(.id == 1) | [.error.code, .error.data.hint, (.error.data | has("argv"))]' replies)" \
		'[-32001,"look at the target before you ask again",true]'
	like "$(jq -r 'select(.id == 1) | .error.message' replies)" \
		"the connection was lost before the reply, so it is not known whether this was carried out: host 'nas': *"
	is "$(jq -r 'select(.id == 2) | .result.entries[].name' replies)" a
	[ ! -e target/a ]
	strata query --host nas --folder "bk=$PWD/bk" restore_file snapshot=bk@daily.0 snapshot_path=a "target_path=$PWD/target/a" >/dev/null
	is "$(cat target/a)" two
	run -1 --separate-stderr asking nas restore_file snapshot=bk@daily.0 snapshot_path=a "target_path=$PWD/out/a"
	[ ! -e out/a ]
}

@test "a request that a host works on is cancelled, and the next one is served" {
	need python3
	endless bk/daily.1 bk/daily.0
	sshd_start nas
	PROGRAM="$STRATA agent --host nas --folder bk=$PWD/bk"
	peer <<-'END'
		def agents():
		    """The processes of the host that answer requests."""
		    found = subprocess.run(["pgrep", "-f", os.getcwd() + "/home-nas/.cache/strata/agent-"],
		                           capture_output=True, check=False)
		    return [int(pid) for pid in found.stdout.split()]

		agent = Agent()
		agent.alive()
		before = {pid: process_ticks(pid) for pid in agents()}
		slow = agent.ask("diff_snapshots", snap_a="bk@daily.1", snap_b="bk@daily.0")
		until(lambda: any(process_ticks(pid) > before.get(pid, 0) + 2 for pid in agents()))
		beside = agent.call("list_dir", snapshot="bk@daily.0", path="")
		assert [row["name"] for row in beside["entries"]] == ["a", "endless"], beside
		cancel = agent.ask("$/cancel", id=slow)
		replies = {reply["id"]: reply for reply in (agent.reply(), agent.reply())}
		assert replies[cancel]["result"] == {"cancelled": 1}, replies
		assert replies[slow]["error"]["code"] == -32003, replies
		until(lambda: all(process_state(pid) != "R" for pid in agents()), 5)
		agent.alive()
		assert agent.close() == 0
	END
}

@test "the agent of a host ends with its peer" {
	sshd_start nas
	mkfifo in
	strata agent --host nas --folder "bk=$PWD/bk" <in >replies 2>notices 3>&- &
	RELAY=$!
	exec 7>in
	echo '{"id":1,"method":"list_dir","params":{"snapshot":"bk@daily.0","path":""}}' >&7
	for _ in {1..200}; do [ ! -s replies ] || break; sleep 0.05; done
	is "$(jq -r .result.entries[].name replies)" a
	# The agent runs as long as its peer is there.
	run -0 pgrep -f "$PWD/home-nas/.cache/strata/agent-"
	exec 7>&-
	wait "$RELAY"
	run -1 pgrep -f "$PWD/home-nas/.cache/strata/agent-"
	# It also ends when its peer is killed.
	"$STRATA" agent --host nas <in >replies.killed 2>notices 3>&- &
	RELAY=$!
	exec 7>in
	echo '{"id":1,"method":"list_datasets"}' >&7
	for _ in {1..200}; do [ ! -s replies.killed ] || break; sleep 0.05; done
	run -0 pgrep -f "$PWD/home-nas/.cache/strata/agent-"
	kill -9 "$RELAY"
	for _ in {1..40}; do pgrep -f "$PWD/home-nas/.cache/strata/agent-" >/dev/null || break; sleep 0.05; done
	run -1 pgrep -f "$PWD/home-nas/.cache/strata/agent-"
	exec 7>&-
}

@test "a host that goes away and comes back" {
	sshd_start nas
	mkfifo in
	strata agent --host nas --folder "bk=$PWD/bk" <in >replies 2>notices 3>&- &
	RELAY=$!
	exec 7>in
	question='{"id":1,"method":"list_dir","params":{"snapshot":"bk@daily.0","path":""}}'
	echo "$question" >&7
	for _ in {1..200}; do [ "$(wc -l <replies)" -lt 1 ] || break; sleep 0.05; done
	# The host is gone: the answer says so.
	sshd_cut nas
	kill "$(cat sshd-nas.pid)"
	echo "$question" >&7
	for _ in {1..400}; do [ "$(wc -l <replies)" -lt 2 ] || break; sleep 0.05; done
	is "$(tail -n 1 replies | jq -r .error.code)" -32001
	like "$(tail -n 1 replies | jq -r .error.message)" "host 'nas': it refuses the connection*"
	# It is back, and the next question is answered.
	"$SSHD" -D -e -f "$PWD/sshd-nas.conf" >sshd-nas.log 2>&1 3>&- &
	echo $! >>sshd.pids
	for _ in {1..200}; do ! grep -q 'Server listening' sshd-nas.log || break; sleep 0.05; done
	echo "$question" >&7
	exec 7>&-
	wait "$RELAY"
	is "$(tail -n 1 replies | jq -r '.result.entries[].name')" a
}
