/*
 * filestate - the state of a file at one moment, as it is listed in a manifest.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/arena.h"
#include "core/hash.h"
#include "trace/bundle/attrs.h"

/* Where the content is. */
enum filestate_content {
	FILESTATE_UNSAVED,
	FILESTATE_QUEUED,   /* the saver has a job for it, and owns the content members */
	FILESTATE_BLOB,     /* in blobs.parquet, under the key blob */
	FILESTATE_IN_GIT,   /* the repository has the same bytes */
	FILESTATE_DIGESTED, /* not saved, but its digest is known */
	FILESTATE_UNSAVABLE /* the reasons say why */
};

struct record;

struct filestate {
	bool exists;
	uint32_t mode; /* with the type */
	uint32_t uid, gid;
	uint32_t nlink;
	uint64_t rdev, dev, ino;
	uint64_t size;
	int64_t mtime, ctime; /* ns */
	int64_t born;         /* ns; 0: the file system does not know */
	const char *target;
	const struct attr *xattrs; /* sorted, once they have been read */
	size_t n_xattrs;
	/* The next record in the ring of names of this file; NULL: no other name is known. */
	struct record *next_name;
	size_t names_bytes; /* lengths of all paths in the ring */
	enum filestate_content content;
	bool changed; /* not saved, because another process was changing the file */
	bool hashed;  /* sha256 is set */
	struct hash sha256;
	bool blocks_hashed; /* blocks is set, by digest_blocks */
	struct hash blocks;
	const char *blob;
	unsigned parts;   /* rows of the blob, if more than one: KEY, KEY//2, ... */
	uint64_t spooled; /* offset in the spool file, plus 1; 0: not there */
};

/* Fill in a state from stx.  The target of a link is read into the arena.  Returns 0 or -errno. */
int filestate_of(
	const char *path, const struct statx *stx, struct arena *arena, struct filestate *state);
/* Read size and times again from the open file. */
void filestate_again(int fd, struct filestate *state);
/*
 * Whether the open file has the inode and size of the state.  Times may have been set, so they are
 * not compared.
 */
bool filestate_is(int fd, const struct filestate *state);
static inline bool filestate_same_inode(const struct filestate *a, const struct filestate *b)
{
	return a->ino == b->ino && a->dev == b->dev;
}
/* Give a state the content of another one. */
void filestate_share_content(struct filestate *to, const struct filestate *from);
/* Fill in the extended attributes that the path has now. */
void filestate_xattrs(const char *path, struct arena *arena, struct filestate *state);
/* Compare type, mode, owner, size, time, target, device and xattrs, but not content and inode. */
bool filestate_same(const struct filestate *a, const struct filestate *b);
