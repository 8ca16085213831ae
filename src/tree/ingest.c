/*
 * The dirty part of the scanned tree is walked depth first.  Every entry passes through a ring of
 * slots.  If the file of an entry must be read, a thread reads it; any other entry is complete at
 * once.  Entries leave the ring in order, and are added to the builder of their directory.  A BEGIN
 * slot comes before the entries of a directory, and an END slot after them.  So the tree of the
 * directory is complete when its END slot leaves the ring.  The next slot has the directory's own
 * entry.
 */
#include "tree/ingest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/par.h"
#include "tree/cutter.h"
#include "tree/treemerge.h"

#define RING_SIZE 1024
#define SMALL_FILE 65536
#define READ_HERE_MAX 24 /* number of small files that are read before threads are started */
#define DEPTH_MAX 16384
#define READ_TRIES 3

/* A directory descriptor shared by the jobs on its files. */
struct shared_fd {
	int fd;
	atomic_int refs;
	struct str path;
};

enum slot_kind { SLOT_BEGIN, SLOT_END, SLOT_ENTRY };

struct slot {
	struct ingest *ingest;
	enum slot_kind kind;
	uint32_t dir;    /* row of the directory that begins or ends */
	bool from_ended; /* the entry is of the directory whose END has just left the ring */
	bool save;       /* the record has changed and must be written back */
	bool drop;       /* the file vanished, so its entry is left out */
	bool unread;     /* the file could not be read, which does not end the capture */
	struct entry entry;
	struct windex_record record;
	bool override;
	uint64_t offset;
	struct shared_fd *at;
	char name[ENTRY_NAME_MAX + 1];
	char *target;
	struct err *failure; /* failure of the thread that read the file; NULL: none */
	atomic_bool done;
};

struct ingest {
	struct scan *scan;
	struct store *store;
	struct report *report;
	struct ingest_progress *progress;
	const struct mapped *mapped;
	struct par *par;
	struct slot *ring;
	size_t head, count;
	size_t used; /* number of slots that were in use at least once */
	unsigned read_here;
	struct windex_reader *readers; /* one for each depth */
	size_t n_readers, cap_readers;
	struct treemerge merge; /* directories whose BEGIN has left the ring */
	struct entry ended;     /* content of the directory that ended last */
	struct buf path;        /* path of the directory that the walk is visiting */
	struct err err;
};

/* ------------------------------------------------------ reading one file */

static void release_fd(struct shared_fd *at)
{
	if (atomic_fetch_sub(&at->refs, 1) == 1) {
		close_fd(&at->fd);
		free(at);
	}
}

static struct shared_fd *share_fd(int fd, const struct buf *path)
{
	struct shared_fd *at = mem_alloc(sizeof(*at) + path->len + 1);

	at->fd = fd;
	atomic_init(&at->refs, 1);
	memcpy(at + 1, path->data ? path->data : "", path->len);
	at->path = (struct str){ (char *)(at + 1), path->len };
	return at;
}

static void report_slot(struct slot *slot, enum report_kind kind, const char *what)
{
	owned(buf_release) struct buf path = BUF_INIT;

	buf_add(&path, slot->at->path.ptr, slot->at->path.len);
	buf_add_name(&path, str_of(slot->name));
	report_add(slot->ingest->report, kind, (struct str){ path.data, path.len }, "%s", what);
}

static bool same_version(const struct statx *a, const struct statx *b)
{
	return a->stx_size == b->stx_size && a->stx_ino == b->stx_ino &&
	       a->stx_mtime.tv_sec == b->stx_mtime.tv_sec &&
	       a->stx_mtime.tv_nsec == b->stx_mtime.tv_nsec &&
	       a->stx_ctime.tv_sec == b->stx_ctime.tv_sec &&
	       a->stx_ctime.tv_nsec == b->stx_ctime.tv_nsec;
}

/*
 * Whether the file system reports that the file has holes.  The number of allocated blocks does not
 * show this, since that number includes the blocks of extended attributes.
 */
static bool has_holes(int fd, const struct statx *stx)
{
	off_t hole = stx->stx_size ? lseek(fd, 0, SEEK_HOLE) : -1;

	return hole >= 0 && (uint64_t)hole < stx->stx_size;
}

