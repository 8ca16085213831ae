/*
 * scan - walks a live directory tree, in parallel, and finds the files and directories that
 * changed.
 *
 * This is the first half of a capture.  The name and stat data of every file are compared with the
 * index of the last scan.  An unchanged file keeps its content hash, and an unchanged directory
 * keeps its tree.  All other files and directories are marked, and ingest.c reads them.  The scan
 * needs memory only for the rows of directories and for a list of hard-linked names.
 */
#pragma once
#include <stdatomic.h>

#include "store/store.h"
#include "tree/applied.h"
#include "tree/mapped.h"
#include "tree/report.h"
#include "tree/windex.h"

/* A directory that is left out wherever the walk finds it, such as the environment itself. */
struct scan_skip {
	uint32_t dev_major, dev_minor;
	uint64_t ino;
};

/*
 * Sorted inode numbers of one file system or subvolume.  (Other file systems and subvolumes may use
 * the same numbers for other files.)
 */
struct scan_inodes {
	uint64_t *list;
	size_t n;
};

struct scan_options {
	int fd;             /* the directory; borrowed */
	bool upper;         /* fd is in a layer of an overlay; see xattrs_read */
	struct windex *old; /* index of the last scan, or NULL */
	/*
	 * All inodes that changed since the last scan began.  NULL: the file system has no such
	 * list.
	 */
	const struct scan_inodes *changed;
	struct store *store; /* gets the extended attributes; has the tree to adopt */
	/* remove the stubs that are found, since no program needs them (core/stub.h) */
	bool drop_stubs;
	/*
	 * the owners in 'old' are numbered differently, so only a new ctime shows that an owner
	 * changed
	 */
	bool other_ids;
	/* the tree that was just written to fd, or NULL; see scan_adopt.h */
	const struct hash *adopt;
	/* if 'adopt' is set: the inodes as treeapply left them, sorted */
	const struct applied *applied;
	/* mapped files, which are read again, since a store to them may leave no trace; or NULL */
	const struct mapped *mapped;
	const char *only; /* the only name to look at in the top directory; NULL: all names */
	const struct scan_skip *skip;
	size_t n_skip;
	const char *const *exclude; /* patterns (text_glob) of paths to leave out */
	size_t n_exclude;
	struct report *report;
	_Atomic uint64_t *progress; /* incremented for each entry that was seen; or NULL */
};

/* One name of a hard-linked file.  After the scan, the list of these names is sorted by inode. */
struct scan_link {
	uint64_t ino;
	uint64_t path;  /* hash of the path (entry_path_hash) */
	uint64_t group; /* link group in the record; after the scan: the correct link group */
	uint32_t dir;
};

struct scan {
	struct windex *index; /* the new index; owned */
	struct scan_link *links;
	size_t n_links, cap_links;
};

/*
 * Scan the directory options->fd and fill *scan, which the caller must release on success.  The
 * function takes over the descriptor spool_take, and writes the new index to its file.
 */
int scan_run(
	const struct scan_options *options, int spool_take, struct scan *scan, struct err *err);
void scan_release(struct scan *scan);

/* Returns the link group of an inode, or 0 if it has only one name in the tree. */
uint64_t scan_group(const struct scan *scan, uint64_t ino);
