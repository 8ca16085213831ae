/*
 * applied - the inodes that treeapply made or changed, and how it left them.
 *
 * The next scan takes over the hashes of the tree for these inodes (scan_adopt.h), and for no
 * others.  If another program touched an inode meanwhile, its ctime is not the noted one, and the
 * file is scanned as usual.
 */
#pragma once
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* Attributes that the tree has but this machine did not let us set. */
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
	uint32_t number; /* position in the order in which notes were made */
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
 * Note an inode with its state now.  'before' is its ctime before the change, or 0.  Any thread may
 * call this.
 */
void applied_note(struct applied *applied, const struct statx *now, int64_t before, unsigned lacks);
/* Make the notes searchable.  No note may be added after that. */
void applied_sort(struct applied *applied);
/* Returns the note about an inode, or NULL.  The notes must be sorted. */
const struct applied_inode *applied_find(const struct applied *applied, uint64_t ino);
void applied_release(struct applied *applied);
