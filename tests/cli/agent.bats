# agent: the Codex CLI (tests/npm/agents) under a policy, with a scripted model on loopback.
#
# The prompt is the script: the model asks Codex to run each line of it
# (tests/tools/scripted_model.py).  The tests share one environment.  Each test has a directory of
# its own in it, which is a git repository.
load helpers
load history
load rootfs
load npm
load agent

setup_file() {
	# shellcheck disable=SC2034 # for strata_setup
	local BATS_TEST_TMPDIR=$BATS_FILE_TMPDIR
	cd "$BATS_FILE_TMPDIR" || return 1
	npm_packages agents
	strata_setup
	[ -s packages ] && has_programs || return 0
	start_model model
	start_model other
	mini_rootfs src
	mkdir src/root/.ssh
	echo "the secret" >src/root/.ssh/id_rsa
	configure_codex src/root/.codex
	for work in exec supervise own-sandbox no-nesting; do git init -q "src/$work"; done
	begin --backend overlay
	# In its sandbox, Bubblewrap has only the user who starts it.
	do_in 'chown -R root:root /exec /supervise /own-sandbox /no-nesting /tmp'
}

has_programs() { command -v busybox && command -v git && command -v python3; } >/dev/null

teardown_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	for model in model other; do
		[ ! -s $model.pid ] || kill "$(cat $model.pid)" || true
	done
	discard env
	chmod -R u+rwX . 2>/dev/null || true
}

setup() {
	strata_setup
	need busybox git python3 jq
	need_packages
	export STRATA_ROOT=$BATS_FILE_TMPDIR/env
	port=$(cat "$BATS_FILE_TMPDIR/model.port")
	other=$(cat "$BATS_FILE_TMPDIR/other.port")
	example_policy >policy.json
}

# The policy of strata-supervise(1), for a model on loopback.
example_policy() {
	sed -n '/^{$/,/^}$/p' "$BATS_TEST_DIRNAME/../../man/strata-supervise.1.scd" |
		jq --arg model "127.0.0.1:$port" \
			'if .net.allowed_domains == ["api.openai.com"] then .net.allowed_domains = [$model] else error("another example") end'
}