static int read_failed(struct slot *slot, int error, struct err *err)
{
	slot->unread = true;
	return err_number(err, error, "read");
}

/*
 * Read a file of 'size' bytes as one blob.  Returns 1 if the file has become longer, 0 if not, or a
 * negative error.
 */
static int read_whole(struct slot *slot, int fd, uint64_t size, struct err *err)
{
	char *buffer = par_scratch(CHUNK_WHOLE + 1);
	ssize_t n = at_pread_full(fd, buffer, CHUNK_WHOLE + 1, 0);
	int r = 0;

	if (n < 0)
		return read_failed(slot, (int)-n, err);
	/*
	 * If the file shrank, or has bytes although its size is 0, the content stays unset.  The
	 * caller notices that and tries again.
	 */
	if ((uint64_t)n < size || (n && !size))
		return 0;
	slot->entry.content = size ? ENTRY_BLOB : ENTRY_EMPTY;
	memset(&slot->entry.hash, 0, sizeof(slot->entry.hash));
	atomic_fetch_add(&slot->ingest->progress->bytes, size);
	if (size)
		r = store_put(slot->ingest->store, OBJECT_BLOB, buffer, (size_t)size,
			&slot->entry.hash, err);
	return r < 0 ? r : (uint64_t)n > size;
}

/*
 * Read the bytes of a file between the offsets 'from' and 'to'.  Reading stops earlier if the file
 * ends earlier.
 */
static int read_extent(struct slot *slot, int fd, uint64_t from, uint64_t to, struct cutter *cutter,
	struct err *err)
{
	while (from < to) {
		size_t want;
		char *room = cutter_room(cutter, &want);

		if (want > to - from)
			want = (size_t)(to - from);
		ssize_t n = at_pread_full(fd, room, want, from);
		if (n < 0)
			return read_failed(slot, (int)-n, err);
		int r = cutter_filled(cutter, (size_t)n, err);
		if (r < 0)
			return r;
		atomic_fetch_add(&slot->ingest->progress->bytes, (uint64_t)n);
		if ((size_t)n < want)
			break;
		from += want;
	}
	return 0;
}

static int read_extents(
	struct slot *slot, int fd, uint64_t size, struct cutter *cutter, struct err *err)
{
	uint64_t at = 0;
	int r = 0;

	while (at < size && r >= 0) {
		off_t data = lseek(fd, (off_t)at, SEEK_DATA);
		off_t hole;

		if (data < 0 && errno == ENXIO)
			data = (off_t)size;
		else if (data < 0)
			data = (off_t)at; /* without SEEK_DATA, all of the file counts as data */
		if ((uint64_t)data > size)
			data = (off_t)size;
		r = cutter_hole(cutter, (uint64_t)data - at, err);
		at = (uint64_t)data;
		if (at >= size || r < 0)
			break;
		hole = lseek(fd, data, SEEK_HOLE);
		if (hole < 0 || (uint64_t)hole > size)
			hole = (off_t)size;
		r = read_extent(slot, fd, at, (uint64_t)hole, cutter, err);
		at = (uint64_t)hole;
	}
	return r;
}

static int read_pieces(struct slot *slot, int fd, uint64_t size, struct err *err)
{
	struct cutter cutter;
	struct entry read;

	cutter_init(&cutter, slot->ingest->store, par_scratch(CUTTER_WINDOW));
	int r = read_extents(slot, fd, size, &cutter, err);
	/* If the file shrank, the content stays unset, as in read_whole. */
	if (r >= 0 && cutter.total == size) {
		r = cutter_finish(&cutter, &read, err);
		slot->entry.content = read.content;
		slot->entry.hash = read.hash;
	}
	cutter_release(&cutter);
	return r;
}

/*
 * Record the attributes that the file had when it was read.  They may be newer than those of the
 * scan.
 */
