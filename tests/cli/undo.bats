# undo: moves HEAD back along its journal.
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
	run -0 --separate-stderr strata undo
	[[ $stderr == "strata: passed over: node $two, where HEAD came at "*", was deleted at "* ]]
	is "$(strata head)" "$one"
}

@test "undo and redo say what retention dropped, and go to the nearest that is kept" {
	STRATA_NOW=1700000000 begin
	root=$(strata head)
	for i in 1 2 3 4; do
		put file $i
		STRATA_NOW=$((1700000000 + 60 * i)) strata commit >/dev/null
		nodes[i]=$(strata head)
	done
	STRATA_NOW=1710000000 strata retain --keep 1 >/dev/null
	# Of that week, only HEAD and the newest other node are left.
	STRATA_NOW=1710000001 strata delete "${nodes[3]}" >/dev/null
	run -0 --separate-stderr strata undo --json
	is "$(jq -r .head <<<"$output")" "$root"
	is "$(jq -c '.passed_over | [.count, .node, .by]' <<<"$output")" "[3,\"${nodes[3]}\",\"delete\"]"
	[[ $stderr == *"${nodes[3]}"*", and 2 more are gone" ]]
	run -0 --separate-stderr strata redo --json
	is "$(jq -c '[.head, .passed_over.node, .passed_over.by]' <<<"$output")" "[\"${nodes[4]}\",\"${nodes[1]}\",\"retention\"]"
	is "$(strata checkout HEAD --json | jq .passed_over)" null
}

@test "undo says why nothing is left, when that is retention's doing" {
	three
	strata delete "$root" >/dev/null
	strata undo 2 >/dev/null
	run -1 --separate-stderr strata undo
	[[ ${stderr_lines[0]} == "strata: nothing left to undo: node $root, where HEAD came at "*", was deleted at "* ]]
	[[ ${stderr_lines[1]} == *"strata log"*"strata checkout"* ]]
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
