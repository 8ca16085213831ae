#!/bin/bash
# worker.sh - row 20: the time until a worker answers, and its grep compared with ripgrep.  run.sh
# sources this file.
# shellcheck disable=SC2154 # work, samples and the like are those of run.sh

grep_patterns=('EXPORT_SYMBOL_GPL\(clk_skb' 'no_such_thing_at_all' '[a-z]+_irq_[a-z]+\(struct page'
	'^static int (dev|irq)_dma_dma' '0x0000[0-9]' '\b[A-Z]{5}_[A-Z]{6}_[A-Z]{3}\(dev_')

quoted() { jq -Rn --arg text "$1" '$text'; }

# Makes COUNT calls of a worker that is started for them.
call_worker() { # LABEL COUNT REQUEST...
	local label=$1 count=$2
	shift 2
	quiet "$tools/callworker" "$samples/$label" "$count" spawn "$@" -- strata worker --root "$tree" ||
		fault "a worker failed: $label"
}

measure_pool() {
	local pool try
	strata worker --root "$tree" --pool 4 --socket "$work/pool.sock" >"$work/pool.out" 2>>"$log" &
	pool=$!
	for ((try = 0; try < 500; try++)); do
		[ ! -s "$work/pool.out" ] || break
		sleep 0.02
	done
	quiet "$tools/callworker" "$samples/worker-pool" 100 connect "$work/pool.sock" '{"kind":"ping"}'
	kill "$pool"
	wait "$pool" || true
}

grep_request() { # PATTERN
	echo "{\"kind\":\"grep\",\"pattern\":$(quoted "$1"),\"root\":$(quoted "$tree/source"),\"max_matches\":100000}"
}

row_20() {
	local i pattern n worst=0 share source_files=$((files / 5))
	progress "20. files of a worker"
	new_fs worker $((files * 6144 + source_files * 24576 + 512 * MiB)) $((files * 2 + source_files * 2 + 10000))
	mkdir "$tree" "$tree/many"
	for ((i = 0; i < (files + 99) / 100; i++)); do
		mkdir "$tree/many/$i"
		for ((n = i * 100; n < (i + 1) * 100 && n < files; n++)); do
			: >"$tree/many/$i/file$n.txt"
		done
	done
	quiet "$tools/mksource" "$tree/source" "$source_files"
	head -c 1000 /dev/urandom >"$tree/small"
	head -c "$MiB" /dev/urandom >"$tree/large"
	call_worker worker-small 5000 "{\"kind\":\"read\",\"path\":$(quoted "$tree/small")}"
	# One frame cannot hold the whole file, so a second request reads the rest.
	call_worker worker-large 100 "{\"kind\":\"read\",\"path\":$(quoted "$tree/large"),\"encoding\":\"base64\"}" \
		"{\"kind\":\"read\",\"path\":$(quoted "$tree/large"),\"encoding\":\"base64\",\"offset\":785000}"
	call_worker worker-glob 20 "{\"kind\":\"glob\",\"pattern\":\"**/none*\",\"root\":$(quoted "$tree/many")}"
	measure_pool
	for i in "${!grep_patterns[@]}"; do
		pattern=${grep_patterns[i]}
		call_worker "worker-grep-$i" 1 "$(grep_request "$pattern")"
		for ((n = 0; n < 9; n++)); do
			call_worker "worker-grep-$i" 1 "$(grep_request "$pattern")"
			# shellcheck disable=SC2016 # the shell inside expands it
			measure "rg-$i" sh -c 'rg -j1 --hidden -n -e "$1" "$2" || [ $? = 1 ]' - "$pattern" "$tree/source"
		done
	done
	say "## 20. A worker: files over frames, under a policy"
	say ""
	say "One call after the other over a socketpair. grep: $source_files files of source, by the worker and by $(rg --version | head -n 1) with one thread, whose start counts."
	say ""
	say "| | calls | p50 | p99 |"
	say "|---|---|---|---|"
	for i in small:"read 1000 bytes" large:"read 1 MiB, base64, two calls" glob:"glob of $files files" pool:"connect to a pool and ping"; do
		say "| ${i#*:} | $(count "worker-${i%%:*}") | $(as_time "$(p50 "worker-${i%%:*}")") | $(as_time "$(p99 "worker-${i%%:*}")") |"
	done
	say ""
	say "| grep | worker p50 | rg -j1 p50 | worker ÷ it |"
	say "|---|---|---|---|"
	for i in "${!grep_patterns[@]}"; do
		share=$(ratio "$(p50 "worker-grep-$i")" "$(p50 "rg-$i")")
		[ "$(calc "$share > $worst")" = 0 ] || worst=$share
		pattern=${grep_patterns[i]//|/\\|}
		say "| \`$pattern\` | $(as_time "$(p50 "worker-grep-$i")") | $(as_time "$(p50 "rg-$i")") | $(as_ratio "$share") |"
	done
	targets_head
	target "small read, p50" as_time "$(p50 worker-small)" at-most 60
	target "1 MiB in base64, p50" as_time "$(p50 worker-large)" at-most 4000
	target "warm worker of a pool, p50" as_time "$(p50 worker-pool)" at-most 1000
	target "grep ÷ ripgrep with one thread, the worst pattern" as_ratio "$worst" at-most 1.5
	target "glob of $files files, p50" as_time "$(p50 worker-glob)" at-most 150000
	say ""
	drop_fs worker
}
