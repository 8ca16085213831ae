/*
 * backend - what a backend of the live tree implements, and what an open workspace is to it.
 *
 * For the files of this folder only: others see workspace.h.
 */
#pragma once
#include "tree/scan.h"
#include "workspace/workspace.h"

struct workspace_backend {
	struct workspace_kind kind;
	/*
	 * Whether this backend can work for an environment at rootfd: 1, or 0
	 * with the reason in why.  Proved by trying, leaving nothing behind.
	 */
	int (*probe)(int rootfd, char why[WORKSPACE_WHY_MAX]);
	/* The rest is as in workspace.h, where it has the same name. */
	int (*create)(
		struct workspace *workspace, const struct hash *tree, int donor, struct err *err);
	int (*open)(struct workspace *workspace, struct err *err);
	int (*capture)(struct workspace *workspace, struct hash *tree, struct err *err);
	int (*settle)(struct workspace *workspace, struct err *err);
	int (*apply)(struct workspace *workspace, const struct hash *from, const struct hash *to,
		struct hash *now, struct err *err);
	/* NULL: captures and forks never pay for what has changed. */
	int (*freeze)(struct workspace *workspace, const struct hash *tree, struct err *err);
	uint64_t freeze_min; /* entries of a capture from which on that pays */
	/* NULL: the live directory itself is what programs see. */
	int (*mount)(struct workspace *workspace, struct workspace_mount *mount, struct err *err);
	/* NULL: none. */
	int (*below)(struct workspace *workspace, struct hash *tree, struct err *err);
	/* With WORKSPACE_BELOW only, as is drift. */
	int (*take)(struct workspace *workspace, int source, struct hash *tree, struct err *err);
	int (*drift)(
		struct workspace *workspace, struct hash *was, struct hash *now, struct err *err);
	int (*destroy)(struct workspace *workspace, struct err *err);
	void (*close)(struct workspace *workspace);
};

struct workspace {
	const struct workspace_backend *backend;
	struct workspace_setup setup;
	bool running_left; /* see workspace_change */
	const int *inside; /* capture: the root of programs that run in it; NULL: none do */
	struct workspace_counters *counters;
	struct workspace_counters uncounted; /* counters, where nobody gave others */

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

/* NULL: unknown. */
const struct workspace_backend *workspace_backend(const char *name);
