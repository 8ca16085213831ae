# mcp-agent: the Codex CLI (tests/npm/agents) works in an environment and uses 'strata mcp', with a
# scripted model on loopback.
load helpers
load history
load rootfs
load npm
load agent
load owner

setup_file() {
	npm_packages agents
	start_model model
}

teardown_file() { kill "$(cat "$BATS_FILE_TMPDIR/model.pid")" || true; }

teardown() {
	[ -z "${program:-}" ] || { kill "$program" && wait "$program"; } || true
	strata_teardown
}

# codex <<END: run Codex in the live tree.  Its script is the standard input.  Codex reaches nothing but
# this machine.
codex() {
	local program script
	program=$(echo "$(cat "$BATS_FILE_TMPDIR/packages")"/codex-linux-*/vendor/*/bin/codex)
	script=$(cat)
	: >"$BATS_FILE_TMPDIR/model.log"
	OPENAI_API_KEY=none HTTPS_PROXY=http://127.0.0.1:1 HTTP_PROXY=http://127.0.0.1:1 NO_PROXY=127.0.0.1 \
		timeout -k 5 100 "$program" exec --skip-git-repo-check --cd "$STRATA_ROOT/work/main" "$script" \
		</dev/null >codex.out 2>codex.err || { cat codex.out codex.err; return 1; }
	is "$(cat codex.out)" finished
}

# use_strata [OPTION of mcp]...: configure 'strata mcp' as a server of Codex.
use_strata() {
	(cd "$BATS_FILE_TMPDIR" && configure_codex "$HOME/.codex")
	cat >>"$HOME/.codex/config.toml" <<-END
		[mcp_servers.strata]
		command = "$STRATA"
		args = ["mcp", "--env", "$STRATA_ROOT"$(printf ', "%s"' "$@")]
	END
}

offered() { jq -r '.tools // empty | .[]' "$BATS_FILE_TMPDIR/model.log"; }

@test "an agent makes nodes, rolls its own world back, and goes on" {
	need python3 jq
	need_packages
	mini_rootfs src
	echo one >src/file
	begin --backend copy
	use_strata --allow-write
	# A program that runs in the environment sees the states of the file.
	"$STRATA" exec --no-commit -- sh -c 'while :; do cat /file; sleep 0.05; done' >seen 2>exec.err 3>&- &
	program=$!
	wait_for grep -q one seen
	commit='@mcp__strata commit {"message": "state two"}'
	log='@mcp__strata log {"limit": 2}'
	checkout='@mcp__strata checkout {"ref": "HEAD", "live": true}'
	wrong='@mcp__strata checkout {"ref": "nonsense"}'
	broken='echo broken >file; echo more >extra; sleep 0.5; ls'
	codex <<-END
		echo two >file; sleep 0.5
		$commit
		$broken
		$log
		$checkout
		cat file; ls; sleep 0.5
		$wrong
		echo three >made
		@mcp__strata commit {"message": "state three"}
	END
	for tool in commit log checkout undo exec head list_datasets; do
		offered >offered
		grep -qx "mcp__strata $tool" offered
	done
	[[ $(output "$commit") == *'state two'* ]]
	[[ $(output "$broken") == *extra* ]]
	[[ $(output "$log") == *'state two'* ]]
	[[ $(output "$checkout") == *"$(strata show --json HEAD~1 | jq -r .id)"* ]]
	succeeds 'cat file; ls; sleep 0.5'
	[[ $(output 'cat file; ls; sleep 0.5') == *two* ]]
	[[ $(output 'cat file; ls; sleep 0.5') != *extra* ]]
	[[ $(output "$wrong") == *nonsense* ]]
	is "$(strata log --json -n 3 | jq -c '[.nodes[].message]')" '["state three","safety: extra, file","state two"]'
	is "$(strata cat HEAD:file)" two
	is "$(strata cat HEAD:made)" three
	# The checkout has killed nothing.
	kill -0 "$program"
	is "$(uniq seen | tr '\n' ' ')" 'one two broken two '
}

@test "a server that only reads gives an agent no tool that writes" {
	need python3 jq
	need_packages
	echo one >src/file
	strata init --from src >/dev/null
	use_strata --read-only
	codex <<<'@mcp__strata head {}'
	offered >offered
	grep -qx 'mcp__strata head' offered
	run -1 grep -E ' (commit|checkout|exec|undo)$' offered
	[[ $(output '@mcp__strata head {}') == *"$(strata head)"* ]]
}
