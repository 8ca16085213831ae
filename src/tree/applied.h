/*
 * applied - the inodes that treeapply made or changed, and the state in which treeapply left them.
 *
 * For these inodes, and for no others, the next scan takes the hashes from the tree that treeapply
 * wrote (scan_adopt.h).  If another program has changed an inode meanwhile, its ctime differs from
 * the noted one, and the file is scanned as usual.
 */
#pragma once
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* Attributes of an entry that this machine did not let treeapply set. */
enum applied_lack {
	APPLIED_NO_OWNER = 1,
	APPLIED_NO_MODE = 2,
	APPLIED_NO_XATTRS = 4,
	APPLIED_NO_TYPE = 8, /* an empty file stands in for a device */
};

struct applied_inode {
	uint64_t ino;
	/* ctime in ns before the first change; 0: the inode was just made, or is a directory */
	int64_t before;
	/* ctime in ns after the last change; 0: another program changed the inode in between */
	int64_t after;
	uint32_t number; /* position of this note among all notes, in the order of time */
	unsigned lacks;  /* bits of enum applied_lack */
};

struct applied {
	struct applied_inode *list;
	size_t n, cap;
	pthread_mutex_t lock;
};

#define APPLIED_INIT                                                                               \
	{                                                                                          \
		.lock = PTHREAD_MUTEX_INITIALIZER                                                  \
	}

int64_t applied_ctime(const struct statx *stx);

/*
 * Add a note about an inode in its current state.  'before' is the ctime of the inode before the
 * change, or 0.  Any thread may call this function.
 */
void applied_note(struct applied *applied, const struct statx *now, int64_t before, unsigned lacks);
/* Make the notes searchable.  No note may be added after that. */
void applied_sort(struct applied *applied);
/* Returns the note about an inode, or NULL.  The notes must be sorted. */
const struct applied_inode *applied_find(const struct applied *applied, uint64_t ino);
void applied_release(struct applied *applied);
