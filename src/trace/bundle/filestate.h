/* filestate - the state of a file at one moment, in the form that a manifest lists. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/arena.h"
#include "core/hash.h"
#include "trace/bundle/attrs.h"

/* Where the content of the state is saved. */
enum filestate_content {
	FILESTATE_UNSAVED,
	/*
	 * to be saved by a job of the saver, which owns the members about the content until the job
	 * is done
	 */
	FILESTATE_QUEUED,
	FILESTATE_BLOB,     /* in blobs.parquet, under the key 'blob' */
	FILESTATE_IN_GIT,   /* in a git repository, which has the same bytes */
	FILESTATE_DIGESTED, /* not saved, but the digest of the content is known */
	FILESTATE_UNSAVABLE /* saving failed, and the reasons of the trace say why */
};

struct record;

struct filestate {
	bool exists;
	uint32_t mode; /* permissions and file type */
	uint32_t uid, gid;
	uint32_t nlink;
	uint64_t rdev, dev, ino;
	uint64_t size;
	int64_t mtime, ctime; /* in nanoseconds */
	int64_t born;         /* in nanoseconds; 0: the file system does not record it */
	const char *target;
	const struct attr *xattrs; /* sorted by name; empty until they are read */
	size_t n_xattrs;
	/*
	 * The records of all known names of a file form a ring.  next_name is the next record in
	 * the ring, or NULL if the file has no other known name.
	 */
	struct record *next_name;
	size_t names_bytes; /* sum of the lengths of all paths in the ring */
	enum filestate_content content;
	bool changed; /* the content is not saved, because another process was changing the file */
	bool hashed;  /* sha256 is set */
	struct hash sha256;
	bool blocks_hashed; /* 'blocks' is set to the result of digest_blocks */
	struct hash blocks;
	const char *blob;
	/*
	 * number of rows of the table that hold the content, if there are several; their keys are
	 * 'blob', then 'blob' with "//2" behind it, and so on
	 */
	unsigned parts;
	uint64_t spooled; /* offset of the content in the spool file, plus 1; 0: not in that file */
};

/*
 * Fill in a state from the result of statx(2).  The target of a symbolic link is read into the
 * arena.  Returns 0 or -errno.
 */
int filestate_of(
	const char *path, const struct statx *stx, struct arena *arena, struct filestate *state);
/* Read the size and the times of the open file into the state again. */
void filestate_again(int fd, struct filestate *state);
/*
 * Whether the open file has the inode and the size that are in the state.  The times are not
 * compared, since the command may have set them.
 */
bool filestate_is(int fd, const struct filestate *state);
static inline bool filestate_same_inode(const struct filestate *a, const struct filestate *b)
{
	return a->ino == b->ino && a->dev == b->dev;
}
/* Make the state 'to' refer to the content that was saved for the state 'from'. */
void filestate_share_content(struct filestate *to, const struct filestate *from);
/* Read the present extended attributes of the path into a state. */
void filestate_xattrs(const char *path, struct arena *arena, struct filestate *state);
/*
 * Whether two states have the same type, mode, owner, size, time, target, device and extended
 * attributes.  Contents and inodes are not compared.
 */
bool filestate_same(const struct filestate *a, const struct filestate *b);
