/*
 * workspace - the live tree that programs run in, with one interface for all backends.
 *
 * A backend keeps a live tree, finds out what has changed in the live tree, and turns it into
 * another tree (backend.h).  The caller must hold the workspace's lock during every function,
 * except when it captures a scratch workspace.
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

/*
 * Directories of the environment.  WORKSPACE_LIVE_DIR contains live trees, and WORKSPACE_INDEX_DIR
 * contains index files.
 */
#define WORKSPACE_LIVE_DIR "work"
#define WORKSPACE_INDEX_DIR "index"

struct workspace;

/* How a backend uses the directory that is given to 'init --in-place'. */
enum workspace_in_place {
	WORKSPACE_NEVER,
	WORKSPACE_LIVE,  /* the directory is the live tree */
	WORKSPACE_BELOW, /* the directory is below the live tree, and is only read */
};

/* Properties of a backend and its live trees. */
struct workspace_kind {
	const char *name; /* name of the backend */
	enum workspace_in_place in_place;
	bool mounted;   /* the live tree is mounted, and only programs in the sandbox see it */
	bool snapshots; /* workspace_create can begin with a snapshot of another live tree */
};

/* Returns NULL if there is no such backend. */
const struct workspace_kind *workspace_kind(const char *backend);

struct workspace_want {
	const char *backend; /* NULL or "auto": the best backend that works */
	bool programs;       /* the tree contains programs that will be run */
	bool excludes;       /* some files are not to be part of the history */
	bool in_place;
};
/*
 * Returns the wanted backend, or the best one that works here if *want has no name of a backend.
 * The reason for the choice is written to the buffer 'reason', which has room for reason_max bytes.
 * Returns NULL with ERR_UNSUPPORTED if the wanted backend does not work, or if no backend works.
 */
const struct workspace_kind *workspace_choose(int rootfd, const struct workspace_want *want,
	char *reason, size_t reason_max, struct err *err);
bool workspace_name_ok(const char *name);

/* --- one workspace, from workspace_new to workspace_free --- */

/*
 * The parameters of workspace_new.  All pointers and descriptors are borrowed until workspace_free.
 */
struct workspace_setup {
	const char *name;
	const char *backend;
	int rootfd; /* the environment's directory */
	struct store *store;
	/*
	 * path of a live tree outside the environment: absolute, or relative to rootfd and
	 * beginning with ".."; NULL: the live tree is inside
	 */
	const char *path;
	uint64_t ino;  /* inode number of 'path' when the environment was made; 0: not known */
	bool remake;   /* if the live tree was removed, an empty one is made */
	bool scratch;  /* the workspace is only read, and nothing under rootfd is written */
	bool first;    /* for workspace_create: this is the first workspace of the environment */
	bool squashed; /* owners cannot be set on disk; see treemerge.h */
	bool durable;  /* files in the live tree are synced when a tree is applied */
	/* captures remove stubs (core/stub.h), since no program needs them any more */
	bool drop_stubs;
	const char *like; /* for workspace_create: name of the workspace to fork; NULL: none */
	/*
	 * For workspace_create: trees that probably differ little from the wanted tree, the nearest
	 * first.
	 */
	const struct hash *near;
	size_t n_near;
	const char *const *exclude;
	size_t n_exclude;
	struct report *report;
};

/* Returns a closed workspace, which the caller frees, or NULL if the backend does not exist. */
struct workspace *workspace_new(const struct workspace_setup *setup, struct err *err);
/*
 * Close and free a workspace.  The pointer may be NULL.  Returns true if workspace_tend has
 * something to do.
 */
bool workspace_free(struct workspace *workspace);

/*
 * Make a live tree that shows the given tree.  Files are cloned from 'donor' (-1: none) where
 * possible.
 */
int workspace_create(
	struct workspace *workspace, const struct hash *tree, int donor, struct err *err);
/* Open an existing live tree. */
int workspace_open(struct workspace *workspace, struct err *err);
/*
 * Store the content of the directory 'source', which is used in place by a new workspace.  *tree is
 * set to the hash of the content.  If this directory becomes the live tree itself, the workspace is
 * open afterwards.
 */
int workspace_read_in_place(
	struct workspace *workspace, int source, struct hash *tree, struct err *err);
/* Close the files of a workspace.  workspace_open opens them again. */
void workspace_close(struct workspace *workspace);
/* Remove the live tree and all files that belong to it. */
int workspace_destroy(struct workspace *workspace, struct err *err);

/*
 * Change setup.squashed.  Callers need this because they learn its value only after workspace_new.
 */
void workspace_squash(struct workspace *workspace, bool squashed);

/* Progress of the work on a live tree. */
struct workspace_counters {
	_Atomic uint64_t scanned; /* number of scanned entries */
	struct ingest_progress ingested;
	struct treeapply_progress applied;
};
/*
 * Count progress in *counters from now on.  If 'counters' is NULL, the caller's counters are no
 * longer used.
 */
void workspace_count(struct workspace *workspace, struct workspace_counters *counters);

/*
 * Returns the live directory, which is borrowed, or -1 if there is none.  The pointer may be NULL.
 */
