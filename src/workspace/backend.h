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
	 * Whether this backend can work for an environment at rootfd: 1, or 0
	 * with the reason in why.  The probe tries it and leaves nothing behind.
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
	/* NULL: freezing would save nothing. */
	int (*freeze)(struct workspace *workspace, const struct hash *tree, struct err *err);
	uint64_t freeze_min; /* freezing pays when a capture looks at this many entries or more */
	/* NULL: programs see the live directory itself. */
	int (*mount)(struct workspace *workspace, struct workspace_mount *mount, struct err *err);
	/* NULL: there is no such tree. */
	int (*lower_tree)(struct workspace *workspace, struct hash *tree, struct err *err);
	/* A backend has read_in_place and drift if it is WORKSPACE_BELOW, else NULL. */
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
	const int *inside; /* capture: root directory of the programs inside; NULL: none run */
	struct workspace_counters *counters;
	struct workspace_counters uncounted; /* where counters points by default */

	/* set by the backend */
	int live;             /* the live directory, -1 while closed */
	int index;            /* the directory of index files */
	int shown;            /* the live tree as programs inside see it, -1: not known; owned */
	uint32_t shown_shift; /* see workspace_apply_through */
	void *own;            /* what only this backend knows */
	bool same;            /* the last capture found what the saved index has */
	uint64_t entries;     /* entries the last capture looked at */
	bool untidy;          /* workspace_tend would find something to do */
	struct scan scan;
	char temp[WORKSPACE_NAME_MAX + 32]; /* name of the index being written, "" none */
};

extern const struct workspace_backend workspace_overlay;
extern const struct workspace_backend workspace_btrfs;
extern const struct workspace_backend workspace_copy;
extern const struct workspace_backend workspace_reflink;

/* All backends, best first; NULL-terminated. */
extern const struct workspace_backend *const workspace_backends[];

/* NULL: unknown. */
const struct workspace_backend *workspace_backend(const char *name);
