# delete: removes nodes from the history.
load helpers
load history

@test "delete removes a node; its children get its parent" {
	three
	run -0 --separate-stderr strata delete "$two"
	is "$output" "deleted $two"
	is "$(strata log --json | jq -c '[.nodes[] | [.id, .parent]]')" \
		"[[\"$three\",\"$one\"],[\"$one\",\"$root\"],[\"$root\",null]]"
	is "$(strata cat "$three:two")" two
	is "$(strata status --json | jq .nodes)" 3
	clean
}

@test "delete --json names the node" {
	three
	is "$(strata delete HEAD~1 --json | jq -c .)" "{\"deleted\":\"$two\"}"
}

@test "the first node can be deleted; its child becomes the first" {
	three
	strata delete "$root" >/dev/null
	is "$(strata show "$one" --json | jq -c .parent)" null
	clean
}

@test "a deleted node is named as deleted" {
	three
	strata delete "$two" >/dev/null
	run -1 --separate-stderr strata show "$two"
	[[ ${stderr_lines[0]} == "strata: node $two was deleted at 20"*Z ]]
	run -1 --separate-stderr strata checkout "${two:0:8}"
	[[ ${stderr_lines[0]} == "strata: node $two was deleted at 20"*Z ]]
	run -1 --separate-stderr strata delete "$two"
	[[ ${stderr_lines[0]} == "strata: node $two was deleted at 20"*Z ]]
}

@test "HEAD and the only node are refused" {
	begin
	head=$(strata head)
	run -1 --separate-stderr strata delete HEAD
	put x x
	strata commit -m x >/dev/null
	fails 1 "strata: node $(strata head) is HEAD of workspace 'main'
hint: check out another node first" strata delete HEAD
	strata delete "$head" >/dev/null
	is "$(strata log | wc -l)" 1
	clean
}

@test "delete of the live tree is refused" {
	three
	fails 1 "strata: 'work' is no node" strata delete work
}

@test "a branch can be deleted whole, tip by tip" {
	three
	strata checkout "$one" >/dev/null
	strata delete "$three" >/dev/null
	strata delete "$two" >/dev/null
	is "$(strata branches --json | jq -c '[.branches[].id]')" "[\"$one\"]"
	strata gc >/dev/null
	clean
}

@test "delete takes one reference" {
	begin
	usage strata delete
	usage strata delete a b
}
