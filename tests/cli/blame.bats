# blame: finds the node that last changed a path, and the node of each of its lines.
load helpers
load history

@test "blame names the node of each line" {
	begin
	printf 'a\nb\nc\n' >$W/file
	STRATA_NOW=1700000000 strata commit -m first >/dev/null
	first=$(strata head)
	printf 'a\nB\nc\nd\n' >$W/file
	STRATA_NOW=1700000060 strata commit -m second >/dev/null
	second=$(strata head)
	touch $W/unrelated
	node unrelated
	run -0 --separate-stderr strata blame file
	is "$output" "$first 2023-11-14 22:13:20     1  a
$second 2023-11-14 22:14:20     2  B
$first 2023-11-14 22:13:20     3  c
$second 2023-11-14 22:14:20     4  d
last changed by $second  2023-11-14 22:14:20  manual    second  [~1]"
	is "$(strata blame file --json | jq -c '[.path, .present, .last.id, [.lines[] | [.node, .line, .text]]]')" \
		"[\"file\",true,\"$second\",[[\"$first\",1,\"a\"],[\"$second\",2,\"B\"],[\"$first\",3,\"c\"],[\"$second\",4,\"d\"]]]"
}

@test "blame of a deleted file names the node that deleted it" {
	begin
	put file x
	node made
	rm $W/file
	gone=$(node gone)
	run -0 strata blame file
	[[ $output == "deleted by $gone  "* ]]
	is "$(strata blame file --json | jq -c '[.present, .last.id, .lines]')" "[false,\"$gone\",[]]"
}

@test "blame of a binary file, a link and a directory names the node only" {
	begin
	printf 'a\0b\n' >$W/binary
	ln -s x $W/link
	mkdir $W/dir
	made=$(node made)
	for path in binary link dir; do
		is "$(strata blame $path --json | jq -c '[.last.id, .lines]')" "[\"$made\",[]]"
	done
}

@test "blame follows HEAD, not other branches" {
	three
	strata checkout "$one" >/dev/null
	is "$(strata blame all --json | jq -r .last.id)" "$one"
}

@test "lines that move keep their node; a removed line that returns is new" {
	begin
	printf 'a\nb\nc\n' >$W/file
	first=$(node first)
	printf 'a\nc\n' >$W/file
	node second
	printf 'x\na\nb\nc\n' >$W/file
	third=$(node third)
	is "$(strata blame file --json | jq -r '[.lines[].node] | join(" ")')" "$third $first $third $first"
}

@test "blame of what never was" {
	begin
	fails 1 "strata: no node on the way to HEAD ever had 'none'" strata blame none
	usage strata blame
}