int workspace_live(const struct workspace *workspace);
/*
 * Store the live tree in its present state, and set *tree to its hash.  *inside is the root
 * directory of the programs that run in the workspace.  If no programs run, 'inside' is NULL.
 */
int workspace_capture(
	struct workspace *workspace, const int *inside, struct hash *tree, struct err *err);
/*
 * Save the index of the last capture.  The next capture compares the live tree with this index.
 * The index names stored objects, so the caller must first make everything durable that the capture
 * has stored.
 */
int workspace_save_index(struct workspace *workspace, struct err *err);

struct workspace_change {
	const struct hash *from; /* the tree that a capture has just found in the live tree */
	const struct hash *to;
	/* Trees that probably differ little from 'to', the nearest first. */
	const struct hash *near;
	size_t n_near;
	bool running_left; /* programs were killed just now, and may still write for a moment */
};
/*
 * Turn the live tree from one tree into another.  *now is set to the tree that the live tree has
 * after the change.
 */
int workspace_apply(struct workspace *workspace, const struct workspace_change *change,
	struct hash *now, struct err *err);
/*
 * Make later changes of the live tree through the directory fd, which shows the live tree as
 * running programs see it.  The workspace becomes the owner of fd.  User and group ids seen through
 * fd are higher than those in the tree by the number 'shift'.
 */
void workspace_apply_through(struct workspace *workspace, int fd, uint32_t shift);

/*
 * The overlay that a sandbox mounts.  The paths are absolute, or relative to the environment's
 * directory.
 */
struct workspace_mount {
	const char *lower[WORKSPACE_LOWER_MAX];
	size_t n_lower; /* number of lower directories; the topmost is the first */
	char upper[WORKSPACE_NAME_MAX + 64];
	char work[WORKSPACE_NAME_MAX + 64];
};
/*
 * Describe the mount of a workspace in *mount.  The strings are valid while the workspace is open.
 * If no mount is needed, because programs see the live directory itself, n_lower is 0.
 */
int workspace_mount(struct workspace *workspace, struct workspace_mount *mount, struct err *err);

/*
 * Get the tree below the live tree.  As long as the workspace uses this tree, the tree must stay in
 * the store, like the tree of HEAD.  Returns 1, or 0 if the live tree does not lie on another tree.
 */
int workspace_lower_tree(struct workspace *workspace, struct hash *tree, struct err *err);
/*
 * Check whether the user's own directory, which is the lower layer of the live tree
 * (workspace_read_in_place), has changed.  Returns 1 if it has changed, else 0.  *was and *now are
 * set to the old and the new tree of the directory.
 */
int workspace_drift(
	struct workspace *workspace, struct hash *was, struct hash *now, struct err *err);

/* Find the files of the live tree that programs may have mapped.  The caller releases *mapped. */
void workspace_mapped(struct workspace *workspace, const int *inside, struct mapped *mapped);

/*
 * Free the disk space of the changes that were made since the last capture (see discard.h).  No
 * program may run in the workspace.  The caller must capture the live tree afterwards.
 */
int workspace_discard(struct workspace *workspace, struct err *err);

/*
 * Freeze the changes made so far, if that is worth its cost.  Later captures and forks then need
 * not look at these changes again (overlay.c).  No program may run in the workspace.  The parameter
 * 'tree' must be the tree that the last capture found.  The index of that capture must have been
 * saved.
 */
int workspace_freeze(struct workspace *workspace, const struct hash *tree, struct err *err);

/* --- bases and layers below the live trees of an environment --- */

/* Maintain the layers of an environment: merge and drop some of them (layertend.h). */
int workspace_tend(int rootfd, struct err *err);
/*
 * Maintain the layers as workspace_tend does, and also drop the layers of trees that the store
 * lacks.  If another process maintains the layers at the moment, the function waits for it.
 */
int workspace_sweep(int rootfd, struct store *store, struct err *err);
/* Set the maximum number of bytes for all layers.  0 means a share of the disk. */
int workspace_limit_layers(int rootfd, uint64_t bytes, struct err *err);

/*
 * Check the layers of an environment.  The function 'bad' is called for each layer that does not
 * show the tree that it was made for.  If 'repair' is true, such a layer is made again before its
 * next use.
 */
int workspace_prove(const struct workspace_setup *setup, bool repair,
	void (*bad)(void *arg, unsigned layer), void *arg, struct err *err);

struct workspace_usage {
	uint64_t base, layers, layers_limit; /* in bytes */
};
int workspace_usage(int rootfd, struct workspace_usage *usage, struct err *err);

/*
 * If a directory of an environment is a subvolume, remove it in one step.  Returns false if the
 * directory was not removed and has to be emptied like any other directory.  The removal of an
 * environment calls this function through struct removal.
 */
bool workspace_discard_whole(void *arg, int dirfd, const char *name, const struct statx *stx);
/* Remove the saved index of a workspace, so that the next capture reads every file. */
int workspace_forget(int rootfd, const char *name, struct err *err);
/* Set *tree to the tree that the saved index describes.  Returns false if no index is saved. */
bool workspace_indexed(int rootfd, const char *name, struct hash *tree);
