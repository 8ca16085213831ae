# owner - tests of a workspace that has an owner.  Use: load helpers, history, rootfs, owner.
# shellcheck shell=bash

# The socket of the owner of main.  The path is relative, since the path of a test's directory may be
# too long for a socket address.
SOCKET=env/run/main.sock

# own [ARGUMENT of strata]...: start an owner and wait until it answers.
own() {
	# shellcheck disable=SC2034 # for the tests
	"$STRATA" "$@" >owner.out 2>owner.err </dev/null 3>&- &
	owner=$!
	wait_for answers
}

answers() { strata ctl head >/dev/null 2>&1; }

# wait_for COMMAND...: repeat the command until it succeeds, for up to ten seconds.
wait_for() {
	local i
	for ((i = 0; i < 500; i++)); do
		"$@" && return
		sleep 0.02
	done
	echo "never: $*"
	cat owner.err
	return 1
}

gone() { ! kill -0 "$1" 2>/dev/null; }

# disown_env: end the owner by SIGTERM, and wait for its end.
disown_env() {
	kill -TERM "$owner"
	wait "$owner"
}

# ended STATUS: wait for the end of the owner, which must have this exit status.
ended() {
	local status=0
	wait "$owner" || status=$?
	[ $status = "$1" ] || { echo "status $status"; cat owner.err; return 1; }
}

end_owner() {
	[ -z "${owner:-}" ] || kill -KILL "$owner" 2>/dev/null || true
	strata_teardown
}

# rpc [OPTION of the test program]...: send the lines of stdin to the owner, and print its lines.
rpc() { "$TOOLS/rpc" "$@" $SOCKET; }

# ask JSON: send one request, and print its answer.
ask() { printf '%s\n' "$1" | rpc -n 1; }

# request METHOD [PARAMS [ID]]: print a request.
request() { printf '{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}\n' "${3:-1}" "$1" "${2:-{\}}"; }

# captured: whether the live tree equals HEAD, with or without a new automatic node.
captured() { [[ $(strata status --json) == *$'\n  "dirty": 0,\n'* ]]; }
