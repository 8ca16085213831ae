# tag: gives names to nodes.
load helpers
load history

@test "tag NAME names HEAD" {
	three
	run -0 --separate-stderr strata tag good
	is "$output" "$three  good"
	is "$(id good)" "$three"
}

@test "tag NAME shows a tag that exists and does not move it" {
	three
	strata tag good "$one" >/dev/null
	is "$(strata tag good)" "$one  good"
	is "$(strata tag good --json | jq -c .)" "{\"name\":\"good\",\"node\":\"$one\",\"deleted\":false}"
}

@test "tag NAME REF sets and moves a tag" {
	three
	is "$(strata tag good HEAD~2)" "$one  good"
	is "$(strata tag good "$two")" "$two  good"
	is "$(id good)" "$two"
	is "$(id good~1)" "$one"
}

@test "tag lists by name" {
	three
	is "$(strata tag)" ""
	strata tag zebra "$one" >/dev/null
	strata tag ape "$two" >/dev/null
	strata tag ape2 "$two" >/dev/null
	is "$(strata tag)" "$two  ape
$two  ape2
$one  zebra"
	is "$(strata tag --json | jq -c '[.tags[] | [.name, .node]]')" "[[\"ape\",\"$two\"],[\"ape2\",\"$two\"],[\"zebra\",\"$one\"]]"
	is "$(strata show "$two" --json | jq -c .tags)" '["ape","ape2"]'
	is "$(strata status --json | jq .tags)" 3
}

@test "log and show name the tags of a node" {
	three
	strata tag good "$three" >/dev/null
	strata log -n 1 | grep -qF '(HEAD, good)'
	strata show good | grep -qx 'tag      good'
}

@test "tag -d deletes a tag, not the node" {
	three
	strata tag good "$one" >/dev/null
	is "$(strata tag -d good)" "deleted tag good (was $one)"
	fails 1 "strata: no tag 'good'" strata tag -d good
	is "$(id "$one")" "$one"
	strata tag x "$one" >/dev/null
	is "$(strata tag --delete x --json | jq -c .)" "{\"name\":\"x\",\"node\":\"$one\",\"deleted\":true}"
}

@test "a tag pins its node" {
	three
	strata tag keep "$one" >/dev/null
	fails 1 "strata: node $one is tagged 'keep'
hint: delete the tag first: strata tag -d NAME" strata delete "$one"
	strata retain --keep 1 >/dev/null
	is "$(id keep)" "$one"
}

@test "names that could be something else are refused" {
	three
	for name in HEAD work @ a~b a^ a:b 'a b' '@{x}' '' -- $'a\nb' $'\e[31m' "$one" abcdef123456 'a\b' .. ; do
		status=0
		strata tag -- "$name" HEAD >out.txt 2>err.txt || status=$?
		[ $status = 1 ] || [ $status = 2 ] || { echo "accepted: $name"; return 1; }
		if grep -q $'\e' err.txt; then echo "raw escape for $name"; return 1; fi
	done
	is "$(strata tag)" ""
}

@test "tags in other scripts and with slashes work" {
	three
	strata tag release/1.0 "$one" >/dev/null
	strata tag größe "$two" >/dev/null
	is "$(id release/1.0)" "$one"
	is "$(id größe)" "$two"
	is "$(strata cat release/1.0:one)" one
}

@test "tag of the live tree or of what is not there is refused" {
	three
	fails 1 "strata: 'work' is no node yet; commit first" strata tag x work
	run -1 strata tag x nowhere
	is "$(strata tag)" ""
}

@test "tag usage" {
	begin
	usage strata tag -d
	usage strata tag -d a b
	usage strata tag a b c
}