static void copy_stat(struct slot *slot, const struct statx *stx)
{
	struct windex_record *record = &slot->record;

	if (!slot->override) {
		slot->entry.mode = stx->stx_mode & 07777;
		slot->entry.uid = stx->stx_uid;
		slot->entry.gid = stx->stx_gid;
	}
	slot->entry.size = stx->stx_size;
	slot->entry.mtime_sec = stx->stx_mtime.tv_sec;
	slot->entry.mtime_nsec = stx->stx_mtime.tv_nsec;
	record->mode = stx->stx_mode & 07777;
	record->uid = stx->stx_uid;
	record->gid = stx->stx_gid;
	record->size = stx->stx_size;
	record->mtime_sec = stx->stx_mtime.tv_sec;
	record->mtime_nsec = stx->stx_mtime.tv_nsec;
	record->ctime_sec = stx->stx_ctime.tv_sec;
	record->ctime_nsec = stx->stx_ctime.tv_nsec;
	record->ino = stx->stx_ino;
}

static bool is_mapped(const struct slot *slot, const struct statx *stx)
{
	return slot->ingest->mapped && mapped_may_have(slot->ingest->mapped, stx->stx_ino);
}

/*
 * Whether a program may have the file mapped for writing.  If a process could not be inspected, it
 * belongs to another user.  That user can map a file for writing only with permission to write to
 * the file.
 */
static bool may_be_mapped(const struct slot *slot, const struct statx *stx)
{
	const struct mapped *mapped = slot->ingest->mapped;

	return is_mapped(slot, stx) ||
	       (mapped && mapped->partial &&
		       (stx->stx_mode & (S_IWGRP | S_IWOTH) || stx->stx_uid != geteuid()));
}

/*
 * Read the content of a file.  Returns 1, or 0 if the file changed during each try, or a negative
 * error.  With the result 0, the slot has the content that was read last.
 *
 * If a program may have the file mapped, its pages are write-protected after the first stat
 * (mapped.h).  Until then, what the program writes to the mapping becomes part of the content that
 * is read.  After that, each such write changes the times of the file.
 */
static int read_content(struct slot *slot, int fd, struct err *err)
{
	struct statx before, after;

	for (int try = 0; try < READ_TRIES; try++) {
		int r = at_fd_stat(fd, &before);

		if (r < 0)
			return read_failed(slot, -r, err);
		if (may_be_mapped(slot, &before))
			at_protect_pages(fd);
		slot->entry.content = ENTRY_UNREAD;
		if (before.stx_size > CHUNK_WHOLE || has_holes(fd, &before))
			r = read_pieces(slot, fd, before.stx_size, err);
		else
			r = read_whole(slot, fd, before.stx_size, err);
		if (r < 0)
			return r;
		if (at_fd_stat(fd, &after) < 0)
			continue;
		copy_stat(slot, &before);
		if (r == 0 && same_version(&before, &after) && slot->entry.content != ENTRY_UNREAD)
			return 1;
	}
	return 0;
}

static void finish_record(struct slot *slot, bool stable)
{
	slot->record.hash = slot->entry.hash;
	slot->record.content = (uint8_t)slot->entry.content;
	if (stable)
		slot->record.flags &= (uint16_t)~WINDEX_UNHASHED;
	slot->save = true;
}

static void read_file(struct slot *slot)
{
	struct err err = { 0 };
	struct statx stx;
	owned_fd int fd = at_name_read(slot->at->fd, slot->name);

	if (fd == -ENOENT || fd == -ELOOP || fd == -ENXIO ||
		(fd >= 0 && (at_fd_stat(fd, &stx) < 0 || !S_ISREG(stx.stx_mode)))) {
		report_slot(slot, REPORT_VANISHED, "gone or replaced before it was read");
		slot->drop = true;
		return;
	}
	if (at_scarce(-fd)) {
		err_number(&err, -fd, "open");
		slot->failure = mem_dup(&err, sizeof(err));
		return;
	}
	if (fd < 0) {
		err_number(&err, -fd, "open");
		report_slot(slot, REPORT_UNREADABLE, err.text);
		slot->entry.content = ENTRY_UNREAD;
		return;
	}
	int r = read_content(slot, fd, &err);
	if (r < 0 && slot->unread) {
		slot->entry.content = ENTRY_UNREAD;
		report_slot(slot, REPORT_UNREADABLE, err.text);
		return;
	}
	if (r < 0) {
		slot->failure = mem_dup(&err, sizeof(err));
		return;
	}
	bool untraced = slot->ingest->mapped && slot->ingest->mapped->untraced &&
			at_fd_stat(fd, &stx) == 0 && is_mapped(slot, &stx);
	if (r == 0)
		report_slot(slot, REPORT_CHANGING, "changed while it was read");
	if (r == 0 && slot->entry.content == ENTRY_UNREAD)
		slot->entry.size = 0;
	atomic_fetch_add(&slot->ingest->progress->files, 1);
	/*
	 * If stores to a mapped file may leave no trace, the next capture must read the file again.
	 * This holds even if no program maps the file by then.
	 */
	finish_record(slot, r > 0 && !untraced);
}

