# machine - starts servers for programs in a sandbox, in a network of their own (tests/tools/machine.py).
# Namespaces with such a network are called the machine here.  Use: load helpers, load rootfs, load
# machine.
# shellcheck shell=bash

# make_certificate DIR: make a self-signed certificate for the names of the machine.
make_certificate() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test \
		-addext 'subjectAltName=DNS:localhost,DNS:allowed.test,DNS:other.test,DNS:six.test,DNS:a.wild.test,DNS:b.c.wild.test,IP:127.0.0.1,IP:93.184.216.34' \
		-keyout "$1/key.pem" -out "$1/cert.pem" 2>/dev/null
}

# start_machine DIR: start the machine.  $machine_pid is a process in its namespaces, and ends when the
# descriptor $machine_fd is closed.  The functions strata and machine then run commands in these
# namespaces.
start_machine() {
	local as=(--user --map-current-user --keep-caps)
	[ "$(command id -u)" != 0 ] || as=()
	need busybox openssl python3 || return 1
	[ "$(command id -u)" = 0 ] || need_userns || return 1
	mkdir -p "$1/www"
	make_certificate "$1" || return 1
	mkfifo "$1/life"
	unshare "${as[@]}" --mount --net --propagation private \
		python3 "$BATS_TEST_DIRNAME/../tools/machine.py" "$1" <"$1/life" >"$1/log" 2>&1 3>&- &
	machine_pid=$!
	exec {machine_fd}>"$1/life"
	for ((i = 0; i < 1000; i++)); do
		[ ! -e "$1/ready" ] || break
		kill -0 "$machine_pid" || { cat "$1/log"; return 1; }
		sleep 0.02
	done
	[ -e "$1/ready" ]
}

stop_machine() {
	[ -n "${machine_fd:-}" ] || return 0
	exec {machine_fd}>&-
	wait "$machine_pid" 2>/dev/null || true
}

# machine COMMAND...: run a command in the namespaces of the machine.
machine() {
	if [ "$(command id -u)" = 0 ]; then
		nsenter --target "$machine_pid" --mount --net --wdns="$PWD" -- "$@"
	else
		nsenter --target "$machine_pid" --user --preserve-credentials --mount --net --wdns="$PWD" -- "$@"
	fi
}
strata() { machine "$STRATA" "$@"; }
