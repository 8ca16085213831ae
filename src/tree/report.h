/*
 * report - the list of files that could not be read or written as they should be.
 *
 * A file that cannot be read never stops a capture.  The file is noted here, and the command
 * reports it at the end.  The counts are complete, but the list has a limit.  Several threads may
 * add files at the same time.
 */
#pragma once
#include <pthread.h>
#include <stdint.h>

#include "core/str.h"

enum report_kind {
	/* a file or directory could not be read; it is recorded without content */
	REPORT_UNREADABLE,
	/* the file was listed, but did not exist any more when it was to be read */
	REPORT_VANISHED,
	REPORT_CHANGING,   /* the file changed during each attempt to read it */
	REPORT_UNRESTORED, /* this machine cannot restore the file or one of its attributes */
	REPORT_DAMAGED,    /* the content of the file in the store is damaged */
	/*
	 * an attribute, such as an owner or a device, is only in the history, since this machine
	 * cannot set it
	 */
	REPORT_LOGICAL,
	/* a directory was not entered: it is a mount point or the environment itself */
	REPORT_LEFT_OUT,
	REPORT_REFUSED,    /* a member of an archive was left out, since no tree can contain it */
	REPORT_ALTERED,    /* a file was stored with a change, since its time was out of range */
	REPORT_UNREMOVED,  /* a name could not be removed from a tree that was to be emptied */
	REPORT_UNSEARCHED, /* some lines of the file were not searched */
	REPORT_MAPPED, /* the file is unchanged, but a program has it mapped and may write to it */
	REPORT_COMPLETED, /* an interrupted operation was completed first; the path is empty */
	REPORT_KINDS,
};

#define REPORT_LIST_MAX 1000

struct report_item {
	enum report_kind kind;
	struct str path; /* raw bytes, relative to the root of the tree; "" is the root */
	char *what;      /* the reason, as a fragment without a capital letter and a full stop */
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
/* Add all counts and items of *from to *report. */
void report_merge(struct report *report, const struct report *from);
const char *report_kind_name(enum report_kind kind); /* for example "unreadable" */
