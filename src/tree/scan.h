/*
 * scan - look at a live directory tree, in parallel, and find what changed.
 *
 * First half of a capture: names and stat data of everything, compared with
 * the index of the last scan.  Unchanged files keep the content hash they
 * had, unchanged directories their tree; the rest is marked for ingest.c, which reads it.
 * Costs a parallel stat walk; memory does not grow with the tree but for a row per directory
 * and a row per hard-linked name.
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

/* Inode numbers in order, without other file systems or subvolumes, whose numbers are their own. */
struct scan_inodes {
	uint64_t *list;
	size_t n;
};

struct scan_options {
	int fd;             /* the directory; borrowed */
	bool upper;         /* it is a layer of an overlay: see xattrs_read */
	struct windex *old; /* what the last scan saw, or NULL */
	/* All that changed since that scan began, as the file system tells; NULL: it does not. */
	const struct scan_inodes *changed;
	struct store *store;      /* takes extended attributes; answers for adopt */
	bool other_ids;           /* old was made where ids have other numbers: trust its ctimes */
	const struct hash *adopt; /* a tree we have just written here, or NULL: see scan_adopt.h */
	const struct applied *applied; /* with adopt: what was left of it, sorted */
	const struct mapped *mapped;   /* where stores leave no trace: what is read anew; or NULL */
	const char *only; /* the one name of the directory that is looked at; NULL: all */
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
	uint64_t group; /* what the record has; after the scan: what it should have */
	uint32_t dir;
};

struct scan {
	struct windex *index; /* new; owned */
	struct scan_link *links;
	size_t n_links;
	size_t cap_links;
};

/* spool_take becomes the file of the new index. */
int scan_run(
	const struct scan_options *options, int spool_take, struct scan *scan, struct err *err);
void scan_release(struct scan *scan);

/* The link group of an inode, 0 when it has one name in the tree. */
uint64_t scan_group(const struct scan *scan, uint64_t ino);
