# head: prints the id of HEAD.
load helpers
load history

@test "head prints the id alone on one line" {
	begin
	run -0 --separate-stderr strata head
	[[ $output =~ ^[0-9a-f]{12}$ ]]
	[ -z "$stderr" ]
	is "$(id HEAD)" "$output"
}

@test "head --json" {
	begin
	is "$(strata head --json | jq -c .)" "{\"id\":\"$(strata head)\"}"
}

@test "head follows commit, checkout and undo" {
	three
	is "$(strata head)" "$three"
	strata checkout "$one" >/dev/null
	is "$(strata head)" "$one"
	strata undo >/dev/null
	is "$(strata head)" "$three"
}

@test "head takes no arguments" {
	begin
	usage strata head x
}
