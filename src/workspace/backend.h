/*
 * backend - the functions that a backend implements, and the open workspace that they work on.
 *
 * Only the files of this folder include this header.  Other folders use workspace.h.
 */
#pragma once
#include "tree/scan.h"
#include "workspace/workspace.h"

struct workspace_backend {
	struct workspace_kind kind;
	/*
	 * Returns 1 if this backend can work for an environment at rootfd, or 0 with the reason in
	 * 'why'.  To find out, the function makes the files and mounts that the backend needs, and
	 * removes them again.
	 */
	int (*probe)(int rootfd, char why[WORKSPACE_WHY_MAX]);
	/* The other functions are described in workspace.h under the same names. */
	int (*create)(
		struct workspace *workspace, const struct hash *tree, int donor, struct err *err);
	int (*open)(struct workspace *workspace, struct err *err);
	int (*capture)(struct workspace *workspace, struct hash *tree, struct err *err);
	int (*save_index)(struct workspace *workspace, struct err *err);
	int (*apply)(struct workspace *workspace, const struct hash *from, const struct hash *to,
		struct hash *now, struct err *err);
	/* NULL if the backend does not freeze, because freezing would save nothing. */
	int (*freeze)(struct workspace *workspace, const struct hash *tree, struct err *err);
	/* freezing is worth its cost if a capture has looked at this many entries or more */
	uint64_t freeze_min;
	/* NULL if the backend mounts nothing, so that programs see the live directory itself. */
	int (*mount)(struct workspace *workspace, struct workspace_mount *mount, struct err *err);
	/* NULL if the live tree does not lie on top of another tree. */
	int (*lower_tree)(struct workspace *workspace, struct hash *tree, struct err *err);
	/* The next two functions are NULL unless kind.in_place is WORKSPACE_BELOW. */
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
	bool running_left; /* see struct workspace_change */
	/* for a capture: root directory of the programs that run; NULL: no programs run */
	const int *inside;
	struct workspace_counters *counters;
	/* counters that are used until the caller sets its own with workspace_count */
	struct workspace_counters uncounted;

	/* The backend sets these members. */
	int live;             /* the live directory; -1 while the workspace is closed */
	int index;            /* the directory that has the index files */
	int shown;            /* the live tree as running programs see it, owned; -1: not known */
	uint32_t shown_shift; /* difference of ids in 'shown'; see workspace_apply_through */
	void *own;            /* the data of this backend */
	bool same;            /* the last capture found no difference from the saved index */
	uint64_t entries;     /* number of entries that the last capture looked at */
	bool untidy;          /* workspace_tend has something to do */
	struct scan scan;
	/* name of the index file that is being written, or "" */
	char temp[WORKSPACE_NAME_MAX + 32];
};

extern const struct workspace_backend workspace_overlay;
extern const struct workspace_backend workspace_btrfs;
extern const struct workspace_backend workspace_copy;
extern const struct workspace_backend workspace_reflink;

/* All backends, the best first.  The list ends with NULL. */
extern const struct workspace_backend *const workspace_backends[];

/* Returns the backend with this name, or NULL if there is none. */
const struct workspace_backend *workspace_backend(const char *name);
