# redo: moves HEAD forward again after undo.
load helpers
load history

@test "redo takes back an undo" {
	three
	walk $W --content >before
	strata undo 2 >/dev/null
	run -0 --separate-stderr strata redo
	is "$output" "HEAD is now $two  two  [+1 ~1]"
	strata redo >/dev/null
	is "$(strata head)" "$three"
	walk $W --content | diff before -
	clean
}

@test "redo N goes N steps" {
	three
	strata undo 3 >/dev/null
	strata redo 3 >/dev/null
	is "$(strata head)" "$three"
}

@test "redo without an undo fails and changes nothing" {
	three
	run -1 --separate-stderr strata redo
	[[ ${stderr_lines[0]} == "strata: "* ]]
	is "$(strata head)" "$three"
	strata undo >/dev/null
	run -1 strata redo 2
	is "$(strata head)" "$two"
	clean
}

@test "a commit after undo ends the redo" {
	three
	strata undo >/dev/null
	put new branch
	strata commit -m branch >/dev/null
	run -1 strata redo
	is "$(strata branches --json | jq -r '[.branches[].message] | sort | join(",")')" "branch,three"
	strata undo >/dev/null
	is "$(strata head)" "$two"
	strata redo >/dev/null
	is "$(cat $W/new)" branch
}

@test "redo is refused over uncaptured work, which stays as it is" {
	three
	strata undo >/dev/null
	put new precious
	before=$(strata log --json | jq '.nodes | length')
	run -1 --separate-stderr strata redo
	is "${stderr_lines[0]}" "strata: the live tree was changed since the undo"
	is "$(cat $W/new)" precious
	is "$(strata head)" "$two"
	is "$(strata log --json | jq '.nodes | length')" "$before"
}

@test "redo --json says where HEAD is" {
	three
	strata undo >/dev/null
	is "$(strata redo --json | jq -c '[.head, .safety]')" "[\"$three\",null]"
}

@test "redo takes a positive number" {
	begin
	usage strata redo 0
	usage strata redo x
	usage strata redo 1 2
}
