# sshd - a host to ask: a real sshd on the loopback device, with keys and a home of its own.
# shellcheck shell=bash

# sshd_keys: make the keys of the test.
sshd_keys() {
	need sshd ssh ssh-keygen
	SSHD=$(PATH=$PATH:/usr/sbin:/sbin command -v sshd)
	mkdir -p keys
	ssh-keygen -q -t ed25519 -N '' -f keys/host
	ssh-keygen -q -t ed25519 -N '' -f keys/user
	cp keys/user.pub keys/authorized
	chmod 644 keys/authorized
	[ "$(command id -u)" != 0 ] || install -d -m 755 /run/sshd
}

# sshd_start NAME [LINE OF sshd_config]...: start a host, and add it to hosts.toml with the keys in EXTRA.
# Its home is home-NAME.  IN is a command that sshd is started by.
sshd_start() {
	local name=$1 port pid
	shift
	mkdir -p "home-$name"
	for _ in 1 2 3 4 5; do
		port=$((20000 + (RANDOM * 7 + BASHPID) % 40000))
		{
			printf '%s\n' "$@"
			cat <<-END
				Port $port
				ListenAddress 127.0.0.1
				HostKey $PWD/keys/host
				AuthorizedKeysFile $PWD/keys/authorized
				StrictModes no
				UsePAM no
				PidFile none
				PasswordAuthentication no
				KbdInteractiveAuthentication no
				PermitRootLogin yes
				SetEnv HOME=$PWD/home-$name ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0} ${SET_ENV:-}
			END
		} >"sshd-$name.conf"
		${IN:-} "$SSHD" -D -e -f "$PWD/sshd-$name.conf" >"sshd-$name.log" 2>&1 3>&- &
		pid=$!
		echo "$pid" >>sshd.pids
		echo "$pid" >"sshd-$name.pid"
		while kill -0 "$pid" 2>/dev/null && ! grep -qs 'Server listening' "sshd-$name.log"; do sleep 0.05; done
		! grep -qs 'Server listening' "sshd-$name.log" || break
	done
	grep -qs 'Server listening' "sshd-$name.log" || { cat "sshd-$name.log"; return 1; }
	printf '[127.0.0.1]:%s %s\n' "$port" "$(cut -d ' ' -f 1,2 keys/host.pub)" >>keys/known
	cat >>hosts.toml <<-END
		[hosts.$name]
		ssh_target = "${SSH_USER:-$(command id -un)}@127.0.0.1"
		ssh_options = ["-F", "none", "-p", "$port", "-i", "$PWD/keys/user", "IdentitiesOnly=yes",
			"IdentityAgent=none", "UserKnownHostsFile=$PWD/keys/known", "GlobalKnownHostsFile=/dev/null"]
		${EXTRA:-}
	END
	export STRATA_HOSTS=$PWD/hosts.toml
}

# sshd_stop: stop all hosts and their connections.
sshd_stop() {
	local pid
	[ -e sshd.pids ] || return 0
	while read -r pid; do
		sshd_drop "$pid"
		kill "$pid" 2>/dev/null || true
	done <sshd.pids
	while read -r pid; do
		wait "$pid" 2>/dev/null || true
	done <sshd.pids
}

# sshd_drop PID: cut all connections of this sshd.
sshd_drop() {
	local pid
	for pid in $(pgrep -P "$1"); do
		sshd_drop "$pid"
		kill -9 "$pid" 2>/dev/null || true
	done
}

# sshd_cut NAME: cut all connections of a host.
sshd_cut() { sshd_drop "$(cat "sshd-$1.pid")"; }
