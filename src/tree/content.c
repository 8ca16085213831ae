#include "tree/content.h"

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"

#define VERSION 1
#define LEVELS 4 /* levels of chunk lists; this is enough for the pieces of any file */

static void encode_list(
	struct buf *out, unsigned level, const struct content_piece *pieces, size_t count)
{
	buf_addc(out, VERSION);
	buf_addc(out, (char)level);
	bytes_varint(out, count);
	for (size_t i = 0; i < count; i++) {
		bytes_varint(out, level ? pieces[i].length : pieces[i].length * 2 + pieces[i].hole);
		if (!pieces[i].hole)
			bytes_hash(out, &pieces[i].hash);
	}
}

int content_put_list(struct store *store, const struct content_piece *pieces, size_t count,
	struct hash *hash, struct err *err)
{
	owned_mem struct content_piece *upper = NULL;
	owned(buf_release) struct buf bytes = { .max = OBJECT_MAX };

	for (unsigned level = 0; level < LEVELS; level++) {
		size_t groups = (count + CONTENT_LIST_MAX - 1) / CONTENT_LIST_MAX;
		struct content_piece *next = mem_zalloc(groups * sizeof(*next));

		for (size_t g = 0; g < groups; g++) {
			const struct content_piece *first = pieces + g * CONTENT_LIST_MAX;
			size_t n = count - g * CONTENT_LIST_MAX;

			n = n < CONTENT_LIST_MAX ? n : CONTENT_LIST_MAX;
			buf_clear(&bytes);
			encode_list(&bytes, level, first, n);
			int r = store_put(
				store, OBJECT_CHUNKS, bytes.data, bytes.len, &next[g].hash, err);
			if (r < 0) {
				free(next);
				return r;
			}
			for (size_t i = 0; i < n; i++)
				next[g].length += first[i].length;
		}
		free(upper);
		pieces = upper = next;
		count = groups;
		if (groups == 1) {
			*hash = next[0].hash;
			return 0;
		}
	}
	return err_set(err, ERR_LIMIT, "file has too many chunks");
}

int content_list_open(struct content_list *list, const void *bytes, size_t len, struct err *err)
{
	struct cursor in = cursor_of(bytes, len);
	uint8_t version = cursor_byte(&in);
	unsigned level = cursor_byte(&in);
	uint64_t count = cursor_varint(&in);

	if (in.bad || version != VERSION || level >= LEVELS || !count || count > CONTENT_LIST_MAX)
		return err_set(err, ERR_CORRUPT, "malformed chunk list");
	*list = (struct content_list){ .in = in, .level = level, .left = count };
	return 0;
}

int content_list_next(struct content_list *list, struct content_piece *piece, struct err *err)
{
	struct content_piece out = { 0 };

	if (!list->left)
		return cursor_left(&list->in)
			       ? err_set(err, ERR_CORRUPT, "chunk list with trailing bytes")
			       : 0;
	list->left--;
	out.length = cursor_varint(&list->in);
	if (!list->level) {
		out.hole = out.length & 1;
		out.length >>= 1;
	}
	if (!out.hole)
		cursor_hash(&list->in, &out.hash);
	if (list->in.bad || !out.length || out.length > INT64_MAX || (out.hole && list->hole))
		return err_set(err, ERR_CORRUPT, "malformed chunk list");
	list->hole = out.hole;
	*piece = out;
	return 1;
}

/* The part of a file that is still to be read.  'skip' and 'left' shrink as pieces are read. */
struct window {
	struct store *store;
	uint64_t skip; /* bytes of the file before the part */
	uint64_t left; /* bytes of the part that were not read yet */
	content_sink sink;
	void *arg;
};

static int deliver(struct window *window, const char *bytes, uint64_t len, struct err *err)
{
	uint64_t skip = window->skip < len ? window->skip : len;
	uint64_t take = len - skip < window->left ? len - skip : window->left;

	window->skip -= skip;
	window->left -= take;
	return take ? window->sink(window->arg, bytes ? bytes + skip : NULL, take, err) : 0;
}

