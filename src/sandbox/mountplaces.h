/*
 * mountplaces - the files and directories that a mount plan is about, as a tree of places.
 *
 * Links in the paths of the plan are resolved.  The links and the directories on the way are
 * places, too.  A place has a bit for each statement of the plan about it (enum mountplan_kind).
 * It inherits all other properties from the directory above.  A place gets a mount of its own if it
 * differs from that directory, or must not be renamed.
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
	const char *path; /* path from the root, without a slash at its beginning; "" is the root */
	struct mountplace *parent, *first, *last, *next;
	mode_t type;        /* 0: there is no file */
	mode_t mode;        /* permission bits */
	const char *target; /* target, if the place is a link */
	unsigned planned;   /* bits of the plan's statements about the place */
	unsigned later;     /* bits that replace those of the plan; 0: none */
	size_t entry;       /* index of the first statement of the plan that masks this place */
	bool shown_link;    /* the place is a link on the way to a hole */
	bool locked_link;   /* the place is a link that must not be replaced */
	bool held;          /* mountstub.c has made sure that the place stays */
	/* The members below are set by mountplaces_decide. */
	bool hidden, read_only, no_exec;
	bool mounted; /* the place has a mount of its own */
	bool leads;   /* the cover above keeps this name: the place or one below it is visible */
	int tree;     /* the mount of the place, until it is attached; else -1 */
};

/*
 * Opens the directories of places.  The directory that was opened last stays open, since the next
 * place usually lies in the same directory.  A directory that is open does not show a mount that is
 * attached to its path later.  So a walk must end before a mount is attached above places that the
 * walk has not reached yet.
 */
struct mountplaces_walk {
	int root; /* borrowed */
	const struct mountplace *last;
	int fd; /* the directory 'last'; -1: none */
};

#define MOUNTPLACES_WALK(root_fd) ((struct mountplaces_walk){ (root_fd), NULL, -1 })

/*
 * Open the directory of a place, looked up below the root of the walk.  The descriptor belongs to
 * the walk, and is valid until the next call.
 */
int mountplaces_enter(struct mountplaces_walk *walk, const struct mountplace *dir, struct err *err);
void mountplaces_leave(struct mountplaces_walk *walk); /* for owned() */

/* Make a tree that has only the root.  The arena owns the tree. */
struct mountplace *mountplaces_new(struct arena *arena);
/*
 * Find the place of an absolute path, and add places that are missing in the tree.  Names are
 * looked up below the directory root_fd.  'kinds' are the bits that the place will get.  Returns
 * ERR_INVALID for a path with too many links.
 */
int mountplaces_add(struct mountplace *root, struct arena *arena, int root_fd, const char *path,
	unsigned kinds, struct mountplace **out, struct err *err);
/* As mountplaces_add, but faster for many paths, since the walk keeps a directory open. */
int mountplaces_add_on(struct mountplaces_walk *walk, struct mountplace *root, struct arena *arena,
	const char *path, unsigned kinds, struct mountplace **out, struct err *err);
/* Returns the place of a path, or NULL if it is not in the tree. */
struct mountplace *mountplaces_find(struct mountplace *root, const char *path);

/*
 * Directories that most programs must write to, and in which writing does no harm.  The paths have
 * the form of the member 'path' of struct mountplace.  A mount on such a directory stays writable,
 * unless the plan has a statement about the directory.
 */
#define MOUNTPLACES_KEPT 3
extern const char *const mountplaces_kept[MOUNTPLACES_KEPT];
/*
 * Returns the part of 'path' below 'dir', "" for 'dir' itself, or NULL if 'path' does not lie in
 * 'dir'.
 */
const char *mountplaces_within(const char *path, const char *dir);

/*
 * Find the reason why a program cannot rename or remove 'place'.  The reason is the first place, at
 * 'place' or below it, that is hidden or must not be changed.  Returns NULL if there is no such
 * place.
 */
const struct mountplace *mountplaces_keeper(struct mountplace *place);

/* Open a place that is a directory.  Its path is looked up below root_fd. */
int mountplaces_open(int root_fd, const struct mountplace *dir, struct err *err);

/*
 * Whether a place lies in the directory in memory that replaces the root.  This directory exists if
 * the plan hides all of the root.
 */
bool mountplaces_in_root(const struct mountplace *place);

/* Decide how each place is to be mounted, beginning with the root. */
void mountplaces_decide(struct mountplace *root);
/*
 * Returns the next place in the tree below 'within', or NULL after the last place.  A directory
 * comes before its entries.
 */
struct mountplace *mountplaces_next(struct mountplace *place, const struct mountplace *within);
/*
 * Returns the bits that are valid for a place: its member 'later' if that is not 0, else 'planned'.
 */
unsigned mountplaces_bits(const struct mountplace *place);
