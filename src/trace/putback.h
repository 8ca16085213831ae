/*
 * putback - files as a bundle has them, put back in place.
 *
 * First a plan: every path that the command changed is compared with what is there now.
 * What is already as it shall be stays; what is as the other side of the bundle has it (after a
 * command that is to be undone, or before one that is to be done again) is replaced;
 * anything else came later, is a conflict, and stops all of it unless forced.  So does
 * a content that the bundle has not got.  Only then is anything touched.
 *
 * Everything is below a root that the caller holds; no link is followed.  A file
 * gets its content under a temporary name and is renamed: no reader sees half of it.
 * A directory that holds files the bundle does not know is never removed.
 *
 * One that was killed is completed by the next: see putback_dir.c for what it leaves.
 */
#pragma once
#include "core/arena.h"
#include "trace/bundle.h"

enum putback_action {
	PUTBACK_NOTHING,
	PUTBACK_ATTRIBUTES, /* mode, owner, time, extended attributes */
	PUTBACK_WRITE,
	PUTBACK_MAKE_DIR,
	PUTBACK_MAKE_LINK,
	PUTBACK_MAKE_NODE,
	PUTBACK_DELETE,
	PUTBACK_MOVE,     /* rename what has no record; see reason for from where */
	PUTBACK_SKIP,     /* cannot be, and the rest can; see reason */
	PUTBACK_CONFLICT, /* changed since; see reason */
	PUTBACK_MISSING,  /* the bundle has not its content; see reason */
};

/* What is at a path now; type BUNDLE_NONE: nothing. */
struct putback_seen {
	enum bundle_type type;
	uint32_t mode, uid, gid;
	uint64_t size, dev, ino, rdev;
	int64_t mtime; /* ns */
	struct str target;
	bool hashed;
	struct hash hash;
	bool marked; /* a directory that a restore was killed in */
};

struct putback_step {
	const struct bundle_file *file;
	enum putback_action action;
	struct putback_seen seen;
	const char *reason; /* NULL where there is none */
	bool failed;        /* skipped, for a reason met on the way */
	bool hollow;        /* write as many zeros: nobody read the content */
	bool with_git;      /* a directory to be removed with the .git in it */
	bool made;          /* a directory that is there now */
	bool copied;        /* made, though it was another name of something; see reason */
	uint64_t row;       /* where its content is */
};

/* What has no record is renamed back, or lost: then from is NULL. */
struct putback_move {
	struct putback_step step; /* of where it shall be */
	struct bundle_file file;  /* its path, no more */
	const struct bundle_file *from;
	uint64_t ino;
	bool done;
};

struct putback_options {
	int root;              /* borrowed */
	enum bundle_side side; /* to be made */
	bool elsewhere;        /* root is not where it was recorded: what is missing there may be */
	bool force;
	/*
	 * With force: root is a copy to work in.  What the command only looked at is made, too, and
	 * what the bundle does not know goes with its directory.
	 */
	bool fresh;
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *arg;
};

struct putback {
	struct bundle *bundle; /* borrowed */
	struct putback_options options;
	struct putback_step *steps; /* sorted by path */
	size_t n_steps;
	struct putback_move *moves;
	size_t n_moves;
	size_t conflicts, missing;
	/* Of putback_apply. */
	uint64_t restored, deleted, unchanged, skipped, failed;
	struct putback_priv *priv;
};

/* NULL on error.  Conflicts are none: the caller sees them in the steps. */
struct putback *putback_plan(
	struct bundle *bundle, const struct putback_options *options, struct err *err);
/*
 * Carry it out.  ERR_BUSY while there are conflicts, ERR_NOT_FOUND while something is missing.
 * What goes wrong with one path is told in its step; what would go wrong with all (a full
 * disk) ends it.
 */
int putback_apply(struct putback *putback, struct err *err);
const char *putback_action_name(enum putback_action action);
void putback_free(struct putback *putback);
void putback_freep(struct putback **putback);
