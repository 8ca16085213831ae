#include "tree/windex.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"

#define MAGIC "strata index 1\n"
#define ROWS_PER_BLOCK 128
#define ROW_BLOCKS_MAX 524288 /* 64 million directories */
#define BOOT_ID_LEN 36
/* a saved index of at most this size is read into memory as a whole */
#define WHOLE_MAX ((uint64_t)2 << 20)

struct windex_header {
	char magic[16];
	char boot[BOOT_ID_LEN + 4];
	int64_t stamp;
	uint64_t rows; /* offset of the row table */
	uint64_t n_rows;
	uint64_t end;      /* length of the file */
	uint64_t checksum; /* checksum of everything after the header */
};

struct segment_header {
	uint64_t length; /* bytes of the records */
	uint64_t next;
};

struct windex {
	int fd;
	int64_t stamp;
	pthread_mutex_t lock;
	uint64_t end;
	uint32_t n_dirs;
	uint64_t rows;              /* for a saved index: offset of the rows */
	char *whole;                /* for a small saved index: the content of the whole file */
	struct windex_dir **blocks; /* for a new index: rows in memory */
};

/* ------------------------------------------------------------ the whole file */

static void read_boot_id(char out[BOOT_ID_LEN + 4])
{
	struct err ignored = { 0 };
	owned_fd int fd = at_open_given("/proc/sys/kernel/random/boot_id", O_RDONLY, 0, &ignored);

	memset(out, 0, BOOT_ID_LEN + 4);
	if (fd >= 0 && at_pread_full(fd, out, BOOT_ID_LEN, 0) != BOOT_ID_LEN)
		memset(out, 0, BOOT_ID_LEN + 4);
}

struct windex *windex_new_take(int fd, int64_t stamp)
{
	struct windex *index = mem_zalloc(sizeof(*index));

	index->fd = fd;
	index->stamp = stamp;
	index->end = sizeof(struct windex_header);
	index->blocks = mem_zalloc(ROW_BLOCKS_MAX * sizeof(*index->blocks));
	pthread_mutex_init(&index->lock, NULL);
	return index;
}

void windex_close(struct windex *index)
{
	if (!index)
		return;
	for (size_t i = 0; index->blocks && i < ROW_BLOCKS_MAX && index->blocks[i]; i++)
		free(index->blocks[i]);
	free(index->blocks);
	free(index->whole);
	close_fd(&index->fd);
	pthread_mutex_destroy(&index->lock);
	free(index);
}

void windex_closep(struct windex **index)
{
	windex_close(*index);
}

/*
 * Compute the checksum of a part of a file.  The checksum must detect torn pages.  It need not
 * resist an attack.
 */
static bool checksum_file(int fd, uint64_t from, uint64_t end, uint64_t *sum)
{
	size_t size = (size_t)1 << 18;
	owned_mem uint64_t *block = mem_alloc(size);
	uint64_t hash = UINT64_C(0x9e3779b97f4a7c15);

	while (from < end) {
		size_t want = end - from < size ? (size_t)(end - from) : size;
		ssize_t n = at_pread_full(fd, block, want, from);

		if (n != (ssize_t)want)
			return false;
		memset((char *)block + want, 0, (8 - want % 8) % 8);
		for (size_t i = 0; i < (want + 7) / 8; i++) {
			hash = (hash ^ block[i]) * UINT64_C(0xff51afd7ed558ccd);
			hash ^= hash >> 29;
		}
		from += want;
	}
	*sum = hash;
	return true;
}

static bool is_header_valid(int fd, const struct windex_header *header)
{
	char boot[BOOT_ID_LEN + 4];
	struct statx stx;
	uint64_t sum;

	if (memcmp(header->magic, MAGIC, sizeof(header->magic)) || at_fd_stat(fd, &stx) < 0 ||
		stx.stx_size != header->end || header->rows < sizeof(*header) ||
		header->rows > header->end || header->n_rows > WINDEX_NO_DIR ||
		(header->end - header->rows) / sizeof(struct windex_dir) < header->n_rows)
		return false;
	read_boot_id(boot);
	if (boot[0] && !memcmp(boot, header->boot, sizeof(boot)))
		return true;
	return checksum_file(fd, sizeof(*header), header->end, &sum) && sum == header->checksum;
}

