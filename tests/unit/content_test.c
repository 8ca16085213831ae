/* content: chunk lists, and the bytes of files with their holes. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/bytes.h"
#include "tree/content.h"

#include "store_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define PIECE 1000

/* Make a file of n pieces of random bytes.  Every third piece is a hole instead. */
static struct entry make_file(struct fixture *fixture, size_t n, struct buf *whole)
{
	owned_mem struct content_piece *pieces = mem_zalloc(n * sizeof(*pieces));
	struct entry file = { .type = ENTRY_FILE, .content = ENTRY_CHUNKS };

	for (size_t i = 0; i < n; i++) {
		owned_mem char *bytes =
			i % 3 == 1 ? mem_zalloc(PIECE) : fixture_noise(PIECE, i % 50);

		pieces[i].length = PIECE;
		pieces[i].hole = i % 3 == 1;
		if (!pieces[i].hole)
			pieces[i].hash = fixture_put(fixture, bytes, PIECE);
		buf_add(whole, bytes, PIECE);
	}
	assert_ok(fixture, content_put_list(fixture->store, pieces, n, &file.hash, &fixture->err));
	file.size = n * PIECE;
	return file;
}

static void gives_back_a_file_in_one_blob(void **state)
{
	struct fixture *fixture = *state;
	owned(buf_release) struct buf out = BUF_INIT;
	struct entry file = { .type = ENTRY_FILE, .content = ENTRY_BLOB, .size = 5 };

	file.hash = fixture_put(fixture, "hello", 5);
	assert_ok(fixture, content_load(fixture->store, &file, UINT64_MAX, &out, &fixture->err));
	assert_string_equal(out.data, "hello");
	buf_clear(&out);
	assert_ok(fixture, content_load(fixture->store, &file, 2, &out, &fixture->err));
	assert_string_equal(out.data, "he");
}

static void gives_back_an_empty_file(void **state)
{
	struct fixture *fixture = *state;
	owned(buf_release) struct buf out = BUF_INIT;
	struct entry file = { .type = ENTRY_FILE, .content = ENTRY_EMPTY };

	assert_ok(fixture, content_load(fixture->store, &file, 100, &out, &fixture->err));
	assert_int_equal(out.len, 0);
	file.content = ENTRY_UNREAD;
	file.size = 7;
	assert_int_equal(
		content_load(fixture->store, &file, 100, &out, &fixture->err), -ERR_NOT_FOUND);
}

static void gives_back_files_of_any_number_of_pieces(void **state)
{
	static const size_t counts[] = { 1, 2, 3, CONTENT_LIST_MAX, CONTENT_LIST_MAX + 1, 9000 };
	struct fixture *fixture = *state;

	for (size_t i = 0; i < COUNT(counts); i++) {
		owned(buf_release) struct buf whole = BUF_INIT;
		owned(buf_release) struct buf out = BUF_INIT;
		struct entry file = make_file(fixture, counts[i], &whole);

		assert_ok(fixture,
			content_load(fixture->store, &file, UINT64_MAX, &out, &fixture->err));
		assert_int_equal(out.len, whole.len);
		assert_memory_equal(out.data, whole.data, whole.len);
	}
}

static int collect(void *arg, const void *bytes, uint64_t len, struct err *err)
{
	char zeros[PIECE] = { 0 };

	assert_true(len <= PIECE);
	buf_add(arg, bytes ? bytes : zeros, len);
	return 0;
}

static void reads_any_window(void **state)
{
	static const struct {
		uint64_t offset, length;
	} windows[] = {
		{ 0, 1 },
		{ 0, PIECE },
		{ PIECE, PIECE },
		{ PIECE - 1, 2 },
		{ 1234, 5678 },
		{ (uint64_t)CONTENT_LIST_MAX * PIECE - 3, 7 },
		{ (uint64_t)5000 * PIECE - 1, 100 },
		{ (uint64_t)5000 * PIECE, 100 },
		{ UINT64_MAX, UINT64_MAX },
		{ 17, 0 },
		{ 4999999, UINT64_MAX },
	};
	struct fixture *fixture = *state;
	owned(buf_release) struct buf whole = BUF_INIT;
	struct entry file = make_file(fixture, 5000, &whole);

	for (size_t i = 0; i < COUNT(windows); i++) {
		owned(buf_release) struct buf out = BUF_INIT;
		uint64_t start = windows[i].offset < whole.len ? windows[i].offset : whole.len;
		uint64_t len = windows[i].length < whole.len - start ? windows[i].length
								     : whole.len - start;

		assert_ok(fixture, content_read(fixture->store, &file, windows[i].offset,
					   windows[i].length, collect, &out, &fixture->err));
		assert_int_equal(out.len, len);
		if (len)
			assert_memory_equal(out.data, whole.data + start, len);
	}
}

