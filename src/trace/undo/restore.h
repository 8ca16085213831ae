/*
 * restore - restores files from a bundle.  This header describes the folder trace/undo.
 *
 * First a plan is made.  For every path that the command changed, the present state is compared
 * with the two states in the bundle.  One of these two is the wanted state.  A path in the wanted
 * state is left alone.  A path in the other state is replaced.  A path in any other state was
 * changed later, which is a conflict.
 *
 * A conflict stops the whole restore, unless the restore is forced.  If the bundle lacks a content
 * that is needed, no restore is possible, even if forced.
 *
 *	restore_plan.c   decides what to do with each path
 *	restore_see.c    reads the present state of a path, and compares it with the bundle
 *	restore_move.c   renames .git and other things (see below) back
 *	restore_apply.c  carries the plan out, in the right order
 *	restore_make.c   makes files under temporary names and renames them into place
 *	restore_attr.c   sets owner, mode, time and extended attributes
 *	restore_dir.c    enters directories, and marks them in case the restore is killed
 *	restore_sync.c   syncs many files at once
 *
 * A "thing" is a file or directory that has no record and was moved or removed.
 *
 * There is one thread.
 *
 * Invariants:
 *
 * 1. Nothing is touched before the plan is complete and without conflicts.
 * 2. All paths are below the root that the caller has opened, and no link is followed.
 * 3. No reader sees half of a file: a file is written under a temporary name, then renamed.
 * 4. A directory is removed only if the bundle lists all files in it.  The exceptions are a .git in
 *    a directory that the command made (with_git), and a restore for another run (fresh).
 * 5. A restore that was killed is completed by the next restore (see restore_dir.c).
 */
#pragma once
#include "core/arena.h"
#include "trace/bundle/bundle.h"

enum restore_action {
	RESTORE_NOTHING,
	RESTORE_ATTRIBUTES, /* set only the mode, the owner, the time and the extended attributes */
	RESTORE_WRITE,
	RESTORE_MAKE_DIR,
	RESTORE_MAKE_LINK,
	RESTORE_MAKE_NODE,
	RESTORE_DELETE,
	/* rename a thing back to its old place; 'reason' names the present place */
	RESTORE_MOVE,
	RESTORE_SKIP,     /* do not restore this path, for the reason in 'reason' */
	RESTORE_CONFLICT, /* the path was changed after the command; see 'reason' */
	RESTORE_MISSING,  /* the bundle lacks the content; see 'reason' */
};

/* The present state of a path.  If no file is at the path, type is BUNDLE_NONE. */
struct restore_seen {
	enum bundle_type type;
	uint32_t mode, uid, gid;
	uint64_t size, dev, ino, rdev;
	int64_t mtime; /* in nanoseconds */
	struct str target;
	bool hashed;
	struct hash hash;
	/* the path is a directory that a killed restore has not finished (restore_dir.c) */
	bool marked;
};

struct restore_step {
	const struct bundle_file *file;
	enum restore_action action;
	struct restore_seen seen;
	const char *reason; /* a text for the user; NULL: there is none */
	bool failed;        /* the path is skipped because of the error in 'reason' */
	bool hollow;   /* fill the file with zeros, since the command did not read its content */
	bool with_git; /* the directory is removed together with the .git in it */
	bool made;     /* this restore has made the directory */
	bool copied;   /* the file should be a hard link but is made as a copy; see 'reason' */
	/*
	 * the command found a newer file here, and the bundle does not have that file; see 'reason'
	 */
	bool outdated;
	uint64_t row; /* number of the row of blobs.parquet that has the content */
};

/*
 * The rename of a thing, such as .git, back to its place in the wanted state.  'from' is NULL if
 * the thing is lost.
 */
struct restore_move {
	struct restore_step step; /* the step for the path to which the thing is renamed */
	struct bundle_file file;  /* the file of 'step'; only its path is set */
	const struct bundle_file *from;
	uint64_t ino;
	bool done;
};

struct restore_options {
	int root;              /* descriptor of the root directory, borrowed */
	enum bundle_side side; /* the state that is to be restored */
	/* 'root' is not the root directory that the command had, so paths may be missing */
	bool elsewhere;
	bool force;
	/*
	 * 'root' is a copy of the files, in which the command will run again.  'force' must also be
	 * set.  Paths that the command only read or asked about are restored, too.  If a directory
	 * has to be removed, all files in it are removed.
	 */
	bool fresh;
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *arg;
};

struct restore {
	struct bundle *bundle; /* borrowed */
	struct restore_options options;
	struct restore_step *steps; /* sorted by path */
	size_t n_steps;
	struct restore_move *moves;
	size_t n_moves;
	size_t conflicts, missing;
	/* Numbers of paths.  restore_apply counts them. */
	uint64_t restored, deleted, unchanged, skipped, failed;
	struct restore_priv *priv;
};

/*
 * Make the plan of a restore, without changing any file.  Returns NULL on error.  A conflict is not
 * an error.  The caller finds conflicts in the steps.
 */
struct restore *restore_plan(
	struct bundle *bundle, const struct restore_options *options, struct err *err);
/*
 * Carry out the plan.  Returns ERR_BUSY if there are conflicts, and ERR_NOT_FOUND if a content is
 * missing.  An error with one path is noted in the step of the path, and the restore goes on.  An
 * error that would also occur with every other path, such as a full disk, ends the restore.
 */
int restore_apply(struct restore *restore, struct err *err);
const char *restore_plan_action_name(enum restore_action action);
void restore_plan_freep(struct restore **restore);