static void read_file_job(void *arg)
{
	struct slot *slot = arg;
	struct shared_fd *at = slot->at;

	read_file(slot);
	atomic_store(&slot->done, true);
	release_fd(at);
}

/* ------------------------------------------------- slots that leave the ring */

static int end_directory(struct ingest *in, const struct slot *slot, struct err *err)
{
	struct windex_dir *row = windex_dir(in->scan->index, slot->dir);
	bool lost;
	int r = treemerge_end(&in->merge, &in->ended, &lost, err);

	if (r < 0)
		return r;
	row->tree = in->ended.hash;
	row->count = in->ended.count;
	row->size = in->ended.size;
	row->flags &= ~(uint32_t)(WINDEX_DIR_DIRTY | WINDEX_DIR_LOST);
	if (lost)
		row->flags |= WINDEX_DIR_LOST;
	return 0;
}

/*
 * Complete the entry of a directory that has ended, by copying the fields that depend on its
 * entries and on the lower tree.
 */
static void copy_ended(const struct ingest *in, struct entry *dir)
{
	dir->content = in->ended.content;
	dir->hash = in->ended.hash;
	dir->count = in->ended.count;
	dir->size = in->ended.size;
	dir->uid = in->ended.uid;
	dir->gid = in->ended.gid;
	dir->xattrs = in->ended.xattrs;
}

static int save_record(struct ingest *in, struct slot *slot, struct err *err)
{
	int r = windex_set_record(in->scan->index, slot->offset, &slot->record);

	if (r < 0)
		return err_number(err, -r, "write the workspace index");
	return 0;
}

static int retire_entry(struct ingest *in, struct slot *slot, struct err *err)
{
	if (slot->failure) {
		*err = *slot->failure;
		return err_context(err, "'%s'", slot->name);
	}
	/*
	 * A dropped entry is not added to the tree.  The flag makes the next capture read the file.
	 */
	if (slot->drop)
		slot->record.flags |= WINDEX_UNHASHED;
	if (slot->drop)
		return save_record(in, slot, err);
	if (slot->from_ended) {
		copy_ended(in, &slot->entry);
		return treemerge_add_ended(&in->merge, &slot->entry, err);
	}
	bool known = slot->record.flags & WINDEX_NO_LINKS;
	int r = treemerge_add(
		&in->merge, &slot->entry, known ? TREEMERGE_NO_LINKS : TREEMERGE_UNKNOWN, err);
	if (r < 0)
		return r;
	if (r > 0 && !known) {
		slot->record.flags |= WINDEX_NO_LINKS;
		slot->save = true;
	}
	return slot->save ? save_record(in, slot, err) : 0;
}

static void release_slot(struct slot *slot)
{
	free(slot->target);
	free(slot->failure);
	slot->target = NULL;
	slot->failure = NULL;
}

static int retire_slot(struct ingest *in, struct err *err)
{
	struct slot *slot = &in->ring[in->head];
	int r = 0;

	while (!atomic_load(&slot->done))
		par_wait_some(in->par);
	switch (slot->kind) {
	case SLOT_BEGIN:
		r = treemerge_begin(&in->merge, &slot->entry, err);
		break;
	case SLOT_END:
		r = end_directory(in, slot, err);
		break;
	case SLOT_ENTRY:
		r = retire_entry(in, slot, err);
		break;
	}
	release_slot(slot);
	in->head = (in->head + 1) % RING_SIZE;
	in->count--;
	return r;
}

