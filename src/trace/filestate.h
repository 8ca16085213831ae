/*
 * filestate - what a file is like at one moment, as a manifest tells it.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/arena.h"
#include "core/hash.h"
#include "trace/attrs.h"

/* Where the content is. */
enum filestate_content {
	FILESTATE_UNSAVED,
	FILESTATE_QUEUED,   /* the saver has it in hand: nothing below belongs to us */
	FILESTATE_BLOB,     /* in blobs.parquet, by blob */
	FILESTATE_IN_GIT,   /* the repository has it, byte for byte */
	FILESTATE_DIGESTED, /* nowhere, but known by its digest */
	FILESTATE_UNSAVABLE /* said so in the reasons */
};

struct record; /* of trace/recorder.h */

struct filestate {
	bool exists;
	uint32_t mode; /* with the type */
	uint32_t uid, gid;
	uint32_t nlink;
	uint64_t rdev, dev, ino;
	uint64_t size;
	int64_t mtime, ctime; /* ns */
	const char *target;
	const struct attr *xattrs; /* sorted, once asked for */
	size_t n_xattrs;
	/* Another record whose path was the same file then, and so round; NULL: none is known. */
	struct record *next_name;
	size_t names_bytes; /* of all these paths */
	enum filestate_content content;
	bool hashed; /* sha256 is that of the content */
	struct hash sha256;
	bool blocks_hashed; /* blocks is that of the content, as digest_blocks makes it */
	struct hash blocks;
	const char *blob;
	unsigned parts;   /* rows it takes, when more than one: KEY, KEY//2, ... */
	uint64_t spooled; /* where in the spool, from 1; 0: nowhere */
};

/* What stx says; the link's target into the arena. -errno if that cannot be read. */
int filestate_of(
	const char *path, const struct statx *stx, struct arena *arena, struct filestate *state);
/* Size and times as the open file has them now. */
void filestate_again(int fd, struct filestate *state);
/* Whether the open file is the one the state tells of, and as long; times may be set meanwhile. */
bool filestate_is(int fd, const struct filestate *state);
/* The content of one is that of the other, wherever it is kept. */
void filestate_share_content(struct filestate *to, const struct filestate *from);
/* Read the extended attributes that the path has now. */
void filestate_xattrs(const char *path, struct arena *arena, struct filestate *state);
/* Type, mode, owner, size, time, target, device, attributes; not content, not the inode. */
bool filestate_same(const struct filestate *a, const struct filestate *b);
