# version: prints the version of strata.
load helpers
load history

@test "version is that of the VERSION file" {
	want=$(cat "$BATS_TEST_DIRNAME/../../VERSION")
	is "$(strata version)" "strata $want"
	is "$(strata --version)" "strata $want"
	is "$(strata version --json | jq -c .)" "{\"version\":\"$want\"}"
}

@test "version needs no environment and makes none" {
	strata version >/dev/null
	is "$(ls -A env home)" $'env:\n\nhome:'
}

@test "version takes no arguments" {
	usage strata version x
	usage strata version --x
}
