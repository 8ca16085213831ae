/* zstd: compressed bytes are expanded to the same bytes, and damage is always noticed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/buf.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/zstd.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int end_thread(void **state)
{
	zstd_thread_end();
	return 0;
}

/* Make text that is compressed to about a tenth. */
static char *prose(size_t len)
{
	static const char words[] = "the quick brown fox jumps over the lazy dog. ";
	char *text = mem_alloc(len);

	for (size_t i = 0; i < len; i++)
		text[i] = i % 97 ? words[i % (sizeof(words) - 1)] : (char)('a' + i / 97 % 26);
	return text;
}

static char *noise(size_t len)
{
	uint64_t x = 88172645463325252u;
	char *bytes = mem_alloc(len);

	for (size_t i = 0; i < len; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		bytes[i] = (char)(x >> 32);
	}
	return bytes;
}

static void gives_back_what_was_compressed(void **state)
{
	static const size_t lengths[] = { 64, 100, 1000, 4096, 65536, 1 << 20, 5 << 20 };
	struct err err = { 0 };

	for (size_t i = 0; i < COUNT(lengths); i++) {
		size_t len = lengths[i], room = zstd_bound(len);
		owned_mem char *text = prose(len), *packed = mem_alloc(room),
			       *back = mem_alloc(len);
		size_t stored = zstd_compress(packed, room, text, len);

		assert_true(stored <= len - len / 16);
		if (!stored)
			continue;
		assert_int_equal(zstd_expand(back, len, packed, stored, &err), 0);
		assert_memory_equal(back, text, len);
	}
}

static void leaves_alone_what_does_not_shrink(void **state)
{
	static const size_t lengths[] = { 0, 1, 2, 15, 16, 17, 1000, 1 << 20 };

	for (size_t i = 0; i < COUNT(lengths); i++) {
		size_t len = lengths[i], room = zstd_bound(len);
		owned_mem char *bytes = noise(len + 1), *packed = mem_alloc(room);

		assert_int_equal(zstd_compress(packed, room, bytes, len), 0);
	}
	/* Nothing is written beyond the end of the room. */
	owned_mem char *text = prose(100000), *packed = mem_alloc(50);
	assert_int_equal(zstd_compress(packed, 50, text, 100000), 0);
}

static void damage_is_an_error_or_other_bytes_of_the_same_length(void **state)
{
	const size_t len = 2000, room = zstd_bound(len);
	owned_mem char *text = prose(len), *packed = mem_alloc(room), *back = mem_alloc(len + 1);
	size_t stored = zstd_compress(packed, room, text, len);
	struct err err = { 0 };

	assert_true(stored > 0);
	for (size_t i = 0; i < stored; i++) {
		assert_int_equal(zstd_expand(back, len, packed, i, &err), -ERR_CORRUPT);
		for (int bit = 0; bit < 8; bit++) {
			packed[i] ^= (char)(1 << bit);
			int r = zstd_expand(back, len, packed, stored, &err);

			packed[i] ^= (char)(1 << bit);
			assert_true(r == 0 || r == -ERR_CORRUPT);
		}
	}
	assert_int_equal(zstd_expand(back, len - 1, packed, stored, &err), -ERR_CORRUPT);
	assert_int_equal(zstd_expand(back, len + 1, packed, stored, &err), -ERR_CORRUPT);
	assert_int_equal(zstd_expand(back, len, text, len, &err), -ERR_CORRUPT);
	/* After an error, the context works for the next frame. */
	assert_int_equal(zstd_expand(back, len, packed, stored, &err), 0);
	assert_memory_equal(back, text, len);
}

static int collect(void *arg, const void *bytes, size_t len, struct err *err)
{
	buf_add(arg, bytes, len);
	return 0;
}

static int refuse(void *arg, const void *bytes, size_t len, struct err *err)
{
	return err_set(err, ERR_DENIED, "no more");
}

/* Make a frame in pieces.  The context is used for several frames. */
static void pack(
	struct zstd_out *stream, struct buf *out, const char *bytes, size_t len, size_t piece)
{
	struct err err = { 0 };

