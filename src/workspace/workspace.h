/*
 * workspace - the live tree programs run in, behind one interface.
 *
 * A backend keeps a live tree, finds out what changed in it, and turns it into another tree
 * (backend.h).  The caller holds the workspace's lock for everything but a scratch capture.
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

/* Directories of the environment: one holds the live trees, the other the index files. */
#define WORKSPACE_LIVE_DIR "work"
#define WORKSPACE_INDEX_DIR "index"

struct workspace;

/* How a backend uses the directory that 'init --in-place' names. */
enum workspace_in_place {
	WORKSPACE_NEVER,
	WORKSPACE_LIVE,  /* the directory is the live tree */
	WORKSPACE_BELOW, /* the directory lies below the live tree and is only read */
};

/* The kind of live tree a backend has. */
struct workspace_kind {
	const char *name; /* of the backend */
	enum workspace_in_place in_place;
	bool mounted;   /* only programs inside the sandbox see the live tree */
	bool snapshots; /* create can start from a snapshot of another live tree */
};

const struct workspace_kind *workspace_kind(const char *backend); /* NULL: unknown */

struct workspace_want {
	const char *backend; /* NULL or "auto": the best that works */
	bool programs;       /* the tree has programs to run */
	bool excludes;       /* some files are to be left out of the history */
	bool in_place;
};
/*
 * Returns the wanted backend or, if none is named, the first one that works here.  reason, which
 * has reason_max bytes, says why the backend was chosen.  Returns NULL with ERR_UNSUPPORTED if the
 * wanted backend does not work, or no backend does.
 */
const struct workspace_kind *workspace_choose(int rootfd, const struct workspace_want *want,
	char *reason, size_t reason_max, struct err *err);
bool workspace_name_ok(const char *name);

/* --- one workspace, from workspace_new to workspace_free --- */

/* All pointers and descriptors are borrowed until workspace_free. */
struct workspace_setup {
	const char *name;
	const char *backend;
	int rootfd; /* the environment */
	struct store *store;
	/* of a live tree outside the environment: absolute, or ".." from rootfd; NULL: inside */
	const char *path;
	uint64_t ino;     /* inode of path when the environment was made; 0: not known */
	bool remake;      /* a live tree that was removed may be made again, empty */
	bool scratch;     /* look only: nothing under rootfd is written */
	bool first;       /* create: the first workspace of the environment */
	bool squashed;    /* owners cannot be set: see treemerge.h */
	bool durable;     /* sync live files on apply */
	bool drop_stubs;  /* captures remove stubs, since nobody needs them: core/stub.h */
	const char *like; /* create: name of the workspace to fork from, or NULL */
	/* create: trees that probably differ little from the wanted one, the nearest first. */
	const struct hash *near;
	size_t n_near;
	const char *const *exclude;
	size_t n_exclude;
	struct report *report;
};

/* Returns NULL if there is no such backend. */
struct workspace *workspace_new(const struct workspace_setup *setup, struct err *err);
/*
 * Close and free workspace, which may be NULL.  Returns whether there is work for workspace_tend.
 */
bool workspace_free(struct workspace *workspace);

/* Make a live tree that shows tree.  Files are cloned from donor (-1: none) where that works. */
int workspace_create(
	struct workspace *workspace, const struct hash *tree, int donor, struct err *err);
/* Open a live tree that exists. */
int workspace_open(struct workspace *workspace, struct err *err);
/*
 * Store the content of the directory 'source', which is to be used in place, and set *tree to its
 * hash.  Call this on a new workspace, which is open afterwards if the directory is its live tree.
 */
int workspace_read_in_place(
	struct workspace *workspace, int source, struct hash *tree, struct err *err);
/* Close the files; workspace_open opens them again. */
void workspace_close(struct workspace *workspace);
/* Remove the live tree and everything that belongs to it. */
int workspace_destroy(struct workspace *workspace, struct err *err);

/* Change setup.squashed, which is known only after workspace_new. */
void workspace_squash(struct workspace *workspace, bool squashed);

/* Progress of the work on a live tree. */
struct workspace_counters {
	_Atomic uint64_t scanned; /* entries */
	struct ingest_progress ingested;
	struct treeapply_progress applied;
};
/* Count progress in counters from now on; NULL: nowhere. */
void workspace_count(struct workspace *workspace, struct workspace_counters *counters);

/* Returns the live directory, borrowed, or -1 if there is none or workspace is NULL. */
int workspace_live(const struct workspace *workspace);
/*
 * Store the live tree as it is now, and set *tree to its hash.  inside is the root directory of the
 * programs that run in the workspace, or NULL if none run.
 */
