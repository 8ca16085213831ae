/*
 * putback_priv - what planning and applying share.
 */
#pragma once
#include <sys/types.h>
#include <time.h>

#include "core/buf.h"
#include "trace/putback.h"

/* A directory in which something was changed. */
struct putback_touched {
	char *dir;     /* relative to root, "." for itself */
	uint32_t mode; /* it had, or shall have */
	bool loosened; /* and has not now */
	bool timed;    /* it was there: */
	struct timespec mtime;
};

#define PUTBACK_TEMP 64 /* bytes of a temporary name */
#define PUTBACK_HELD 16

struct putback_made;

/* What has to be on the disk. */
struct putback_sync {
	size_t count;
	int held[PUTBACK_HELD]; /* the first */
	struct putback_system {
		uint64_t dev;
		int fd; /* of something on it */
	} * systems;    /* of the others */
	size_t n_systems, cap_systems;
};

struct putback_priv {
	struct arena arena;
	/* The directory opened last. */
	struct buf dir;
	int dirfd;
	bool planning;      /* nothing is made yet: */
	struct str missing; /* the directory that was not found last */
	struct putback_touched *touched;
	size_t n_touched, cap_touched;
	uint32_t *slots; /* by hash of dir: index into touched, plus one */
	size_t n_slots;  /* a power of two */
	unsigned temp;
	uint64_t done;
	/* Files that have no name yet but a temporary one. */
	struct putback_made *made;
	size_t n_made, cap_made;
	uint64_t made_bytes;
	struct putback_sync sync;
};

/* --- putback_plan.c --- */

/* The directory of a path, borrowed until the next call, and its last name. */
int putback_plan_parent(
	struct putback *putback, struct str path, const char **name, struct err *err);
/* Forget the directory opened last: it may be gone, or another. */
void putback_plan_forget(struct putback *putback);
/* What is at a path now. */
int putback_plan_see(struct putback *putback, const struct bundle_file *file,
	struct putback_seen *seen, struct err *err);
/* Whether that has the type and content of a side: 1, 0, negative. */
int putback_plan_matches(struct putback *putback, const struct bundle_file *file,
	enum bundle_side side, struct putback_seen *seen, struct err *err);
struct putback_step *putback_plan_find(const struct putback *putback, struct str path);
/* Something went wrong with one path, which is given up; negative: with all of them. */
int putback_plan_fail(
	struct putback *putback, struct putback_step *step, const struct err *why, struct err *err);

/* --- putback_move.c --- */

/* What has no record: plan to rename it.  After the steps. */
int putback_move_plan(struct putback *putback, struct err *err);
/* Whether it, or something below it, will be renamed from here. */
bool putback_move_leaves(const struct putback *putback, struct str path);
bool putback_move_leaves_from(const struct putback *putback, struct str directory);
/*
 * Rename it; exchange: with what is there, which then is where this one was.  1, 0 when something
 * is there, negative.
 */
int putback_move_apply(
	struct putback *putback, struct putback_move *move, bool exchange, struct err *err);

/* --- putback_dir.c --- */

void putback_dir_temp(struct putback *putback, char out[PUTBACK_TEMP]);
/* Whether it is a temporary name of a restore that was killed. */
bool putback_dir_is_left(const char *name);
/* What restores that were killed have left in the directories of all steps. */
void putback_dir_take_over(struct putback *putback);
/* Whether a restore was killed before the directory was what it shall be. */
bool putback_dir_is_marked(int dir, const char *name);
void putback_dir_unmark(int dir, const char *name);
/* The directory of a step, ready for changes; what is missing on the way is made. */
int putback_dir_enter(struct putback *putback, const struct putback_step *step, const char **name,
	struct err *err);
int putback_dir_enter_old(struct putback *putback, const struct putback_step *step,
	const char **name, struct err *err);
/* Make one; usual: its mode where want, which may be NULL, says none.  0 or -errno. */
int putback_dir_make(struct putback *putback, int dir, const char *name,
	const struct bundle_state *want, mode_t usual);
/* Modes and times of all that were entered; early: and of no others. */
void putback_dir_settle(struct putback *putback, bool early);

/* --- putback_attr.c --- */

int putback_attr_set(struct putback *putback, const struct putback_step *step, int dir,
	const char *name, struct err *err);
int putback_attr_time(int dir, const char *name, const struct bundle_state *want, struct err *err);

/* --- putback_make.c --- */

/* Whether what is there is still what the plan saw; and to say that it is not. */
bool putback_make_is_as_seen(
	const struct putback *putback, const struct putback_step *step, int dir, const char *name);
int putback_make_meanwhile(struct err *err);
int putback_make_dir(struct putback *putback, struct putback_step *step, struct err *err);
/* Make a file, link or node under a temporary name. */
int putback_make(struct putback *putback, struct putback_step *step, struct err *err);
/* Whether so much was made that it should get its names. */
bool putback_make_is_much(const struct putback *putback);
/* Sync what was made and give it its names; tell is told of each, with why one has none. */
int putback_make_finish(struct putback *putback,
	int (*tell)(struct putback *putback, struct putback_step *step, const struct err *why,
		struct err *err),
	struct err *err);
void putback_make_discard(struct putback *putback);

/* --- putback_sync.c --- */

/* The file or directory is to be on the disk by putback_sync_all. */
void putback_sync_note(struct putback *putback, int fd);
int putback_sync_all(struct putback *putback, struct err *err);
void putback_sync_clear(struct putback *putback);
