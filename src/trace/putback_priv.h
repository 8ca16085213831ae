/*
 * putback_priv - what planning and applying share.
 */
#pragma once
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

struct putback_priv {
	struct arena arena;
	/* The directory opened last. */
	struct buf dir;
	int dirfd;
	struct putback_touched *touched;
	size_t n_touched, cap_touched;
	uint32_t *slots; /* by hash of dir: index into touched, plus one */
	size_t n_slots;  /* a power of two */
	unsigned temp;
	uint64_t done;
};

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
/* The directory of a step, ready for changes; what is missing on the way is made. */
int putback_apply_enter(struct putback *putback, const struct putback_step *step, const char **name,
	struct err *err);
struct putback_step *putback_plan_find(const struct putback *putback, struct str path);
