/*
 * workspace - the live tree programs run in, behind one interface.
 *
 * A backend knows how to hold a live tree, how to find out what changed in it,
 * and how to turn it into another tree (backend.h).  The caller holds the workspace's lock
 * for everything but a scratch capture.
 */
#pragma once
#include <stdbool.h>
#include <sys/stat.h>

#include "store/store.h"
#include "tree/ingest.h"
#include "tree/mapped.h"
#include "tree/report.h"
#include "tree/treeapply.h"

#define WORKSPACE_NAME_MAX 63
#define WORKSPACE_WHY_MAX 160

#define WORKSPACE_LOWER_MAX 72

/* Directory that holds the live tree inside the environment, and that of the index files. */
#define WORKSPACE_LIVE_DIR "work"
#define WORKSPACE_INDEX_DIR "index"

struct workspace;

/* What 'init --in-place' makes of the directory. */
enum workspace_in_place {
	WORKSPACE_NEVER,
	WORKSPACE_LIVE,  /* it is the live tree */
	WORKSPACE_BELOW, /* it lies below the live tree and is only read */
};

/* What sort of live tree a backend has. */
struct workspace_kind {
	const char *name; /* of the backend */
	enum workspace_in_place in_place;
	bool mounted;   /* the live tree is only there for programs that run in it */
	bool snapshots; /* create begins with a snapshot of donor, if that is a live tree of ours */
};

const struct workspace_kind *workspace_kind(const char *backend); /* NULL: unknown */

struct workspace_want {
	const char *backend; /* NULL or "auto": the best */
	bool programs;       /* the tree has programs to run */
	bool excludes;       /* some files are to be left out of the history */
	bool in_place;
};
/*
 * The first backend that works here, or the one wanted; *reason gets a text
 * (reason_max bytes) on why it was chosen, or ERR_UNSUPPORTED says why it cannot be.
 */
const struct workspace_kind *workspace_choose(int rootfd, const struct workspace_want *want,
	char *reason, size_t reason_max, struct err *err);
bool workspace_name_ok(const char *name);

/* --- one workspace, from workspace_new to workspace_free --- */

/* Everything in it is borrowed until workspace_free. */
struct workspace_setup {
	const char *name;
	const char *backend;
	int rootfd; /* the environment */
	struct store *store;
	const char *path; /* of a live tree outside the environment: absolute, or ".." from it;
			     NULL: inside */
	uint64_t ino;     /* what path was when the environment was made; 0: not known */
	bool remake;      /* a live tree that is gone may be made again, empty */
	bool scratch;     /* look only: nothing under rootfd is written */
	bool first;       /* create: the first workspace of the environment */
	bool squashed;    /* files cannot be given away: see treemerge.h */
	bool durable;     /* sync live files on apply */
	const char *like; /* create: the workspace it is forked from, or NULL */
	/* create: trees that are likely near to the one wanted, the nearest first. */
	const struct hash *near;
	size_t n_near;
	const char *const *exclude;
	size_t n_exclude;
	struct report *report;
};

/* NULL: there is no such backend. */
struct workspace *workspace_new(const struct workspace_setup *setup, struct err *err);
/* Whether workspace_tend would find something to do now.  NULL is fine. */
bool workspace_free(struct workspace *workspace);

/* Make the live tree: tree, its files cloned from donor (-1: none) where that works. */
int workspace_create(
	struct workspace *workspace, const struct hash *tree, int donor, struct err *err);
/* Open a live tree that is there. */
int workspace_open(struct workspace *workspace, struct err *err);
/* Instead of both: read the directory that will be used in place. */
int workspace_take(struct workspace *workspace, int source, struct hash *tree, struct err *err);
/* Close the files; workspace_open opens them again. */
void workspace_close(struct workspace *workspace);
/* Remove the live tree and all that belongs to it. */
int workspace_destroy(struct workspace *workspace, struct err *err);

/* From now on files can, or cannot, be given away. */
void workspace_squash(struct workspace *workspace, bool squashed);

/* How far the work on a live tree has come. */
struct workspace_counters {
	_Atomic uint64_t scanned; /* entries */
	struct ingest_progress ingested;
	struct treeapply_progress applied;
};
/* Count there from now on; NULL: nowhere. */
void workspace_count(struct workspace *workspace, struct workspace_counters *counters);

