/*
 * pqmake CASE snappy|zstd TABLE - write a table for other programs to read.
 *
 * Prints the content of the table, one line for each row: the key in hexadecimal, and the SHA-256
 * of the content.
 *
 *	none      no rows
 *	empty     empty keys and contents, and short ones between them
 *	unicode   keys of every character, 64 characters in each
 *	many      100,000 rows of all sizes up to 1 KiB
 *	sizes     contents around the size of a row group; some are compressible
 *	large     a row of 300 MB between two small ones
 *	cancel    as empty, with rows that are begun and cancelled
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/hash.h"
#include "core/mem.h"
#include "core/own.h"
#include "parquet/pqwrite.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define PIECE ((size_t)100000)
#define LARGE ((uint64_t)300000000)
#define MANY 100000

static struct pqwrite *table;

static void must(int r, const struct err *err)
{
	if (r < 0)
		errx(1, "%s", err->text);
}

static uint32_t random_next(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

static void print_row(struct str key, const struct hash *hash)
{
	char hex[HASH_HEX];

	for (size_t i = 0; i < key.len; i++)
		printf("%02x", (unsigned char)key.ptr[i]);
	printf(" %s\n", hash_hex(hash, hex));
}

static void add(struct str key, struct str content)
{
	struct hash hash;
	struct err err = { 0 };

	must(pqwrite_row(table, key, content.ptr, content.len, &err), &err);
	hash_of(content.ptr, content.len, &hash);
	print_row(key, &hash);
}

/* Fill out with random bytes, or with lines that are compressed to about a quarter. */
static void fill(char *out, size_t len, bool noise, uint32_t *state)
{
	uint32_t x = random_next(state);

	for (size_t i = 0; i < len; i++) {
		if (noise || i % 8 == 0)
			x = random_next(state);
		out[i] = noise ? (char)(x >> 16) : (char)('a' + (x + i) % 8);
	}
}

static void add_in_pieces(struct str key, uint64_t len, bool noise)
{
	struct hash_stream *stream = hash_stream_new();
	owned_mem char *piece = mem_alloc(PIECE);
	uint32_t state = 1;
	struct hash hash;
	struct err err = { 0 };

	must(pqwrite_begin(table, key, len, &err), &err);
	while (len) {
		size_t part = len < PIECE ? (size_t)len : PIECE;

		fill(piece, part, noise, &state);
		must(pqwrite_piece(table, piece, part, &err), &err);
		hash_stream_add(stream, piece, part);
		len -= part;
	}
	must(pqwrite_end(table, &err), &err);
	hash_stream_finish(stream, &hash);
	print_row(key, &hash);
}

static void make_none(void)
{
}

static void make_empty(void)
{
	add(STR(""), STR(""));
	add(STR("after:/empty"), STR(""));
	add(STR("after:/nul"), STR("\0"));
	add(STR("before:/text"), STR("hello, world\n"));
	add(STR("twice"), STR("one"));
	add(STR("twice"), STR("two"));
	add(STR("z"), STR(""));
}

static void add_character(struct buf *out, uint32_t c)
{
	if (c < 0x80) {
		buf_addc(out, (char)c);
		return;
	}
	if (c < 0x800) {
		buf_addc(out, (char)(0xc0 | c >> 6));
	} else if (c < 0x10000) {
		buf_addc(out, (char)(0xe0 | c >> 12));
		buf_addc(out, (char)(0x80 | (c >> 6 & 0x3f)));
	} else {
		buf_addc(out, (char)(0xf0 | c >> 18));
		buf_addc(out, (char)(0x80 | (c >> 12 & 0x3f)));
		buf_addc(out, (char)(0x80 | (c >> 6 & 0x3f)));
	}
	buf_addc(out, (char)(0x80 | (c & 0x3f)));
}

static void make_unicode(void)
{
	for (uint32_t first = 0; first <= 0x10ffff; first += 64) {
		owned(buf_release) struct buf key = BUF_INIT;

		if (first >= 0xd800 && first < 0xe000)
			continue;
		for (uint32_t c = first; c < first + 64; c++)
			add_character(&key, c);
		add((struct str){ key.data, key.len }, (struct str){ key.data, key.len });
	}
}

static void make_many(void)
{
	char content[1024], key[64];
	uint32_t state = 7;

	for (int i = 0; i < MANY; i++) {
		size_t len = random_next(&state) % sizeof(content);

		fill(content, len, i % 3 == 0, &state);
		snprintf(key, sizeof(key), "after:/dir%d/file%d", i % 100, i);
		add(str_of(key), (struct str){ content, len });
	}
}

static void make_sizes(void)
{
	add_in_pieces(STR("almost a group"), PQWRITE_GROUP - 100, false);
	add_in_pieces(STR("a group"), PQWRITE_GROUP, true);
	add_in_pieces(STR("small"), 65536, true);
	add_in_pieces(STR("just large"), PQWRITE_GROUP + 1, false);
	add_in_pieces(STR("large"), ((uint64_t)20 << 20) + 3, true);
}

static void make_large(void)
{
	add(STR("before"), STR("small"));
	add_in_pieces(STR("large"), LARGE, false);
	add(STR("after"), STR("small, too"));
}

static void begin_and_cancel(uint64_t len)
{
	owned_mem char *piece = mem_zalloc(PIECE);
	struct err err = { 0 };

	must(pqwrite_begin(table, STR("given up"), len, &err), &err);
	for (uint64_t left = len / 2; left >= PIECE; left -= PIECE)
		must(pqwrite_piece(table, piece, PIECE, &err), &err);
	must(pqwrite_cancel(table, &err), &err);
}

static void make_cancel(void)
{
	begin_and_cancel(LARGE);
	make_empty();
	begin_and_cancel(1000000);
	begin_and_cancel(LARGE);
	make_empty();
	begin_and_cancel(LARGE);
}

static const struct {
	const char *name;
	void (*make)(void);
} cases[] = {
	{ "none", make_none },
	{ "empty", make_empty },
	{ "unicode", make_unicode },
	{ "many", make_many },
	{ "sizes", make_sizes },
	{ "large", make_large },
	{ "cancel", make_cancel },
};

int main(int argc, char **argv)
{
	struct err why = { 0 };

	if (argc != 4)
		errx(2, "usage: pqmake CASE snappy|zstd TABLE");
	owned_fd int fd = open(argv[3], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		err(1, "%s", argv[3]);
	table = pqwrite_open(fd, strcmp(argv[2], "zstd") ? PQWRITE_SNAPPY : PQWRITE_ZSTD, &why);
	must(table ? 0 : -1, &why);
	for (size_t i = 0; i < COUNT(cases); i++)
		if (!strcmp(cases[i].name, argv[1])) {
			cases[i].make();
			must(pqwrite_finish(table, &why), &why);
			pqwrite_close(table);
			return 0;
		}
	errx(2, "no case '%s'", argv[1]);
}
