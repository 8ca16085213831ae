# agent - tests with the Codex CLI (tests/npm/agents) and a scripted model (tests/tools/scripted_model.py).
# Use: load helpers, load npm, load agent.
# shellcheck shell=bash

# start_model NAME: start a model.  Its port is written to NAME.port, and its log to NAME.log.
start_model() {
	"$BATS_TEST_DIRNAME/../tools/scripted_model.py" "$1.port" "$1.log" </dev/null >"$1.out" 2>&1 3>&- &
	echo $! >"$1.pid"
	for _ in {1..500}; do
		[ ! -s "$1.port" ] || return 0
		sleep 0.02
	done
	cat "$1.out"
	return 1
}

# configure_codex DIRECTORY: make the directory .codex of a home, for the model "model".
configure_codex() {
	mkdir "$1"
	cat >"$1/config.toml" <<-END
		model = "scripted"
		model_provider = "scripted"
		approval_policy = "never"
		sandbox_mode = "danger-full-access"
		[model_providers.scripted]
		name = "scripted"
		base_url = "http://127.0.0.1:$(cat model.port)/v1"
		wire_api = "responses"
		env_key = "OPENAI_API_KEY"
		[analytics]
		enabled = false
	END
}

# output COMMAND: print the output of that line of the script, as Codex has sent it to the model.
output() {
	jq -ers --arg command "$1" 'map(select(.command == $command)) | last.output' "$BATS_FILE_TMPDIR/model.log" ||
		{ echo "Codex did not run: $1"; cat codex.err; return 1; }
}
succeeds() { [[ $(output "$1") == *"exited with code 0"* ]] || { output "$1"; return 1; }; }
fails_with() { # COMMAND TEXT
	[[ $(output "$1") =~ exited\ with\ code\ [1-9] ]] || { output "$1"; return 1; }
	[[ $(output "$1") == *"$2"* ]] || { output "$1"; return 1; }
}
