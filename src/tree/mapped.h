/*
 * mapped - files of a live tree that programs have mapped into their memory to write to them.
 *
 * A store through a mapping moves the times of a file only when the page was clean and
 * write-protected before, so a page that stays dirty takes any number of stores without a trace.
 * Where the file system writes pages back, protecting them (at_protect_pages) before a file is
 * read makes the next store move its times.  Elsewhere (tmpfs, overlayfs, FUSE) such a file is read
 * each time as long as it is mapped, and once more after that.
 *
 * The list comes from /proc/PID/maps.  A program that maps a file after the list was made moves
 * the file's times with its first store, and a time that young is not trusted by the next scan.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

/* A live tree, and whose mappings of it count. */
struct mapped_tree {
	int live;   /* the directory; borrowed, like the others */
	int inside; /* the root of programs that have the tree as theirs, -1: there are none */
	bool open;  /* programs of the machine reach it by its path; else only through an overlay */
	int own;    /* a directory that may lie in it and is left out: the environment */
	const char *const *exclude; /* patterns, as in scan.h */
	size_t n_exclude;
};

struct mapped_file {
	uint64_t ino;
	char *path; /* in the tree, or NULL: it was mapped by a name that is not there or is left
		       out */
};

struct mapped {
	struct mapped_file *files; /* by ino, each once */
	size_t n, capacity;
	bool anywhere; /* and one that could be any file of the tree */
	bool partial;  /* a program could not be looked at */
	bool untraced; /* stores leave no trace in this tree, whatever is done */
	int64_t since; /* when_coarse, before anything was looked at */
};

/* Whether stores leave no trace in the tree, whatever is done. */
bool mapped_is_untraced(int live);

/* The list never fails: what cannot be looked at makes it partial. */
void mapped_look(struct mapped *mapped, const struct mapped_tree *tree);
bool mapped_has(const struct mapped *mapped, uint64_t ino);
void mapped_release(struct mapped *mapped);

/*
 * A number that is another one when a file that is in the tree by its path may have been stored
 * to since it was asked for last; 0: none is mapped.
 */
uint64_t mapped_state(const struct mapped *mapped, int live);