/* Load a small index with one read, which costs less than the many small reads that follow. */
static void read_whole(struct windex *index)
{
	if (index->end > WHOLE_MAX)
		return;
	index->whole = mem_alloc(index->end);
	if (at_pread_full(index->fd, index->whole, index->end, 0) == (ssize_t)index->end)
		return;
	free(index->whole);
	index->whole = NULL;
}

/*
 * Read bytes of the file.  Returns the number of bytes that were read, or -errno.  The number is
 * less than len only at the end of the file.
 */
static ssize_t read_at(const struct windex *index, void *out, size_t len, uint64_t offset)
{
	if (!index->whole)
		return at_pread_full(index->fd, out, len, offset);
	if (offset >= index->end)
		return 0;
	if (len > index->end - offset)
		len = index->end - offset;
	memcpy(out, index->whole + offset, len);
	return (ssize_t)len;
}

struct windex *windex_open(int dirfd, const char *name)
{
	owned_fd int fd = at_name_open(dirfd, name, O_RDONLY);
	struct windex_header header;
	struct windex *index;

	if (fd < 0 || at_pread_full(fd, &header, sizeof(header), 0) != sizeof(header) ||
		!is_header_valid(fd, &header))
		return NULL;
	index = mem_zalloc(sizeof(*index));
	index->fd = take_fd(&fd);
	index->stamp = header.stamp;
	index->rows = header.rows;
	index->n_dirs = (uint32_t)header.n_rows;
	index->end = header.end;
	pthread_mutex_init(&index->lock, NULL);
	read_whole(index);
	return index;
}

int64_t windex_stamp(const struct windex *index)
{
	return index->stamp;
}

uint32_t windex_dirs(const struct windex *index)
{
	return index->n_dirs;
}

uint32_t windex_add_dir(struct windex *index, uint32_t parent)
{
	pthread_mutex_lock(&index->lock);
	uint32_t id = index->n_dirs++;
	/* Memory would be exhausted long before 64 million directories. */
	assert(id / ROWS_PER_BLOCK < ROW_BLOCKS_MAX);
	struct windex_dir **block = &index->blocks[id / ROWS_PER_BLOCK];
	if (!*block)
		*block = mem_zalloc(ROWS_PER_BLOCK * sizeof(**block));
	(*block)[id % ROWS_PER_BLOCK].parent = parent;
	pthread_mutex_unlock(&index->lock);
	return id;
}

struct windex_dir *windex_dir(struct windex *index, uint32_t id)
{
	return &index->blocks[id / ROWS_PER_BLOCK][id % ROWS_PER_BLOCK];
}

bool windex_get_dir(struct windex *index, uint32_t id, struct windex_dir *dir)
{
	if (id >= index->n_dirs)
		return false;
	if (index->blocks) {
		*dir = *windex_dir(index, id);
		return true;
	}
	return read_at(index, dir, sizeof(*dir), index->rows + (uint64_t)id * sizeof(*dir)) ==
	       sizeof(*dir);
}

static int write_rows(struct windex *index, struct err *err)
{
	struct windex_header header = {
		.magic = MAGIC,
		.stamp = index->stamp,
		.rows = index->end,
		.n_rows = index->n_dirs,
	};
	int r = 0;

	header.end = header.rows + header.n_rows * sizeof(struct windex_dir);
	for (uint32_t id = 0; id < index->n_dirs && r >= 0; id += ROWS_PER_BLOCK) {
		uint32_t n =
			index->n_dirs - id < ROWS_PER_BLOCK ? index->n_dirs - id : ROWS_PER_BLOCK;

		r = at_pwrite_all(index->fd, windex_dir(index, id), n * sizeof(struct windex_dir),
			header.rows + (uint64_t)id * sizeof(struct windex_dir));
	}
	read_boot_id(header.boot);
	if (r >= 0 && !checksum_file(index->fd, sizeof(header), header.end, &header.checksum))
		r = -EIO;
	if (r >= 0)
		r = at_pwrite_all(index->fd, &header, sizeof(header), 0);
	if (r < 0)
		return err_number(err, -r, "write the workspace index");
	index->rows = header.rows;
	return 0;
}

