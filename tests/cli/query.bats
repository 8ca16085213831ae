# query: the methods of the query agent, from the command line.
load helpers
load history

# strata: as in helpers.bash, but a btrfs that another test has mounted is not asked.
strata() {
	if [ "$1" = query ]; then
		set -- query --provider strata "${@:2}"
	fi
	"$STRATA" "$@"
}

# q JQ-FILTER METHOD...: print the result of the filter for the reply, compact.
q() {
	local filter=$1
	shift
	strata query --json "$@" | jq -c "$filter"
}

@test "query --json prints the result as JSON" {
	three
	is "$(q . read_file snapshot="$one" path=one)" '{"snapshot":"strata@'"$one"'","path":"one","size":4,"bytes_returned":4,"encoding":"utf-8","content":"one\n","truncated":false}'
	strata query list_dir snapshot=HEAD path=/ --json >lines.json
	is "$(cat lines.json)" "$(jq . lines.json)"
}

# people METHOD...: what people see of a reply about the folder bk.
people() { strata query --folder bk=bk "$@"; }

@test "query prints lists as tables" {
	mkdir -p bk/2025-01-01 bk/2025-01-02/dir
	head -c 2000 /dev/zero | tr '\0' x >bk/2025-01-01/f
	echo é >bk/2025-01-02/é
	touch bk/2025-01-02/$'c\e[31m'
	ln -s é bk/2025-01-02/link
	chmod 640 bk/2025-01-02/é
	touch -h -d 2024-01-31T12:00:00 bk/2025-01-02/* bk/2025-01-01/f
	run -0 --separate-stderr people list_dir snapshot=2025-01-02 path=
	is "$output" 'TYPE     MODE  SIZE  MTIME                NAME         TARGET
file     0644   0 B  2024-01-31 12:00:00  "c\033[31m"
dir                  2024-01-31 12:00:00  dir
symlink         2 B  2024-01-31 12:00:00  link         é
file     0640   3 B  2024-01-31 12:00:00  é'
	is "$stderr" ""
	# A column without a value is left out: folders do not know how much they use.
	is "$(people list_snapshots)" 'NAME           CREATION
bk@2025-01-01  2025-01-01 00:00:00
bk@2025-01-02  2025-01-02 00:00:00'
	is "$(people file_history dataset=bk path=f)" 'SNAPSHOT       CREATION             PRESENT     SIZE  MTIME                IS SYMLINK
bk@2025-01-01  2025-01-01 00:00:00  yes      2.0 KiB  2024-01-31 12:00:00  no
bk@2025-01-02  2025-01-02 00:00:00  no'
	# A list of a row is its length, and an object of a row is columns.
	is "$(people versions_of dataset=bk path=é)" "SNAPSHOTS  SIZE  FIRST SEEN CREATION  FIRST SEEN SNAPSHOT  LAST SEEN SNAPSHOT  SHA256
1           3 B  2025-01-02 00:00:00  bk@2025-01-02        bk@2025-01-02       $(sha256sum <bk/2025-01-02/é | cut -d ' ' -f 1)"
	is "$(people content_grep snapshot=2025-01-02 pattern=none)" ""
	# The table is the same on a terminal.
	if command -v script >/dev/null; then
		script -qec "'$STRATA' query --provider strata --folder bk=bk list_snapshots" /dev/null </dev/null | tr -d '\r' >terminal
		people list_snapshots | diff - terminal
	fi
}

@test "query prints other members as lines, without those that repeat parameters" {
	mkdir -p bk/2025-01-01 bk/2025-01-03 bk/2025-01-04
	echo one >bk/2025-01-01/a
	printf 'one\ntwo\n' | tee bk/2025-01-03/a >bk/2025-01-04/a
	touch -d 2024-01-31T12:00:00 bk/*/a
	is "$(people size_delta snap_a=2025-01-01 snap_b=2025-01-03)" 'written bytes  8 B'
	is "$(people snapshot_cadence dataset=bk)" 'total snapshots      3
earliest creation    2025-01-01 00:00:00
latest creation      2025-01-04 00:00:00
biggest gap          2 d
biggest gap between  bk@2025-01-01, bk@2025-01-03
total unique bytes   -

CLASS  COUNT  EARLIEST CREATION    LATEST CREATION
other      3  2025-01-01 00:00:00  2025-01-04 00:00:00'
	is "$(people bisect_change dataset=bk path=a predicate='{"kind":"contains","needle":"two"}')" 'transition
    from snapshot  bk@2025-01-01
    from creation  2025-01-01 00:00:00
    from value     no
    to snapshot    bk@2025-01-03
    to creation    2025-01-03 00:00:00
    to value       yes
    transition     2 d
evaluated snapshots  3
total snapshots      3
earliest value       no
latest value         yes'
	is "$(people blame_path dataset=bk path=a lines=true)" 'present  yes
last
    snapshot  bk@2025-01-03
    creation  2025-01-03 00:00:00
    op        M

LINE  SNAPSHOT       CREATION             TEXT
   1  bk@2025-01-01  2025-01-01 00:00:00  one
   2  bk@2025-01-03  2025-01-03 00:00:00  two'
	is "$(people first_appearance dataset=bk path=none)" 'first  -'
}

