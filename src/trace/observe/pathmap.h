/*
 * pathmap - knows every path that the command has named under its one true name, which is absolute
 * and has no links and dots.
 *
 * An entry stands for a name, whether or not a file has that name, and is never removed.  The map
 * remembers whether a name is a directory, a link or another file, since programs name the same
 * directories again and again.  The observer calls pathmap_unsettle when it sees a call that
 * changes a name, and pathmap_settle when that call is certainly over.  Changes by other programs
 * are not noticed.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "core/str.h"

enum pathmap_kind {
	PATHMAP_UNKNOWN,
	PATHMAP_MISSING,
	PATHMAP_DIRECTORY,
	PATHMAP_LINK,
	PATHMAP_OTHER,
};

struct pathmap_entry {
	struct pathmap_entry *parent; /* NULL: the root */
	uint32_t number;    /* an index for arrays with data about paths; the root has 0 */
	struct str path;    /* NUL-terminated */
	size_t name;        /* offset of the last name in path */
	const char *target; /* target of a link, as it was read last */
	bool target_old;    /* the link may have changed since then */
	enum pathmap_kind kind;
	unsigned generation; /* generation of the map when kind was found */
	unsigned unsettled;  /* how many calls in progress may change the name */
	bool procfs;         /* below /proc, where each process sees other files */
	bool ignored;        /* neither this path nor the paths below it are listed */
	bool untouchable;    /* neither this path nor the paths below it may be looked at */
};

struct pathmap;

struct pathmap *pathmap_new(void);
void pathmap_free(struct pathmap *map);
struct pathmap_entry *pathmap_root(struct pathmap *map);

/* Make an array of n elements, which is indexed by numbers of entries, large enough for entry. */
#define pathmap_make_room(array, n, entry)                                                         \
	do {                                                                                       \
		if ((entry)->number >= *(n))                                                       \
			*(array) =                                                                 \
				pathmap_grow(*(array), (n), sizeof(**(array)), (entry)->number);   \
	} while (0)
void *pathmap_grow(void *array, size_t *n, size_t size, uint32_t number);

struct pathmap_walk {
	struct pathmap_entry *root; /* where absolute paths of the process begin */
	struct pathmap_entry *base; /* where relative paths begin */
	pid_t self;                 /* what /proc/self stands for */
	pid_t thread;               /* what /proc/thread-self stands for */
	bool follow;                /* follow a link that is the last name */
	/*
	 * Out: the path led through a descriptor, a directory or the program of a process in /proc.
	 */
	bool fleeting;
	/* Out: the link in /proc to a descriptor, if the path led through one. */
	const struct pathmap_entry *descriptor;
	/* A descriptor of self whose file is known. */
	int known_fd;
	struct pathmap_entry *known; /* that file; NULL: none is known */
	bool too_long;               /* out: the target of a link in /proc is too long to be read */
	/* Called with each link on the way. */
	void (*through)(void *arg, struct pathmap_entry *link);
	void *arg;
};

/*
 * Returns the entry of the file that a path leads to.  Returns NULL if there are too many links, or
 * if the file has no name, which is so for pipes and deleted files.
 */
struct pathmap_entry *pathmap_resolve(
	struct pathmap *map, struct pathmap_walk *walk, struct str path);
/* Returns the entry of an absolute path without links, as the kernel prints paths. */
struct pathmap_entry *pathmap_known(struct pathmap *map, struct str path);
struct pathmap_entry *pathmap_child(
	struct pathmap *map, struct pathmap_entry *directory, struct str name);
/* Call stat(2) for a path, and remember its kind.  Returns 0 or -errno. */
int pathmap_stat(struct pathmap *map, struct pathmap_entry *entry, struct statx *stx);

/*
 * Never again look at a path and at the paths below it.  They are ignored, and links among them are
 * not followed.
 */
void pathmap_leave_alone(struct pathmap *map, struct pathmap_entry *entry);

void pathmap_unsettle(struct pathmap *map, struct pathmap_entry *entry);
void pathmap_settle(struct pathmap *map, struct pathmap_entry *entry);
/* Whether a call in progress may change this name or the name of a directory above it. */
bool pathmap_is_unsettled(const struct pathmap_entry *entry);
/* Whether entry is top, or is below it. */
bool pathmap_is_below(const struct pathmap_entry *entry, const struct pathmap_entry *top);
/*
 * Returns the number of the descriptor of process pid that a link in /proc stands for, or -1 if it
 * is no such link.
 */
int pathmap_fd_of(const struct pathmap_entry *link, pid_t pid);
/*
 * Whether the text ends with the mark that the kernel gives to deleted files.  The name of a file
 * that exists may end with it, too.
 */
bool pathmap_says_deleted(const char *text);

/*
 * Forget the kinds of all names.  This is called after a directory was renamed, since names below
 * it mean other files now.
 */
void pathmap_forget(struct pathmap *map);