int windex_save(
	struct windex *index, int dirfd, const char *temp, const char *name, struct err *err)
{
	int r = write_rows(index, err);

	return r < 0 ? r : at_rename(dirfd, temp, name, err);
}

/* ----------------------------------------------------------------- writing */

void windex_writer_init(struct windex_writer *writer, struct windex *index)
{
	*writer = (struct windex_writer){ .index = index };
	writer->region = mem_alloc(WINDEX_REGION);
}

static int flush_region(struct windex_writer *writer)
{
	int r = writer->used ? at_pwrite_all(writer->index->fd, writer->region, writer->used,
				       writer->offset)
			     : 0;

	writer->used = 0;
	return r;
}

/*
 * Reserve a region of the file and return its offset.  Each thread has a region of its own, so that
 * it can write many small directories with one call.
 */
static uint64_t new_region(struct windex *index)
{
	pthread_mutex_lock(&index->lock);
	uint64_t offset = index->end;
	index->end += WINDEX_REGION;
	pthread_mutex_unlock(&index->lock);
	return offset;
}

/*
 * Give back the unused rest of a region at the end of the file, so that the file of a small index
 * stays small.
 */
static void return_unused_region(struct windex_writer *writer)
{
	struct windex *index = writer->index;

	pthread_mutex_lock(&index->lock);
	if (writer->offset && writer->offset + WINDEX_REGION == index->end)
		index->end = writer->offset + writer->used;
	pthread_mutex_unlock(&index->lock);
}

int windex_writer_finish(struct windex_writer *writer)
{
	return_unused_region(writer);
	int r = flush_region(writer);

	free(writer->region);
	writer->region = NULL;
	return r;
}

static struct segment_header *current_segment(struct windex_writer *writer)
{
	return (struct segment_header *)(void *)(writer->region + writer->segment);
}

static void open_segment(struct windex_writer *writer)
{
	writer->segment = writer->used;
	*current_segment(writer) = (struct segment_header){ 0 };
	writer->used += sizeof(struct segment_header);
}

int windex_writer_begin(struct windex_writer *writer, uint64_t *segment)
{
	if (!writer->offset || writer->used + 4096 > WINDEX_REGION) {
		int r = flush_region(writer);

		if (r < 0)
			return r;
		writer->offset = new_region(writer->index);
	}
	open_segment(writer);
	*segment = writer->offset + writer->segment;
	return 0;
}

static int continue_in_new_region(struct windex_writer *writer)
{
	uint64_t offset = new_region(writer->index);

	current_segment(writer)->next = offset;
	windex_writer_end(writer);
	int r = flush_region(writer);
	writer->offset = offset;
	open_segment(writer);
	return r;
}

int windex_writer_add(struct windex_writer *writer, const struct windex_record *record,
	const struct hash *xattrs, const struct windex_override *override, struct str name)
{
	struct windex_record out = *record;
	size_t size = sizeof(out) + name.len;
	int r = 0;

	out.name_len = (uint16_t)name.len;
	out.flags &= (uint16_t) ~(WINDEX_XATTRS | WINDEX_OVERRIDE);
	if (xattrs && !hash_is_none(xattrs)) {
		out.flags |= WINDEX_XATTRS;
		size += sizeof(*xattrs);
	}
	if (override) {
		out.flags |= WINDEX_OVERRIDE;
		size += sizeof(*override);
	}
	size = (size + 7) & ~(size_t)7;
	if (writer->used + size > WINDEX_REGION)
		r = continue_in_new_region(writer);
	if (r < 0)
		return r;
	char *p = writer->region + writer->used;
	memset(p + size - 8, 0, 8);
	memcpy(p, &out, sizeof(out));
	p += sizeof(out);
	if (out.flags & WINDEX_XATTRS) {
		memcpy(p, xattrs, sizeof(*xattrs));
		p += sizeof(*xattrs);
	}
	if (override) {
		memcpy(p, override, sizeof(*override));
		p += sizeof(*override);
	}
	memcpy(p, name.ptr, name.len);
	writer->used += size;
	return 0;
}

