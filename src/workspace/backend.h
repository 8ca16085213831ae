/*
 * backend - the functions a backend implements, and the open workspace they work on.
 *
 * Only the files of this folder include this header: others use workspace.h.
 */
#pragma once
#include "tree/scan.h"
#include "workspace/workspace.h"

struct workspace_backend {
	struct workspace_kind kind;
	/*
	 * Returns 1 if this backend can work for an environment at rootfd, or 0 with the reason in
	 * why.  The function tries out what the backend needs and leaves nothing behind.
	 */
	int (*probe)(int rootfd, char why[WORKSPACE_WHY_MAX]);
	/* workspace.h describes the other functions under the same names. */
	int (*create)(
		struct workspace *workspace, const struct hash *tree, int donor, struct err *err);
	int (*open)(struct workspace *workspace, struct err *err);
	int (*capture)(struct workspace *workspace, struct hash *tree, struct err *err);
	int (*save_index)(struct workspace *workspace, struct err *err);
	int (*apply)(struct workspace *workspace, const struct hash *from, const struct hash *to,
		struct hash *now, struct err *err);
	/* NULL: this backend does not freeze, because that would save nothing. */
	int (*freeze)(struct workspace *workspace, const struct hash *tree, struct err *err);
	uint64_t freeze_min; /* freezing pays when a capture looks at this many entries or more */
	/* NULL: programs see the live directory itself. */
	int (*mount)(struct workspace *workspace, struct workspace_mount *mount, struct err *err);
	/* NULL: no tree lies below the live tree. */
	int (*lower_tree)(struct workspace *workspace, struct hash *tree, struct err *err);
	/* The next two are NULL unless kind.in_place is WORKSPACE_BELOW. */
	int (*read_in_place)(
		struct workspace *workspace, int source, struct hash *tree, struct err *err);
	int (*drift)(
		struct workspace *workspace, struct hash *was, struct hash *now, struct err *err);
	int (*destroy)(struct workspace *workspace, struct err *err);
	void (*close)(struct workspace *workspace);
};

struct workspace {
	const struct workspace_backend *backend;
	struct workspace_setup setup;
	bool running_left; /* see workspace_change */
	const int *inside; /* for a capture: root directory of programs inside; NULL: none run */
	struct workspace_counters *counters;
	struct workspace_counters uncounted; /* where counters points by default */

	/* set by the backend */
	int live;             /* the live directory, -1 while closed */
	int index;            /* the directory of index files */
	int shown;            /* the live tree as programs inside see it, -1: not known; owned */
	uint32_t shown_shift; /* see workspace_apply_through */
	void *own;            /* the data of this backend */
	bool same;            /* the last capture found no difference from the saved index */
	uint64_t entries;     /* entries the last capture looked at */
	bool untidy;          /* there is work for workspace_tend */
	struct scan scan;
	char temp[WORKSPACE_NAME_MAX + 32]; /* name of the index being written; "" if none is */
};

extern const struct workspace_backend workspace_overlay;
extern const struct workspace_backend workspace_btrfs;
extern const struct workspace_backend workspace_copy;
extern const struct workspace_backend workspace_reflink;

/* All backends, best first; NULL-terminated. */
extern const struct workspace_backend *const workspace_backends[];

/* Returns the backend called name, or NULL if there is none. */
const struct workspace_backend *workspace_backend(const char *name);