int workspace_capture(
	struct workspace *workspace, const int *inside, struct hash *tree, struct err *err);
/*
 * Save the index of the last capture, so that the next capture compares with it.  Call this only
 * when everything that the capture stored is durable: the index names stored objects.
 */
int workspace_save_index(struct workspace *workspace, struct err *err);

struct workspace_change {
	const struct hash *from; /* the live tree, just captured */
	const struct hash *to;
	/* Trees that probably differ little from to, the nearest first. */
	const struct hash *near;
	size_t n_near;
	bool running_left; /* programs were killed just now and may still write for a moment */
};
/* Turn the live tree from one tree into another; *now is the tree that it has afterwards. */
int workspace_apply(struct workspace *workspace, const struct workspace_change *change,
	struct hash *now, struct err *err);
/*
 * Make later changes through fd, the live tree as running programs see it.  User and group ids
 * are shift higher there than in the tree.  Takes over fd.
 */
void workspace_apply_through(struct workspace *workspace, int fd, uint32_t shift);

/* The overlay a sandbox mounts; paths are relative to the environment, or absolute. */
struct workspace_mount {
	const char *lower[WORKSPACE_LOWER_MAX];
	size_t n_lower; /* topmost first */
	char upper[WORKSPACE_NAME_MAX + 64];
	char work[WORKSPACE_NAME_MAX + 64];
};
/*
 * Fill mount, whose strings live as long as the workspace is open.  n_lower is 0 if nothing has to
 * be mounted, because programs see the live directory itself.
 */
int workspace_mount(struct workspace *workspace, struct workspace_mount *mount, struct err *err);

/*
 * Find a tree that, besides HEAD's, must stay in the store for this workspace.  Returns 1, or 0 if
 * there is none.
 */
int workspace_lower_tree(struct workspace *workspace, struct hash *tree, struct err *err);
/*
 * Returns 1 if the user's own directory, which is the lower layer of the live tree
 * (workspace_read_in_place), has changed, else 0.  *was and *now become its old and new tree.
 */
int workspace_drift(
	struct workspace *workspace, struct hash *was, struct hash *now, struct err *err);

/* Find the files of the live tree that programs may have mapped.  The caller releases mapped. */
void workspace_mapped(struct workspace *workspace, const int *inside, struct mapped *mapped);

/*
 * Free the space that is taken by changes since the last capture (see discard.h).  Nothing may run
 * in the workspace.  The caller captures the rest of the live tree afterwards.
 */
int workspace_discard(struct workspace *workspace, struct err *err);

/*
 * Freeze the changes so far, if that pays, so that later captures and forks need not look at them
 * again (overlay.c).  Nothing may run in the workspace.  tree is the tree that the last capture
 * found.  The index of that capture must be saved.
 */
int workspace_freeze(struct workspace *workspace, const struct hash *tree, struct err *err);

/* --- bases and layers below the live trees of an environment --- */

/* Merge and drop layers: see layertend.h. */
int workspace_tend(int rootfd, struct err *err);
/*
 * As workspace_tend, but wait for any other process that maintains layers, and also drop layers of
 * trees that the store lacks.
 */
int workspace_sweep(int rootfd, struct store *store, struct err *err);
/* Set how many bytes all layers may take; 0: a share of the disk. */
int workspace_limit_layers(int rootfd, uint64_t bytes, struct err *err);

/*
 * Prove the layers of an environment; bad is called for each layer that does not show the tree it
 * was made for.  If repair is set, such a layer is made again before its next use.
 */
int workspace_prove(const struct workspace_setup *setup, bool repair,
	void (*bad)(void *arg, unsigned layer), void *arg, struct err *err);

struct workspace_usage {
	uint64_t base, layers, layers_limit; /* bytes */
};
int workspace_usage(int rootfd, struct workspace_usage *usage, struct err *err);

/*
 * Remove a directory of an environment in one step, if it is a subvolume.  Returns false if it was
 * not removed and must be emptied like any other directory.  struct removal calls this.
 */
bool workspace_discard_whole(void *arg, int dirfd, const char *name, const struct statx *stx);
/* Remove the saved index, so that the next capture reads everything. */
int workspace_forget(int rootfd, const char *name, struct err *err);
/* Set *tree to the tree that the saved index describes.  Returns false if there is no index. */
bool workspace_indexed(int rootfd, const char *name, struct hash *tree);