static int refuse(void *arg, const void *bytes, uint64_t len, struct err *err)
{
	return ++*(int *)arg == 2 ? err_set(err, ERR_BUSY, "enough") : 0;
}

static void stops_when_the_sink_says_so(void **state)
{
	struct fixture *fixture = *state;
	owned(buf_release) struct buf whole = BUF_INIT;
	struct entry file = make_file(fixture, 10, &whole);
	int calls = 0;

	assert_int_equal(
		content_read(fixture->store, &file, 0, UINT64_MAX, refuse, &calls, &fixture->err),
		-ERR_BUSY);
	assert_int_equal(calls, 2);
}

static void writes_holes_as_holes(void **state)
{
	struct fixture *fixture = *state;
	struct entry file = { .type = ENTRY_FILE, .content = ENTRY_CHUNKS, .size = (64 << 20) + 3 };
	struct content_piece pieces[3] = {
		{ .length = 32 << 20, .hole = true },
		{ .length = 3 },
		{ .length = 32 << 20, .hole = true },
	};
	char back[4] = { 0 };
	struct stat st;

	pieces[1].hash = fixture_put(fixture, "mid", 3);
	assert_ok(fixture, content_put_list(fixture->store, pieces, 3, &file.hash, &fixture->err));
	owned_fd int fd = openat(fixture->rootfd, "out", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_ok(fixture, content_write(fixture->store, &file, fd, &fixture->err));
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, file.size);
	assert_true(st.st_blocks < 1000);
	assert_int_equal(pread(fd, back, 3, 32 << 20), 3);
	assert_string_equal(back, "mid");
}

/* The lengths in these lists do not add up, so the lists must not be trusted. */
static void refuses_lists_that_do_not_add_up(void **state)
{
	struct fixture *fixture = *state;
	owned(buf_release) struct buf whole = BUF_INIT;
	owned(buf_release) struct buf out = BUF_INIT;
	struct entry file = make_file(fixture, 10, &whole);
	struct content_piece wrong = { .length = 7 };

	file.size++;
	assert_int_equal(
		content_load(fixture->store, &file, UINT64_MAX, &out, &fixture->err), -ERR_CORRUPT);
	file.size -= 2;
	assert_int_equal(
		content_load(fixture->store, &file, UINT64_MAX, &out, &fixture->err), -ERR_CORRUPT);

	/* The length of a chunk differs from its length in the list. */
	wrong.hash = fixture_put(fixture, "hello", 5);
	assert_ok(fixture, content_put_list(fixture->store, &wrong, 1, &file.hash, &fixture->err));
	file.size = 7;
	assert_int_equal(
		content_load(fixture->store, &file, UINT64_MAX, &out, &fixture->err), -ERR_CORRUPT);
}

static void encodes_a_list_to_the_same_bytes_for_ever(void **state)
{
	struct fixture *fixture = *state;
	owned(buf_release) struct buf bytes = BUF_INIT;
	struct content_piece pieces[2] = { { .length = 3 }, { .length = 1 << 20, .hole = true } };
	struct hash hash;

	hash_of("abc", 3, &pieces[0].hash);
	assert_ok(fixture, content_put_list(fixture->store, pieces, 2, &hash, &fixture->err));
	assert_ok(fixture, store_get(fixture->store, OBJECT_CHUNKS, &hash, &bytes, &fixture->err));
	assert_int_equal(bytes.len, 3 + 1 + HASH_SIZE + 4);
	assert_memory_equal(bytes.data, "\1\0\2\6", 4);
	assert_memory_equal(bytes.data + 4, pieces[0].hash.bytes, HASH_SIZE);
	assert_memory_equal(bytes.data + 4 + HASH_SIZE, "\x81\x80\x80\1", 4);
}

#define H8 "12345678"
#define H32 H8 H8 H8 H8

