/* restore_priv - declarations for the source files that make and carry out a plan. */
#pragma once
#include <signal.h>
#include <sys/types.h>
#include <time.h>

#include "core/buf.h"
#include "trace/undo/restore.h"

/* A directory in which a restore has changed names. */
struct restore_touched {
	char *dir;     /* path relative to the root; "." stands for the root itself */
	uint32_t mode; /* the mode that the directory gets when the restore ends */
	bool loosened; /* the directory has more permissions than 'mode' until the restore ends */
	bool timed;    /* the directory existed before the restore, and 'mtime' is its old time */
	struct timespec mtime;
};

#define RESTORE_TEMP 64 /* size of a temporary name, with the NUL */
#define RESTORE_HELD 16

struct restore_made;

/* Files and directories that have to be synced. */
struct restore_sync {
	size_t count;
	int held[RESTORE_HELD]; /* descriptors of the first files and directories */
	struct restore_system {
		uint64_t dev;
		int fd; /* descriptor of any file on this file system */
	} * systems;    /* file systems of the other files and directories */
	size_t n_systems, cap_systems;
};

struct restore_priv {
	struct arena arena;
	/* The directory that was opened last: its path and its descriptor. */
	struct buf dir;
	int dirfd;
	bool planning;      /* no directory has been made yet, so 'missing' is valid */
	struct str missing; /* path of a directory that does not exist */
	struct restore_touched *touched;
	size_t n_touched, cap_touched;
	uint32_t *slots; /* hash table of directories; values are indexes in 'touched', plus 1 */
	size_t n_slots;  /* a power of two */
	unsigned temp;
	uint64_t done;
	/* Files that still have temporary names. */
	struct restore_made *made;
	size_t n_made, cap_made;
	uint64_t made_bytes;
	struct restore_sync sync;
	/*
	 * signals that would end this process; they are blocked, and the restore checks for them
	 * between two steps
	 */
	sigset_t ends;
};

/* --- restore_see.c --- */

/*
 * Open the directory that contains a path.  Returns its descriptor, which is valid until the next
 * call, or a negative error.  *name is set to the last name in the path.
 */
int restore_see_parent(
	struct restore *restore, struct str path, const char **name, struct err *err);
/* Close the directory that was opened last, since it may have been removed or replaced. */
void restore_see_forget(struct restore *restore);
/* Read the present state of a file's path into *seen. */
int restore_see(struct restore *restore, const struct bundle_file *file, struct restore_seen *seen,
	struct err *err);
/*
 * Compare the present state of a path with a state in the bundle.  Returns 1 if type and content
 * are the same, 0 if they differ, or a negative error.
 */
int restore_see_matches(struct restore *restore, const struct bundle_file *file,
	enum bundle_side side, struct restore_seen *seen, struct err *err);
/*
 * Whether a time equals the recorded time of a state.  The times are compared with the precision of
 * the bundle.
 */
bool restore_see_same_time(const struct bundle_state *state, int64_t mtime);

/* --- restore_plan.c --- */

/* Returns the step of a path, or NULL if there is none. */
struct restore_step *restore_plan_find(const struct restore *restore, struct str path);
/* Whether the step makes a file that is not a directory. */
bool restore_plan_makes(const struct restore_step *step);
/*
 * Skip the path of a step after the error 'why'.  Returns a negative error if 'why' would also
 * occur with every other path.
 */
int restore_plan_fail(
	struct restore *restore, struct restore_step *step, const struct err *why, struct err *err);

/* --- restore_move.c --- */

/* Plan the renames of things without a record.  To be called after the steps have been planned. */
int restore_move_plan(struct restore *restore, struct err *err);
/* Whether the file at this path is going to be renamed away. */
bool restore_move_leaves(const struct restore *restore, struct str path);
/* Whether any file below this directory is going to be renamed away. */
bool restore_move_leaves_from(const struct restore *restore, struct str directory);
/*
 * Carry out one rename.  If 'exchange' is set, the thing is exchanged with the thing that is in its
 * place.  Returns 1 on success, 0 if the place is taken, or a negative error.
 */
int restore_move_apply(
	struct restore *restore, struct restore_move *move, bool exchange, struct err *err);

/* --- restore_dir.c --- */

/* Write a new temporary name into 'out'. */
void restore_dir_temp(struct restore *restore, char out[RESTORE_TEMP]);
/* Whether this is a temporary name that a killed restore has left. */
bool restore_dir_is_leftover(const char *name);
/* Read the marks that killed restores have left, and remove their temporary files. */
void restore_dir_take_over(struct restore *restore);
/*
 * Whether the directory 'name' in 'dir' has the mark of a restore that was killed before it had
 * finished that directory.
 */
bool restore_dir_is_marked(int dir, const char *name);
void restore_dir_unmark(int dir, const char *name);
/*
 * Open the directory that contains a path, in order to change names in it.  Missing directories are
 * made.  The result and *name are those of restore_see_parent.
 */
int restore_dir_enter(struct restore *restore, struct str path, const char **name, struct err *err);
/* Like restore_dir_enter, but fails if the directory is missing. */
int restore_dir_enter_old(
	struct restore *restore, struct str path, const char **name, struct err *err);
/*
 * Make a directory with the mode of the state 'want'.  If 'want' is NULL or has no mode, the mode
 * is 'usual'.  Returns 0 or -errno.
 */
int restore_dir_make(struct restore *restore, int dir, const char *name,
	const struct bundle_state *want, mode_t usual);
/*
 * Set the modes and times of all directories that were entered.  'early' is set if the restore was
 * broken off.
 */
void restore_dir_finish(struct restore *restore, bool early);

/* --- restore_attr.c --- */

/* Give the file 'name' in the directory dir the attributes of the wanted state. */
int restore_attr_set(struct restore *restore, const struct restore_step *step, int dir,
	const char *name, struct err *err);
/* Set only the mtime of the file 'name' in the directory dir. */
int restore_attr_time(int dir, const char *name, const struct bundle_state *want, struct err *err);

/* --- restore_make.c --- */

/* Check that the path is still in the state that the plan found.  Returns ERR_BUSY if it is not. */
int restore_make_check(const struct restore *restore, const struct restore_step *step, int dir,
	const char *name, struct err *err);
int restore_make_dir(struct restore *restore, struct restore_step *step, struct err *err);
/* Make a file that is not a directory, under a temporary name. */
int restore_make(struct restore *restore, struct restore_step *step, struct err *err);
/* Whether restore_make_finish should be called, since many files have temporary names. */
bool restore_make_is_much(const struct restore *restore);
/*
 * Sync all files with temporary names, and rename them into place.  The function 'report' is called
 * for each file, with the error of the rename in 'why', or with NULL if the rename succeeded.
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