static struct slot *new_slot(struct ingest *in, enum slot_kind kind, uint32_t dir, struct err *err)
{
	if (in->count == RING_SIZE && retire_slot(in, err) < 0)
		return NULL;
	size_t at = (in->head + in->count++) % RING_SIZE;
	if (at >= in->used)
		in->used = at + 1;
	struct slot *slot = &in->ring[at];
	memset(slot, 0, offsetof(struct slot, name));
	slot->failure = NULL;
	slot->ingest = in;
	slot->kind = kind;
	slot->dir = dir;
	atomic_store(&slot->done, true);
	return slot;
}

/* --------------------------------------------------- the walk that fills the ring */

static void entry_from_item(struct entry *entry, const struct windex_item *item)
{
	const struct windex_record *record = &item->record;

	*entry = (struct entry){
		.type = record->type,
		.mode = record->mode,
		.uid = record->uid,
		.gid = record->gid,
		.mtime_sec = record->mtime_sec,
		.mtime_nsec = record->mtime_nsec,
		.xattrs = item->xattrs,
	};
	if (record->type == ENTRY_CHAR || record->type == ENTRY_BLOCK) {
		entry->major = (uint32_t)(record->size >> 32);
		entry->minor = (uint32_t)record->size;
	}
	if (record->type == ENTRY_FILE) {
		entry->size = record->size;
		entry->content = record->content;
		entry->hash = record->hash;
	}
	if (record->flags & WINDEX_OVERRIDE) {
		entry->mode = item->override.mode;
		entry->uid = item->override.uid;
		entry->gid = item->override.gid;
		if (item->override.unread) {
			entry->content = ENTRY_UNREAD;
			entry->size = item->override.size;
		}
		if (item->override.type != record->type) {
			entry->type = item->override.type;
			entry->major = item->override.major;
			entry->minor = item->override.minor;
			entry->size = 0;
		}
	}
}

static int visit_directory(struct ingest *in, uint32_t dir, const struct entry *self,
	struct shared_fd *at, size_t depth, struct err *err);

/*
 * Open a dirty subdirectory and visit it.  Returns 1, or 0 if it is gone or cannot be read, or a
 * negative error.
 */
static int visit_child(struct ingest *in, struct slot *slot, uint32_t child, struct shared_fd *at,
	size_t depth, struct err *err)
{
	size_t path_len = in->path.len;
	char name[ENTRY_NAME_MAX + 1];
	struct entry self = slot->entry;

	memcpy(name, slot->name, sizeof(name));
	self.name.ptr = name;
	int fd = at_name_open(at->fd, name[0] ? name : ".", O_RDONLY | O_DIRECTORY | O_NONBLOCK);
	if (at_scarce(-fd))
		return err_number(err, -fd, "open '%s'", name);
	if (fd < 0) {
		struct err why = { 0 };

		err_number(&why, -fd, "open");
		report_slot(slot, fd == -ENOENT ? REPORT_VANISHED : REPORT_UNREADABLE, why.text);
		slot->drop = fd == -ENOENT;
		slot->entry.content = ENTRY_UNREAD;
		windex_dir(in->scan->index, child)->flags |= WINDEX_DIR_GONE;
		return 0;
	}
	buf_add_name(&in->path, str_of(name));
	struct shared_fd *below = share_fd(fd, &in->path);
	/*
	 * The slot of a directory must come after the slots of its entries, so this slot is given
	 * back now.
	 */
	in->count--;
	int r = visit_directory(in, child, &self, below, depth + 1, err);
	release_fd(below);
	buf_truncate(&in->path, path_len);
	return r < 0 ? r : 1;
}

static int add_directory(struct ingest *in, struct slot *slot, const struct windex_item *item,
	struct shared_fd *at, size_t depth, struct err *err)
{
	uint32_t child = (uint32_t)item->record.link;
	struct windex_dir *row = windex_dir(in->scan->index, child);
	char name[ENTRY_NAME_MAX + 1];
	struct entry entry = slot->entry;

