/*
 * treeapply_priv - shared by the parts of treeapply: the walk over both trees (treeapply.c), the
 * attributes of one file (treeattrs.c), and the writing of one new file (treeput.c).
 *
 * Hard links: an entry changes whenever its link group changes (entry.h), so the walk finds all
 * names of a changed group.  The first name that is made becomes the group's anchor, and the others
 * are linked to the anchor.
 */
#pragma once
#include <pthread.h>
#include <stdatomic.h>

#include "core/buf.h"
#include "core/par.h"
#include "tree/treeapply.h"

#define TREEAPPLY_KEPT "kept: its present state was never captured"
/* up to this number, each written file is synced by itself; for more files, one syncfs syncs all */
#define TREEAPPLY_SYNC_EACH_MAX 64

struct treeapply;

/* A live directory, shared by the jobs that write in it. */
struct treeapply_dir {
	struct treeapply *apply;
	int fd;
	atomic_int refs;
	/* a name in the directory has changed, so the attributes of the directory must be set */
	atomic_bool touched;
	struct entry want; /* the attributes to set, without strings */
	struct str path;
};

struct treeput_anchor {
	uint64_t group;
	char *dir; /* relative path of the directory that has the name */
	char *name;
};

struct treeapply {
	const struct treeapply_options *options;
	struct store *store;
	struct report *report;
	struct treeapply_progress *progress;
	struct par *par;
	struct buf path;
	uint64_t mnt_id;                /* mount id of the live directory */
	struct treeput_anchor *anchors; /* hash table by group, with open addressing */
	size_t n_anchors, cap_anchors;
	unsigned temp;
	_Atomic uint64_t written;
	pthread_mutex_t lock; /* protects err */
	struct err err;       /* first fatal failure of a job */
	atomic_bool failed;
};

/* The change of one inode, as data for a note in applied.h. */
struct treeapply_change {
	int64_t before;
	unsigned lacks;
};

/*
 * Whether the directory is part of an overlay.  In an overlay, some attributes and devices have a
 * special meaning.
 */
static inline bool treeapply_in_overlay(const struct treeapply_dir *dir)
{
	return dir->apply->options->kind != TREEAPPLY_LIVE;
}

static inline bool treeapply_in_layer(const struct treeapply_dir *dir)
{
	return dir->apply->options->kind == TREEAPPLY_LAYER;
}

/* Report something about a name in dir.  'error' is an errno, or 0. */
void treeapply_report(struct treeapply_dir *dir, const char *name, enum report_kind kind,
	const char *what, int error);
/*
 * Handle a failure with one name in dir.  Returns a negative error if the failure is fatal.  Any
 * other failure is reported, and 0 is returned.
 */
int treeapply_failed(
	struct treeapply_dir *dir, const char *name, const char *what, int error, struct err *err);
/* Record the failure of a job.  The whole run then fails.  Only the first failure is kept. */
void treeapply_note_error(struct treeapply *apply, const struct err *err);
/* Drop a reference to dir.  With the last reference, the attributes of the directory are set. */
void treeapply_dir_done(struct treeapply_dir *dir);

/*
 * Set the attributes of the file dirfd/name to those of the entry 'want'.  Reports use the name
 * 'shown'.  *changed is filled in.
 */
int treeattrs_set(struct treeapply_dir *dir, int dirfd, const char *name, const char *shown,
	const struct entry *want, struct treeapply_change *changed, struct err *err);
/*
 * Note a changed inode for the next scan.  The parameter 'made' must be true if the inode is new or
 * is a directory.  The note then has no old ctime.
 */
void treeattrs_note(struct treeapply_dir *dir, const struct statx *now,
	const struct treeapply_change *changed, bool made);
/*
 * Note the inode of a name in dir.  If the name now belongs to an inode other than ino, nothing is
 * noted.
 */
void treeattrs_note_name(struct treeapply_dir *dir, const char *name, uint64_t ino,
	const struct treeapply_change *changed, bool made);

/*
 * Whether the live file still matches the captured entry.  A file that does not match must not be
 * removed or changed.
 */
bool treeput_still_same(int dirfd, const char *name, const struct entry *entry);
/*
 * The functions below make an entry at the path dir/name.  'from' is the entry that may be
 * replaced, or NULL.  The functions return 1, or 0 if an existing file was left alone and the
 * reason was reported.
 */
int treeput_file(struct treeapply_dir *dir, const char *name, const struct entry *from,
	const struct entry *entry, unsigned temp, struct err *err);
/* Let a thread call treeput_file. */
void treeput_file_later(struct treeapply_dir *dir, const char *name, const struct entry *from,
	const struct entry *entry);
/* Make a symbolic link or a special file. */
int treeput_small(struct treeapply_dir *dir, const char *name, const struct entry *from,
	const struct entry *entry, struct err *err);
/*
 * Make a name that is a hard link to the anchor of its group.  Here the result 0 means that there
 * is no usable anchor.
 */
int treeput_link(struct treeapply_dir *dir, const char *name, const struct entry *from,
	const struct entry *entry, struct err *err);
/* Make a name the anchor of its group.  Other names of the group are then linked to this name. */
void treeput_anchor(struct treeapply *apply, uint64_t group, struct str dir, const char *name);
