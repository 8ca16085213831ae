/*
 * pathmap - every path that the command has named, under its one true name: absolute, without links
 * and dots.
 *
 * An entry stands for a name, whether something is there or not, and is never removed.  The map
 * remembers whether a name is a directory, a link or something else, since programs name the same
 * directories again and again.  The observer calls pathmap_unsettle when it sees a call that
 * changes a name, and pathmap_settle when that call is certainly over.  Changes by other programs
 * go unnoticed.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "core/err.h"
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
	uint32_t number;    /* from 0, the root's: an index for what others keep of a path */
	struct str path;    /* NUL-terminated */
	size_t name;        /* offset of the last name in path */
	const char *target; /* of a link, as it was read last */
	bool target_old;    /* the link may have changed since then */
	enum pathmap_kind kind;
	unsigned generation; /* of the map when kind was found */
	unsigned unsettled;  /* how many calls in progress may change it */
	bool procfs;         /* below /proc: every process sees something else there */
	bool ignored;        /* neither it nor what is below it is listed */
	bool untouchable;    /* neither it nor what is below it may even be looked at */
};

struct pathmap;

struct pathmap *pathmap_new(void);
void pathmap_free(struct pathmap *map);
struct pathmap_entry *pathmap_root(struct pathmap *map);

/* Make room for an entry in an array by numbers of entries, whose n elements are in use. */
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
	bool follow;                /* follow a link as the last name */
	bool fleeting; /* out: it led to a descriptor, directory or program of a process in /proc */
	/* Out: the link in /proc to a descriptor, if the path led through one. */
	const struct pathmap_entry *descriptor;
	/* A descriptor of self whose file is known. */
	int known_fd;
	struct pathmap_entry *known; /* NULL: none is */
	bool too_long;               /* out: the target of a link in /proc is too long to be read */
	/* Called with each link on the way. */
	void (*through)(void *arg, struct pathmap_entry *link);
	void *arg;
};

/*
 * The entry that a path stands for.  NULL: it has none, since there are too many links, or since it
 * leads to something without a name, such as a pipe or a deleted file.
 */
struct pathmap_entry *pathmap_resolve(
	struct pathmap *map, struct pathmap_walk *walk, struct str path);
/* The entry of an absolute path without links, as the kernel writes them. */
struct pathmap_entry *pathmap_known(struct pathmap *map, struct str path);
struct pathmap_entry *pathmap_child(
	struct pathmap *map, struct pathmap_entry *directory, struct str name);
/* Look at what is there now, and remember its kind.  0 or -errno. */
int pathmap_stat(struct pathmap *map, struct pathmap_entry *entry, struct statx *stx);

/* Never look at it again, nor at what is below it: it is ignored, and treated as no link. */
void pathmap_leave_alone(struct pathmap *map, struct pathmap_entry *entry);

void pathmap_unsettle(struct pathmap *map, struct pathmap_entry *entry);
void pathmap_settle(struct pathmap *map, struct pathmap_entry *entry);
/* Whether a call in progress may change it, or a directory of its path. */
bool pathmap_is_unsettled(const struct pathmap_entry *entry);
/* Whether entry is top, or is below it. */
bool pathmap_is_below(const struct pathmap_entry *entry, const struct pathmap_entry *top);
/* The descriptor of that process whose link in /proc this is; -1: it is no such link. */
int pathmap_fd_of(const struct pathmap_entry *link, pid_t pid);
/* Whether the text ends as the kernel marks deleted files; a file may have that name, too. */
bool pathmap_says_deleted(const char *text);

/* A directory gets another name: forget the kinds of all names, since some are below it. */
void pathmap_forget(struct pathmap *map);