@test "query prints lists in lists one below the other" {
	fake_zfs 2.3
	zfs_people() { strata query --provider zfs --trust-mountpoints "$@"; }
	is "$(zfs_people pool_status)" '    name    tank
    state   ONLINE
    errors  No known data errors

    NAME     STATE   READ ERRORS  WRITE ERRORS  CKSUM ERRORS  DEPTH
    tank     ONLINE            0             0             0      0
    /tmp/d0  ONLINE            0             0             0      1'
	is "$(zfs_people list_pools)" 'NAME       SIZE  ALLOCATED       FREE  HEALTH
tank  240.0 MiB    1.8 MiB  238.2 MiB  ONLINE'
}

@test "query prints a file and a diff as they are" {
	mkdir -p bk/1 bk/2
	printf 'one\r\n\x1btwo' >bk/1/a
	printf 'one\r\n\x1bthree' >bk/2/a
	head -c 3000 /dev/urandom >bk/1/b
	printf '\0' | tee bk/1/c >bk/2/c
	people read_file snapshot=1 path=a | cmp - bk/1/a
	people read_file snapshot=1 path=b | cmp - bk/1/b
	run -0 --separate-stderr people read_file snapshot=1 path=a max_bytes=3
	is "$output" one
	is "$stderr" "strata: there is more than is shown"
	people file_diff snap_a=1 snap_b=2 path=a >diff.txt
	strata query --json --folder bk=bk file_diff snap_a=1 snap_b=2 path=a | jq -r .diff | head -c -1 | cmp - diff.txt
	is "$(people file_diff snap_a=1 snap_b=2 path=b)" "the files are binary and differ"
	is "$(people file_diff snap_a=1 snap_b=2 path=c)" "the files are binary and the same"
	is "$(people file_diff snap_a=1 snap_b=1 path=a)" ""
	run -0 --separate-stderr people file_diff snap_a=1 snap_b=2 path=none
	is "$output" ""
	is "$stderr" "strata: neither snapshot has the path"
}

@test "query says on stderr what is not shown" {
	mkdir -p bk/2025-01-01/{a,b,c} bk/.hidden
	run -0 --separate-stderr people find_files snapshot=2025-01-01 pattern='*' max_results=2
	is "$output" $'TYPE  PATH\ndir   a\ndir   b'
	is "$stderr" "strata: there is more: go on with cursor=2"
	run -0 --separate-stderr people list_snapshots
	is "$stderr" "strata: datasets or snapshots left out because of their names or of access rights: 1"
}

@test "query lists itself" {
	three
	is "$(q '.methods == (.methods | sort) and (.methods | index("list_dir") > 0)' agent_info)" true
	is "$(q .datasets[].name list_datasets)" '"strata"'
}

@test "query knows the environment by its name" {
	begin --name box
	is "$(q .datasets[0].name list_datasets)" '"box"'
	is "$(q .snapshots[0].name list_snapshots)" "\"box@$(strata head)\""
	is "$(q '.versions | length' file_history dataset=box path=x)" 1
}

