/*
 * pathmap - every path a traced program has named, by its one true name: absolute,
 * without links and dots.
 *
 * An entry stands for a name, whether something is there or not, and never goes
 * away.  What kind of thing a name is, is remembered, since programs name the same
 * directories again and again; whoever sees a call that changes a name says so
 * (pathmap_unsettle), and when that call is surely over (pathmap_settle).  What
 * other programs change meanwhile goes unnoticed.
 */
#pragma once
#include <stdbool.h>
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

struct record; /* of trace/recorder.h */
struct repository;

struct pathmap_entry {
	struct pathmap_entry *parent; /* NULL: the root */
	struct str path;              /* NUL-terminated */
	size_t name;                  /* where in it the last name begins */
	const char *target;
	bool target_old; /* it has been looked at since */
	enum pathmap_kind kind;
	unsigned generation; /* that kind is of */
	unsigned unsettled;  /* calls under way that may change it */
	bool procfs;         /* below /proc: another thing for each who looks */
	bool ignored;        /* this one, and so what is below it */
	bool untouchable;    /* not even to be looked at; what is below it neither */
	struct record *record;
	/* Whoever looks (struct record of recorder.h); all else is whoever sees calls. */
	struct repository *repository; /* a directory is in, once looked for */
	bool looked_for;
	/* In a manifest two paths may read the same, of which one is not UTF-8. */
	enum { PATHMAP_KEY_OPEN, PATHMAP_KEY_PLAIN, PATHMAP_KEY_SECOND } key;
};

struct pathmap;

struct pathmap *pathmap_new(void);
void pathmap_free(struct pathmap *map);
struct pathmap_entry *pathmap_root(struct pathmap *map);

struct pathmap_walk {
	struct pathmap_entry *root; /* of the program: where absolute paths begin */
	struct pathmap_entry *base; /* where relative ones begin */
	pid_t self;                 /* what /proc/self stands for, and */
	pid_t thread;               /* /proc/thread-self */
	bool follow;                /* a link as the last name */
	bool fleeting;              /* out: it went where a process is, or has something open */
	/* Out: the link of /proc to what a process has open, if it went through one. */
	const struct pathmap_entry *descriptor;
	/* What one of self is, if somebody knows. */
	int known_fd;
	struct pathmap_entry *known; /* NULL: nobody does */
	bool too_long;               /* out: what a link of /proc leads to has too long a name */
	/* Called with each link that is gone through. */
	void (*through)(void *arg, struct pathmap_entry *link);
	void *arg;
};

/*
 * The entry a path stands for; NULL when it has none: too many links, something
 * without a name (a pipe, a deleted file).
 */
struct pathmap_entry *pathmap_resolve(
	struct pathmap *map, struct pathmap_walk *walk, struct str path);
/* Of an absolute path that the kernel has written: nothing in it is a link. */
struct pathmap_entry *pathmap_known(struct pathmap *map, struct str path);
struct pathmap_entry *pathmap_child(
	struct pathmap *map, struct pathmap_entry *directory, struct str name);
/* What is there now; and remember what kind of thing it is. 0 or -errno. */
int pathmap_stat(struct pathmap *map, struct pathmap_entry *entry, struct statx *stx);

/* Never look at it again, nor at what is below it: ignored, and no link as far as we know. */
void pathmap_leave_alone(struct pathmap *map, struct pathmap_entry *entry);

void pathmap_unsettle(struct pathmap *map, struct pathmap_entry *entry);
void pathmap_settle(struct pathmap *map, struct pathmap_entry *entry);
/* Whether a call under way may change it, or a directory that it is in. */
bool pathmap_is_unsettled(const struct pathmap_entry *entry);
/* Or is it. */
bool pathmap_is_below(const struct pathmap_entry *entry, const struct pathmap_entry *top);
/* The number of a descriptor whose link in /proc this is, if it is one of that process; else -1. */
int pathmap_fd_of(const struct pathmap_entry *link, pid_t pid);
/* Whether what the kernel says of an open file is that it has no name any more; or is called so. */
bool pathmap_says_deleted(const char *text);

/* A directory gets another name: forget what is below it, which is to say everything. */
void pathmap_forget(struct pathmap *map);
