/*
 * tar - reads and writes archives.
 *
 * Reading uses libarchive.  The library is loaded at first use (core/library.h), so only commands
 * that read an archive spend time on this.  A build with LIBRARY_NONE has no libarchive, and
 * reading fails with ERR_UNSUPPORTED.  Writing uses our own pax writer, since the writer of
 * libarchive loses names of sparse files and times before 1970.
 *
 * The reader and the writer use the same struct for a member.  Strings are raw bytes.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/err.h"
#include "core/str.h"

struct tar_xattr {
	struct str name, value;
};

/* A run of data in a sparse file.  The rest of the file is holes. */
struct tar_extent {
	uint64_t offset, length;
};

struct tar_member {
	struct str path; /* the path in the archive, unchecked */
	/* target of a symbolic link; for a hard link, the path of an earlier member */
	struct str link;
	bool hardlink; /* a hard link to 'link'; the type in 'mode' has no meaning */
	mode_t mode;   /* type and permission bits */
	uint32_t uid, gid;
	int64_t mtime; /* ns since the epoch */
	/*
	 * set by the reader: the time in the archive is out of range, and mtime is the nearest time
	 * in range
	 */
	bool mtime_clamped;
	uint64_t size;
	uint32_t major, minor;
	const struct tar_xattr *xattrs;
	size_t n_xattrs; /* includes system.posix_acl_* and security.capability */
	const struct tar_extent *extents;
	/* 0 unless the file is sparse; also 0 for a sparse file that is one hole */
	size_t n_extents;
	bool sparse;
};

struct tar_reader;
/*
 * Open an archive, which may be compressed with gzip, xz, zstd or bzip2.  fd is borrowed, and read
 * from its current position.  Returns NULL with err set on failure.
 */
struct tar_reader *tar_reader_open(int fd, struct err *err);
/*
 * Read the next member, which is valid until the next call.  Returns 1, or 0 at the end of the
 * archive, or a negative error.
 */
int tar_reader_next(struct tar_reader *tar, struct tar_member *member, struct err *err);
/*
 * Get the next run of the data of the current member: *len bytes that lie at *offset in the file.
 * The gaps between runs are holes.  Returns 1, or 0 after the last run, or a negative error.  The
 * bytes are valid until the next call.
 */
int tar_reader_data(
	struct tar_reader *tar, const void **bytes, size_t *len, uint64_t *offset, struct err *err);
void tar_reader_close(struct tar_reader *tar);
void tar_reader_closep(struct tar_reader **tar);
/* Returns name and version of libarchive, or NULL with err set if it cannot be loaded. */
const char *tar_reader_library(struct err *err);

struct tar_writer;
/*
 * Begin an archive in fd, which is borrowed.  The format is always pax without compression.  mtimes
 * are exact to the nanosecond, and xattrs (SCHILY.xattr) and holes are kept.
 */
struct tar_writer *tar_writer_open(int fd, struct err *err);
int tar_writer_member(struct tar_writer *tar, const struct tar_member *member, struct err *err);
/*
 * Write data of the current member.  All calls together must write exactly the bytes of the file.
 * For a sparse file, these are the bytes of its extents, in their order.
 */
int tar_writer_data(struct tar_writer *tar, const void *bytes, size_t len, struct err *err);
/* Write the end marker.  After this the writer can only be closed. */
int tar_writer_finish(struct tar_writer *tar, struct err *err);
void tar_writer_close(struct tar_writer *tar);
void tar_writer_closep(struct tar_writer **tar);
