/*
 * treeapply_priv - what the parts of treeapply share: the walk over both trees (treeapply.c),
 * the attributes of one live thing (treeattrs.c), and one new thing put in its place (treeput.c).
 *
 * Hard links: an entry changes whenever its group does (entry.h), so all names of a
 * changed group come by.  The first becomes the group's anchor, the others are linked to it.
 */
#pragma once
#include <pthread.h>
#include <stdatomic.h>

#include "core/buf.h"
#include "core/par.h"
#include "tree/treeapply.h"

#define TREEAPPLY_KEPT "kept: what is there was never captured"
#define TREEAPPLY_SYNC_EACH_MAX 64 /* more written files than this: one syncfs instead */

struct treeapply;

/* A live directory that jobs may be writing in. */
struct treeapply_dir {
	struct treeapply *apply;
	int fd;
	atomic_int refs;
	atomic_bool touched; /* set the attributes at the end */
	struct entry want;   /* attributes; no strings */
	struct str path;
};

struct treeput_anchor {
	uint64_t group;
	char *dir; /* relative path of its directory */
	char *name;
};

struct treeapply {
	const struct treeapply_options *options;
	struct store *store;
	struct report *report;
	struct treeapply_progress *progress;
	struct par *par;
	struct buf path;
	uint64_t mnt_id;                /* of the live directory */
	struct treeput_anchor *anchors; /* open addressing by group */
	size_t n_anchors, cap_anchors;
	unsigned temp;
	_Atomic uint64_t written;
	pthread_mutex_t lock; /* of err */
	struct err err;       /* first fatal failure of a job */
	atomic_bool failed;
};

/* What is to be noted of a thing (applied.h). */
struct treeapply_change {
	int64_t before;
	unsigned lacks;
};

/* An overlay gives some attributes and devices there a meaning of its own. */
static inline bool treeapply_in_overlay(const struct treeapply_dir *dir)
{
	return dir->apply->options->kind != TREEAPPLY_LIVE;
}

static inline bool treeapply_in_layer(const struct treeapply_dir *dir)
{
	return dir->apply->options->kind == TREEAPPLY_LAYER;
}

/* Report what became of a name in dir; error: an errno, or 0. */
void treeapply_report(struct treeapply_dir *dir, const char *name, enum report_kind kind,
	const char *what, int error);
/* Report a failure on one name, or fail: negative when fatal, else 0. */
int treeapply_failed(
	struct treeapply_dir *dir, const char *name, const char *what, int error, struct err *err);
/* A thread has failed, which ends the whole. */
void treeapply_note_error(struct treeapply *apply, const struct err *err);
/* One of those that work in dir has ended. */
void treeapply_dir_done(struct treeapply_dir *dir);

/*
 * Give name its attributes.  name is relative to dirfd; shown is what it is called in dir.
 * changed gets what is to be noted.
 */
int treeattrs_set(struct treeapply_dir *dir, int dirfd, const char *name, const char *shown,
	const struct entry *want, struct treeapply_change *changed, struct err *err);
/* Note what was done.  made: it is new, or a directory, so that nothing from before is in it. */
void treeattrs_note(struct treeapply_dir *dir, const struct statx *now,
	const struct treeapply_change *changed, bool made);
/* The same of a name, unless it is another thing by now. */
void treeattrs_note_name(struct treeapply_dir *dir, const char *name, uint64_t ino,
	const struct treeapply_change *changed, bool made);

/* Whether the live thing is still what we captured; if not, it is not ours to remove or change. */
bool treeput_still_same(int dirfd, const char *name, const struct entry *entry);
/* All that follow: from is what is there now and may be replaced, or NULL.  1 done, 0 reported. */
int treeput_file(struct treeapply_dir *dir, const char *name, const struct entry *from,
	const struct entry *entry, unsigned temp, struct err *err);
/* The same by a thread. */
void treeput_file_later(struct treeapply_dir *dir, const char *name, const struct entry *from,
	const struct entry *entry);
/* Links and special files. */
int treeput_small(struct treeapply_dir *dir, const char *name, const struct entry *from,
	const struct entry *entry, struct err *err);
/* Link name to the group's anchor: 0 there is none (yet) that can be used. */
int treeput_link(struct treeapply_dir *dir, const char *name, const struct entry *from,
	const struct entry *entry, struct err *err);
/* What others of the group will be linked to. */
void treeput_anchor(struct treeapply *apply, uint64_t group, struct str dir, const char *name);
