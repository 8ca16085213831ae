# gc: frees the disk space of data that no node needs.
load helpers
load history

@test "gc of a store without waste frees nothing" {
	three
	before=$(store_bytes)
	run -0 --separate-stderr strata gc
	[[ $output == "freed 0 B in 0 objects; the store now holds "* ]]
	is "$(store_bytes)" "$before"
	clean
}

@test "gc gives back what only a deleted node needed" {
	begin
	before=$(du -sb env/packs | cut -f 1)
	head -c 2000000 /dev/urandom >$W/big
	big=$(node big)
	rm $W/big
	node gone
	strata delete "$big" >/dev/null
	[ "$(du -sb env/packs | cut -f 1)" -gt 2000000 ]
	strata gc --json >gc.json
	[ "$(jq .freed.bytes gc.json)" -gt 1900000 ]
	is "$(jq .store.bytes gc.json)" "$(store_bytes)"
	[ "$(du -sb env/packs | cut -f 1)" -lt $((before + 65536)) ]
	clean
}

@test "the database gets smaller, too, and gc says by how much" {
	begin
	mkdir $W/many
	(cd $W/many && seq 6000 | split -l 1 -a 4)
	many=$(node many)
	rm -r $W/many
	node none >/dev/null
	strata delete "$many" >/dev/null
	before=$(du -B1 -c env/strata.db env/strata.db-wal | tail -n 1 | cut -f 1)
	strata gc --json >gc.json
	after=$(du -B1 -c env/strata.db env/strata.db-wal | tail -n 1 | cut -f 1)
	is "$(jq -c '[.database.bytes, .database.freed]' gc.json)" "[$after,$((before - after))]"
	[ "$(stat -c %s env/strata.db)" -lt 200000 ]
	clean
}

@test "a database that was not made to shrink does, too" {
	need sqlite3
	begin
	mkdir $W/many
	(cd $W/many && seq 6000 | split -l 1 -a 4)
	many=$(node many)
	rm -r $W/many
	node none >/dev/null
	strata delete "$many" >/dev/null
	sqlite3 env/strata.db 'PRAGMA journal_mode=DELETE; PRAGMA auto_vacuum=NONE; VACUUM; PRAGMA journal_mode=WAL' >/dev/null
	is "$(sqlite3 env/strata.db 'PRAGMA auto_vacuum')" 0
	run -0 --separate-stderr strata gc
	[[ $output == *$'\nfreed '*" of the database" ]]
	[ "$(stat -c %s env/strata.db)" -lt 200000 ]
	clean
}

# Other processes may read the database, or write, while gc runs. gc must not wait for them.
@test "gc does not wait for who reads the database" {
	need sqlite3
	begin
	head -c 100000 /dev/urandom >$W/big
	big=$(node big)
	rm $W/big
	node gone >/dev/null
	strata delete "$big" >/dev/null
	mkfifo ask
	sqlite3 env/strata.db <ask >read.txt 3>&- &
	reader=$!
	exec 4>ask
	echo 'BEGIN; SELECT count(*) FROM node;' >&4
	for _ in {1..500}; do [ ! -s read.txt ] || break; sleep 0.02; done
	# gc leaves data that it cannot have now, so that other processes need not wait for as long.
	timeout 20 "$STRATA" gc >/dev/null
	exec 4>&-
	wait $reader
	clean
}

@test "gc keeps all that any node needs" {
	mkdir -p src/d/e
	head -c 300000 /dev/urandom >src/large
	truncate -s 5M src/sparse
	seq 2000 >src/d/text
	ln src/d/text src/d/e/link
	setfattr -n user.note -v "$(head -c 3000 /dev/zero | tr '\0' n)" src/d/text || true
	begin
	head -c 300000 /dev/urandom >>$W/large
	echo changed >>$W/d/text
	walk $W --content >second
	node second
	rm -r $W/large $W/d
	node third
	strata checkout HEAD~1 >/dev/null
	strata delete "$(id '@{-1}')" >/dev/null
	strata gc >/dev/null
	clean
	strata checkout HEAD~1 >/dev/null
	same_tree src $W
	strata checkout '@{-1}' >/dev/null
	walk $W --content | diff second -
}

@test "gc does not lose restored, uncommitted files" {
	begin
	head -c 100000 /dev/urandom >$W/file
	cp $W/file copy
	made=$(node made)
	rm $W/file
	node gone
	strata restore "$made" -- file >/dev/null
	strata delete "$made" >/dev/null
	strata gc >/dev/null
	strata commit -m again >/dev/null
	strata cat HEAD:file | cmp - copy
	clean
}

@test "what a killed commit left is collected" {
	need strace
	begin
	head -c 3000000 /dev/urandom >$W/file
	run traced strace -f -qq -o /dev/null -e trace=fsync,fdatasync \
		-e inject=fsync,fdatasync:signal=KILL:when=1 "$STRATA" commit
	[ "$status" = 137 ]
	is "$(strata log | wc -l)" 1
	[ "$(du -sb env/packs | cut -f 1)" -gt 2900000 ]
	rm $W/file
	[ "$(strata gc --json | jq .freed.bytes)" -gt 2900000 ]
	[ "$(du -sb env/packs | cut -f 1)" -lt 65536 ]
	strata fsck >/dev/null
}

@test "gc takes no arguments" {
	begin
	usage strata gc extra
	usage strata gc --aggressive
}

# Contents that were garbage are used again a moment later.
@test "gc beside commits loses nothing" {
	begin
	for i in 1 2 3 4; do head -c 200000 /dev/urandom >content$i; done
	(
		for ((n = 0; n < 40; n++)); do
			cp "content$((RANDOM % 4 + 1))" "$W/f$((n % 3))"
			strata commit -m "$n" >/dev/null
		done
	) 3>&- &
	writer=$!
	while kill -0 $writer 2>/dev/null; do
		strata delete HEAD~1 >/dev/null 2>&1 || true
		strata gc >/dev/null
	done
	wait $writer
	strata gc >/dev/null
	clean
	strata export HEAD --format dir -o out
	same_tree $W out
}

@test "two at once, and a repair beside them, take turns" {
	three
	pids=()
	for i in 1 2 3; do
		strata gc >/dev/null 3>&- &
		pids+=($!)
		strata fsck --repair >/dev/null 3>&- &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do wait "$pid"; done
	clean
	# A workspace may have the name 'gc'.
	strata fork gc >/dev/null
	strata -w gc commit >/dev/null
	strata gc >/dev/null
}
