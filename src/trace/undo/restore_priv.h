/*
 * restore_priv - what planning and applying share.
 */
#pragma once
#include <signal.h>
#include <sys/types.h>
#include <time.h>

#include "core/buf.h"
#include "trace/undo/restore.h"

/* A directory in which something was changed. */
struct restore_touched {
	char *dir;     /* relative to root, "." for itself */
	uint32_t mode; /* that it had, or is to have */
	bool loosened; /* the mode is another for now */
	bool timed;    /* the directory was there before, with this time: */
	struct timespec mtime;
};

#define RESTORE_TEMP 64 /* bytes of a temporary name */
#define RESTORE_HELD 16

struct restore_made;

/* What has to be synced. */
struct restore_sync {
	size_t count;
	int held[RESTORE_HELD]; /* the first ones */
	struct restore_system {
		uint64_t dev;
		int fd; /* of a file on it */
	} * systems;    /* file systems of the others */
	size_t n_systems, cap_systems;
};

struct restore_priv {
	struct arena arena;
	/* The directory opened last: its path and its descriptor. */
	struct buf dir;
	int dirfd;
	bool planning;      /* nothing has been made yet, so this holds: */
	struct str missing; /* a directory that does not exist */
	struct restore_touched *touched;
	size_t n_touched, cap_touched;
	uint32_t *slots; /* by hash of dir: index into touched, plus 1 */
	size_t n_slots;  /* a power of two */
	unsigned temp;
	uint64_t done;
	/* Files that have only a temporary name yet. */
	struct restore_made *made;
	size_t n_made, cap_made;
	uint64_t made_bytes;
	struct restore_sync sync;
	sigset_t ends; /* signals that ask us to end, held back between two steps */
};

/* --- restore_see.c --- */

/* Open the directory of a path; borrowed until the next call.  name: the path's last name. */
int restore_see_parent(
	struct restore *restore, struct str path, const char **name, struct err *err);
/* Close the directory opened last: it may be gone, or be another. */
void restore_see_forget(struct restore *restore);
/* What is at a path now. */
int restore_see(struct restore *restore, const struct bundle_file *file, struct restore_seen *seen,
	struct err *err);
/* Whether that has the type and the content of a side: 1, 0, negative. */
int restore_see_matches(struct restore *restore, const struct bundle_file *file,
	enum bundle_side side, struct restore_seen *seen, struct err *err);
/* Whether a time is the recorded one, as exactly as the bundle has it. */
bool restore_see_same_time(const struct bundle_state *state, int64_t mtime);

/* --- restore_plan.c --- */

/* The step of a path; NULL: there is none. */
struct restore_step *restore_plan_find(const struct restore *restore, struct str path);
/* An error met one path: give that path up.  Negative: it would meet all of them. */
int restore_plan_fail(
	struct restore *restore, struct restore_step *step, const struct err *why, struct err *err);

/* --- restore_move.c --- */

/* Plan the renames of things without a record.  Called after the steps are planned. */
int restore_move_plan(struct restore *restore, struct err *err);
/* Whether this path will be renamed. */
bool restore_move_leaves(const struct restore *restore, struct str path);
/* Whether something below this directory will be renamed. */
bool restore_move_leaves_from(const struct restore *restore, struct str directory);
/*
 * Carry out one rename; exchange: swap the path with what is in its place.  Returns 1, 0 if
 * something is in its place, or negative.
 */
int restore_move_apply(
	struct restore *restore, struct restore_move *move, bool exchange, struct err *err);

/* --- restore_dir.c --- */

/* Make up a temporary name. */
void restore_dir_temp(struct restore *restore, char out[RESTORE_TEMP]);
/* Whether this is a temporary name of a restore that was killed. */
bool restore_dir_is_left(const char *name);
/* Clear up what killed restores have left in the directories of all steps. */
void restore_dir_take_over(struct restore *restore);
/* Whether a restore was killed before the directory was finished. */
bool restore_dir_is_marked(int dir, const char *name);
void restore_dir_unmark(int dir, const char *name);
/* Open the directory of a step for changes, and make the directories that are missing. */
int restore_dir_enter(struct restore *restore, const struct restore_step *step, const char **name,
	struct err *err);
/* The same without making any. */
int restore_dir_enter_old(struct restore *restore, const struct restore_step *step,
	const char **name, struct err *err);
/* Make a directory; usual: its mode if want is NULL or has none.  0 or -errno. */
int restore_dir_make(struct restore *restore, int dir, const char *name,
	const struct bundle_state *want, mode_t usual);
/* Set modes and times of all directories that were entered; early: leave the others alone. */
void restore_dir_settle(struct restore *restore, bool early);

/* --- restore_attr.c --- */

/* Give the file at name the attributes of the wanted state. */
int restore_attr_set(struct restore *restore, const struct restore_step *step, int dir,
	const char *name, struct err *err);
/* Set only the time. */
int restore_attr_time(int dir, const char *name, const struct bundle_state *want, struct err *err);

/* --- restore_make.c --- */

/* Whether the path is still as the plan saw it. */
bool restore_make_is_as_seen(
	const struct restore *restore, const struct restore_step *step, int dir, const char *name);
/* The error that says it is not. */
int restore_make_meanwhile(struct err *err);
int restore_make_dir(struct restore *restore, struct restore_step *step, struct err *err);
/* Make a file, link or node under a temporary name. */
int restore_make(struct restore *restore, struct restore_step *step, struct err *err);
/* Whether enough was made to sync it and give it its names. */
bool restore_make_is_much(const struct restore *restore);
/* Sync what was made and give it its names; report is called for each, with the error if any. */
int restore_make_finish(struct restore *restore,
	int (*report)(struct restore *restore, struct restore_step *step, const struct err *why,
		struct err *err),
	struct err *err);
/* Remove what has no name yet. */
void restore_make_discard(struct restore *restore);

/* --- restore_sync.c --- */

/* Have the next restore_sync_all sync this file or directory. */
void restore_sync_note(struct restore *restore, int fd);
int restore_sync_all(struct restore *restore, struct err *err);
void restore_sync_clear(struct restore *restore);
