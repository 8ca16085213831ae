/*
 * tar - archives in and out.
 *
 * Reading uses libarchive, which is loaded at first use (core/library.h): commands that need no
 * archive do not pay for it.  A build with TAR_STATIC_NONE has no libarchive, and reading fails
 * with ERR_UNSUPPORTED.  Writing uses our own pax writer, since libarchive's loses names of sparse
 * files and times before 1970.
 *
 * Both directions use one struct for a member.  Strings are raw bytes.
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

/* A run of data in a sparse file; the rest up to size is holes. */
struct tar_extent {
	uint64_t offset, length;
};

struct tar_member {
	struct str path; /* as in the archive, unchecked */
	struct str link; /* symlink target, or path of an earlier member for hard links */
	bool hardlink;   /* link is a hard link; type then does not matter */
	mode_t mode;     /* type and permission bits */
	uint32_t uid, gid;
	int64_t mtime; /* ns since the epoch */
	/* reading: the archive's time is out of range; mtime is the nearest one */
	bool mtime_clamped;
	uint64_t size;
	uint32_t major, minor;
	const struct tar_xattr *xattrs;
	size_t n_xattrs; /* includes system.posix_acl_* and security.capability */
	const struct tar_extent *extents;
	size_t n_extents; /* 0 = not sparse */
	bool sparse;
};

struct tar_reader;
/* Plain, gz, xz, zst or bz2, recognised by content; fd is borrowed and read from its position. */
struct tar_reader *tar_reader_open(int fd, struct err *err);
/* 1 and the next member (valid until the next call), 0 at the end, negative on damage. */
int tar_reader_next(struct tar_reader *tar, struct tar_member *member, struct err *err);
/*
 * The next run of the member's data: 1 with bytes/len at offset (gaps are holes), 0 at its end.
 * The bytes live until the next call.
 */
int tar_reader_data(
	struct tar_reader *tar, const void **bytes, size_t *len, uint64_t *offset, struct err *err);
void tar_reader_close(struct tar_reader *tar);
void tar_reader_closep(struct tar_reader **tar);
/* Name and version of the library; NULL and err when it cannot be loaded. */
const char *tar_reader_library(struct err *err);

struct tar_writer;
/* Always pax with ns mtimes, xattrs (SCHILY.xattr), sparse maps; uncompressed. */
struct tar_writer *tar_writer_open(int fd, struct err *err);
int tar_writer_member(struct tar_writer *tar, const struct tar_member *member, struct err *err);
/* Data of the current member: exactly its size, or for sparse ones the extents in order. */
int tar_writer_data(struct tar_writer *tar, const void *bytes, size_t len, struct err *err);
int tar_writer_finish(struct tar_writer *tar, struct err *err); /* end marker; then close */
void tar_writer_close(struct tar_writer *tar);
void tar_writer_closep(struct tar_writer **tar);