static int read_blob(struct window *window, const struct hash *hash, uint64_t len, struct err *err)
{
	owned(buf_release) struct buf bytes = { .max = OBJECT_MAX + 1 };

	if (window->skip >= len) {
		window->skip -= len;
		return 0;
	}
	int r = store_get(window->store, OBJECT_BLOB, hash, &bytes, err);
	if (r < 0)
		return r;
	if (bytes.len != len)
		return err_set(err, ERR_CORRUPT, "chunk is %zu bytes, not %llu", bytes.len,
			(unsigned long long)len);
	return deliver(window, bytes.data, len, err);
}

/*
 * Read a chunk list that describes len bytes of a file.  The parameter 'level' is the level that
 * the list must have, or -1 for the top list, which may have any level.
 */
static int read_list(
	struct window *window, const struct hash *hash, uint64_t len, int level, struct err *err)
{
	owned(buf_release) struct buf bytes = { .max = OBJECT_MAX + 1 };
	struct content_piece piece;
	struct content_list list;

	if (window->skip >= len) {
		window->skip -= len;
		return 0;
	}
	int r = store_get(window->store, OBJECT_CHUNKS, hash, &bytes, err);
	if (r >= 0)
		r = content_list_open(&list, bytes.data, bytes.len, err);
	if (r < 0)
		return r;
	if (level >= 0 && list.level != (unsigned)level)
		return err_set(err, ERR_CORRUPT, "chunk list at the wrong level");
	while (window->left && (r = content_list_next(&list, &piece, err)) > 0) {
		if (piece.length > len)
			return err_set(err, ERR_CORRUPT, "chunk list longer than its file");
		len -= piece.length;
		if (list.level)
			r = read_list(window, &piece.hash, piece.length, (int)list.level - 1, err);
		else if (piece.hole)
			r = deliver(window, NULL, piece.length, err);
		else
			r = read_blob(window, &piece.hash, piece.length, err);
		if (r < 0)
			return r;
	}
	if (r >= 0 && window->left && len)
		return err_set(err, ERR_CORRUPT, "chunk list shorter than its file");
	return r < 0 ? r : 0;
}

int content_read(struct store *store, const struct entry *file, uint64_t offset, uint64_t length,
	content_sink sink, void *arg, struct err *err)
{
	struct window window = {
		.store = store,
		.skip = offset,
		.left = length,
		.sink = sink,
		.arg = arg,
	};

	if (file->content == ENTRY_UNREAD)
		return err_set(
			err, ERR_NOT_FOUND, "the content was not readable when it was captured");
	if (offset >= file->size || !length)
		return 0;
	if (length > file->size - offset)
		window.left = file->size - offset;
	if (file->content == ENTRY_BLOB)
		return read_blob(&window, &file->hash, file->size, err);
	if (file->content == ENTRY_CHUNKS)
		return read_list(&window, &file->hash, file->size, -1, err);
	return 0;
}

int content_load(struct store *store, const struct entry *file, uint64_t max, struct buf *out,
	struct err *err)
{
	return content_read(store, file, 0, max, content_append, out, err);
}

struct writing {
	int fd;
	uint64_t offset;
};

static int write_piece(void *arg, const void *bytes, uint64_t len, struct err *err)
{
	struct writing *to = arg;
	int r = bytes ? at_pwrite_all(to->fd, bytes, len, to->offset) : 0;

	if (r < 0)
		return err_number(err, -r, "write");
	to->offset += len;
	return 0;
}

int content_write(struct store *store, const struct entry *file, int fd, struct err *err)
{
	struct writing to = { .fd = fd };
	int r = content_read(store, file, 0, UINT64_MAX, write_piece, &to, err);

	/* A hole at the end is not written, so the size is set explicitly. */
	if (r >= 0 && file->content == ENTRY_CHUNKS && ftruncate(fd, (off_t)file->size) < 0)
		return err_errno(err, "set size");
	return r;
}