void windex_writer_end(struct windex_writer *writer)
{
	current_segment(writer)->length =
		writer->used - writer->segment - sizeof(struct segment_header);
}

/* ----------------------------------------------------------------- reading */

void windex_reader_init(struct windex_reader *reader, struct windex *index)
{
	*reader = (struct windex_reader){ .index = index };
}

void windex_reader_release(struct windex_reader *reader)
{
	free(reader->region);
	reader->region = NULL;
}

void windex_reader_begin(struct windex_reader *reader, uint64_t segment)
{
	reader->len = reader->at = 0;
	reader->next = segment;
	reader->damaged = false;
}

static bool load_segment(struct windex_reader *reader)
{
	const size_t guess = 4096;
	struct segment_header header;

	if (!reader->region)
		reader->region = mem_alloc(WINDEX_REGION);
	/* Most directories are small, so the header and the records are read with one call. */
	ssize_t n = read_at(reader->index, reader->region, guess, reader->next);
	if (n < (ssize_t)sizeof(header))
		return false;
	memcpy(&header, reader->region, sizeof(header));
	/*
	 * The next segment must lie further on in the file.  Otherwise the chain of segments might
	 * never end.
	 */
	if (header.length > WINDEX_REGION - sizeof(header) ||
		(header.next && header.next <= reader->next))
		return false;
	size_t total = sizeof(header) + header.length;
	if (total > (size_t)n) {
		n = read_at(reader->index, reader->region, total, reader->next);
		if (n != (ssize_t)total)
			return false;
	}
	reader->offset = reader->next;
	reader->next = header.next;
	reader->at = sizeof(header);
	reader->len = total;
	return true;
}

int windex_reader_next(struct windex_reader *reader, struct windex_item *item)
{
	size_t left, need;

	while (reader->at >= reader->len) {
		if (!reader->next)
			return 0;
		reader->damaged = !load_segment(reader);
		if (reader->damaged)
			return 0;
	}
	left = reader->len - reader->at;
	reader->damaged = left < sizeof(item->record);
	if (reader->damaged)
		return 0;
	const char *p = reader->region + reader->at;
	memcpy(&item->record, p, sizeof(item->record));
	p += sizeof(item->record);
	need = sizeof(item->record) + item->record.name_len;
	if (item->record.flags & WINDEX_XATTRS)
		need += sizeof(item->xattrs);
	if (item->record.flags & WINDEX_OVERRIDE)
		need += sizeof(item->override);
	need = (need + 7) & ~(size_t)7;
	reader->damaged = need > left;
	if (reader->damaged)
		return 0;
	memset(&item->xattrs, 0, sizeof(item->xattrs));
	if (item->record.flags & WINDEX_XATTRS) {
		memcpy(&item->xattrs, p, sizeof(item->xattrs));
		p += sizeof(item->xattrs);
	}
	if (item->record.flags & WINDEX_OVERRIDE) {
		memcpy(&item->override, p, sizeof(item->override));
		p += sizeof(item->override);
	}
	item->name = (struct str){ p, item->record.name_len };
	item->offset = reader->offset + reader->at;
	reader->at += need;
	return 1;
}

int windex_set_record(struct windex *index, uint64_t offset, const struct windex_record *record)
{
	return at_pwrite_all(index->fd, record, sizeof(*record), offset);
}