static const struct {
	const char *what;
	const char *bytes;
	size_t len;
	int verdict;
} lists[] = {
#define LIST(what, text, verdict)                                                                  \
	{                                                                                          \
		what, text, sizeof(text) - 1, verdict                                              \
	}
	LIST("a chunk", "\1\0\1\2" H32, 0),
	LIST("a hole", "\1\0\1\3", 0),
	LIST("lists", "\1\3\1\1" H32, 0),
	LIST("nothing", "", -ERR_CORRUPT),
	LIST("another version", "\2\0\1\3", -ERR_CORRUPT),
	LIST("too many levels", "\1\4\1\2" H32, -ERR_CORRUPT),
	LIST("no pieces", "\1\0\0", -ERR_CORRUPT),
	LIST("too many pieces", "\1\0\x81\x20", -ERR_CORRUPT),
	LIST("empty chunk", "\1\0\1\0" H32, -ERR_CORRUPT),
	LIST("empty hole", "\1\0\1\1", -ERR_CORRUPT),
	LIST("empty list", "\1\1\1\0" H32, -ERR_CORRUPT),
	LIST("hash cut off", "\1\0\1\2" H8, -ERR_CORRUPT),
	LIST("piece missing", "\1\0\2\3", -ERR_CORRUPT),
	LIST("trailing bytes", "\1\0\1\3\3", -ERR_CORRUPT),
	LIST("two holes", "\1\0\2\3\3", -ERR_CORRUPT),
	LIST("overlong length", "\1\0\1\x83\0", -ERR_CORRUPT),
	LIST("negative length", "\1\1\1\x80\x80\x80\x80\x80\x80\x80\x80\x80\1" H32, -ERR_CORRUPT),
};

static void refuses_lists_that_are_not_canonical(void **state)
{
	for (size_t i = 0; i < COUNT(lists); i++) {
		owned_mem char *bytes = mem_dup(lists[i].bytes, lists[i].len);
		struct content_piece piece;
		struct content_list list;
		struct err err = { 0 };
		int r = content_list_open(&list, bytes, lists[i].len, &err);

		while (r >= 0 && (r = content_list_next(&list, &piece, &err)) > 0)
			;
		if (r != lists[i].verdict)
			print_error("list: %s\n", lists[i].what);
		assert_int_equal(r, lists[i].verdict);
	}
}

/* The pieces of a file, as "3" for bytes and "h5" for a hole. */
static int note_piece(void *arg, const void *bytes, uint64_t len, struct err *err)
{
	buf_addf(arg, "%s%llu ", bytes ? "" : "h", (unsigned long long)len);
	return 0;
}

static void passes_the_holes_of_an_open_file(void **state)
{
	struct fixture *fixture = *state;
	static const char block[4096] = "abc";
	owned_fd int fd = openat(fixture->rootfd, "sparse", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	static const struct {
		uint64_t offset, length;
		const char *pieces;
	} cases[] = {
		{ 0, UINT64_MAX, "h1048576 4096 h1044480 " },
		{ 0, 1048577, "h1048576 1 " },
		{ 1048577, 1, "1 " },
		{ 1572864, 10, "h10 " },
		{ 2097152, 10, "" },
		{ 5000000, UINT64_MAX, "" },
	};

	assert_int_equal(ftruncate(fd, 2097152), 0);
	assert_int_equal(pwrite(fd, block, sizeof(block), 1048576), sizeof(block));
	off_t hole = lseek(fd, 1048576, SEEK_HOLE);
	if (lseek(fd, 0, SEEK_DATA) != 1048576 || hole >= 2097152)
		skip(); /* the file system does not say where the holes are */
	for (size_t i = 0; i < COUNT(cases); i++) {
		owned(buf_release) struct buf out = BUF_INIT, want = BUF_INIT, zeros = BUF_INIT;

		buf_adds(&out, "");
		assert_ok(fixture, content_fd_sparse(fd, "sparse", cases[i].offset, cases[i].length,
					   note_piece, &out, &fixture->err));
		if (hole == 1048576 + 4096) /* the usual size of blocks */
			assert_string_equal(out.data, cases[i].pieces);
		/* Whatever the pieces are, they have the bytes that read(2) gives. */
		assert_ok(fixture, content_fd_read(fd, "sparse", cases[i].offset, cases[i].length,
					   content_append, &want, &fixture->err));
		assert_ok(fixture, content_fd_sparse(fd, "sparse", cases[i].offset, cases[i].length,
					   content_append, &zeros, &fixture->err));
		assert_true(str_eq((struct str){ want.data, want.len },
			(struct str){ zeros.data, zeros.len }));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(gives_back_a_file_in_one_blob),
		fixture_test(gives_back_an_empty_file),
		fixture_test(gives_back_files_of_any_number_of_pieces),
		fixture_test(reads_any_window),
		fixture_test(stops_when_the_sink_says_so),
		fixture_test(writes_holes_as_holes),
		fixture_test(passes_the_holes_of_an_open_file),
		fixture_test(refuses_lists_that_do_not_add_up),
		fixture_test(encodes_a_list_to_the_same_bytes_for_ever),
		cmocka_unit_test(refuses_lists_that_are_not_canonical),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
