# grep: finds lines that match, in nodes or in the whole history.
load helpers
load history

setup() {
	strata_setup
	mkdir src/dir
	printf 'alpha one\nbeta\nAlpha two\n' >src/a
	printf 'gamma alpha\n' >src/dir/b
	printf 'alpha\0binary\n' >src/binary
	begin
	first=$(strata head)
}

@test "grep in HEAD: path, line number, line" {
	is "$(strata grep alpha)" $'a:1:alpha one\ndir/b:1:gamma alpha'
	is "$(strata grep -i alpha)" $'a:1:alpha one\na:3:Alpha two\ndir/b:1:gamma alpha'
	is "$(strata grep '^[ab].*a$')" "a:2:beta"
	is "$(strata grep none)" ""
}

@test "grep -F takes the pattern literally" {
	printf 'a.c\nabc\n' >$W/f
	node f
	is "$(strata grep -F a.c)" "f:1:a.c"
	is "$(strata grep 'a.c')" $'f:1:a.c\nf:2:abc'
}

@test "grep in several nodes and in the live tree names them" {
	printf 'alpha new\n' >$W/a
	second=$(node second)
	is "$(strata grep alpha "$first" "$second" -- a)" "$first:a:1:alpha one
$second:a:1:alpha new"
	printf 'alpha live\n' >$W/a
	is "$(strata grep alpha work -- a)" "a:1:alpha live"
}

@test "grep --all looks through all time, each content once" {
	printf 'alpha new\n' >$W/a
	second=$(node second)
	touch $W/other
	node third
	is "$(strata grep alpha --all -- a)" "$first:a:1:alpha one
$second:a:1:alpha new"
	rm $W/a
	node gone
	is "$(strata grep 'alpha new' --all --json | jq -c '.matches')" \
		"[{\"node\":\"$second\",\"path\":\"a\",\"line\":1,\"text\":\"alpha new\"}]"
}

@test "grep -- PATH looks below it" {
	is "$(strata grep alpha -- dir)" "dir/b:1:gamma alpha"
	is "$(strata grep alpha -- /dir/b a)" $'dir/b:1:gamma alpha\na:1:alpha one'
	run -1 strata grep alpha -- none
}

@test "grep -n limits and says so" {
	run -0 --separate-stderr strata grep alpha -n 1
	is "$output" "a:1:alpha one"
	is "$stderr" "strata: there is more than the 1 matches asked for"
	is "$(strata grep alpha --limit 1 --json 2>/dev/null | jq .truncated)" true
	is "$(strata grep alpha --json | jq .truncated)" false
}

@test "lines that cannot be searched are told, with status 2" {
	head -c 40 /dev/zero | tr '\0' x >$W/hard
	echo ' alpha' >>$W/hard
	echo 'alpha below' >>$W/hard
	# A pattern with a back reference can only be matched by backtracking.
	run -2 --separate-stderr strata grep '(x+x+)+\1y|alpha' work -- hard
	is "$output" "hard:2:alpha below"
	is "$stderr" "strata: hard was not searched as a whole: line 1 of work: the pattern takes too many steps there"
	run -2 --separate-stderr strata grep '(x+x+)+\1y|alpha' work --json -- hard
	is "$(jq -c '[.matches[0].line, .exceptions.unsearched, .exceptions.list[0].path]' <<<"$output")" '[2,1,"hard"]'
	# Without a back reference, the pattern is matched without backtracking.
	is "$(strata grep '(x+x+)+y|alpha' work -- hard | cut -d: -f 1-2)" $'hard:1\nhard:2'
	{ echo alpha; head -c 1100000 /dev/zero | tr '\0' x; echo; echo alpha; } >$W/hard
	run -2 --separate-stderr strata grep alpha work -- hard
	is "$output" "hard:1:alpha"
	is "$stderr" "strata: hard was not searched as a whole: line 2 of work: the line is too long, and what follows"
}

@test "grep shows control characters, does not send them" {
	printf 'alpha \e[31m \xff \t tab\n' >$W/a
	is "$(strata grep alpha work -- a)" $'a:1:alpha \\033[31m \\377 \t tab'
	strata grep alpha work --json -- a | jq -e '.matches[0].text' >/dev/null
}

@test "grep of a long line and of a file without a newline" {
	{ head -c 300000 /dev/zero | tr '\0' x; printf 'needle'; } >$W/long
	run -0 strata grep needle work -- long
	[[ $output == long:1:* ]]
}

@test "grep of a bad pattern" {
	run -1 --separate-stderr strata grep '('
	[[ $stderr == "strata: "* ]]
	[ "${#stderr_lines[@]}" -le 2 ]
}

@test "grep usage" {
	usage strata grep
	usage strata grep x --all HEAD
	usage strata grep x -n 0
	run -1 strata grep x nowhere
}
