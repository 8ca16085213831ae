# show: prints everything about one node.
load helpers
load history

@test "show of HEAD, line by line" {
	echo old >src/old
	STRATA_NOW=1700000000 begin
	parent=$(strata head)
	mv $W/old $W/new
	put file text
	STRATA_NOW=1700003600.5 strata commit -m 'the message' >/dev/null
	strata tag good >/dev/null
	run -0 --separate-stderr env STRATA_NOW=1700007200 "$STRATA" show
	is "$output" "node     $(strata head) (HEAD)
parent   $parent
tree     $(tree HEAD)
time     2023-11-14T23:13:20.500000000Z (59 minutes ago)
kind     manual
tag      good
message  the message
changes  +1 >1
  + file
  R old -> new"
}

@test "show REF --json is the node" {
	three
	is "$(strata show "$two" --json | jq -c '[.id, .parent, .kind, .message, .command, .exit_status, .changes, .paths, .tags, .head]')" \
		"[\"$two\",\"$one\",\"manual\",\"two\",null,null,{\"added\":1,\"modified\":1,\"deleted\":0,\"renamed\":0},[\"all\",\"two\"],[],false]"
	[[ $(strata show "$two" --json | jq -r .tree) =~ ^[0-9a-f]{64}$ ]]
	[[ $(strata show "$two" --json | jq -r .time) =~ ^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(\.[0-9]{9})?Z$ ]]
}

@test "equal trees have equal hashes, whatever lies between" {
	touch -d @1 src
	begin
	first=$(tree HEAD)
	put x x
	[ "$(node x && tree HEAD)" != "$first" ]
	rm $W/x
	touch -d @1 $W
	node back
	is "$(tree HEAD)" "$first"
}

@test "show of the live tree is refused" {
	begin
	fails 1 "strata: 'work' is no node yet
hint: see 'strata status', or 'strata diff HEAD'" strata show work
}

@test "show takes one reference" {
	begin
	usage strata show a b
}
