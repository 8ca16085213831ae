# concurrency: several commands run at the same time.
load helpers
load history

@test "two commits at once make one line of history" {
	begin
	for round in 1 2 3 4 5; do
		put a "$round"
		put b "$round"
		"$STRATA" commit -m left >/dev/null &
		left=$!
		"$STRATA" commit -m right >/dev/null
		wait $left
	done
	is "$(strata branches | wc -l)" 1
	is "$(strata cat HEAD:a)" 5
	clean
}

@test "many writers: none fails, nothing is lost" {
	begin
	for w in 1 2 3 4; do
		(for i in 1 2 3 4 5; do
			echo "$i" >"$W/w$w-$i"
			"$STRATA" commit -m "w$w-$i" >/dev/null || echo "w$w-$i" >>failed
		done) &
	done
	wait
	[ ! -e failed ]
	is "$(strata ls --json | jq '.entries | length')" 20
	clean
}

@test "commits during gc, and gc during commits" {
	begin
	(for i in {1..15}; do
		head -c 50000 /dev/urandom >$W/file
		"$STRATA" commit -m "$i" >/dev/null || echo commit >>failed
	done) &
	for i in {1..10}; do
		"$STRATA" gc >/dev/null || echo gc >>failed
		"$STRATA" retain --keep 1 >/dev/null || echo retain >>failed
	done
	wait
	[ ! -e failed ]
	clean
}

@test "a reader does not wait for a long commit" {
	need strace
	three
	put new 1
	traced strace -f -qq -o /dev/null -e trace=fsync,fdatasync -e inject=fsync,fdatasync:delay_enter=1500000:when=1 \
		"$STRATA" commit -m slow >/dev/null &
	sleep 0.4
	began=${EPOCHREALTIME/./}
	is "$(strata head)" "$three"
	is "$(strata cat HEAD:one)" one
	strata log >/dev/null
	strata status >/dev/null
	strata diff HEAD >/dev/null
	strata fsck >/dev/null &
	took=$(((${EPOCHREALTIME/./} - began) / 1000))
	kill -0 %1
	wait
	[ "$took" -lt 1000 ]
	is "$(strata show --json | jq -r .message)" slow
}

@test "readers see whole nodes while commits go on" {
	begin
	put a 0
	put b 0
	strata commit -m 0 >/dev/null
	(for i in {1..25}; do
		echo $i >$W/a
		echo $i >$W/b
		"$STRATA" commit -m $i >/dev/null
	done
	touch finished) &
	while [ ! -e finished ]; do
		head=$("$STRATA" head)
		a=$("$STRATA" cat "$head:a") b=$("$STRATA" cat "$head:b")
		[ "$a" = "$b" ] || { echo "$head: $a $b"; touch torn; }
	done
	wait
	[ ! -e torn ]
	clean
}

@test "a writer that waits too long says who has the lock" {
	three
	put new 1
	flock env/run/main.lock sh -c 'echo "process 4711 (strata exec)" >env/run/main.lock; touch held; while [ ! -e over ]; do sleep 0.1; done' &
	for _ in $(seq 1000); do [ -e held ] || sleep 0.01; done; [ -e held ]
	is "$(strata head)" "$three"
	fails 1 "strata: workspace 'main': in use by process 4711 (strata exec)
hint: try again when it has ended" strata commit -m x
	touch over
	wait
	strata commit -m x >/dev/null
	clean
}

@test "a writer goes on as soon as the lock is free" {
	three
	put new 1
	flock env/run/main.lock sh -c 'touch held; sleep 1' &
	for _ in $(seq 1000); do [ -e held ] || sleep 0.01; done; [ -e held ]
	strata commit -m waited >/dev/null
	is "$(strata show --json | jq -r .message)" waited
}

@test "a killed commit leaves nothing in the way" {
	need strace
	three
	for point in fsync fdatasync pwrite64 ftruncate renameat; do
		head -c 200000 /dev/urandom >$W/big
		run traced strace -f -qq -o /dev/null -e trace=$point -e inject=$point:signal=KILL:when=1 "$STRATA" commit -m killed
		strata log >/dev/null
		strata commit -m "after $point" >/dev/null
		strata cat HEAD:big | cmp - $W/big
		clean
	done
}

@test "a copy of the environment that is read only can be read" {
	three
	cp -a env copy
	chmod -R a-w copy
	export STRATA_ROOT=$PWD/copy
	is "$(strata head)" "$three"
	is "$(strata cat "$one:one")" one
	is "$(strata log | wc -l)" 4
	strata ls -r >/dev/null
	strata diff "$one" "$three" >/dev/null
	strata grep one --all >/dev/null
	strata blame all >/dev/null
	strata file-log all >/dev/null
	strata export HEAD -o x.tar >/dev/null
	strata status >/dev/null
	strata fsck >/dev/null
}

@test "a copy that another user owns can be read, and not written" {
	need_root
	three
	prepare_nobody
	cp -a env copy
	chown -R 0:0 copy
	chmod -R a-w,a+rX copy
	find copy -printf '%p %T@ %C@\n' | sort >before
	export STRATA_ROOT=$PWD/copy
	is "$(nobody "$STRATA" head)" "$three"
	is "$(nobody "$STRATA" cat "$one:one")" one
	is "$(nobody "$STRATA" log | wc -l)" 4
	is "$(nobody "$STRATA" status --json | jq -r .head)" "$three"
	is "$(nobody "$STRATA" cat work:one)" one
	is "$(nobody "$STRATA" diff "$one" "$three" --stat)" "2 added, 1 modified, 0 deleted, 0 renamed"
	run -1 --separate-stderr nobody "$STRATA" commit
	[[ ${stderr_lines[0]} == "strata: "* ]]
	run -1 nobody "$STRATA" tag x
	find copy -printf '%p %T@ %C@\n' | sort | diff before -
}

@test "a copy taken while commits go on is sound" {
	begin
	(for i in {1..20}; do
		head -c 20000 /dev/urandom >$W/f
		"$STRATA" commit -m $i >/dev/null
	done) &
	sleep 0.3
	sqlite3 env/strata.db ".backup '$PWD/backup.db'" 2>/dev/null || unavailable "no sqlite3"
	cp -a env/packs packs
	wait
	mkdir -p copy
	cp -a env/index env/run env/work copy
	cp -a packs copy/packs
	cp backup.db copy/strata.db
	strata --root copy fsck >/dev/null
}
