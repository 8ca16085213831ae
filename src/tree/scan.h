/*
 * scan - walk a live directory tree, in parallel, and find what changed.
 *
 * This is the first half of a capture.  The names and stat data of everything are compared with the
 * index of the last scan.  An unchanged file keeps its content hash, and an unchanged directory its
 * tree.  The rest is marked, and ingest.c reads it.  Memory grows only by a row for each directory
 * and each hard-linked name.
 */
#pragma once
#include <stdatomic.h>

#include "store/store.h"
#include "tree/applied.h"
#include "tree/mapped.h"
#include "tree/report.h"
#include "tree/windex.h"

/* A directory to leave out wherever it turns up: the environment itself. */
struct scan_skip {
	uint32_t dev_major, dev_minor;
	uint64_t ino;
};

/* Sorted inode numbers of one file system or subvolume: others have numbers of their own. */
struct scan_inodes {
	uint64_t *list;
	size_t n;
};

struct scan_options {
	int fd;             /* the directory; borrowed */
	bool upper;         /* fd is a layer of an overlay: see xattrs_read */
	struct windex *old; /* index of the last scan, or NULL */
	/* Everything that changed since that scan began; NULL: the file system does not tell. */
	const struct scan_inodes *changed;
	struct store *store;      /* stores extended attributes; reads the adopted tree */
	bool other_ids;           /* old was made where ids have other numbers: trust its ctimes */
	const struct hash *adopt; /* a tree we have just written here, or NULL: see scan_adopt.h */
	const struct applied *applied; /* with adopt: how treeapply left the inodes, sorted */
	/* mapped files to read anew where stores leave no trace; or NULL */
	const struct mapped *mapped;
	const char *only; /* the only name of the top directory to look at; NULL: all */
	const struct scan_skip *skip;
	size_t n_skip;
	const char *const *exclude; /* patterns (text_glob) of paths to leave out */
	size_t n_exclude;
	struct report *report;
	_Atomic uint64_t *progress; /* entries seen, or NULL */
};

/* One hard-linked name; sorted by inode once the scan is done. */
struct scan_link {
	uint64_t ino;
	uint64_t path;  /* entry_path_hash */
	uint64_t group; /* as recorded; after the scan: as it should be */
	uint32_t dir;
};

struct scan {
	struct windex *index; /* new; owned */
	struct scan_link *links;
	size_t n_links, cap_links;
};

/* Takes over spool_take as the file of the new index. */
int scan_run(
	const struct scan_options *options, int spool_take, struct scan *scan, struct err *err);
void scan_release(struct scan *scan);

/* The link group of an inode; 0: it has only one name in the tree. */
uint64_t scan_group(const struct scan *scan, uint64_t ino);
