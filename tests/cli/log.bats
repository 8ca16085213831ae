# log: lists the nodes, newest first.
load helpers
load history

T=1700000000 # 2023-11-14 22:13:20
setup() {
	strata_setup
	STRATA_NOW=$T begin
	root=$(strata head)
	for n in one two three; do
		T=$((T + 3600))
		put $n "$n"
		put all "all $n"
		STRATA_NOW=$T strata commit -m $n >/dev/null
		printf -v $n %s "$(strata head)"
	done
}

@test "log shows id, time, kind, message, counts and HEAD" {
	run -0 --separate-stderr strata log
	is "$output" "$three  2023-11-15 01:13:20  manual    three  [+1 ~1]  (HEAD)
$two  2023-11-15 00:13:20  manual    two  [+1 ~1]
$one  2023-11-14 23:13:20  manual    one  [+2]
$root  2023-11-14 22:13:20  init      init from src"
}

@test "log shows local time" {
	is "$(TZ=UTC-2 strata log -n 1 | cut -c 15-33)" "2023-11-15 03:13:20"
}

@test "log -n limits" {
	is "$(strata log -n 2 --json | jq -r '[.nodes[].message] | join(" ")')" "three two"
	is "$(strata log -n1 --json | jq -r '[.nodes[].message] | join(" ")')" "three"
	is "$(strata log --limit=9 | wc -l)" 4
}

@test "log REF shows what it descends from" {
	is "$(strata log two --json 2>&1 | head -c 7)" "strata:"
	is "$(strata log "$two" --json | jq -r '[.nodes[].message] | join(" ")')" "two one init from src"
	is "$(strata log HEAD~3 | wc -l)" 1
}

@test "log --path shows the nodes that changed it" {
	is "$(strata log --path two --json | jq -r '[.nodes[].message] | join(" ")')" "two"
	is "$(strata log --path /all --json | jq -r '[.nodes[].message] | join(" ")')" "three two one"
	rm $W/two
	strata commit -m gone >/dev/null
	is "$(strata log --path two --json | jq -r '[.nodes[].message] | join(" ")')" "gone two"
	chmod 700 $W/one
	strata commit -m mode >/dev/null
	is "$(strata log --path one --json | jq -r '[.nodes[].message] | join(" ")')" "mode one"
	is "$(strata log --path never)" ""
}

@test "log --since by time and by phrase" {
	since() { STRATA_NOW=$((T + 60)) strata log --since "$1" --json | jq -r '[.nodes[].message] | join(" ")'; }
	is "$(since '2023-11-15T00:00:00Z')" "three two"
	is "$(since '90 minutes ago')" "three two"
	is "$(since 2m)" "three"
	is "$(since '@1700000001')" "three two one"
	is "$(since yesterday)" "three two one init from src"
	run -1 --separate-stderr strata log --since nonsense
	is "${stderr_lines[0]}" "strata: --since: 'nonsense' is not a time"
}

@test "log --graph draws the branches" {
	strata checkout "$one" >/dev/null
	put side side
	STRATA_NOW=$((T + 10)) strata commit -m side >/dev/null
	run -0 strata log --graph
	is "$(sed -E 's/[0-9a-f]{12}  [-0-9]+ [0-9:]+  //' <<<"$output")" '* manual    side  [+1]  (HEAD)
| * manual    three  [+1 ~1]
| * manual    two  [+1 ~1]
* / manual    one  [+2]
* init      init from src'
}

@test "log --json is one document, --jsonl one node a line" {
	is "$(strata log --json | jq -c '[.nodes[] | [.id, .parent, .head]]')" \
		"[[\"$three\",\"$two\",true],[\"$two\",\"$one\",false],[\"$one\",\"$root\",false],[\"$root\",null,false]]"
	is "$(strata log --jsonl | wc -l)" 4
	is "$(strata log --jsonl | jq -r .id)" "$(strata log | cut -c 1-12)"
	is "$(strata log --json | jq -r '.nodes[0] | .time, .time_ns')" '2023-11-15T01:13:20Z
1700010800000000000'
}

@test "log of a node whose message holds control characters" {
	put x x
	strata commit -m $'a\e[31mred\rback' >/dev/null
	run -0 strata log -n 1
	[[ $output == *'a\033[31mred\015back'* ]]
	is "$(strata log -n 1 --json | jq -r '.nodes[0].message')" $'a\e[31mred\rback'
}

@test "log usage" {
	usage strata log -n 0
	usage strata log -n x
	usage strata log a b
	usage strata log --since
}
