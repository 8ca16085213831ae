/*
 * workspace - the live tree programs run in, behind one interface.
 *
 * A backend knows how to hold a live tree, how to find out what changed in it,
 * and how to turn it into another tree.  The caller holds the workspace's lock
 * for everything but a scratch capture.
 */
#pragma once
#include <stdbool.h>
#include <sys/stat.h>

#include "store/store.h"
#include "tree/ingest.h"
#include "tree/report.h"
#include "tree/scan.h"
#include "tree/treeapply.h"

#define WORKSPACE_NAME_MAX 63
#define WORKSPACE_WHY_MAX 160

#define WORKSPACE_LOWER_MAX 72

struct workspace;

/* The overlay a sandbox mounts; paths are relative to the environment, or absolute. */
struct workspace_mount {
	const char *lower[WORKSPACE_LOWER_MAX];
	size_t n_lower; /* topmost first */
	char upper[WORKSPACE_NAME_MAX + 64];
	char work[WORKSPACE_NAME_MAX + 64];
};

/* What 'init --in-place' makes of the directory. */
enum workspace_in_place {
	WORKSPACE_NEVER,
	WORKSPACE_LIVE,  /* it is the live tree */
	WORKSPACE_BELOW, /* it lies below the live tree and is only read */
};

struct workspace_backend {
	const char *name;
	enum workspace_in_place in_place;
	bool mounted;   /* the live tree is only there for programs that run in it */
	bool snapshots; /* create begins with a snapshot of donor, if that is a live tree of ours */
	/*
	 * Whether this backend can work for an environment at rootfd: 1, or 0
	 * with the reason in why.  Proved by trying, leaving nothing behind.
	 */
	int (*probe)(int rootfd, char why[WORKSPACE_WHY_MAX]);
	/* Make the live tree of a new workspace: tree, its files cloned from donor (-1: none) where
	 * that works. */
	int (*create)(
		struct workspace *workspace, const struct hash *tree, int donor, struct err *err);
	/* Open an existing one. */
	int (*open)(struct workspace *workspace, struct err *err);
	/* Bring the store up to the live tree; *tree names what is there. */
	int (*capture)(struct workspace *workspace, struct hash *tree, struct err *err);
	/*
	 * Make the last capture the base of the next one.  Only after everything
	 * it stored is durable.
	 */
	int (*settle)(struct workspace *workspace, struct err *err);
	/* Turn the live tree from one tree (just captured) into another; *now is what it became. */
	int (*become)(struct workspace *workspace, const struct hash *from, const struct hash *to,
		struct hash *now, struct err *err);
	/*
	 * Where nothing runs, and the last capture, which was settled, found tree: have later
	 * captures and forks no longer pay for what has changed so far.  NULL: they never do.
	 */
	int (*freeze)(struct workspace *workspace, const struct hash *tree, struct err *err);
	uint64_t freeze_min; /* entries of a capture from which on that pays */
	/*
	 * Where mounted: of what.  Strings live as long as the workspace is open.  NULL where
	 * the live directory itself is what programs see.
	 */
	int (*mount)(struct workspace *workspace, struct workspace_mount *mount, struct err *err);
	/* A tree that must stay in the store for this workspace, besides HEAD's: 1, or 0 none. */
	int (*below)(struct workspace *workspace, struct hash *tree, struct err *err);
	/* With WORKSPACE_BELOW: read the directory that will be used in place. */
	int (*take)(struct workspace *workspace, int source, struct hash *tree, struct err *err);
	/* And whether it is still what it was then: 0, or 1 and what it is now. */
	int (*drift)(
		struct workspace *workspace, struct hash *was, struct hash *now, struct err *err);
	/* Remove the live tree and all that belongs to it. */
	int (*destroy)(struct workspace *workspace, struct err *err);
	void (*close)(struct workspace *workspace);
};

struct workspace {
	const struct workspace_backend *backend;
	char name[WORKSPACE_NAME_MAX + 1];
	int rootfd;          /* borrowed: the environment */
	struct store *store; /* borrowed */
	const char *path;    /* of a live tree outside the environment: absolute, or ".." from it;
				NULL: inside */
	bool remake;         /* a live tree that is gone may be made again, empty */
	uint64_t ino;        /* what path was when the environment was made; 0: not known */
	bool scratch;        /* look only: nothing under rootfd is written */
	bool first;          /* create: the first workspace of the environment */
	bool squashed;       /* files cannot be given away: see treemerge.h */
	bool durable;        /* sync live files on become */
	bool running_left;   /* what ran in it was killed and may still write for a moment */
	const int *inside;   /* capture: the root of programs that run in it; NULL: none do */
	const char *like;    /* create: the workspace it is forked from, or NULL */
	/* become, create: trees that are likely near to the one wanted, the nearest first. */
	const struct hash *near;
	size_t n_near;
	const char *const *exclude;
	size_t n_exclude;
	struct report *report;
	_Atomic uint64_t *scanned; /* progress, or NULL */
	struct ingest_progress *ingested;
	struct treeapply_progress *applied;

	/* the backend's own */
	int live;             /* the live directory, -1 while closed */
	int index;            /* the directory of index files */
	int shown;            /* the live tree as programs inside see it, -1: nobody does; owned */
	uint32_t shown_shift; /* an id of the tree is so much more there */
	void *own;
	bool same;        /* the last capture found what the saved index has */
	uint64_t entries; /* that capture looked at */
	bool untidy;      /* workspace_tend would find something to do */
	struct scan scan;
	char temp[WORKSPACE_NAME_MAX + 32]; /* name of the index being written, "" none */
};

extern const struct workspace_backend workspace_overlay;
extern const struct workspace_backend workspace_btrfs;
extern const struct workspace_backend workspace_copy;
extern const struct workspace_backend workspace_reflink;

/* All backends, best first; NULL-terminated. */
extern const struct workspace_backend *const workspace_backends[];

const struct workspace_backend *workspace_backend(const char *name); /* NULL: unknown */
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
const struct workspace_backend *workspace_choose(int rootfd, const struct workspace_want *want,
	char *reason, size_t reason_max, struct err *err);
bool workspace_name_ok(const char *name);

/* Directory that holds the live tree inside the environment, and that of the index files. */
#define WORKSPACE_LIVE_DIR "work"
#define WORKSPACE_INDEX_DIR "index"

int workspace_open(struct workspace *workspace, struct err *err);
void workspace_close(struct workspace *workspace);

/* Whether programs may have files of the live tree mapped, and which; the caller releases those. */
bool workspace_may_be_mapped(const struct workspace *workspace);
void workspace_mapped(const struct workspace *workspace, struct mapped *mapped);

/*
 * Where nothing runs: free the room that changes since the last capture take (see discard.h).
 * What is left of the live tree is to be captured again.
 */
int workspace_discard(struct workspace *workspace, struct err *err);

/* Whether later captures and forks would gain from workspace_freeze. */
bool workspace_wants_freeze(const struct workspace *workspace);
/* See struct workspace_backend. */
int workspace_freeze(struct workspace *workspace, const struct hash *tree, struct err *err);
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
int workspace_prove(const struct workspace *workspace, bool repair,
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