	if (row->flags & WINDEX_DIR_GONE) {
		slot->drop = true;
		return 0;
	}
	if (row->flags & WINDEX_DIR_UNREAD) {
		slot->entry.content = ENTRY_UNREAD;
		return 0;
	}
	if (!(row->flags & WINDEX_DIR_DIRTY)) {
		slot->entry.content = row->count ? ENTRY_TREE : ENTRY_EMPTY;
		slot->entry.hash = row->tree;
		slot->entry.count = row->count;
		slot->entry.size = row->size;
		return 0;
	}
	memcpy(name, slot->name, sizeof(name));
	int r = visit_child(in, slot, child, at, depth, err);
	if (r <= 0)
		return r;
	slot = new_slot(in, SLOT_ENTRY, child, err);
	if (!slot)
		return -(int)err->code;
	slot->entry = entry;
	memcpy(slot->name, name, sizeof(name));
	slot->entry.name = (struct str){ slot->name, entry.name.len };
	slot->from_ended = true;
	return 0;
}

static int add_link(struct slot *slot, struct shared_fd *at)
{
	slot->target = mem_alloc(ENTRY_TARGET_MAX + 2);
	ssize_t n = at_name_readlink(at->fd, slot->name, slot->target, ENTRY_TARGET_MAX + 2);
	if (n <= 0 || n > ENTRY_TARGET_MAX) {
		report_slot(slot,
			n == -ENOENT || n == -EINVAL ? REPORT_VANISHED : REPORT_UNREADABLE,
			"symbolic link could not be read");
		slot->drop = true;
		return 0;
	}
	slot->entry.target = (struct str){ slot->target, (size_t)n };
	slot->entry.size = (uint64_t)n;
	return 0;
}

/*
 * Read the file of a slot, in the calling thread or in another one.  The calling thread reads the
 * first small files itself, since it would cost more to start threads for a few small files.
 */
static void start_reading(struct ingest *in, struct slot *slot)
{
	if (slot->record.size <= SMALL_FILE && in->read_here < READ_HERE_MAX) {
		in->read_here++;
		read_file_job(slot);
	} else {
		par_submit(in->par, read_file_job, slot);
	}
}

static int add_item(struct ingest *in, const struct windex_item *item, struct shared_fd *at,
	size_t depth, struct err *err)
{
	struct slot *slot = new_slot(in, SLOT_ENTRY, 0, err);

	if (!slot)
		return -(int)err->code;
	slot->record = item->record;
	slot->override = item->record.flags & WINDEX_OVERRIDE;
	slot->offset = item->offset;
	slot->at = at;
	memcpy(slot->name, item->name.ptr, item->name.len);
	slot->name[item->name.len] = '\0';
	entry_from_item(&slot->entry, item);
	slot->entry.name = (struct str){ slot->name, item->name.len };
	if (item->record.type == ENTRY_DIR)
		return add_directory(in, slot, item, at, depth, err);
	uint64_t group =
		item->record.flags & WINDEX_LINKED ? scan_group(in->scan, item->record.ino) : 0;
	if (group != item->record.link) {
		slot->record.link = group;
		slot->save = true;
	}
	slot->entry.link = group;
	if (slot->entry.type == ENTRY_LINK)
		return add_link(slot, at);
	if (slot->entry.type == ENTRY_FILE && item->record.flags & WINDEX_UNHASHED) {
		slot->save = false;
		atomic_store(&slot->done, false);
		atomic_fetch_add(&at->refs, 1);
		start_reading(in, slot);
	}
	return 0;
}

static struct windex_reader *reader_at(struct ingest *in, size_t depth)
{
	while (in->n_readers <= depth) {
		mem_grow(&in->readers, &in->cap_readers, in->n_readers);
		windex_reader_init(&in->readers[in->n_readers++], in->scan->index);
	}
	return &in->readers[depth];
}

static int begin_directory(
	struct ingest *in, uint32_t dir, const struct entry *self, struct err *err)
{
	struct slot *slot = new_slot(in, SLOT_BEGIN, dir, err);

	if (!slot)
		return -(int)err->code;
	slot->entry = *self;
	memcpy(slot->name, self->name.ptr, self->name.len);
	slot->entry.name.ptr = slot->name;
	return 0;
}

