# branches: lists the nodes that have no children.
load helpers
load history

@test "branches lists the tips, newest first" {
	three
	is "$(strata branches --json | jq -c '[.branches[].id]')" "[\"$three\"]"
	strata checkout "$one" >/dev/null
	put side side
	side=$(node side)
	is "$(strata branches --json | jq -c '[.branches[] | [.id, .head]]')" "[[\"$side\",true],[\"$three\",false]]"
	run -0 --separate-stderr strata branches
	is "$(sed -E 's/[-0-9]{10} [0-9:]{8}/TIME/' <<<"$output")" "$side  TIME  manual    side  [+1]  (HEAD)
$three  TIME  manual    three  [+1 ~1]"
	is "$(strata branches --jsonl | jq -r .message)" $'side\nthree'
}

@test "a safety node is a branch of its own" {
	three
	put new 1
	strata checkout "$one" >/dev/null
	is "$(strata branches --json | jq -r '[.branches[].kind] | join(" ")')" "checkout"
}

@test "branches takes no arguments" {
	begin
	usage strata branches x
}