/* The live directory, borrowed; -1: there is none, or workspace is NULL. */
int workspace_live(const struct workspace *workspace);
/*
 * Bring the store up to the live tree; *tree names what is there.  inside: the root of programs
 * that run in it; NULL: none do.
 */
int workspace_capture(
	struct workspace *workspace, const int *inside, struct hash *tree, struct err *err);
/*
 * Make the last capture the base of the next one.  Only after everything
 * it stored is durable.
 */
int workspace_settle(struct workspace *workspace, struct err *err);

struct workspace_change {
	const struct hash *from; /* the live tree, just captured */
	const struct hash *to;
	/* Trees that are likely near to that, the nearest first. */
	const struct hash *near;
	size_t n_near;
	bool running_left; /* what ran was killed and may still write for a moment */
};
/* Turn the live tree from one tree into another; *now is what it became. */
int workspace_apply(struct workspace *workspace, const struct workspace_change *change,
	struct hash *now, struct err *err);
/* Later changes are made through fd, where programs see the live tree; an id is shift more there.
 */
void workspace_show(struct workspace *workspace, int fd, uint32_t shift);

/* The overlay a sandbox mounts; paths are relative to the environment, or absolute. */
struct workspace_mount {
	const char *lower[WORKSPACE_LOWER_MAX];
	size_t n_lower; /* topmost first */
	char upper[WORKSPACE_NAME_MAX + 64];
	char work[WORKSPACE_NAME_MAX + 64];
};
/*
 * Strings live as long as the workspace is open.  n_lower is 0 where the live directory itself is
 * what programs see.
 */
int workspace_mount(struct workspace *workspace, struct workspace_mount *mount, struct err *err);

/* A tree that must stay in the store for this workspace, besides HEAD's: 1, or 0 none. */
int workspace_below(struct workspace *workspace, struct hash *tree, struct err *err);
/* Whether a directory below is no more what it was when it was taken: 1, and what it is now. */
int workspace_drift(
	struct workspace *workspace, struct hash *was, struct hash *now, struct err *err);

/* The files of the live tree that programs may have mapped; the caller releases them. */
void workspace_mapped(struct workspace *workspace, const int *inside, struct mapped *mapped);

/*
 * Where nothing runs: free the room that changes since the last capture take (see discard.h).
 * What is left of the live tree is to be captured again.
 */
int workspace_discard(struct workspace *workspace, struct err *err);

/*
 * Where nothing runs, and the last capture, which was settled, found tree: have later
 * captures and forks no longer pay for what has changed so far, if that is worth it.
 */
int workspace_freeze(struct workspace *workspace, const struct hash *tree, struct err *err);

/* --- what lies below the live trees of an environment --- */

/* Look after what lies below the live trees of an environment: see layertend.h. */
int workspace_tend(int rootfd, struct err *err);
/* The same, whoever else is at it, and without layers of trees that the store lacks. */
int workspace_sweep(int rootfd, struct store *store, struct err *err);
/* How many bytes layers may take from now on. */
int workspace_limit_layers(int rootfd, uint64_t bytes, struct err *err);

/*
 * Prove what lies below the live trees of an environment; bad is told of each layer that is not
 * what it was made for.  repair: such a layer is made again before it is next used.
 */
int workspace_prove(const struct workspace_setup *setup, bool repair,
	void (*bad)(void *arg, unsigned layer), void *arg, struct err *err);

struct workspace_usage {
	uint64_t base, layers, layers_limit; /* bytes */
};
/* What lies below the live trees takes on disk. */
int workspace_usage(int rootfd, struct workspace_usage *usage, struct err *err);

/*
 * Remove a directory that lies in an environment in one go, where it is one that can be (a
 * subvolume); false: it must be emptied like any other.
 */
bool workspace_discard_whole(int dirfd, const char *name, const struct statx *stx);
/* Forget what the last capture saw, so that the next reads everything. */
int workspace_forget(int rootfd, const char *name, struct err *err);
/* The tree the saved index describes; false when there is none. */
bool workspace_indexed(int rootfd, const char *name, struct hash *tree);
