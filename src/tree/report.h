/*
 * report - what did not go as asked while a tree was read or written.
 *
 * A file that cannot be read never stops a capture.  It is noted here, and the command reports it
 * at the end.  Counts are complete, the list is bounded.  Several threads may add at once.
 */
#pragma once
#include <pthread.h>
#include <stdint.h>

#include "core/str.h"

enum report_kind {
	REPORT_UNREADABLE, /* content or directory not readable: recorded without content */
	REPORT_VANISHED,   /* gone between listing and reading */
	REPORT_CHANGING,   /* kept changing while it was read */
	REPORT_UNRESTORED, /* an attribute or file this machine cannot restore */
	REPORT_DAMAGED,    /* its content in the store is damaged */
	/* kept in the history, but this machine cannot express it: an owner, a device */
	REPORT_LOGICAL,
	REPORT_LEFT_OUT,   /* a mount point or the environment itself: not entered */
	REPORT_REFUSED,    /* a member of an archive that no tree can hold */
	REPORT_ALTERED,    /* stored in altered form: a time out of range */
	REPORT_UNREMOVED,  /* could not be removed from a tree that was to be emptied */
	REPORT_UNSEARCHED, /* some of its lines were not searched */
	REPORT_MAPPED,     /* unchanged so far, but a program has it mapped and may store to it */
	REPORT_COMPLETED,  /* an interrupted operation was completed first; no path */
	REPORT_KINDS,
};

#define REPORT_LIST_MAX 1000

struct report_item {
	enum report_kind kind;
	struct str path; /* raw bytes, relative to the tree's root; "" is the root */
	char *what;      /* the reason, as a fragment */
};

struct report {
	pthread_mutex_t lock;
	uint64_t count[REPORT_KINDS];
	struct report_item *items;
	size_t n_items, cap;
};

#define REPORT_INIT                                                                                \
	{                                                                                          \
		.lock = PTHREAD_MUTEX_INITIALIZER                                                  \
	}

void report_release(struct report *report);
void report_add(struct report *report, enum report_kind kind, struct str path, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Add all counts and items of from. */
void report_merge(struct report *report, const struct report *from);
const char *report_kind_name(enum report_kind kind); /* "unreadable" … */
