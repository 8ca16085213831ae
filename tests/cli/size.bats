# size: the bytes that a change adds to the store.
load helpers
load history

# adds LIMIT: commit; the store grows by at most LIMIT bytes.
adds() {
	local before after
	before=$(store_bytes)
	strata commit -m x --json | jq -e .made >/dev/null || { echo "nothing to commit"; return 1; }
	after=$(store_bytes)
	[ $((after - before)) -le "$1" ] || { echo "grew by $((after - before)) bytes"; return 1; }
}

@test "one changed file in a directory of 20,000 adds at most 64 KiB" {
	(cd src && seq -f 'a-rather-long-name-of-a-file-%g' 20000 | xargs touch)
	begin
	echo x >$W/a-rather-long-name-of-a-file-10000
	adds 65536
	touch $W/new
	adds 65536
	rm $W/a-rather-long-name-of-a-file-1
	adds 65536
	mv $W/a-rather-long-name-of-a-file-2 $W/renamed
	adds 65536
	clean
}

@test "one changed file in a directory of 100,000 adds at most 64 KiB" {
	(cd src && seq -f 'f%g' 100000 | xargs touch)
	begin --in-place
	head -c 1000 /dev/urandom >src/f50000
	adds $((65536 + 1000))
}

@test "mv, touch and chmod of a large file add no content; an append adds few chunks" {
	head -c 67108864 /dev/urandom >src/big
	begin
	[ "$(store_bytes)" -gt 67108864 ]
	mv $W/big $W/moved
	adds 4096
	touch $W/moved
	adds 4096
	chmod 600 $W/moved
	adds 4096
	cp -p $W/moved $W/copy
	adds 8192
	# A chunk has 1 MiB on average, and 4 MiB at most.
	printf x >>$W/moved
	adds $((4 * 1048576 + 65536))
	printf x | dd of=$W/moved bs=1 seek=30000000 conv=notrunc status=none
	adds $((8 * 1048576 + 65536))
	{ printf 'inserted in front'; cat $W/moved; } >$W/new
	mv $W/new $W/moved
	adds $((8 * 1048576 + 65536))
	clean
}

@test "text is compressed" {
	seq 200000 >src/text
	begin
	[ "$(store_bytes)" -lt $(($(stat -c %s src/text) / 2)) ]
}

@test "a hole costs nothing" {
	truncate -s 100G src/hole
	begin
	[ "$(store_bytes)" -lt 65536 ]
}

@test "equal contents are stored once" {
	head -c 1000000 /dev/urandom >src/a
	for i in 1 2 3 4 5; do cp src/a src/$i; done
	begin
	[ "$(store_bytes)" -lt 1100000 ]
}
