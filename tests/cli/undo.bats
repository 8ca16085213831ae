# undo: back along the journal of HEAD.
load helpers
load history

@test "undo goes to where HEAD was before" {
	three
	run -0 --separate-stderr strata undo
	is "$output" "HEAD is now $two  two  [~1 -1]"
	is "$(strata head)" "$two"
	is "$(cd $W && ls)" $'all\none\ntwo'
	clean
}

@test "undo N goes N steps" {
	three
	strata undo 3 >/dev/null
	is "$(strata head)" "$root"
	same_tree src $W
}

@test "undo undoes a checkout" {
	three
	strata checkout "$one" >/dev/null
	strata undo >/dev/null
	is "$(strata head)" "$three"
	is "$(cat $W/all)" "all three"
}

@test "undo again goes further back, not to and fro" {
	three
	strata undo >/dev/null
	strata undo >/dev/null
	is "$(strata head)" "$one"
}

@test "undo takes back uncaptured work first, and keeps it" {
	three
	put new precious
	strata undo --json >moved.json
	is "$(jq -r .head moved.json)" "$three"
	[ ! -e $W/new ]
	is "$(strata cat "$(jq -r .safety moved.json):new")" precious
	strata redo >/dev/null
	is "$(cat $W/new)" precious
}

@test "undo at the start of the journal fails and changes nothing" {
	three
	strata undo 3 >/dev/null
	run -1 --separate-stderr strata undo
	[[ ${stderr_lines[0]} == "strata: "* ]]
	run -1 --separate-stderr strata undo 99999999999999
	is "$(strata head)" "$root"
	same_tree src $W
	clean
}

@test "undo by more steps than there are changes nothing" {
	three
	run -1 strata undo 4
	is "$(strata head)" "$three"
	is "$(cat $W/all)" "all three"
	clean
}

@test "undo passes over deleted nodes" {
	three
	strata delete "$two" >/dev/null
	strata undo >/dev/null
	is "$(strata head)" "$one"
}

@test "undo takes a positive number" {
	begin
	usage strata undo 0
	usage strata undo -1
	usage strata undo x
	usage strata undo 1 2
	usage strata undo 1x
}
