#!/bin/bash
# query.sh - measures row 21: questions about snapshots, compared with walks in Python, and grep,
# compared with ripgrep.  run.sh sources this file.
# shellcheck disable=SC2154 # work, samples and the like are those of run.sh

query_runs=5

# Make an environment whose history has NODES nodes.  Each node changes the file hot and one of 100
# other files.
make_query_history() { # NODES
	local i
	mkdir "$tree"
	quiet strata init --from "$tree"
	for ((i = 1; i <= $1; i++)); do
		echo "version $i" >"$STRATA_ROOT/work/main/hot"
		echo "content $i" >"$STRATA_ROOT/work/main/file$((i % 100))"
		quiet strata commit -m "node $i"
	done
}

# Measure the time from a request to the reply of an agent, which has answered the same request
# before.
time_query() { # LABEL REQUEST
	local i began ended reply to
	coproc AGENT { exec strata agent 2>>"$log"; }
	for ((i = 0; i <= query_runs; i++)); do
		began=${EPOCHREALTIME/./}
		echo "$2" >&"${AGENT[1]}"
		IFS= read -r -u "${AGENT[0]}" reply
		ended=${EPOCHREALTIME/./}
		[ "$i" = 0 ] || echo "$((ended - began)) $((ended - began)) 0 0" >>"$samples/$1"
	done
	jq -c 'del(.result.versions, .result.matches)' <<<"$reply" >>"$log"
	to=${AGENT[1]}
	exec {to}>&-
	# shellcheck disable=SC2153 # coproc sets it
	wait "$AGENT_PID" || fault "the agent failed: $2"
	[[ $reply == *'"result"'* ]] || fault "an error for $2: ${reply:0:200}"
}

request() { # METHOD PARAMS
	echo "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"$1\",\"params\":$2}"
}

# Ask about a folder of COUNT snapshots, and write the output of query_agent.py to a file.
ask_about_folders() { # LABEL COUNT FILES
	quiet "$here/query_snapshots.py" "$fs/$1" "$2" "$3"
	"$here/query_agent.py" "$1" "$fs/$1" "$query_runs" strata-agent query --folder "$1=$fs/$1" \
		>"$work/query-$1" 2>>"$log" || fault "no answers about $1"
}

say_folders() { # LABEL TITLE
	local method agent walk wall
	say ""
	say "| $2 | until the answer | CPU | CPU of a walk in Python | walk ÷ it |"
	say "|---|---|---|---|---|"
	while read -r method agent walk wall; do
		say "| $method | $(as_time "$wall") | $(as_time "$agent") | $(as_time "$walk") | $(as_ratio "$(ratio "$walk" "$agent")") |"
	done < <(jq -r 'select(.method) | [.method, .agent, .walk, .wall] | @tsv' "$work/query-$1")
	say ""
	say "The same answers as the walk: $(jq -s 'map(select(.method)) | if all(.same) then "every method" else "not " + (map(select(.same | not) | .method) | join(", ")) end' -r "$work/query-$1")."
}

of_folders() { # LABEL FILTER
	jq -s -r "$2" "$work/query-$1"
}

row_21() {
	local i pattern share worst=0 label worst_walk source_files=$((files / 5)) nodes=${BENCH_NODES:-10000}
	progress "21. questions about snapshots"
	new_fs query $((source_files * 24576 + 4096 * MiB)) $((source_files * 2 + 400000))
	mkdir "$fs/source"
	quiet "$tools/mksource" "$fs/source/2026-01-01" "$source_files"
	ask_about_folders many 30 5000
	ask_about_folders thousand 1000 100
	for ((i = 0; i < 30; i++)); do
		measure query-start strata-agent query
	done
	for i in "${!grep_patterns[@]}"; do
		pattern=${grep_patterns[i]}
		for ((n = 0; n < 9; n++)); do
			measure "query-grep-$i" strata query --folder "source=$fs/source" content_grep \
				snapshot=source@2026-01-01 pattern="$pattern" max_results=1000
			# shellcheck disable=SC2016 # the shell inside expands it
			measure "query-rg-$i" sh -c 'rg -j1 --hidden --no-ignore -n -e "$1" "$2" || [ $? = 1 ]' - \
				"$pattern" "$fs/source/2026-01-01"
		done
	done
	make_query_history "$nodes"
	time_query query-versions "$(request versions_of '{"dataset":"strata","path":"file7"}')"
	time_query query-hot "$(request versions_of '{"dataset":"strata","path":"hot"}')"
	time_query query-history "$(request grep_history '{"dataset":"strata","pattern":"content 77$"}')"

	say "## 21. Questions about snapshots: an agent, and walks in Python"
	say ""
	say "Backups with hard links between them; 20 files change from each to the next. The processor time is user and system, of all processes and threads, for one request; both agents run already, read the requests from a pipe and write whole replies (bench/query_walks.py is the one in Python)."
	say_folders many "30 snapshots of 5000 files"
	say_folders thousand "1000 snapshots of 100 files"
	say ""
	say "| grep of $source_files files | strata query p50 | rg -j1 p50 | strata ÷ it |"
	say "|---|---|---|---|"
	for i in "${!grep_patterns[@]}"; do
		share=$(ratio "$(p50 "query-grep-$i")" "$(p50 "query-rg-$i")")
		[ "$(calc "$share > $worst")" = 0 ] || worst=$share
		pattern=${grep_patterns[i]//|/\\|}
		say "| \`$pattern\` | $(as_time "$(p50 "query-grep-$i")") | $(as_time "$(p50 "query-rg-$i")") | $(as_ratio "$share") |"
	done
	say ""
	say "| an environment of $nodes nodes | runs | p50 |"
	say "|---|---|---|"
	for i in versions:"versions_of a file that 1 of 100 nodes changes" hot:"versions_of a file that each node changes" \
		history:"grep_history of everything"; do
		say "| ${i#*:} | $(count "query-${i%%:*}") | $(as_time "$(p50 "query-${i%%:*}")") |"
	done
	targets_head
	target "start and end of an agent, p50" as_time "$(p50 query-start)" at-most 5000
	for label in many thousand; do
		worst_walk=$(of_folders $label 'map(select(.method)) | min_by(.walk / .agent) | "\(.method) \(.walk / .agent)"')
		target "CPU of a walk ÷ that of the agent, the least ($label: ${worst_walk% *})" as_ratio "${worst_walk#* }" at-least 10
	done
	target "file_history over 1000 snapshots" as_time \
		"$(of_folders thousand '.[] | select(.method == "file_history").wall')" at-most 50000
	target "content_grep ÷ ripgrep with one thread, the worst pattern" as_ratio "$worst" at-most 1.5
	target "versions_of over $nodes nodes, p50" as_time "$(p50 query-versions)" at-most 50000
	target "the same, a file that each node changes" as_time "$(p50 query-hot)" at-most 50000
	target "memory of the agent's processes together" as_kib "$(of_folders many 'last.together')" at-most 32768
	target "memory of one process of the agent, the most" as_kib "$(of_folders many 'last.most')" at-most 32768
	target "strata-agent, its size" as_bytes "$(stat -c %s "$build/strata-agent")" at-most $((4 * MiB))
	say ""
	drop_fs query
}
