/*
 * mapped - files of a live tree that programs have mapped into their memory for writing.
 *
 * A store is a write to mapped memory.  It changes the times of the file only if the page was clean
 * and write-protected.  Further stores to the same page leave no trace while the page is dirty.  On
 * a file system that writes pages back, at_protect_pages protects the pages of a file before the
 * file is read.  So the next store changes the times of the file.  On other file systems (tmpfs,
 * overlayfs, FUSE) stores may leave no trace.  On those file systems each capture reads a mapped
 * file as long as it is mapped, and once more after that.
 *
 * A program stores only while it runs.  So on the other file systems a mapped file counts as
 * unchanged until a thread of a program that maps the file has used processor time.  The scheduler
 * counts that time in nanoseconds (/proc/PID/task/TID/schedstat).
 *
 * The list of mapped files comes from /proc/PID/maps.  If a program maps a file after the list was
 * made, its first store changes the times of the file.  The next scan does not trust a file whose
 * times are so recent.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

/* A live tree, and the programs whose mappings are searched for its files. */
struct mapped_tree {
	int live;   /* the directory; borrowed, like the other descriptors */
	int inside; /* root directory of programs that see the tree as their root; -1: none */
	/*
	 * any program of the machine can open the files by the path of the tree; false: programs
	 * see the tree only through an overlay
	 */
	bool open;
	int own; /* the environment, which is left out if it is in the tree; -1: none */
	const char *const *exclude; /* patterns of paths to leave out, as in scan.h */
	size_t n_exclude;
};

struct mapped_file {
	uint64_t ino;
	char *path; /* path in the tree; NULL: the name is gone or left out */
	/* Set only where stores leave no trace: */
	/* a number that changes when a program that maps the file has run */
	uint64_t work;
	bool unknown; /* it is not known whether a thread of such a program has run */
};

struct mapped {
	struct mapped_file *files; /* sorted by ino, each inode once */
	size_t n, capacity;
	/* a mapped file could be any file of the tree, so each file counts as mapped */
	bool anywhere;
	/* the list may lack a file, for instance because a process could not be inspected */
	bool partial;
	bool untraced; /* stores leave no trace on this file system */
	int64_t since; /* value of when_coarse() before the first process was inspected */
};

/* Whether a store through a mapping may leave no trace on the file system of the tree. */
bool mapped_is_untraced(int live);

/*
 * Fill *mapped with the files of the given tree that are mapped now.  The caller must release
 * *mapped.  The function never fails: a process that cannot be inspected makes the list partial.
 */
void mapped_look(struct mapped *mapped, const struct mapped_tree *tree);
/*
 * Whether the file with this inode number may be mapped.  This is true for each file if
 * mapped->anywhere is set.
 */
bool mapped_may_have(const struct mapped *mapped, uint64_t ino);
void mapped_release(struct mapped *mapped);

/*
 * Returns a number that changes when a program may have stored to a mapped file that has a path.
 * Returns 0 if there is no such file.
 */
uint64_t mapped_state(const struct mapped *mapped, int live);
