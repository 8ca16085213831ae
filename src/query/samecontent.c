#include "query/samecontent.h"

#include "core/own.h"

/* The first blocks are small, since most files that differ do so near the beginning. */
#define FIRST_BLOCK ((uint64_t)64 << 10)
#define BLOCK_MAX ((uint64_t)1 << 20)

static bool same_mtime(const struct entry *a, const struct entry *b)
{
	return a->mtime_sec == b->mtime_sec && a->mtime_nsec == b->mtime_nsec;
}

static int read_block(struct view *view, const struct entry *file, struct str path, uint64_t offset,
	uint64_t length, struct buf *block, struct err *err)
{
	buf_clear(block);
	return view->ops->read(view, file, path, offset, length, content_append, block, err);
}

static int compare_blocks(struct view *a, const struct entry *entry_a, struct view *b,
	const struct entry *entry_b, struct str path, struct err *err)
{
	owned(buf_release) struct buf block_a = BUF_INIT, block_b = BUF_INIT;
	uint64_t length = FIRST_BLOCK;

	for (uint64_t offset = 0; offset < entry_a->size;) {
		int r = read_block(a, entry_a, path, offset, length, &block_a, err);

		if (r >= 0)
			r = read_block(b, entry_b, path, offset, length, &block_b, err);
		if (r < 0)
			return r;
		if (!str_eq((struct str){ block_a.data, block_a.len },
			    (struct str){ block_b.data, block_b.len }))
			return 0;
		if (block_a.len < length)
			break;
		offset += length;
		length = length < BLOCK_MAX ? 2 * length : length;
	}
	return 1;
}

static int hash_block(void *arg, const void *bytes, uint64_t len, struct err *err)
{
	static const char zeros[65536];

	while (len) {
		size_t n = bytes || len < sizeof(zeros) ? (size_t)len : sizeof(zeros);

		hash_stream_add(arg, bytes ? bytes : zeros, n);
		len -= n;
	}
	return 0;
}

int samecontent_hash(struct view *view, const struct entry *file, struct str path, uint64_t max,
	struct hash *hash, struct err *err)
{
	struct hash_stream *stream = hash_stream_new();
	struct hash sum;
	int r = view->ops->read(view, file, path, 0, max, hash_block, stream, err);

	hash_stream_finish(stream, &sum);
	if (r >= 0)
		*hash = sum;
	return r;
}

int samecontent_check(struct view *a, const struct entry *entry_a, struct view *b,
	const struct entry *entry_b, struct str path, struct err *err)
{
	if (entry_same_content(entry_a, entry_b))
		return 1;
	if (entry_a->size != entry_b->size || (a->identified && b->identified))
		return 0;
	int r = compare_blocks(a, entry_a, b, entry_b, path, err);
	if (r == -ERR_DENIED) {
		*err = (struct err){ 0 };
		a->unread++;
		return same_mtime(entry_a, entry_b);
	}
	return r;
}
