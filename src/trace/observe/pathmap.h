/*
 * pathmap - the map of all paths that the command has named.  It finds the canonical form of a
 * path: absolute, and without symbolic links and dots.
 *
 * An entry stands for a name, whether or not a file has that name.  Entries are never removed.  The
 * map remembers whether a name is a directory, a link or another file, since programs name the same
 * directories again and again.
 *
 * When the observer sees a call that changes a name, it calls pathmap_unsettle.  When that call is
 * certainly over, the observer calls pathmap_settle.  Changes that other programs make are not
 * noticed.
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
	struct pathmap_entry *parent; /* NULL: the entry is the root */
	uint32_t number;              /* index for arrays with data about paths; the root has 0 */
	struct str path;              /* ends with a NUL, which is not counted */
	size_t name;                  /* offset of the last name in 'path' */
	const char *target;           /* target of a symbolic link, as it was last read */
	bool target_old;              /* the target may have changed since it was last read */
	enum pathmap_kind kind;
	unsigned generation; /* generation of the map when 'kind' was found */
	unsigned unsettled;  /* number of running calls that may change the name */
	bool procfs;         /* the entry is below /proc, where each process may see other files */
	bool ignored;        /* this path and all paths below it are not listed */
	bool untouchable;    /* this path and all paths below it must not be examined */
};

struct pathmap;

struct pathmap *pathmap_new(void);
void pathmap_free(struct pathmap *map);
struct pathmap_entry *pathmap_root(struct pathmap *map);

/*
 * Enlarge an array that is indexed by the numbers of entries, so that it has an element for the
 * given entry.  *(n) is the number of its elements.
 */
#define pathmap_make_room(array, n, entry)                                                         \
	do {                                                                                       \
		if ((entry)->number >= *(n))                                                       \
			*(array) =                                                                 \
				pathmap_grow(*(array), (n), sizeof(**(array)), (entry)->number);   \
	} while (0)
void *pathmap_grow(void *array, size_t *n, size_t size, uint32_t number);

struct pathmap_walk {
	struct pathmap_entry *root; /* entry at which absolute paths begin */
	struct pathmap_entry *base; /* entry at which relative paths begin */
	pid_t self;                 /* process id that /proc/self leads to */
	pid_t thread;               /* thread id that /proc/thread-self leads to */
	bool follow;                /* follow a symbolic link that is the last name */
	/*
	 * out: the path led through a link in /proc to a descriptor, a directory or the program of
	 * a process
	 */
	bool fleeting;
	/* out: link in /proc to a descriptor, if the path led through such a link; else NULL */
	const struct pathmap_entry *descriptor;
	/* a descriptor of the process 'self', for which the caller knows the file */
	int known_fd;
	/* entry of the file of known_fd; NULL: known_fd is not set */
	struct pathmap_entry *known;
	/* out: a link in /proc has a target that is too long to be read */
	bool too_long;
	/* Called with each symbolic link that the path leads through. */
	void (*through)(void *arg, struct pathmap_entry *link);
	void *arg;
};

/*
 * Returns the entry of the file to which a path leads.  Returns NULL if the path has too many
 * links, or if the file has no name.  Pipes and deleted files have no name.
 */
struct pathmap_entry *pathmap_resolve(
	struct pathmap *map, struct pathmap_walk *walk, struct str path);
/*
 * Returns the entry of an absolute path without symbolic links.  The kernel prints paths in this
 * form.
 */
struct pathmap_entry *pathmap_known(struct pathmap *map, struct str path);
struct pathmap_entry *pathmap_child(
	struct pathmap *map, struct pathmap_entry *directory, struct str name);
/* Call stat(2) for a path, and remember the kind of the file.  Returns 0 or -errno. */
int pathmap_stat(struct pathmap *map, struct pathmap_entry *entry, struct statx *stx);

/*
 * Make sure that a path and the paths below it are never examined again.  They are ignored, and
 * symbolic links among them are not followed.
 */
void pathmap_leave_alone(struct pathmap *map, struct pathmap_entry *entry);

void pathmap_unsettle(struct pathmap *map, struct pathmap_entry *entry);
void pathmap_settle(struct pathmap *map, struct pathmap_entry *entry);
/* Whether a running call may change this name or the name of a directory above it. */
bool pathmap_is_unsettled(const struct pathmap_entry *entry);
/* Whether an entry is 'top' or is below 'top'. */
bool pathmap_is_below(const struct pathmap_entry *entry, const struct pathmap_entry *top);
/*
 * If 'link' is a link in /proc to a descriptor of the process pid, returns the number of the
 * descriptor.  Otherwise returns -1.
 */
int pathmap_fd_of(const struct pathmap_entry *link, pid_t pid);
/*
 * Whether the text ends with the mark that the kernel adds to the names of deleted files.  The name
 * of an existing file may end with the same text, too.
 */
bool pathmap_says_deleted(const char *text);

/*
 * Forget the kinds of all names.  To be called after a directory was renamed, since the names below
 * it now lead to other files.
 */
void pathmap_forget(struct pathmap *map);
