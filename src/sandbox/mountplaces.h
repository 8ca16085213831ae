/*
 * mountplaces - the places of a mount plan, as a tree, and what becomes of each.
 *
 * A path leads to its real place: links on the way are resolved, and are places themselves.  A
 * place has what was said about it (enum mountplan_kind, as bits).  All else it inherits from the
 * directory above.  A place is mounted if it differs from that, or must not be renamed.
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
	bool held;          /* nobody removes it as a stub of another plan */
	/* Set by mountplaces_decide: */
	bool hidden, read_only, no_exec;
	bool mounted; /* with a mount of its own */
	bool leads;   /* in a mask: itself or something below is to be seen */
	int tree;     /* its mount, until it is attached; else -1 */
};

/* The root, in arena. */
struct mountplace *mountplaces_new(struct arena *arena);
/*
 * Find the place of an absolute path, and add what is missing of it to the tree.  Names are looked
 * up below the directory root_fd.  kind is what will be said about the place.  ERR_INVALID for a
 * path with too many links.
 */
int mountplaces_add(struct mountplace *root, struct arena *arena, int root_fd, const char *path,
	unsigned kinds, struct mountplace **out, struct err *err);
/* The place of a path that is in the tree, or NULL. */
struct mountplace *mountplaces_find(struct mountplace *root, const char *path);

/*
 * Directories, as path of struct mountplace, in which writing is harmless, and needed by most
 * programs.  If a mount begins there, it stays writable, unless something is said about it.
 */
#define MOUNTPLACES_KEPT 3
extern const char *const mountplaces_kept[MOUNTPLACES_KEPT];
/* The part of path below dir, "" for dir itself; NULL: it does not lie there. */
const char *mountplaces_within(const char *path, const char *dir);

/*
 * Why a program cannot rename or remove a place: the first place there or below that is hidden or
 * may not be changed.  NULL: there is none.
 */
const struct mountplace *mountplaces_keeper(struct mountplace *place);

/* Open the directory of a place below root_fd. */
int mountplaces_open(int root_fd, const struct mountplace *dir, struct err *err);

/* Whether the directory of a place is one in memory, that of a root which hides everything. */
bool mountplaces_in_root(const struct mountplace *place);

/* Decide what becomes of each place, from the root down. */
void mountplaces_decide(struct mountplace *root);
/* The next place in the tree, a directory before its entries; within is where it ends. */
struct mountplace *mountplaces_next(struct mountplace *place, const struct mountplace *within);
/* What is said about a place now. */
unsigned mountplaces_bits(const struct mountplace *place);
