# references: all ways to name a node.
load helpers
load history

# hourly: make nodes at fixed times: root at $T, then $one, $two and $three, an hour apart.
T=1700000000 # 2023-11-14 22:13:20 UTC, a Tuesday
hourly() {
	STRATA_NOW=$T begin
	root=$(strata head)
	local i=0
	for n in one two three; do
		i=$((i + 1))
		put $n "$n"
		STRATA_NOW=$((T + 3600 * i)) strata commit -m $n >/dev/null
		printf -v $n %s "$(strata head)"
	done
}
# at SECONDS REF: print the message of the node that REF means, SECONDS after $three was made.
at() { STRATA_NOW=$((T + 10800 + $1)) strata show "$2" --json | jq -r .message; }

@test "an id, a unique prefix of it, in either case" {
	three
	is "$(id "$one")" "$one"
	is "$(id "${one:0:11}")" "$one"
	is "$(id "${one:0:6}")" "$one"
	is "$(id "${one^^}")" "$one"
}

@test "a prefix needs four digits" {
	three
	fails 1 "strata: no tag '${one:0:3}', and for a node id it is too short: at least 4 digits" strata show "${one:0:3}"
	is "$(id "${one:0:4}")" "$one"
}

@test "an ambiguous prefix is an error that lists the candidates" {
	need sqlite3
	three
	other=${two:0:4}$(tr 0-9a-f f0-9a-e <<<"${two:4}")
	sqlite3 env/strata.db "INSERT INTO node (id, parent, tree, time, body)
		SELECT '$other', parent, tree, time, body FROM node WHERE id = '$two'"
	mapfile -t both < <(printf '%s\n' "$two" "$other" | sort)
	first=${both[0]} second=${both[1]}
	fails 1 "strata: '${two:0:4}' is ambiguous: $first, $second" strata show "${two:0:4}"
	fails 1 "strata: '${two:0:4}' is ambiguous: $first, $second" strata cat "${two:0:4}:two"
	is "$(id "${two:0:5}")" "$two"
}

@test "HEAD and @" {
	three
	is "$(id HEAD)" "$three"
	is "$(id @)" "$three"
}

@test "a tag comes before an id" {
	three
	strata tag name "$one" >/dev/null
	is "$(id name)" "$one"
	is "$(id name^)" "$root"
}

@test "~N and ^ go up, and can be chained" {
	three
	is "$(id HEAD~)" "$two"
	is "$(id HEAD~1)" "$two"
	is "$(id HEAD~0)" "$three"
	is "$(id HEAD^)" "$two"
	is "$(id HEAD^^)" "$one"
	is "$(id HEAD~2)" "$one"
	is "$(id HEAD^~1)" "$one"
	is "$(id @~3)" "$root"
	is "$(id "${three:0:8}~1")" "$two"
	fails 1 "strata: 'HEAD' has only 3 ancestors" strata show HEAD~4
	fails 1 "strata: 'HEAD~2' has only 1 ancestor" strata show HEAD~2~2
	fails 1 "strata: 'HEAD' has only 3 ancestors" strata show HEAD~99999999999999999999
}

@test "@{-N} is where HEAD was N movements ago" {
	three
	is "$(id '@{-1}')" "$two"
	is "$(id '@{-3}')" "$root"
	is "$(id 'HEAD@{-2}')" "$one"
	is "$(id '@{-0}')" "$three"
	strata checkout "$root" >/dev/null
	is "$(id '@{-1}')" "$three"
	is "$(id '@{-1}~1')" "$two"
	fails 1 "strata: '@{-5}': HEAD has moved only 4 times" strata show '@{-5}'
}

@test "@{TIME} is what HEAD was then" {
	hourly
	is "$(at 0 '@{2023-11-14T22:30:00Z}')" "init from src"
	is "$(at 0 '@{2023-11-14 23:13:20}')" one
	is "$(at 0 '@{2023-11-15T01:00:00+00:00}')" two
	is "$(at 0 '@{2023-11-15T02:00:00+01:00}')" two
	is "$(at 0 '@{now}')" three
	is "$(at 60 '@{10 minutes ago}')" two
	is "$(at 60 '@{2 hours ago}')" one
	is "$(at 60 '@{90 minutes ago}')" one
	is "$(at 0 '@{3h}')" "init from src"
	is "$(at 0 '@{today}')" one
	is "$(at 86400 '@{yesterday}')" one
	is "$(at 0 '@{@1700003600}')" one
	is "$(at 0 '@{now}~1')" two
}

@test "@{TIME} follows HEAD, not the nodes" {
	hourly
	STRATA_NOW=$((T + 14400)) strata checkout "$one" >/dev/null
	is "$(at 7200 '@{now}')" one
	is "$(at 7200 '@{2h}')" three
}

@test "a time before the history, and what is no time" {
	hourly
	fails 1 "strata: '@{2023-11-14T00:00:00Z}': the history starts 2023-11-14T22:13:20Z" strata show '@{2023-11-14T00:00:00Z}'
	run -1 --separate-stderr strata show '@{once upon a time}'
	is "${stderr_lines[0]}" "strata: 'once upon a time' is not a time"
	fails 1 "strata: '@{now' has no closing '}'" strata show '@{now'
}

@test "work is the live tree, for what can look at it" {
	three
	put new live
	is "$(strata cat work:new)" live
	strata ls work | grep -q new
	strata diff HEAD work | grep -q new
	fails 1 "strata: 'work~1': the live tree has no ancestors" strata ls work~1
}

@test "REF:PATH with every kind of reference" {
	hourly
	strata tag name "$two" >/dev/null
	for ref in HEAD @ "$two" name HEAD~1 '@{-1}' '@{2023-11-15T01:00:00Z}' '@{2023-11-15 00:13:20}'; do
		is "$(strata cat "$ref:two")" two
	done
}

@test "unknown and malformed references" {
	three
	hint="
hint: 'strata log' lists the nodes, 'strata tag' the tags"
	fails 1 "strata: no node or tag 'nowhere'$hint" strata show nowhere
	fails 1 "strata: no node or tag '000000000000'$hint" strata show 000000000000
	fails 1 "strata: no node or tag '${one}0'$hint" strata show "${one}0"
	fails 1 "strata: '' does not name a node" strata show ''
	fails 1 "strata: '~1' does not name a node" strata show '~1'
	run -1 strata show 'HEAD~x'
	run -1 strata show 'HEAD^2'
	run -1 strata show "$(printf 'x%.0s' {1..5000})"
	run -1 strata show "HEAD$(printf '~%.0s' {1..5000})"
}
