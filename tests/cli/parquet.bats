# parquet: programs that people use read the tables of strata (tests/npm).  pqmake writes a table and
# prints its rows.  Each reader prints the rows that it finds.
load helpers
load npm

setup_file() { npm_packages; }

# reads READER: the reader must find the rows that were written.
reads() {
	need_packages || return 1
	node "$BATS_FILE_TMPDIR/read.mjs" "$1" table >found || { echo "$1 failed"; return 1; }
	cmp expected found || { echo "$1 reads something else"; return 1; }
}

make_table() { "$TOOLS/linked/pqmake" "$1" "$2" table >expected; } # CASE CODEC

# all_read CASE CODEC: every reader must find the rows of the table.
all_read() {
	make_table "$1" "$2"
	reads duckdb
	reads hyparquet
	reads parquet-wasm
}

@test "a table without rows" {
	all_read none snappy
	all_read none zstd
	[ ! -s expected ]
}

@test "empty keys and contents" {
	all_read empty snappy
	[ "$(wc -l <expected)" = 7 ]
}

@test "keys of every character there is" {
	all_read unicode snappy
}

@test "100,000 rows" {
	all_read many snappy
	[ "$(wc -l <expected)" = 100000 ]
	make_table many zstd
	reads duckdb
}

@test "contents around the size of a row group" {
	all_read sizes snappy
	make_table sizes zstd
	reads hyparquet
}

# little_memory: limit the memory to that of two row groups, code and libraries.  A sanitizer needs
# terabytes of addresses, so it has no limit.
little_memory() { [ -n "${SANITIZED:-}" ] || ulimit -v 81920; }

# large_table CODEC: make a table with a content of 300 MB, with little memory.  It is made only once.
large_table() {
	local made=$BATS_FILE_TMPDIR/large.$1
	if [ ! -e "$made" ]; then
		(little_memory && "$TOOLS/linked/pqmake" large "$1" "$made.new" >"$made.expected") || return 1
		mv "$made.new" "$made"
	fi
	ln -sf "$made" table
	cp "$made.expected" expected
}

@test "a larger content takes no more memory" {
	large_table snappy
	large_table zstd
	[ "$(wc -l <expected)" = 3 ]
}

@test "a content of 300 MB" {
	large_table snappy
	reads duckdb
	reads hyparquet
	reads parquet-wasm
	[ "$(wc -l <expected)" = 3 ]
	large_table zstd
	reads duckdb
}

@test "rows given up leave nothing behind" {
	all_read cancel zstd
	[ "$(wc -l <expected)" = 14 ]
}