# codex OPERATION DIRECTORY [OPTION of codex exec]...: run Codex under policy.json.  Its script is
# the standard input.
codex() {
	local vendor script
	vendor=$(echo "$(cat "$BATS_FILE_TMPDIR/packages")"/codex-linux-*/vendor/*)
	script=$(cat)
	: >"$BATS_FILE_TMPDIR/model.log"
	rm -f denials.jsonl
	OPENAI_API_KEY=none strata "$1" --policy policy.json --denials denials.jsonl --cwd "$2" --bind "$vendor:/opt/codex:ro" \
		-- /opt/codex/bin/codex exec "${@:3}" "$script" </dev/null >codex.out 2>codex.err ||
		{ cat codex.out codex.err; return 1; }
	is "$(cat codex.out)" finished
}

# denied JQ-CONDITION: there is a denial that satisfies the condition, with its rule and a remedy.
denied() {
	jq -es "any(.[]; ($1) and .rule != \"\" and .remedy != \"\")" denials.jsonl >/dev/null ||
		{ echo "not denied: $1"; cat denials.jsonl; return 1; }
}
# Denied reads are explained only if strata can serve a file system of its own.
explains_reads() { [ -w /dev/fuse ]; }

work='echo made >made'
read_key='cat ~/.ssh/id_rsa'
read_link='ln -s ~/.ssh keys; cat keys/id_rsa'
write_hook='echo evil >.git/hooks/post-checkout'
move_hooks='mv .git/hooks .git/away'
write_config='echo evil >>.git/config'
write_outside='echo evil >/etc/profile'
reach_nobody='nc -w 5 127.0.0.1 1'
reach_public='nc -w 5 192.0.2.1 443'
ask_name='nslookup elsewhere.test'
# get PORT: the command that asks a model for its list.
request='printf "GET /v1/models HTTP/1.0\r\n\r\n"'
get() { echo "$request | nc -w 5 127.0.0.1 $1"; }

# Commands that try forbidden actions, and one command that works.
attempts() {
	reach_other=$(get "$other")
	printf '%s\n' "$work" "$read_key" "$read_link" "$write_hook" "$move_hooks" "$write_config" "$write_outside" \
		"$reach_other" "$reach_nobody" "$reach_public" "$ask_name"
}

# is_confined DIRECTORY: check the results of the script in DIRECTORY.
is_confined() {
	succeeds "$work"
	is "$(strata cat "HEAD:$1/made")" made
	fails_with "$read_key" "Permission denied"
	fails_with "$read_link" "Permission denied"
	if explains_reads; then denied '.what == "read" and .path == "/root/.ssh/id_rsa"'; fi
	fails_with "$write_hook" "Read-only file system"
	denied ".what == \"write\" and .path == \"/$1/.git/hooks/post-checkout\""
	fails_with "$move_hooks" "mv: can't rename"
	denied ".what == \"write\" and .path == \"/$1/.git/hooks\""
	fails_with "$write_config" "Read-only file system"
	denied ".what == \"write\" and .path == \"/$1/.git/config\""
	fails_with "$write_outside" "Read-only file system"
	denied '.what == "write" and .path == "/etc/profile"'
	fails_with "$reach_other" "can't connect"
	denied ".what == \"connect\" and .host == \"127.0.0.1\" and .port == $other"
	# No program of the machine listens on that port either, so the policy makes no difference.
	fails_with "$reach_nobody" "can't connect"
	run -1 denied '.port == 1'
	fails_with "$reach_public" "can't connect"
	denied '.what == "connect" and .host == "192.0.2.1" and .port == 443'
	fails_with "$ask_name" "NXDOMAIN"
	denied '.what == "resolve" and .host == "elsewhere.test"'
	[ ! -s "$BATS_FILE_TMPDIR/other.log" ]
}

@test "under exec --policy Codex works with its model, and does nothing else" {
	attempts >script
	# Without the policy, the script can do all of these actions.
	in_env sh -c "cd /exec && $read_key && $write_hook && $reach_other"
	strata checkout HEAD >/dev/null
	run -1 in_env test -e /exec/.git/hooks/post-checkout
	codex exec /exec <script
	is_confined exec
	is "$(strata show --json | jq '[.denials[] | select(.subject == "/exec/.git/hooks/post-checkout")] | length')" 1
	grep "strata: denied: connect 192.0.2.1:443 (net.allowed_domains" codex.err
}

@test "under supervise --policy it does the same" {
	attempts >script
	codex supervise /supervise <script
	is_confined supervise
	is "$(strata show --json | jq '[.kind, ([.denials[] | select(.subject == "/supervise/.git/hooks/post-checkout")] | length)]' -c)" '["auto",1]'
	grep "strata: denied: connect 192.0.2.1:443 (net.allowed_domains" codex.err
}

@test "Codex's own sandbox works inside strata's" {
	state='echo evil >~/.codex/state'
	model=$(get "$port")
	codex exec /own-sandbox --sandbox danger-full-access <<<"$state"$'\n'"$model"
	# Codex's own sandbox may still deny an action that the policy allows.
	succeeds "$state"
	succeeds "$model"
	codex exec /own-sandbox --sandbox workspace-write <<<"$work"$'\n'"$state"$'\n'"$model"$'\n'"$read_key"
	succeeds "$work"
	is "$(strata cat HEAD:own-sandbox/made)" made
	fails_with "$state" "Read-only file system"
	fails_with "$model" ""
	fails_with "$read_key" "Permission denied"
	codex exec /own-sandbox --sandbox read-only <<<"$write_hook"$'\n'"cat made; echo evil >made"
	fails_with "$write_hook" "Read-only file system"
	fails_with "cat made; echo evil >made" "made"
	is "$(strata cat HEAD:own-sandbox/made)" made
}

@test "a policy that forbids nesting forbids Codex's own sandbox, and says so" {
	jq '.exec.nested = false' policy.json >nested && mv nested policy.json
	codex exec /no-nesting --sandbox workspace-write <<<"$work"
	fails_with "$work" "No permissions to create a new namespace"
	denied '.what == "call" and (.remedy | contains("nested"))'
	run -1 in_env test -e /no-nesting/made
	# Codex can work without its own sandbox.
	codex exec /no-nesting --sandbox danger-full-access <<<"$work"
	succeeds "$work"
}
