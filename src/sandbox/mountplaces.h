/*
 * mountplaces - the places of a mount plan, as a tree, and how each of them is to be mounted.
 *
 * A path leads to its real place: links on the way are resolved, and are places themselves.  A
 * place has the statements of the plan about it (enum mountplan_kind, as bits), and inherits
 * everything else from the directory above.  A place gets a mount of its own if it differs from
 * that directory, or must not be renamed.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/arena.h"
#include "core/err.h"

#define MOUNTPLACES_BIT(kind) (1U << (kind))

struct mountplace {
	const char *name;
	const char *path; /* from the root, without a slash before it; "" is the root */
	struct mountplace *parent, *first, *last, *next;
	mode_t type;        /* 0: nothing is there */
	mode_t mode;        /* permissions */
	const char *target; /* of a link */
	unsigned planned;   /* bits of the plan */
	unsigned later;     /* bits that replace those of the plan; 0: none */
	size_t entry;       /* the first entry of the plan that leads here */
	bool shown_link;    /* a link on the way to a hole */
	bool locked_link;   /* a link that must stay what it is */
	bool held;          /* mountstub.c has seen to it that the place stays */
	/* Set by mountplaces_decide: */
	bool hidden, read_only, no_exec;
	bool mounted; /* with a mount of its own */
	bool leads;   /* its cover keeps the name: the place or something below is visible */
	int tree;     /* its mount, until it is attached; else -1 */
};

/* Make a tree of only the root, in arena. */
struct mountplace *mountplaces_new(struct arena *arena);
/*
 * Find the place of an absolute path, and add the missing places to the tree.  Names are looked up
 * below the directory root_fd.  kinds are the bits that the place will get.  ERR_INVALID for a path
 * with too many links.
 */
int mountplaces_add(struct mountplace *root, struct arena *arena, int root_fd, const char *path,
	unsigned kinds, struct mountplace **out, struct err *err);
/* Returns the place of a path, or NULL if it is not in the tree. */
struct mountplace *mountplaces_find(struct mountplace *root, const char *path);

/*
 * Directories in which writing is harmless, and needed by most programs.  They are written as the
 * path of struct mountplace.  If a mount begins there, it stays writable, unless the plan says
 * something about it.
 */
#define MOUNTPLACES_KEPT 3
extern const char *const mountplaces_kept[MOUNTPLACES_KEPT];
/* Returns the part of path below dir, "" for dir itself, or NULL if path does not lie in dir. */
const char *mountplaces_within(const char *path, const char *dir);

/*
 * Find the reason why a program cannot rename or remove a place: the first place, at it or below,
 * that is hidden or may not be changed.  Returns NULL if there is none.
 */
const struct mountplace *mountplaces_keeper(struct mountplace *place);

/* Open the directory of a place below root_fd. */
int mountplaces_open(int root_fd, const struct mountplace *dir, struct err *err);

/* Whether a place lies in the directory in memory that replaces a root which hides everything. */
bool mountplaces_in_root(const struct mountplace *place);

/* Decide how each place is to be mounted, from the root down. */
void mountplaces_decide(struct mountplace *root);
/*
 * Returns the next place in the tree below within, or NULL after the last.  A directory comes
 * before its entries.
 */
struct mountplace *mountplaces_next(struct mountplace *place, const struct mountplace *within);
/* Returns the bits that hold for a place: its member later if that is not 0, else planned. */
unsigned mountplaces_bits(const struct mountplace *place);
