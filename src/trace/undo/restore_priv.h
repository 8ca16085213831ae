/*
 * restore_priv - declarations that planning and applying share.
 */
#pragma once
#include <signal.h>
#include <sys/types.h>
#include <time.h>

#include "core/buf.h"
#include "trace/undo/restore.h"

/* A directory in which something was changed. */
struct restore_touched {
	char *dir;     /* relative to root, "." for root itself */
	uint32_t mode; /* mode to be set at the end */
	bool loosened; /* until then the directory has more permissions than mode */
	bool timed;    /* the directory existed before, and mtime is its old time */
	struct timespec mtime;
};

#define RESTORE_TEMP 64 /* bytes of a temporary name */
#define RESTORE_HELD 16

struct restore_made;

/* Files and directories that have to be synced. */
struct restore_sync {
	size_t count;
	int held[RESTORE_HELD]; /* descriptors of the first files and directories */
	struct restore_system {
		uint64_t dev;
		int fd; /* of a file on this file system */
	} * systems;    /* file systems of all others */
	size_t n_systems, cap_systems;
};

struct restore_priv {
	struct arena arena;
	/* The directory opened last: its path and its descriptor. */
	struct buf dir;
	int dirfd;
	bool planning;      /* no directory has been made yet, so missing is still right */
	struct str missing; /* path of a directory that did not exist */
	struct restore_touched *touched;
	size_t n_touched, cap_touched;
	uint32_t *slots; /* hash table by dir: index into touched, plus 1 */
	size_t n_slots;  /* a power of two */
	unsigned temp;
	uint64_t done;
	/* Files that still have a temporary name. */
	struct restore_made *made;
	size_t n_made, cap_made;
	uint64_t made_bytes;
	struct restore_sync sync;
	/* signals that ask us to end; they are blocked, and checked between two steps */
	sigset_t ends;
};

/* --- restore_see.c --- */

/*
 * Open the directory that holds a path.  Returns its descriptor, which is borrowed until the next
 * call, or a negative error.  *name is set to the last name of the path.
 */
int restore_see_parent(
	struct restore *restore, struct str path, const char **name, struct err *err);
/* Close the directory that was opened last, since it may have been removed or replaced. */
void restore_see_forget(struct restore *restore);
/* Read the present state of a file's path. */
int restore_see(struct restore *restore, const struct bundle_file *file, struct restore_seen *seen,
	struct err *err);
/*
 * Returns 1 if the present state has the type and content of a side of the bundle, else 0, or a
 * negative error.
 */
int restore_see_matches(struct restore *restore, const struct bundle_file *file,
	enum bundle_side side, struct restore_seen *seen, struct err *err);
/* Whether a time is the recorded one, with the precision that the bundle has. */
bool restore_see_same_time(const struct bundle_state *state, int64_t mtime);

/* --- restore_plan.c --- */

/* Returns the step of a path, or NULL if there is none. */
struct restore_step *restore_plan_find(const struct restore *restore, struct str path);
/* Whether the step makes a file, link or node; directories do not count. */
bool restore_plan_makes(const struct restore_step *step);
/*
 * Skip the path of a step after the error 'why'.  Returns a negative error if 'why' would stop
 * every other path, too.
 */
int restore_plan_fail(
	struct restore *restore, struct restore_step *step, const struct err *why, struct err *err);

/* --- restore_move.c --- */

/* Plan the renames of things without a record.  This is called after the steps were planned. */
int restore_move_plan(struct restore *restore, struct err *err);
/* Whether this path will be renamed. */
bool restore_move_leaves(const struct restore *restore, struct str path);
/* Whether something below this directory will be renamed. */
bool restore_move_leaves_from(const struct restore *restore, struct str directory);
/*
 * Carry out one rename.  With exchange, the thing is swapped with the one in its place.  Returns 1,
 * or 0 if the place is taken, or a negative error.
 */
int restore_move_apply(
	struct restore *restore, struct restore_move *move, bool exchange, struct err *err);

/* --- restore_dir.c --- */

/* Invent a temporary name. */
void restore_dir_temp(struct restore *restore, char out[RESTORE_TEMP]);
/* Whether this is a temporary name of a restore that was killed. */
bool restore_dir_is_leftover(const char *name);
/* Read the marks that killed restores have left, and remove their temporary files. */
void restore_dir_take_over(struct restore *restore);
/* Whether a restore was killed before the directory was finished. */
bool restore_dir_is_marked(int dir, const char *name);
void restore_dir_unmark(int dir, const char *name);
/*
 * Open the directory of a path for changes, and make directories that are missing.  Returns the
 * same as restore_see_parent.
 */
int restore_dir_enter(struct restore *restore, struct str path, const char **name, struct err *err);
/* Do the same as restore_dir_enter, but fail if a directory is missing. */
int restore_dir_enter_old(
	struct restore *restore, struct str path, const char **name, struct err *err);
/*
 * Make a directory with the mode of want.  'usual' is the mode if want is NULL or has none.
 * Returns 0 or -errno.
 */
int restore_dir_make(struct restore *restore, int dir, const char *name,
	const struct bundle_state *want, mode_t usual);
/*
 * Set modes and times of all directories that were entered.  'early' is set if the restore was cut
 * short.
 */
void restore_dir_finish(struct restore *restore, bool early);

/* --- restore_attr.c --- */

/* Give the file at name the attributes of the wanted state. */
int restore_attr_set(struct restore *restore, const struct restore_step *step, int dir,
	const char *name, struct err *err);
/* Set only the time of the file at name. */
int restore_attr_time(int dir, const char *name, const struct bundle_state *want, struct err *err);

/* --- restore_make.c --- */

/* Returns 0, or ERR_BUSY if the path is no longer as the plan saw it. */
int restore_make_check(const struct restore *restore, const struct restore_step *step, int dir,
	const char *name, struct err *err);
int restore_make_dir(struct restore *restore, struct restore_step *step, struct err *err);
/* Make a file, link or node under a temporary name. */
int restore_make(struct restore *restore, struct restore_step *step, struct err *err);
/*
 * Whether there are so many files with temporary names that restore_make_finish should be called.
 */
bool restore_make_is_much(const struct restore *restore);
/*
 * Sync all files with temporary names, and rename them into place.  report is called for each of
 * them, with the error 'why' if its rename failed, or else with NULL.
 */
int restore_make_finish(struct restore *restore,
	int (*report)(struct restore *restore, struct restore_step *step, const struct err *why,
		struct err *err),
	struct err *err);
/* Remove the files that still have a temporary name. */
void restore_make_discard(struct restore *restore);

/* --- restore_sync.c --- */

/* Have the next restore_sync_all sync this file or directory. */
void restore_sync_note(struct restore *restore, int fd);
int restore_sync_all(struct restore *restore, struct err *err);
void restore_sync_clear(struct restore *restore);
