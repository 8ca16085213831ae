/*
 * windex - the workspace index: the result of a scan.  With the index, the next scan reads only the
 * files that have changed.
 *
 * The index is a cache in the layout of this machine.  A lost index costs time but no data, and an
 * incomplete file counts as absent.  The file is not synced.  After a reboot its checksum is
 * verified first, since a power cut may have torn the file.  Until the next reboot the file is
 * trusted, since it comes from the page cache.
 *
 *	header     struct windex_header
 *	segments   each: length, next (offset of the directory's next segment, 0 = last), records
 *	rows       struct windex_dir, one per directory, by id
 *
 * A record is a struct windex_record, followed by the parts that its flags announce and by the
 * name.  These parts are a hash of the extended attributes and a struct windex_override.  The
 * record is padded to a multiple of 8 bytes.  Directory 0 is a pseudo-directory that contains the
 * root under an empty name.  A parent has a smaller id than its children.
 *
 * A file counts as unchanged if its inode, size, mtime and ctime are as recorded.  The recorded
 * ctime must also be older than the scan that recorded it, so that every change since that scan has
 * given the file another ctime.  (This is git's racy rule.)
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/err.h"
#include "tree/entry.h"

#define WINDEX_REGION ((size_t)256 << 10) /* bytes of the longest segment */
#define WINDEX_NO_DIR UINT32_MAX

enum windex_flags {
	WINDEX_XATTRS = 1 << 0,   /* the record has a hash of extended attributes */
	WINDEX_OVERRIDE = 1 << 1, /* the record has a struct windex_override */
	WINDEX_LINKED = 1 << 2,   /* the file had more than one name at the time of the scan */
	/* the content of the file must be read before the record is used */
	WINDEX_UNHASHED = 1 << 3,
	/* in a layer: the entry hides no hard links of the tree below */
	WINDEX_NO_LINKS = 1 << 4,
};

struct windex_record {
	uint16_t name_len;
	uint8_t type;    /* an enum entry_type: the type of the file on disk */
	uint8_t content; /* an enum entry_content; not valid with WINDEX_UNHASHED */
	uint16_t flags;
	uint16_t mode; /* mode, uid and gid are those on disk */
	uint32_t uid, gid, mtime_nsec, ctime_nsec;
	int64_t mtime_sec, ctime_sec;
	uint64_t ino;
	uint64_t size;    /* for a device: major << 32 | minor */
	uint64_t link;    /* for a directory: its id; for other types: the link group */
	struct hash hash; /* for a file: hash of its content */
};

/*
 * Attributes that the history has but this machine could not set.  Such an attribute may be an
 * owner that this user may not set, or a mode bit or an extended attribute that the file system did
 * not accept.  An override also marks an empty file that stands in for a device node or for a file
 * with unread content.  The override is kept until the file itself is changed.
 */
struct windex_override {
	uint8_t type;
	uint8_t unread; /* the content is not known, and an empty file stands in for it */
	uint16_t mode;
	uint32_t uid, gid, major, minor, pad;
	uint64_t size;            /* if unread: the size at the time of the capture */
	struct hash found_xattrs; /* hash of the xattrs on disk; the record has the wanted hash */
};

enum windex_dir_flags {
	WINDEX_DIR_DIRTY = 1 << 0,  /* the tree of the directory must be built again */
	WINDEX_DIR_GONE = 1 << 1,   /* the directory vanished or was replaced during the scan */
	WINDEX_DIR_UNREAD = 1 << 2, /* the directory could not be read */
	/* an empty directory that stands in for an unread one, and still counts as unread */
	WINDEX_DIR_STAND_IN = 1 << 3,
	/* only during a scan: the tree of the directory has changed but is already known */
	WINDEX_DIR_ADOPTED = 1 << 4,
	/* in a layer: the directory hides hard links, so each capture reads it (treemerge.h) */
	WINDEX_DIR_LOST = 1 << 5,
	/* some names could not be looked at, so each scan lists the directory again */
	WINDEX_DIR_PARTIAL = 1 << 6,
};

struct windex_dir {
	uint64_t segment; /* offset of the first segment, 0: no entries */
	uint32_t parent, flags;
	uint64_t count; /* count, size and tree are those of the directory's entry */
	uint64_t size;
	struct hash tree;
};

struct windex;

/*
 * Make a new index, which is written to fd.  The index becomes the owner of fd.  'stamp' must be
 * the time in ns when the scan began.
 */
struct windex *windex_new_take(int fd, int64_t stamp);
/*
 * Open a saved index.  Returns NULL if there is none that can be trusted.  This is no error, since
 * the index is a cache.
 */
struct windex *windex_open(int dirfd, const char *name);
void windex_close(struct windex *index);
void windex_closep(struct windex **index);

/* Returns the time in ns when the scan began, for the racy rule. */
int64_t windex_stamp(const struct windex *index);
uint32_t windex_dirs(const struct windex *index);
/*
 * Add a row to a new index.  Only the parent of the row is set.  Returns the id of the row.
 * windex_dir returns the address of a row.  The address does not change while the index is open.
 * Any thread may call both functions.
 */
uint32_t windex_add_dir(struct windex *index, uint32_t parent);
struct windex_dir *windex_dir(struct windex *index, uint32_t id);
/*
 * Copy a row of a new or saved index to *dir.  Returns false if id is out of range or the row
 * cannot be read.
 */
bool windex_get_dir(struct windex *index, uint32_t id, struct windex_dir *dir);

/* Write the rows and the header of a new index, and rename its file from 'temp' to 'name'. */
int windex_save(
	struct windex *index, int dirfd, const char *temp, const char *name, struct err *err);

/* ---- writing records: one writer per thread ---- */

struct windex_writer {
	struct windex *index;
	char *region;    /* WINDEX_REGION bytes */
	uint64_t offset; /* offset of the region in the file; 0: none yet */
	size_t used;
	size_t segment; /* start of the open segment in the region */
};

void windex_writer_init(struct windex_writer *writer, struct windex *index);
/* Write out the buffered records.  Returns 0 or a negative errno. */
int windex_writer_finish(struct windex_writer *writer);
int windex_writer_begin(struct windex_writer *writer, uint64_t *segment);
int windex_writer_add(struct windex_writer *writer, const struct windex_record *record,
	const struct hash *xattrs, const struct windex_override *override, struct str name);
void windex_writer_end(struct windex_writer *writer);

/* ---- reading the records of one directory, in name order ---- */

struct windex_item {
	struct windex_record record;
	struct hash xattrs;              /* valid if the record has WINDEX_XATTRS, else no hash */
	struct windex_override override; /* valid if the record has WINDEX_OVERRIDE */
	struct str name;
	uint64_t offset; /* offset of the record in the file */
};

struct windex_reader {
	struct windex *index;
	char *region;
	size_t len; /* bytes of the segment in region */
	size_t at;
	uint64_t offset; /* offset of the segment in the file */
	uint64_t next;
	bool damaged;
};

void windex_reader_init(struct windex_reader *reader, struct windex *index);
void windex_reader_release(struct windex_reader *reader);
void windex_reader_begin(struct windex_reader *reader, uint64_t segment);
/*
 * Read the next record.  Returns 1, or 0 if no record is left or the next one cannot be read.  In
 * the second case reader->damaged is set.
 */
int windex_reader_next(struct windex_reader *reader, struct windex_item *item);

/*
 * Overwrite a record in place.  The name and the other parts behind the record stay, so the flags
 * for these parts must not change.  Returns 0 or a negative errno.
 */
int windex_set_record(struct windex *index, uint64_t offset, const struct windex_record *record);