@test "query accepts what it names" {
	three
	snapshot=$(strata query --json list_snapshots | jq -r .snapshots[1].name)
	is "$snapshot" "strata@$one"
	is "$(q .content read_file snapshot="$snapshot" path=all)" '"all one\n"'
	strata tag good "$two" >/dev/null
	is "$(q .content read_file snapshot=strata@good path=all)" '"all two\n"'
	is "$(q .content read_file snapshot="${two:0:6}" path=all)" '"all two\n"'
}

@test "query takes strings as they are, and other values as JSON" {
	begin
	put 123 number
	put true truth
	put '"q"' quotes
	node one >/dev/null
	is "$(q .content read_file snapshot=HEAD path=123)" '"number\n"'
	is "$(q .content read_file snapshot=HEAD path=true)" '"truth\n"'
	is "$(q .content read_file snapshot=HEAD path='"123"')" '"number\n"'
	is "$(q .content read_file snapshot=HEAD path='"\"q\""')" '"quotes\n"'
	is "$(q '.entries | length' list_dir snapshot=HEAD path= max_entries=2)" 2
	is "$(q '.entries | length' list_dir snapshot=HEAD path= max_entries=null)" 3
	is "$(q .transition.to_value bisect_change dataset=strata path=123 predicate='{"kind":"exists"}')" true
	fails 1 "strata: 'max_entries' must be an integer" strata query list_dir snapshot=HEAD path= max_entries=two
	fails 1 "strata: 'max_entries' must be an integer" strata query list_dir snapshot=HEAD path= 'max_entries="2"'
}

@test "query takes all parameters at once, and pairs win over them" {
	three
	params='{"snapshot":"HEAD","path":"one","unknown":1}'
	is "$(q .content read_file --params "$params")" '"one\n"'
	is "$(q .content read_file --params "$params" path=two)" '"two\n"'
	fails 1 "strata: --params: not a JSON object" strata query read_file --params '[]'
	run -1 --separate-stderr strata query read_file --params '{'
	[[ $stderr == "strata: --params: not JSON: "* ]]
}

@test "query passes names that are not UTF-8 in and out" {
	begin
	name=$'n\xff'
	put "$name" raw
	node one >/dev/null
	run -0 strata query --json list_dir snapshot=HEAD path=
	[[ $output == *'"name": "n\udcff"'* ]]
	is "$(q .size read_file snapshot=HEAD path="$name")" 4
	is "$(q .size read_file snapshot=HEAD path='"n\udcff"')" 4
}

@test "query goes on with a cursor" {
	three
	first=$(strata query --json find_files snapshot=HEAD pattern='*' max_results=3)
	is "$(jq -c '[.truncated, .cursor, [.matches[].name]]' <<<"$first")" '[true,"3",["all","one","three"]]'
	is "$(q '[.truncated, .cursor, [.matches[].name]]' find_files snapshot=HEAD pattern='*' max_results=3 cursor=3)" '[false,null,["two"]]'
}

@test "query follows a path through time" {
	three
	is "$(q '[.versions[].present]' file_history dataset=strata path=two)" '[false,false,true,true]'
	is "$(q .first.snapshot first_appearance dataset=strata path=two)" "\"strata@$two\""
	is "$(q '[.versions[].size]' versions_of dataset=strata path=all)" '[8,8,10]'
	is "$(q '[.matches[] | [.text, .first.snapshot, .last.snapshot]]' grep_history dataset=strata pattern='all t')" \
		"[[\"all two\",\"strata@$two\",\"strata@$two\"],[\"all three\",\"strata@$three\",\"strata@$three\"]]"
	is "$(q .last.message blame_path dataset=strata path=one)" '"one"'
}

