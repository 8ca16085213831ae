/* content_fd - reads the content of an open file.  It needs no store. */
#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "tree/content.h"

#define FD_BLOCK ((size_t)128 << 10)

/*
 * Pass the bytes between the offsets 'from' and 'to' to the sink.  Returns 1 if the file ends
 * before 'to', else 0.
 */
static int read_extent(int fd, const char *name, uint64_t from, uint64_t to, content_sink sink,
	void *arg, struct err *err)
{
	owned_mem char *block =
		mem_alloc(to - from < FD_BLOCK ? (size_t)(to - from) + 1 : FD_BLOCK);

	while (from < to) {
		size_t want = to - from < FD_BLOCK ? (size_t)(to - from) : FD_BLOCK;
		ssize_t n = at_pread_full(fd, block, want, from);

		if (n < 0)
			return err_number(err, (int)-n, "read '%.200s'", name);
		int r = n ? sink(arg, block, (uint64_t)n, err) : 0;
		if (r < 0 || (size_t)n < want)
			return r < 0 ? r : 1;
		from += want;
	}
	return 0;
}

/* Returns the end of the hole that begins at 'offset'.  The last hole ends where the file ends. */
static uint64_t hole_end(int fd, uint64_t offset)
{
	off_t data = lseek(fd, (off_t)offset, SEEK_DATA);

	if (data < 0)
		data = lseek(fd, 0, SEEK_END);
	return data < (off_t)offset ? offset : (uint64_t)data;
}

static uint64_t end_of(uint64_t offset, uint64_t length)
{
	return length < UINT64_MAX - offset ? offset + length : UINT64_MAX;
}

int content_fd_read(int fd, const char *name, uint64_t offset, uint64_t length, content_sink sink,
	void *arg, struct err *err)
{
	int r = read_extent(fd, name, offset, end_of(offset, length), sink, arg, err);

	return r < 0 ? r : 0;
}

int content_fd_sparse(int fd, const char *name, uint64_t offset, uint64_t length, content_sink sink,
	void *arg, struct err *err)
{
	uint64_t end = end_of(offset, length);
	int r = 0;

	while (r == 0 && offset < end) {
		off_t hole = lseek(fd, (off_t)offset, SEEK_HOLE);
		uint64_t to = hole < 0 || (uint64_t)hole > end ? end : (uint64_t)hole;

		if (hole < 0 && errno == ENXIO)
			break; /* the file ends before the offset */
		if (to > offset) {
			r = read_extent(fd, name, offset, to, sink, arg, err);
		} else {
			to = hole_end(fd, offset);
			to = to < end ? to : end;
			if (to > offset)
				r = sink(arg, NULL, to - offset, err);
			else
				r = 1;
		}
		offset = to;
	}
	return r < 0 ? r : 0;
}
