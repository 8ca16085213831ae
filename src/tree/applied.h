/*
 * applied - what treeapply left of the things it made or changed.
 *
 * The scan after it takes over what it knows of them (scan_adopt.h), and only of them: a thing
 * that somebody else touched meanwhile has another ctime than the one noted here, and is looked at
 * as any other.
 */
#pragma once
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* What could not be made as the tree has it. */
enum applied_lack {
	APPLIED_NO_OWNER = 1,
	APPLIED_NO_MODE = 2,
	APPLIED_NO_XATTRS = 4,
	APPLIED_NO_TYPE = 8, /* an empty file stands in for it */
};

struct applied_thing {
	uint64_t ino;
	int64_t before; /* ctime in ns before the first change; 0: it was made, or is a directory */
	int64_t after;  /* after the last one; 0: somebody else was at it in between */
	uint32_t number; /* in the order in which they were noted */
	unsigned lacks;  /* of enum applied_lack */
};

struct applied {
	struct applied_thing *list;
	size_t n, cap;
	pthread_mutex_t lock;
};

#define APPLIED_INIT                                                                               \
	{                                                                                          \
		.lock = PTHREAD_MUTEX_INITIALIZER                                                  \
	}

int64_t applied_ctime(const struct statx *stx);

/* Note one, which is as now says; before: its ctime when that began, or 0.  By any thread. */
void applied_note(struct applied *applied, const struct statx *now, int64_t before, unsigned lacks);
/* No more will be noted: they can be found from now on. */
void applied_sort(struct applied *applied);
/* The one with that number, or NULL. */
const struct applied_thing *applied_find(const struct applied *applied, uint64_t ino);
void applied_release(struct applied *applied);