@test "query follows a path past nodes that did not touch it" {
	begin
	put dir/a 1
	put dir/b 1
	node first >/dev/null
	put dir/b 22
	node second >/dev/null
	put dir/a 333
	node third >/dev/null
	rm $W/dir/a
	node fourth >/dev/null
	put dir/a 4444
	node fifth >/dev/null
	mv $W/dir $W/moved
	node sixth >/dev/null
	mv $W/moved $W/dir
	node seventh >/dev/null
	strata checkout HEAD~5 >/dev/null
	put dir/b 55555
	node branch >/dev/null
	local path snapshot
	for path in dir/a dir/b moved/a; do
		strata query --json list_snapshots | jq -r .snapshots[].name >names
		while read -r snapshot; do
			strata query --json list_dir snapshot="$snapshot" path="$(dirname $path)" 2>/dev/null >listing || echo '{"entries":[]}' >listing
			jq -r --arg name "${path##*/}" '.entries[] | select(.name == $name) | .size' listing | paste -sd' '
		done <names >looked_up
		strata query --json file_history dataset=strata path="$path" | jq -r '.versions[] | .size // ""' >followed
		is "$(paste names looked_up)" "$(paste names followed)"
	done
	is "$(paste -sd, followed)" ",,,,,,5,,"
}

@test "grep_history reads a content once, whatever paths had it" {
	begin
	put a needle
	put copies/b needle
	node first >/dev/null
	mv $W/a $W/c
	cp -r $W/copies $W/more
	node second >/dev/null
	strata query --json grep_history dataset=strata pattern=needle >reply
	is "$(jq .searched_contents reply)" 1
	is "$(jq -c '[.matches[] | [.path, .line]] | sort' reply)" '[["a",1],["c",1],["copies/b",1],["more/b",1]]'
	is "$(jq -c '[.matches[] | select(.first == .last) | .path]' reply)" '["a","c","more/b"]'
}

@test "query compares nodes" {
	three
	is "$(q '[.changes[] | [.op, .path]]' diff_snapshots snap_a="$two" snap_b=HEAD)" '[["M","all"],["+","three"]]'
	is "$(q .diff file_diff snap_a="$one" snap_b="$two" path=all)" '"--- a/all\n+++ b/all\n@@ -1 +1 @@\n-all one\n+all two\n"'
	is "$(q .written_bytes size_delta snap_a="$two" snap_b=HEAD)" 16
}

@test "query lists what was deleted" {
	echo old >src/old
	three
	rm $W/old
	node gone >/dev/null
	is "$(q .deleted find_deleted dataset=strata)" '[{"path":"old","type":"file"}]'
}

@test "query looks along the way to the HEAD of the workspace" {
	three
	strata checkout "$one" >/dev/null
	put side x
	node side >/dev/null
	is "$(q .last.snapshot blame_path dataset=strata path=all)" "\"strata@$one\""
	is "$(q .total_snapshots bisect_change dataset=strata path=side predicate='{"kind":"exists"}')" 3
}

@test "query refuses paths that lead out, and what is no file" {
	begin
	ln -s /etc/passwd $W/link
	mkdir $W/dir
	node one >/dev/null
	fails 1 "strata: 'path' has a '..'" strata query read_file snapshot=HEAD path=dir/../../x
	fails 1 "strata: 'link' is a symlink, not a regular file" strata query read_file snapshot=HEAD path=link
	fails 1 "strata: 'dir' is a dir, not a regular file" strata query read_file snapshot=HEAD path=dir
	fails 1 "strata: no path 'none' there" strata query list_dir snapshot=HEAD path=none
	fails 1 "strata: no path 'link/x' there" strata query list_dir snapshot=HEAD path=link/x
}

@test "query needs a method it knows, and pairs of its parameters" {
	begin
	usage strata query
	usage strata query list_dir path
	usage strata query list_dir =x
	usage strata query list_dir colour=red
	run -2 --separate-stderr strata query destroy
	is "${stderr_lines[0]}" "strata: no method 'destroy'"
	fails 1 "strata: 'snapshot' is missing: a string" strata query list_dir path=x
	fails 1 "strata: no dataset 'other'" strata query file_history dataset=other path=x
}

@test "query needs no right to write" {
	three
	prepare_nobody
	chmod -R a-w env
	is "$(nobody "$STRATA" query --provider strata --json read_file snapshot=HEAD path=one | jq -r .content)" one
	[ "$(nobody "$STRATA" query --provider strata --json list_snapshots | jq '.snapshots | length')" = 4 ]
}
