#!/bin/bash
# tracing.sh - row 17: the cost of running a program under strata trace.  run.sh sources this file.
#
# Each user has a file system with sources to compile, a tree to look at and a git repository.  Each
# contender is tried once before the rounds.  A contender that fails then is reported as failed.
# The bundles that strata has written in these trials are checked.
# shellcheck disable=SC2154 # files, work and the like are those of run.sh

# shellcheck source=bench/environments.sh
. "$here/environments.sh"

trace_compiles=7 # number of rounds
trace_looks=11
look_files=$((files < 20000 ? files : 20000))
status_files=$((look_files / 2))
big_bytes=2000000000
tracers=(plain strata notify ptrace strace reprozip)
declare -A tracer_names=([plain]="plain" [strata]="strata trace" [notify]="strata trace --engine notify" [ptrace]="strata trace --engine ptrace"
	[strace]="strace" [reprozip]="reprozip trace")

# --- the traced programs, and the tracers

# Makes a new file system with everything that the traced programs need, and enters it.
trace_fs() { # USER
	become "$1"
	new_fs "trace-$1" $((6144 * MiB)) $((4 * look_files + 100000))
	[ ${#as[@]} = 0 ] || chown "$user_id:$user_id" "$fs"
	cd "$fs" || exit
	export HOME=$fs/home TMPDIR=$fs/tmp
	"${as[@]}" mkdir "$HOME" "$TMPDIR" sources sources/core
	tar -c -C "$here/../src" core | "${as[@]}" tar -x --no-same-owner --wildcards -C sources 'core/*.[ch]'
	"${as[@]}" tee sources/Makefile >/dev/null <<-'END'
		objects: $(patsubst %.c,%.o,$(wildcard core/*.c))
		%.o: %.c; gcc -std=gnu17 -D_GNU_SOURCE -I. -O1 -c -o $@ $<
	END
	quiet "${as[@]}" "$tools/mktree" make "$tree" "$look_files" $small_size $per_dir
	quiet "${as[@]}" "$tools/mktree" make "$fs/repository" "$status_files" $small_size $per_dir
	quiet "${as[@]}" git init -q "$fs/repository"
	quiet "${as[@]}" git -C "$fs/repository" add .
	quiet "${as[@]}" git -C "$fs/repository" -c gc.auto=0 -c user.name=bench -c user.email=bench commit -q -m all
	sleep 2 # otherwise git does not trust the times of files that it has just added
	quiet "${as[@]}" git -C "$fs/repository" status
	! command -v reprozip >/dev/null || quiet "${as[@]}" reprozip usage_report --disable
}

set_job() { # compile|find|status
	case $1 in
	compile) job=(make -s -j2 -C "$fs/sources") ;;
	find) job=(find "$tree" -newer /etc/passwd) ;;
	status) job=(git -C "$fs/repository" status) ;;
	esac
}

set_tracer() { # CONTENDER
	case $1 in
	plain) tracer=() ;;
	strata) tracer=(strata trace --snapshot-dir "$fs/bundle" --) ;;
	notify | ptrace) tracer=(strata trace --snapshot-dir "$fs/bundle" --engine "$1" --) ;;
	strace) tracer=(strace -f --seccomp-bpf -e trace=file -o /dev/null) ;;
	reprozip) tracer=(reprozip trace -d "$fs/bundle") ;;
	esac
}

# Removes the files that a run has left.
tidy() { rm -rf "$fs/bundle" "$fs"/sources/core/*.o; }

# --- checks of a bundle

bundle() { jq "$@" "$fs/bundle/manifest.json"; }

check_complete() { # WHAT
	[ "$(bundle .complete)" = true ] || fault "$1: the bundle is incomplete: $(bundle -c .incomplete_reasons)"
}

# Checks that every object was made, and that the bundle has it with its content.
check_objects() {
	find "$fs/sources" -name '*.o' | sort >"$work/objects"
	[ "$(wc -l <"$work/objects")" = "$(find "$fs/sources" -name '*.c' | wc -l)" ] || fault "a compile made too few objects"
	bundle -r '.files[] | select((.before.exists | not) and .after.blob) | .path | select(endswith(".o"))' |
		sort | quiet diff "$work/objects" - || fault "the bundle of a compile has other objects"
}

# shellcheck disable=SC2016 # a variable of jq
check_looks() { # DIR FILES
	local seen
	seen=$(bundle --arg dir "$1/" '[.files[] | select(.path | startswith($dir))] | length')
	[ "$seen" -ge "$2" ] || fault "the bundle has $seen paths of $1, which has $2 files"
}

check_bundle() { # JOB
	check_complete "$1"
	case $1 in
	compile) check_objects ;;
	find) check_looks "$tree" "$look_files" ;;
	status) check_looks "$fs/repository" "$status_files" ;;
	esac
}

# --- the rounds

# Prints the reason why a tracer has failed, taken from its messages.
why_failed() { # FILE
	local critical
	critical=$(sed -n 's/.*CRITICAL: //p' "$1" | head -1)
	if [ -n "$critical" ]; then echo "$critical"; else last_line "$1"; fi
}

# Sets 'turn' to the tracers that work.
try_tracers() { # USER JOB
	local who
	turn=()
	set_job "$2"
	for who in "${tracers[@]}"; do
		set_tracer "$who"
		tidy
		if ! "${as[@]}" "${tracer[@]}" "${job[@]}" >"$work/said" 2>&1 </dev/null; then
			cat "$work/said" >>"$log"
			case $who in
			strace | reprozip) ;;
			*) fault "$2 fails: $(last_line "$work/said")" ;;
			esac
			notes+=("${tracer_names[$who]} fails here as ${user_names[$1]}, $2: $(why_failed "$work/said").")
			continue
		fi
		turn+=("$who")
		case $who in
		strata) engine[$1]=$(bundle -r .engine) ;;&
		strata | notify | ptrace) check_bundle "$2" ;;
		esac
	done
}

trace_rounds() { # USER JOB ROUNDS
	local round i who
	progress "17. tracing, $2: ${user_names[$1]}"
	try_tracers "$1" "$2"
	for ((round = 1; round <= $3; round++)); do
		for ((i = 0; i < ${#turn[@]}; i++)); do
			who=${turn[(i + round) % ${#turn[@]}]}
			set_tracer "$who"
			tidy
			measure "trace-$1-$2-$who" "${tracer[@]}" "${job[@]}"
		done
	done
	tidy
}

# Traces a program that writes a large file.  This needs room for the file, and for its content in
# the bundle.
# shellcheck disable=SC2016 # expanded by sh
trace_big() { # USER
	local dir room
	for dir in "$fs" "$work"; do
		room=$(df -B1 --output=avail "$dir" | tail -1)
		if [ "$room" -lt $((2 * big_bytes)) ]; then
			notes+=("Memory not measured: $(as_bytes "$room") free, this needs $(as_bytes $((2 * big_bytes))).")
			return
		fi
	done
	progress "17. tracing, a large file: ${user_names[$1]}"
	set_tracer strata
	measure trace-big "${tracer[@]}" sh -c 'head -c "$0" /dev/zero >"$1"' $big_bytes "$fs/big"
	check_complete "a large file"
	[ "$(bundle --arg path "$fs/big" '.files[] | select(.path == $path) | .after.size')" = $big_bytes ] ||
		fault "the bundle has no large file"
	rm "$fs/big"
	tidy
}

# --- the report

# Prints the time that tracing adds.  It is at least 1, since noise could make it negative.
added() { # USER JOB CONTENDER
	local more=$(($(p50 "trace-$1-$2-$3") - $(p50 "trace-$1-$2-plain")))
	echo $((more > 1 ? more : 1))
}

trace_line() { # USER JOB CONTENDER
	local label=trace-$1-$2-$3 more="" share="" name="${user_names[$1]}: ${tracer_names[$3]}"
	if [ ! -e "$samples/$label" ]; then
		say "| $name | 0 | failed | | | | | |"
		return
	fi
	[ "$3" = plain ] || more=$(as_time "$(added "$1" "$2" "$3")")
	[ "$3" = plain ] || [ "$3" = strata ] ||
		share=$(as_ratio "$(ratio "$(added "$1" "$2" "$3")" "$(added "$1" "$2" strata)")")
	say "| $name | $(count "$label") | $(as_time "$(p50 "$label")") | $(as_time "$(least "$label")") |" \
		"$(as_time "$(p50 "$label" "$CPU")") | $(as_kib "$(most "$label" "$RSS")") | $more | $share |"
}

trace_table() { # TEXT JOB
	local user who
	say ""
	say "| $1 | runs | p50 | min | CPU p50 | peak RSS | added, p50 | ÷ strata's |"
	say "|---|---|---|---|---|---|---|---|"
	for user in "${users[@]}"; do
		for who in "${tracers[@]}"; do
			trace_line "$user" "$2" "$who"
		done
	done
}

strace_target() { # USER TEXT JOB LIMIT
	[ -e "$samples/trace-$1-$3-strace" ] || return 0
	target "${user_names[$1]}: $2: added by strace ÷ added by strata" as_ratio \
		"$(ratio "$(added "$1" "$3" strace)" "$(added "$1" "$3" strata)")" at-least "$4"
}

trace_targets() {
	local user limit
	targets_head
	for user in "${users[@]}"; do
		limit=0.25
		[ "${engine[$user]}" != bpf ] || limit=0.12
		target "${user_names[$user]}: compile: added by strata ÷ plain" as_ratio \
			"$(ratio "$(added "$user" compile strata)" "$(p50 "trace-$user-compile-plain")")" at-most $limit
		strace_target "$user" compile compile 5
		strace_target "$user" find find 4
		strace_target "$user" "git status" status 4
	done
	[ ! -e "$samples/trace-big" ] ||
		target "${user_names[${users[0]}]}: peak RSS, a file of $(as_bytes $big_bytes) written" as_kib \
			"$(most trace-big "$RSS")" at-most 65536
}

row_17() {
	local user sources job tracer turn engines=""
	local -A engine=()
	notes=()
	if ! command -v jq >/dev/null || ! command -v git >/dev/null; then
		say "## 17. Tracing"
		say ""
		say "Not measured: no jq or no git; run tools/setup bench."
		say ""
		return
	fi
	unset MAKEFLAGS MFLAGS MAKELEVEL # set by make bench
	for user in "${users[@]}"; do
		progress "17. making what is traced: ${user_names[$user]}"
		trace_fs "$user"
		sources=$(find "$fs/sources" -name '*.c' | wc -l)
		trace_rounds "$user" compile $trace_compiles
		trace_rounds "$user" find $trace_looks
		trace_rounds "$user" status $trace_looks
		engines+=" ${user_names[$user]}: ${engine[$user]}."
		[ "$user" != "${users[0]}" ] || trace_big "$user"
		cd /
		drop_fs "trace-$user"
	done
	say "## 17. Tracing"
	say ""
	say "Each with the time the tracer takes to start and to write what it keeps: strata trace keeps before and after of all but what it ignores by default (/usr among it), reprozip a database of accesses and the packages they belong to, strace -f --seccomp-bpf -e trace=file -o /dev/null nothing. Peak RSS is that of the largest process, the traced ones among them. Added: median less that of plain, all by turns. Engine that strata chose:$engines"
	trace_table "make -j2 of $sources C files, gcc -O1" compile
	trace_table "find -newer, $look_files files" find
	trace_table "git status, $status_files files" status
	trace_targets
	say_notes
	say ""
}