static int visit_directory(struct ingest *in, uint32_t dir, const struct entry *self,
	struct shared_fd *at, size_t depth, struct err *err)
{
	struct windex_dir *row = windex_dir(in->scan->index, dir);
	struct windex_item item;

	if (depth > DEPTH_MAX)
		return err_set(err, ERR_LIMIT, "directories nested deeper than %d", DEPTH_MAX);
	int r = begin_directory(in, dir, self, err);
	windex_reader_begin(reader_at(in, depth), row->segment);
	while (r >= 0 && row->segment && windex_reader_next(reader_at(in, depth), &item) > 0)
		r = add_item(in, &item, at, depth, err);
	if (r >= 0 && reader_at(in, depth)->damaged)
		r = err_set(err, ERR_SYSTEM, "the new workspace index cannot be read back");
	if (r >= 0 && !new_slot(in, SLOT_END, dir, err))
		r = -(int)err->code;
	return r;
}

/*
 * Visit the root, and store the top object, which contains the root's entry.  The root is the only
 * entry of pseudo-directory 0.
 */
static int visit_root(struct ingest *in, int fd, struct hash *tree, struct err *err)
{
	struct windex_dir *top = windex_dir(in->scan->index, 0);
	struct windex_item item;
	struct entry root;
	int r;

	if (!(top->flags & WINDEX_DIR_DIRTY)) {
		*tree = top->tree;
		return 0;
	}
	windex_reader_begin(reader_at(in, 0), top->segment);
	if (windex_reader_next(reader_at(in, 0), &item) <= 0)
		return err_set(err, ERR_CORRUPT, "the workspace index lost its root");
	entry_from_item(&root, &item);
	root.name = STR("");
	uint32_t id = (uint32_t)item.record.link;
	struct windex_dir *row = windex_dir(in->scan->index, id);
	if (row->flags & (WINDEX_DIR_UNREAD | WINDEX_DIR_GONE))
		return err_set(err, ERR_DENIED, "the top directory cannot be read");
	if (row->flags & WINDEX_DIR_DIRTY) {
		int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);

		if (own < 0)
			return err_errno(err, "open the tree");
		struct shared_fd *at = share_fd(own, &in->path);
		r = visit_directory(in, id, &root, at, 1, err);
		while (r >= 0 && in->count)
			r = retire_slot(in, err);
		release_fd(at);
		if (r < 0)
			return r;
		copy_ended(in, &root);
	} else {
		root.content = row->count ? ENTRY_TREE : ENTRY_EMPTY;
		root.hash = row->tree;
		root.count = row->count;
		root.size = row->size;
		r = treemerge_root(&in->merge, &root, err);
		if (r < 0)
			return r;
	}
	r = treemerge_finish(&in->merge, &root, tree, err);
	top->tree = *tree;
	top->flags &= ~(uint32_t)WINDEX_DIR_DIRTY;
	return r;
}

int ingest_run(
	struct scan *scan, const struct ingest_options *options, struct hash *tree, struct err *err)
{
	struct ingest_progress unused = { 0 };
	struct ingest in = {
		.scan = scan,
		.store = options->store,
		.report = options->report,
		.progress = options->progress ? options->progress : &unused,
		.mapped = options->mapped,
		.path = BUF_INIT,
	};

	if (!(windex_dir(scan->index, 0)->flags & WINDEX_DIR_DIRTY)) {
		*tree = windex_dir(scan->index, 0)->tree;
		return 0;
	}
	in.par = par_new(par_cpus());
	in.ring = mem_zalloc(RING_SIZE * sizeof(*in.ring));
	store_reading_begin(in.store);
	int r = treemerge_init(&in.merge, in.store, options->lower, options->squashed, err);
	if (r >= 0)
		r = visit_root(&in, options->fd, tree, err);
	par_free(in.par); /* waits for jobs that still run after a failure */
	store_reading_end(in.store);
	for (size_t i = 0; i < in.used; i++)
		release_slot(&in.ring[i]);
	for (size_t i = 0; i < in.n_readers; i++)
		windex_reader_release(&in.readers[i]);
	treemerge_release(&in.merge);
	free(in.readers);
	free(in.ring);
	buf_release(&in.path);
	return r;
}
