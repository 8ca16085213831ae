/*
 * windex - the workspace index: what a scan saw, so that the next one reads
 * only what changed.
 *
 * A cache in the machine's own layout.  Losing it costs time, never data:
 * a file that is not whole counts as absent.  It is not synced; after a reboot its
 * checksum is verified first, since a power cut may have torn it.  Within one boot
 * it is believed, as the page cache it comes from is.
 *
 *	header     struct windex_header
 *	segments   each: length, next (offset of the directory's next segment, 0 = last), records
 *	rows       struct windex_dir, one per directory, by id
 *
 * A record is struct windex_record, then as its flags say a hash of the
 * extended attributes and a struct windex_override, then the name, padded to 8.
 * Directory 0 is a pseudo-directory that holds the root under an empty name; parents
 * have smaller ids than their children.
 *
 * A file is unchanged when its inode, size, mtime and ctime are as recorded
 * and the ctime is older than the scan that recorded it: a later change would
 * have got a later ctime (git's racy rule).
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/err.h"
#include "tree/entry.h"

#define WINDEX_REGION ((size_t)256 << 10) /* a segment is never longer */
#define WINDEX_NO_DIR UINT32_MAX

enum windex_flags {
	WINDEX_XATTRS = 1 << 0,   /* a hash of extended attributes follows */
	WINDEX_OVERRIDE = 1 << 1, /* a struct windex_override follows */
	WINDEX_LINKED = 1 << 2,   /* more than one name at the time of the scan */
	WINDEX_UNHASHED = 1 << 3, /* content must be read before the record is used */
	/* In a layer: what this hides below has no hard links. */
	WINDEX_NO_LINKS = 1 << 4,
};

struct windex_record {
	uint16_t name_len;
	uint8_t type;    /* enum entry_type, as found */
	uint8_t content; /* enum entry_content; valid unless UNHASHED */
	uint16_t flags;
	uint16_t mode; /* mode, uid, gid: as found */
	uint32_t uid;
	uint32_t gid;
	uint32_t mtime_nsec;
	uint32_t ctime_nsec;
	int64_t mtime_sec;
	int64_t ctime_sec;
	uint64_t ino;
	uint64_t size;    /* devices: major << 32 | minor */
	uint64_t link;    /* directories: id of the directory; else the link group */
	struct hash hash; /* files: content */
};

/*
 * What the history says where this machine could not express it: an owner we
 * may not give, a bit or attribute that would not stick, a device node or a
 * file of unknown content, for which an empty file stands in.  Kept until the thing itself is
 * changed.
 */
struct windex_override {
	uint8_t type;
	uint8_t unread; /* a file whose content was never known: an empty one stands in for it */
	uint16_t mode;
	uint32_t uid;
	uint32_t gid;
	uint32_t major;
	uint32_t minor;
	uint32_t pad;
	uint64_t size;            /* with unread: what it said it was */
	struct hash found_xattrs; /* attributes as found; the record's hash is the wanted one */
};

enum windex_dir_flags {
	WINDEX_DIR_DIRTY = 1 << 0,  /* tree must be built again */
	WINDEX_DIR_GONE = 1 << 1,   /* vanished or replaced during the scan */
	WINDEX_DIR_UNREAD = 1 << 2, /* could not be read */
	/* An empty one in place of one that was unread: still counts as that. */
	WINDEX_DIR_STAND_IN = 1 << 3,
	/* Only during a scan: its tree is another than before, and already known. */
	WINDEX_DIR_ADOPTED = 1 << 4,
	/* In a layer: it hides hard links, so it is looked at each time (treemerge.h). */
	WINDEX_DIR_LOST = 1 << 5,
	/* Not all of its names could be looked at: they are listed again each time. */
	WINDEX_DIR_PARTIAL = 1 << 6,
};

struct windex_dir {
	uint64_t segment; /* offset of the first segment, 0: no entries */
	uint32_t parent;
	uint32_t flags;
	uint64_t count; /* entries below, bytes below, top node: as in struct entry */
	uint64_t size;
	struct hash tree;
};

struct windex;

/* A new index, being written to fd (taken over). */
struct windex *windex_new_take(int fd, int64_t stamp);
/* Open a saved one; NULL when there is none that can be trusted (no error: it is a cache). */
struct windex *windex_open(int dirfd, const char *name);
void windex_close(struct windex *index);
void windex_closep(struct windex **index);

/* The scan began at this time (ns); see the racy rule. */
int64_t windex_stamp(const struct windex *index);
uint32_t windex_dirs(const struct windex *index);
/* Rows of a new index; stable addresses, any thread.  A new row is zero but for its parent. */
uint32_t windex_add_dir(struct windex *index, uint32_t parent);
struct windex_dir *windex_dir(struct windex *index, uint32_t id);
/* A row of a saved index: false when out of range or unreadable. */
bool windex_get_dir(struct windex *index, uint32_t id, struct windex_dir *dir);

/* Complete a new index: rows and header.  It can then be saved or read. */
int windex_finish(struct windex *index, struct err *err);
/* Replace dirfd/name by this index (which was made in the same directory with windex_temp). */
int windex_save(
	struct windex *index, int dirfd, const char *temp, const char *name, struct err *err);

/* ---- writing records: one writer per thread ---- */

struct windex_writer {
	struct windex *index;
	char *region;    /* WINDEX_REGION bytes */
	uint64_t offset; /* of the region in the file, 0: none yet */
	size_t used;
	size_t segment; /* start of the open segment in the region */
};

void windex_writer_init(struct windex_writer *writer, struct windex *index);
/* Flushes; negative errno on failure. */
int windex_writer_finish(struct windex_writer *writer);
int windex_writer_begin(struct windex_writer *writer, uint64_t *segment);
int windex_writer_add(struct windex_writer *writer, const struct windex_record *record,
	const struct hash *xattrs, const struct windex_override *override, struct str name);
void windex_writer_end(struct windex_writer *writer);

/* ---- reading the records of one directory, in name order ---- */

struct windex_item {
	struct windex_record record;
	struct hash xattrs;              /* none without WINDEX_XATTRS */
	struct windex_override override; /* valid with WINDEX_OVERRIDE */
	struct str name;
	uint64_t offset; /* of the record in the file */
};

struct windex_reader {
	struct windex *index;
	char *region;
	size_t len; /* bytes of the segment in region */
	size_t at;
	uint64_t offset; /* of the segment */
	uint64_t next;
	bool damaged;
};

void windex_reader_init(struct windex_reader *reader, struct windex *index);
void windex_reader_release(struct windex_reader *reader);
void windex_reader_begin(struct windex_reader *reader, uint64_t segment);
/* 1 a record, 0 no more; with reader->damaged set, what should follow cannot be read. */
int windex_reader_next(struct windex_reader *reader, struct windex_item *item);

/* Write a record back in place (its name and flags for what follows it unchanged); negative errno.
 */
int windex_set_record(struct windex *index, uint64_t offset, const struct windex_record *record);
