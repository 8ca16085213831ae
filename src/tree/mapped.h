/*
 * mapped - files of a live tree that programs have mapped into their memory for writing.
 *
 * A store through a mapping moves the times of a file only if the page was clean and
 * write-protected.  A page that stays dirty takes any number of stores without a trace.  Where the
 * file system writes pages back, protecting them (at_protect_pages) before a file is read makes the
 * next store move its times. Elsewhere (tmpfs, overlayfs, FUSE) a mapped file is read at each
 * capture as long as it is mapped, and once more after that.
 *
 * A program stores only while it runs.  So where stores leave no trace, a file cannot have been
 * stored to as long as the threads of all programs that map it have used no processor time.  The
 * scheduler counts that in nanoseconds (/proc/PID/task/TID/schedstat).
 *
 * The list comes from /proc/PID/maps.  A program that maps a file after the list was made moves the
 * file's times with its first store, and the next scan does not trust times that young.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

/* A live tree, and the programs whose mappings of it count. */
struct mapped_tree {
	int live;   /* the directory; borrowed, like the other descriptors */
	int inside; /* root directory of programs that see the tree as their root; -1: none */
	/* programs of the machine reach the tree by its path; else only through an overlay */
	bool open;
	int own; /* the environment, which is left out where it lies in the tree; -1: none */
	const char *const *exclude; /* patterns, as in scan.h */
	size_t n_exclude;
};

struct mapped_file {
	uint64_t ino;
	char *path; /* in the tree; NULL: the name is gone or left out */
	/* Only where stores leave no trace: */
	uint64_t work; /* changes when a thread of a program that maps the file has run */
	bool unknown;  /* whether one has run cannot be known */
};

struct mapped {
	struct mapped_file *files; /* sorted by ino, each once */
	size_t n, capacity;
	bool anywhere; /* a mapped file could be any file of the tree */
	bool partial;  /* a process could not be inspected */
	bool untraced; /* stores leave no trace on this file system */
	int64_t since; /* when_coarse() before the first process was inspected */
};

/* Whether stores through a mapping can leave no trace on the file system of the tree. */
bool mapped_is_untraced(int live);

/* Never fails: a process that cannot be inspected makes the list partial. */
void mapped_look(struct mapped *mapped, const struct mapped_tree *tree);
/* Whether the file with this inode number may be mapped; one that is not listed, too, if anywhere.
 */
bool mapped_may_have(const struct mapped *mapped, uint64_t ino);
void mapped_release(struct mapped *mapped);

/* A number that changes when a mapped file with a path may have been stored to; 0: none is. */
uint64_t mapped_state(const struct mapped *mapped, int live);
