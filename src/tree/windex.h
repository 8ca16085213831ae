/*
 * windex - the workspace index: the result of a scan, so that the next one reads only what changed.
 *
 * The index is a cache in the machine's own layout.  Losing it costs time, never data: an
 * incomplete file counts as absent.  It is not synced.  After a reboot its checksum is verified
 * first, since a power cut may have torn it.  Within one boot it is trusted like the page cache it
 * comes from.
 *
 *	header     struct windex_header
 *	segments   each: length, next (offset of the directory's next segment, 0 = last), records
 *	rows       struct windex_dir, one per directory, by id
 *
 * A record is a struct windex_record, then, depending on its flags, a hash of the extended
 * attributes and a struct windex_override, then the name, padded to 8.  Directory 0 is a
 * pseudo-directory that holds the root under an empty name.  Parents have smaller ids than their
 * children.
 *
 * A file is unchanged when its inode, size, mtime and ctime are as recorded and the ctime is older
 * than the scan that recorded it: a later change would have a later ctime (git's racy rule).
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/err.h"
#include "tree/entry.h"

#define WINDEX_REGION ((size_t)256 << 10) /* the longest segment */
#define WINDEX_NO_DIR UINT32_MAX

enum windex_flags {
	WINDEX_XATTRS = 1 << 0,   /* a hash of extended attributes follows */
	WINDEX_OVERRIDE = 1 << 1, /* a struct windex_override follows */
	WINDEX_LINKED = 1 << 2,   /* had more than one name during the scan */
	WINDEX_UNHASHED = 1 << 3, /* content must be read before the record is used */
	/* In a layer: the entry hides no hard links of the tree below. */
	WINDEX_NO_LINKS = 1 << 4,
};

struct windex_record {
	uint16_t name_len;
	uint8_t type;    /* enum entry_type, as found */
	uint8_t content; /* enum entry_content; valid unless UNHASHED */
	uint16_t flags;
	uint16_t mode; /* mode, uid, gid: as found */
	uint32_t uid, gid, mtime_nsec, ctime_nsec;
	int64_t mtime_sec, ctime_sec;
	uint64_t ino;
	uint64_t size;    /* devices: major << 32 | minor */
	uint64_t link;    /* directories: id of the directory; else the link group */
	struct hash hash; /* files: content */
};

/*
 * Attributes of the history that this machine could not express: an owner we may not set, a bit or
 * attribute that was not accepted, or a device node or unread file, replaced by an empty file.
 * Kept until the file itself is changed.
 */
struct windex_override {
	uint8_t type;
	uint8_t unread; /* content was never known: an empty file stands in for it */
	uint16_t mode;
	uint32_t uid, gid, major, minor, pad;
	uint64_t size;            /* with unread: the size at the time of the capture */
	struct hash found_xattrs; /* as found on disk; the record has the wanted hash */
};

enum windex_dir_flags {
	WINDEX_DIR_DIRTY = 1 << 0,  /* tree must be built again */
	WINDEX_DIR_GONE = 1 << 1,   /* vanished or replaced during the scan */
	WINDEX_DIR_UNREAD = 1 << 2, /* could not be read */
	/* An empty directory that stands in for an unread one, and still counts as unread. */
	WINDEX_DIR_STAND_IN = 1 << 3,
	/* Only during a scan: its tree has changed and is already known. */
	WINDEX_DIR_ADOPTED = 1 << 4,
	/* In a layer: it hides hard links, so each capture looks at it (treemerge.h). */
	WINDEX_DIR_LOST = 1 << 5,
	/* Some of its names could not be looked at, so each scan lists it again. */
	WINDEX_DIR_PARTIAL = 1 << 6,
};

struct windex_dir {
	uint64_t segment; /* offset of the first segment, 0: no entries */
	uint32_t parent, flags;
	uint64_t count; /* count, size and tree as in struct entry */
	uint64_t size;
	struct hash tree;
};

struct windex;

/* A new index, written to fd, which is taken over. */
struct windex *windex_new_take(int fd, int64_t stamp);
/* Open a saved index; NULL when there is none to be trusted, which is no error: it is a cache. */
struct windex *windex_open(int dirfd, const char *name);
void windex_close(struct windex *index);
void windex_closep(struct windex **index);

/* The time (ns) when the scan began; see the racy rule. */
int64_t windex_stamp(const struct windex *index);
uint32_t windex_dirs(const struct windex *index);
/* Rows of a new index, for any thread; addresses are stable.  A new row has only its parent. */
uint32_t windex_add_dir(struct windex *index, uint32_t parent);
struct windex_dir *windex_dir(struct windex *index, uint32_t id);
/* A row of a saved index: false when out of range or unreadable. */
bool windex_get_dir(struct windex *index, uint32_t id, struct windex_dir *dir);

/* Complete a new index with rows and header, and rename its file from temp to name. */
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
/* Write out the rest; negative errno on failure. */
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
/* 1 a record, 0 no more.  reader->damaged: the rest cannot be read. */
int windex_reader_next(struct windex_reader *reader, struct windex_item *item);

/* Overwrite a record in place, with the same name and the same parts after it; negative errno. */
int windex_set_record(struct windex *index, uint64_t offset, const struct windex_record *record);
