/*
 * mountplan - what a program may do with the files of its mount namespace.
 *
 * A plan is a list of statements about paths.  A statement about a directory holds for everything
 * below it, except where there is another statement about a path there.  Of several statements
 * about the same place, the stricter wins.  A path that does not exist is left out, unless it is a
 * stub.
 *
 * Mounts enforce the plan, so it holds for every program in the mount namespace, whatever rights
 * the program has to the files.  A program with rights over the namespace itself could unmount
 * them.  So the namespace is copied to a user namespace below, where the mounts are locked.
 *
 * Directories on the way to a place that is restricted cannot be renamed, and links on the way
 * cannot be replaced.  Descriptors that were opened before the plan was applied are not restricted.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/arena.h"
#include "core/err.h"
#include "sandbox/maskfs.h"

enum mountplan_kind {
	MOUNTPLAN_READ_ONLY, /* except /proc, /dev/shm and /dev/pts, if they are writable now */
	MOUNTPLAN_WRITABLE,  /* as it is now */
	MOUNTPLAN_MASK,      /* cannot be read; holes are made by MOUNTPLAN_SHOW alone */
	MOUNTPLAN_SHOW,
	MOUNTPLAN_PIN,       /* cannot be renamed or removed */
	MOUNTPLAN_PROTECT,   /* read-only, and cannot be renamed or removed */
	MOUNTPLAN_STUB,      /* as PROTECT; if missing, an empty directory is made and marked */
	MOUNTPLAN_STUB_FILE, /* as STUB, but makes a file */
	MOUNTPLAN_STUB_DOT,  /* as STUB, but makes a file with the line "." (core/stub.h) */
	MOUNTPLAN_NO_EXEC,
	MOUNTPLAN_EXEC,
	MOUNTPLAN_PRIVATE, /* replaced by an empty directory in memory; holes as in a mask */
	MOUNTPLAN_LATER,   /* may be shown later; cannot be renamed or removed until then */
	MOUNTPLAN_ROOT,    /* path is "/": only what is shown exists, and the root is read-only */
};

/* Whether a kind makes a name that is missing. */
static inline bool mountplan_is_stub(enum mountplan_kind kind)
{
	return kind == MOUNTPLAN_STUB || kind == MOUNTPLAN_STUB_FILE || kind == MOUNTPLAN_STUB_DOT;
}

struct mountplan_entry {
	enum mountplan_kind kind;
	const char *path; /* absolute */
};

struct mountplan {
	const struct mountplan_entry *list;
	size_t n;
	unsigned owner; /* the id of root inside, who will own the directories that are made */
	bool changes;   /* something may be hidden or shown later */
	int device;     /* of maskfs_open, taken over; -1: masks are empty, and nobody is told */
	int nobody;     /* user namespace that has none of our ids, for empty masks; -1: none */
	/*
	 * The file for the locks of stubs, which all plans for the same tree share.  The descriptor
	 * was opened for writing, for this plan alone, and is borrowed.  -1: there are no other
	 * plans.
	 */
	int stub_locks;
	/*
	 * Called for each access to a masked path.  entry is the index in list of the statement
	 * that masks it; path and pid are those of maskfs_told.
	 */
	void (*told)(void *arg, size_t entry, const char *path, pid_t pid);
	void *arg;
};

/* A directory or file that a plan has made as mount point, or shares with the plan that made it. */
struct mountplan_stub {
	const char *path;
	int dir; /* its directory, opened before the plan was applied */
	int fd;  /* the stub */
	const char *name;
	bool is_dir;
};

/* A plan that is applied.  Everything in it is owned, unless the plan says otherwise. */
struct mountplan_made {
	struct arena arena;
	struct mountplace *places;
	struct maskfs *masks;   /* to be served; NULL: there are none, or they are empty */
	struct err unexplained; /* why masks are empty; code 0: they are not */
	struct mountplan_stub *stubs;
	size_t n_stubs;
	bool stubs_removed;
	unsigned owner; /* this and the next two: as in the plan */
	int nobody;
	int stub_locks;
	int before, here; /* mount namespaces without and with the plan; -1: no later changes */
	void (*told)(void *arg, size_t entry, const char *path, pid_t pid);
	void *arg;
	const size_t *entries; /* index in the plan's list, for each node of masks */
};

#define MOUNTPLAN_MADE_INIT                                                                        \
	((struct mountplan_made){ .nobody = -1, .stub_locks = -1, .before = -1, .here = -1 })

/*
 * Make a copy of the mount namespace of this process, which has one thread, and apply the plan
 * there.  The working directory is "/" afterwards.  self is /proc/self, or -1 if there will be no
 * later changes.  After a failure, this process must not go on with its work.
 */
int mountplan_apply(
	const struct mountplan *plan, int self, struct mountplan_made *out, struct err *err);
/* Free everything, also after mountplan_apply has failed.  Stubs stay. */
void mountplan_release(struct mountplan_made *made);

/*
 * Whether the plan, with its later changes, hides a path or, if write is set, keeps programs from
 * writing there.  Links are not followed, so the answer may be wrong for a path that leads through
 * a link.
 */
bool mountplan_forbids(const struct mountplan_made *made, const char *path, bool write);

/*
 * Find the restricted path, without a slash before it, that keeps path from being renamed or
 * removed: path itself or one below it.  Returns NULL if there is none.  The result belongs to
 * made.
 */
const char *mountplan_keeper(const struct mountplan_made *made, const char *path);

/*
 * Remove the stubs that nobody has used, and that no other plan needs.  This process goes back to
 * the mount namespace without the plan; if the plan was applied without later changes (self -1), it
 * has to be there already.  Later changes are not possible any more.  The disk space of removed
 * stubs is freed by mountplan_release.
 */
void mountplan_remove_stubs(struct mountplan_made *made);

/*
 * Later changes, by a process that has stayed in the mount namespace.  If its mounts are shared,
 * they change in its copies as well, and are locked in those of user namespaces below.  Files that
 * are open stay open.  Masks that are made later tell nobody.
 *
 * A program that may mount can evade a later restriction in two ways.  It can make its mounts
 * private beforehand, so that changes do not reach them.  And it can mount the directory above a
 * place once more, without the mounts in it, unless the plan has mounted something on the place
 * from the start, such as a pin.  So a permission that was given later can be taken back, but a
 * place that is to be hidden later needs a pin.
 *
 * Hiding or showing a place replaces all statements of the plan about that place itself.  Its path
 * must not lead through a symbolic link (ERR_INVALID), and a stub counts as missing
 * (ERR_NOT_FOUND).  If the plan hides all of the root, the only places that can be shown are those
 * with both MOUNTPLAN_LATER and MOUNTPLAN_MASK, and places below them.
 */
int mountplan_hide(struct mountplan_made *made, const char *path, struct err *err);
int mountplan_show(struct mountplan_made *made, const char *path, bool writable, struct err *err);
/* Undo mountplan_hide and mountplan_show: the plan's own statements about the path hold again. */
int mountplan_unhide(struct mountplan_made *made, const char *path, struct err *err);
