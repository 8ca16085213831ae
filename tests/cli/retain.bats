# retain: thinning out old history.
load helpers
load history

# many N: N nodes, one a minute, on the first; the newest at $NOW.
NOW=1700000000
many() {
	STRATA_NOW=$((NOW - 60 * $1)) begin
	for ((i = $1 - 1; i >= 0; i--)); do
		put file "$i"
		STRATA_NOW=$((NOW - 60 * i)) strata commit -m "n$i" >/dev/null
	done
}

@test "retain keeps a short history whole" {
	many 5
	run -0 --separate-stderr env STRATA_NOW=$NOW "$STRATA" retain
	is "$output" "6 nodes kept, 0 dropped"
	is "$(strata log | wc -l)" 6
}

@test "retain thins by minute, hour and day, and never HEAD" {
	many 12
	# Two days later all of one hour are the same.
	later=$((NOW + 2 * 86400))
	run -0 --separate-stderr env STRATA_NOW=$later "$STRATA" retain --keep 1 --dry-run
	[[ ${lines[0]} == "would drop "* ]]
	is "$(strata log | wc -l)" 13
	run -0 --separate-stderr env STRATA_NOW=$later "$STRATA" retain --keep 1
	dropped=$(grep -c '^dropped ' <<<"$output")
	is "${lines[-1]}" "$((13 - dropped)) nodes kept, $dropped dropped"
	[ "$dropped" -ge 9 ]
	is "$(strata log --json | jq -r '.nodes[0].message')" n0
	is "$(strata cat HEAD:file)" 0
	run -0 --separate-stderr env STRATA_NOW=$later "$STRATA" retain --keep 1
	is "${lines[-1]}" "$((13 - dropped)) nodes kept, 0 dropped"
	clean
}

@test "retain keeps the recent N" {
	many 12
	STRATA_NOW=$((NOW + 100 * 86400)) strata retain --keep 5 >/dev/null
	is "$(strata log -n 5 --json | jq -r '[.nodes[].message] | join(" ")')" "n0 n1 n2 n3 n4"
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
		fails 1 "strata: node $id was deleted" strata show "$id"
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
		strata commit -m "n$i" >/dev/null
	done
	strata retain --keep 1 --max-bytes 2500K >/dev/null
	strata gc >/dev/null
	[ "$(store_bytes)" -le 2560000 ]
	is "$(strata log --json | jq -r '.nodes[0].message')" n4
	run -0 --separate-stderr strata retain --keep 1 --max-bytes 1
	is "$stderr" "strata: the nodes that are always kept need more than that"
	is "$(strata log --json | jq -r '.nodes[0].message')" n4
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
