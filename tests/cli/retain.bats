# retain: drops nodes of the old history.
load helpers
load history

# many N [described]: make N nodes after the first one, a minute apart.  The last one has the time $NOW.
NOW=1700000000
many() {
	STRATA_NOW=$((NOW - 60 * $1)) begin
	for ((i = $1 - 1; i >= 0; i--)); do
		put file "$i"
		STRATA_NOW=$((NOW - 60 * i)) strata commit ${2:+-m "n$i"} >/dev/null
	done
}
# contents [OPTION of log]...: print the file of each node that has it, the newest node first.
contents() {
	local node
	for node in $(strata log "$@" --json | jq -r '.nodes[].id'); do strata cat "$node:file" 2>/dev/null || true; done | paste -sd ' '
}

@test "retain keeps a short history whole" {
	many 5
	run -0 --separate-stderr env STRATA_NOW=$NOW "$STRATA" retain
	is "$output" "6 nodes kept, 0 dropped"
	is "$(strata log | wc -l)" 6
}

@test "retain thins by minute, hour and day, and never HEAD" {
	many 12
	# Two days later, only one node of each hour is kept.
	later=$((NOW + 2 * 86400))
	run -0 --separate-stderr env STRATA_NOW=$later "$STRATA" retain --keep 1 --dry-run
	[[ ${lines[0]} == "would drop "* ]]
	is "$(strata log | wc -l)" 13
	run -0 --separate-stderr env STRATA_NOW=$later "$STRATA" retain --keep 1
	dropped=$(grep -c '^dropped ' <<<"$output")
	is "${lines[-1]}" "$((13 - dropped)) nodes kept, $dropped dropped"
	[ "$dropped" -ge 9 ]
	is "$(strata cat HEAD:file)" 0
	run -0 --separate-stderr env STRATA_NOW=$later "$STRATA" retain --keep 1
	is "${lines[-1]}" "$((13 - dropped)) nodes kept, 0 dropped"
	clean
}

@test "retain keeps the recent N" {
	many 12
	STRATA_NOW=$((NOW + 100 * 86400)) strata retain --keep 5 >/dev/null
	is "$(contents -n 5)" "0 1 2 3 4"
}

@test "retain keeps what somebody described, but when bytes must be saved" {
	many 12 described
	later=$((NOW + 100 * 86400))
	STRATA_NOW=$later strata retain --keep 1 >/dev/null
	is "$(strata log | wc -l)" 13
	STRATA_NOW=$later strata retain --keep 1 --max-bytes 1 >/dev/null 2>&1
	is "$(contents)" 0
	clean
}

@test "retain keeps where a checkout came from and led to, and redo after it" {
	many 12
	away=$(strata head)
	STRATA_NOW=$NOW strata checkout HEAD~3 >/dev/null
	to=$(strata head)
	put file more
	STRATA_NOW=$((NOW + 60)) strata commit >/dev/null
	STRATA_NOW=$((NOW + 61)) strata undo 2 >/dev/null
	is "$(strata head)" "$away"
	put file last
	STRATA_NOW=$((NOW + 120)) strata commit >/dev/null
	STRATA_NOW=$((NOW + 2 * 86400)) strata retain --keep 1 >/dev/null
	for id in "$away" "$to"; do id "$id" >/dev/null; done
	# After 30 days these nodes are treated like all others.
	STRATA_NOW=$((NOW + 100 * 86400)) strata retain --keep 1 >/dev/null
	run -1 strata show "$away"
	clean
}

@test "retain keeps tagged nodes, fork points and young tips" {
	many 12
	strata tag pinned HEAD~7 >/dev/null
	fork=$(id HEAD~5)
	strata checkout "$fork" >/dev/null
	put other branch
	STRATA_NOW=$NOW strata commit -m branch >/dev/null
	branch=$(strata head)
	strata checkout '@{-2}' >/dev/null
	STRATA_NOW=$((NOW + 2 * 86400)) strata retain --keep 1 >/dev/null
	for ref in pinned "$fork" "$branch"; do id "$ref" >/dev/null; done
	clean
}

@test "retain --json lists what was dropped" {
	many 6
	run -0 --separate-stderr env STRATA_NOW=$((NOW + 2 * 86400)) "$STRATA" retain --keep 1 --json
	is "$(jq '(.dropped | length) == .dropped_count and .dropped_count > 0 and .kept + .dropped_count == 7' <<<"$output")" true
	for id in $(jq -r '.dropped[].id' <<<"$output"); do
		fails 1 "strata: node $id was dropped by retention at 2023-11-16T22:13:20Z
hint: 'strata log' lists what there is; a tag keeps a node" strata show "$id"
	done
}

@test "thinning does not change what a kept node contains" {
	many 12
	strata log --json | jq -r '.nodes[] | "\(.id) \(.tree)"' | sort >before
	STRATA_NOW=$((NOW + 2 * 86400)) strata retain --keep 2 >/dev/null
	strata gc >/dev/null
	strata log --json | jq -r '.nodes[] | "\(.id) \(.tree)"' | sort >after
	is "$(comm -13 before after)" ""
	[ "$(wc -l <after)" -lt 13 ]
	clean
}

@test "retain --max-bytes drops the oldest until the rest fits" {
	begin
	for i in 1 2 3 4; do
		head -c 1000000 /dev/urandom >$W/file
		strata commit >/dev/null
	done
	last=$(strata head)
	strata retain --keep 1 --max-bytes 2500K >/dev/null
	strata gc >/dev/null
	[ "$(store_bytes)" -le 2560000 ]
	is "$(strata log -n 1 --json | jq -r '.nodes[0].id')" "$last"
	run -0 --separate-stderr strata retain --keep 1 --max-bytes 1
	is "$stderr" "strata: the nodes that are always kept need more than that"
	is "$(strata log -n 1 --json | jq -r '.nodes[0].id')" "$last"
	clean
}

@test "retain usage" {
	begin
	usage strata retain --keep 0
	usage strata retain --keep x
	usage strata retain --max-bytes 0
	usage strata retain --max-bytes 12Q
	usage strata retain extra
}