	assert_int_equal(zstd_out_begin(stream, len, &err), 0);
	for (size_t done = 0, part; done < len; done += part) {
		part = len - done < piece ? len - done : piece;
		assert_int_equal(zstd_out_add(stream, bytes + done, part, out, &err), 0);
	}
	assert_int_equal(zstd_out_end(stream, out, &err), 0);
}

static int unpack(const struct buf *packed, size_t piece, struct buf *out, struct err *err)
{
	owned(zstd_in_freep) struct zstd_in *stream = zstd_in_new();
	int r = 0;

	for (size_t done = 0, part; r >= 0 && done < packed->len; done += part) {
		part = packed->len - done < piece ? packed->len - done : piece;
		r = zstd_in_add(stream, packed->data + done, part, collect, out, err);
	}
	return r;
}

static void a_stream_gives_back_what_went_in(void **state)
{
	static const size_t lengths[] = { 0, 1, 1000, 131072, 3 << 20 };
	static const size_t pieces[] = { 777, 65536, SIZE_MAX };
	struct zstd_out *stream = zstd_out_new();
	struct err err = { 0 };

	for (size_t i = 0; i < COUNT(lengths) * COUNT(pieces) * 2; i++) {
		size_t len = lengths[i / 2 % COUNT(lengths)];
		size_t piece = pieces[i / 2 / COUNT(lengths)];
		owned_mem char *bytes = i % 2 ? noise(len + 1) : prose(len + 1);
		owned_mem char *back = mem_alloc(len + 1);
		owned(buf_release) struct buf packed = BUF_INIT;
		owned(buf_release) struct buf out = BUF_INIT;

		pack(stream, &packed, bytes, len, piece);
		assert_int_equal(unpack(&packed, piece, &out, &err), 1);
		assert_int_equal(out.len, len);
		assert_true(!len || !memcmp(out.data, bytes, len));
		/* The frame can also be expanded as a whole. */
		assert_int_equal(zstd_expand(back, len, packed.data, packed.len, &err), 0);
	}
	zstd_out_free(stream);
}

static void a_stream_keeps_to_its_length(void **state)
{
	struct zstd_out *stream = zstd_out_new();
	owned(buf_release) struct buf out = BUF_INIT;
	struct err err = { 0 };

	assert_int_equal(zstd_out_begin(stream, 10, &err), 0);
	assert_int_equal(zstd_out_add(stream, "five!", 5, &out, &err), 0);
	assert_int_equal(zstd_out_end(stream, &out, &err), -ERR_INVALID);
	buf_clear(&out);
	pack(stream, &out, "ten bytes.", 10, 3);
	zstd_out_free(stream);
}

static void a_stream_that_is_damaged_is_noticed(void **state)
{
	struct zstd_out *stream = zstd_out_new();
	struct zstd_in *in = zstd_in_new();
	owned_mem char *text = prose(300000);
	owned(buf_release) struct buf packed = BUF_INIT;
	owned(buf_release) struct buf out = BUF_INIT;
	struct err err = { 0 };

	pack(stream, &packed, text, 300000, SIZE_MAX);
	assert_int_equal(zstd_in_add(in, packed.data, packed.len, refuse, NULL, &err), -ERR_DENIED);
	zstd_in_free(in);
	packed.len--; /* the end is cut off */
	assert_int_equal(unpack(&packed, 1000, &out, &err), 0);
	packed.len++;
	buf_addc(&packed, 'x'); /* a byte follows the end */
	buf_clear(&out);
	assert_int_equal(unpack(&packed, 1000, &out, &err), -ERR_CORRUPT);
	assert_int_equal(unpack(&packed, SIZE_MAX, &out, &err), -ERR_CORRUPT);
	packed.data[1] ^= 1;
	assert_int_equal(unpack(&packed, 1000, &out, &err), -ERR_CORRUPT);
	zstd_out_free(stream);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(gives_back_what_was_compressed, end_thread),
		cmocka_unit_test_teardown(leaves_alone_what_does_not_shrink, end_thread),
		cmocka_unit_test_teardown(
			damage_is_an_error_or_other_bytes_of_the_same_length, end_thread),
		cmocka_unit_test_teardown(a_stream_gives_back_what_went_in, end_thread),
		cmocka_unit_test(a_stream_keeps_to_its_length),
		cmocka_unit_test(a_stream_that_is_damaged_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
