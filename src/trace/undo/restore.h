/*
 * restore - the page of the room trace/undo, which puts files back as a bundle has them.
 *
 * First a plan is made: every path that the command changed is compared with what is there now.  A
 * path that is already as wanted is left alone.  A path that is as the other side of the bundle has
 * it is replaced.  Anything else was changed later: it is a conflict.  A conflict stops the whole
 * restore unless it is forced, and so does a content that the bundle does not have.
 *
 *	restore_plan.c   decides what to do with each path
 *	restore_see.c    looks at what is there, and compares it with a side of the bundle
 *	restore_move.c   renames things without a record, such as .git, back
 *	restore_apply.c  carries the plan out, in the right order
 *	restore_make.c   makes files under temporary names and renames them into place
 *	restore_attr.c   sets owner, mode, time and extended attributes
 *	restore_dir.c    directories in which something changes, and marks for an interrupted
 *restore restore_sync.c   syncs many files at once
 *
 * There is one thread.
 *
 * Invariants:
 *
 * 1. Nothing is touched before the plan is complete and without conflicts.
 * 2. Everything is below a root that the caller holds, and no link is followed.
 * 3. No reader sees half of a file: it gets its content under a temporary name, and is renamed.
 * 4. A directory that holds files which the bundle does not know is never removed.
 * 5. A restore that was killed is completed by the next one (restore_dir.c says how).
 */
#pragma once
#include "core/arena.h"
#include "trace/bundle/bundle.h"

enum restore_action {
	RESTORE_NOTHING,
	RESTORE_ATTRIBUTES, /* mode, owner, time, extended attributes */
	RESTORE_WRITE,
	RESTORE_MAKE_DIR,
	RESTORE_MAKE_LINK,
	RESTORE_MAKE_NODE,
	RESTORE_DELETE,
	RESTORE_MOVE,     /* rename a thing without a record; reason says from where */
	RESTORE_SKIP,     /* cannot be done, see reason; the rest can */
	RESTORE_CONFLICT, /* changed later; see reason */
	RESTORE_MISSING,  /* the bundle does not have its content; see reason */
};

/* What is at a path now; type BUNDLE_NONE: nothing. */
struct restore_seen {
	enum bundle_type type;
	uint32_t mode, uid, gid;
	uint64_t size, dev, ino, rdev;
	int64_t mtime; /* ns */
	struct str target;
	bool hashed;
	struct hash hash;
	bool marked; /* a directory in which a restore was killed */
};

struct restore_step {
	const struct bundle_file *file;
	enum restore_action action;
	struct restore_seen seen;
	const char *reason; /* NULL: none */
	bool failed;        /* skipped, since something went wrong; see reason */
	bool hollow;        /* fill the file with zeros: the command did not read its content */
	bool with_git;      /* a directory that is removed together with its .git */
	bool made;          /* a directory that has been made */
	bool copied;        /* a new file, although it was another name of one; see reason */
	uint64_t row;       /* of its content in the table */
};

/* A thing without a record that is renamed back, or that is lost: then from is NULL. */
struct restore_move {
	struct restore_step step; /* of the path where it belongs */
	struct bundle_file file;  /* has only the path */
	const struct bundle_file *from;
	uint64_t ino;
	bool done;
};

struct restore_options {
	int root;              /* borrowed */
	enum bundle_side side; /* the state to restore */
	bool elsewhere;        /* root is not the recorded one, so paths may be missing there */
	bool force;
	/*
	 * With force: root is a copy to work in.  Paths that the command only looked at are made
	 * too, and files that the bundle does not know are removed with their directory.
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
	/* Counted by restore_apply. */
	uint64_t restored, deleted, unchanged, skipped, failed;
	struct restore_priv *priv;
};

/* NULL on error.  Conflicts are no error: the caller finds them in the steps. */
struct restore *restore_plan(
	struct bundle *bundle, const struct restore_options *options, struct err *err);
/*
 * Carry the plan out.  ERR_BUSY if there are conflicts, ERR_NOT_FOUND if a content is missing.  An
 * error that meets one path is noted in its step.  An error that would meet all paths, such as a
 * full disk, ends the restore.
 */
int restore_apply(struct restore *restore, struct err *err);
const char *restore_plan_action_name(enum restore_action action);
void restore_plan_free(struct restore *restore);
void restore_plan_freep(struct restore **restore);
