/*
 * mountplan - restricts the use of files in a mount namespace, by a plan.
 *
 * A plan is a list of statements about paths.  A statement about a directory applies to everything
 * below it, except to paths with statements of their own.  If several statements are about the same
 * place, the strictest one is used.  Paths that do not exist are left out, except stubs, which are
 * made (mountstub.h).
 *
 * Mounts enforce the plan.  So it applies to every program in the mount namespace, whatever rights
 * the program has to the files.  A program with rights over the namespace itself could unmount
 * these mounts.  So the namespace is copied to a user namespace below, where the mounts are locked.
 *
 * Directories on the way to a restricted place cannot be renamed, and links on the way cannot be
 * replaced.  Descriptors that were opened before the plan was applied are not restricted.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "core/arena.h"
#include "core/err.h"
#include "sandbox/maskfs.h"

enum mountplan_kind {
	MOUNTPLAN_READ_ONLY, /* except /proc, /dev/shm and /dev/pts, if they are writable now */
	MOUNTPLAN_WRITABLE,  /* stays writable, if it is writable without the plan */
	MOUNTPLAN_MASK,      /* cannot be read; only MOUNTPLAN_SHOW makes holes in it */
	MOUNTPLAN_SHOW,
	MOUNTPLAN_PIN,       /* cannot be renamed or removed */
	MOUNTPLAN_PROTECT,   /* read-only, and cannot be renamed or removed */
	MOUNTPLAN_STUB,      /* as PROTECT; if missing, an empty directory is made and marked */
	MOUNTPLAN_STUB_FILE, /* as STUB, but a file is made */
	MOUNTPLAN_STUB_DOT,  /* as STUB, but a file with the line "." is made (core/stub.h) */
	MOUNTPLAN_NO_EXEC,
	MOUNTPLAN_EXEC,
	/* replaced by an empty directory in memory; holes are made as in a mask */
	MOUNTPLAN_PRIVATE,
	MOUNTPLAN_LATER, /* may be shown later; cannot be renamed or removed until then */
	/* path is "/": only the places that are shown exist, and the root is read-only */
	MOUNTPLAN_ROOT,
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
	/* id of the sandbox's root user, who will own the directories that are made */
	unsigned owner;
	/* bytes of memory that a MOUNTPLAN_PRIVATE may take; 0: as much as the kernel allows */
	int64_t private_bytes;
	bool changes; /* a place may be hidden or shown later */
	/* from maskfs_open, taken over; -1: masks are empty, and accesses are not reported */
	int device;
	/* for empty masks: a user namespace that has none of this process's ids; -1: none */
	int nobody;
	/*
	 * Borrowed descriptor of the file that a plan locks while it makes or removes stubs.  All
	 * plans for the same tree share the file, but each plan needs a descriptor from an open(2)
	 * of its own, for writing.  -1: there are no other plans.
	 */
	int stub_locks;
	/*
	 * Called for each access to a masked path.  'entry' is the index in 'list' of the statement
	 * that masks the path.  'path' and 'pid' are those of maskfs_told.
	 */
	void (*told)(void *arg, size_t entry, const char *path, pid_t pid);
	void *arg;
};

/* A directory that contains stubs, opened before the plan was applied. */
struct mountplan_stub_dir {
	const struct mountplace *place;
	int fd;
	bool changed;        /* stubs were made or removed since 'before' was read */
	struct statx before; /* the times of the directory are set back to these */
};

/* A directory or file that the plan has made as a mount point, or shares with another plan. */
struct mountplan_stub {
	const char *path;
	struct mountplan_stub_dir *dir;
	int fd; /* descriptor of the stub */
	const char *name;
	bool is_dir;
};

/* A plan that is applied.  This struct owns its members, except those that the plan borrows. */
struct mountplan_made {
	struct arena arena;
	struct mountplace *places;
	/* the masks, which must be served; NULL: there are none, or they are empty */
	struct maskfs *masks;
	struct err unexplained; /* reason why masks are empty; code 0: they are not */
	struct mountplan_stub *stubs;
	size_t n_stubs;
	struct mountplan_stub_dir *stub_dirs;
	size_t n_stub_dirs;
	bool stubs_removed;
	int64_t private_bytes; /* this and the next three members are those of the plan */
	unsigned owner;
	int nobody;
	int stub_locks;
	/* mount namespaces without and with the plan; -1: no later changes are possible */
	int before, here;
	void (*told)(void *arg, size_t entry, const char *path, pid_t pid);
	void *arg;
	const size_t *entries; /* for each node of masks: index in the plan's list */
};

#define MOUNTPLAN_MADE_INIT                                                                        \
	((struct mountplan_made){ .nobody = -1, .stub_locks = -1, .before = -1, .here = -1 })

/*
 * Make a copy of the mount namespace of this process, and apply the plan in the copy.  The process
 * must have only one thread.  Afterwards the working directory is "/".  'self' is /proc/self, or -1
 * if there will be no later changes.  After a failure, this process must not continue its work.
 */
int mountplan_apply(
	const struct mountplan *plan, int self, struct mountplan_made *out, struct err *err);
/* Free everything.  This may be called after mountplan_apply has failed, too.  Stubs stay. */
void mountplan_release(struct mountplan_made *made);

/*
 * Whether the plan, with its later changes, hides a path.  If 'write' is set, the result is also
 * true for a path that programs cannot write.  Links are not followed, so the answer may be wrong
 * for a path that leads through a link.
 */
bool mountplan_forbids(const struct mountplan_made *made, const char *path, bool write);

/*
 * Find the restricted path that keeps a path from being renamed or removed.  The result is the path
 * itself or one below it, without the slash at its beginning, and belongs to 'made'.  Returns NULL
 * if no restricted path keeps the path.
 */
const char *mountplan_keeper(const struct mountplan_made *made, const char *path);

/*
 * Remove the stubs that no program has used and no other plan needs.  This process returns to the
 * mount namespace without the plan.  If the plan was applied with -1 for 'self', this process must
 * be in that namespace already.  Afterwards no later changes are possible.  The disk space of
 * removed stubs is freed by mountplan_release.
 */
void mountplan_remove_stubs(struct mountplan_made *made);

/*
 * The functions for later changes must be called by a process that has stayed in the mount
 * namespace.  If the mounts of this namespace are shared, the mounts of its copies change with
 * them.  In a copy that belongs to a child user namespace, the changed mounts are locked.  Files
 * that are open stay open.  Masks that are made later do not report accesses.
 *
 * A program that may mount can evade a later restriction in two ways.  It can make its mounts
 * private beforehand, so that changes do not reach them.  It can also mount the directory above a
 * place once more, without the mounts in it.  The second way fails if the plan has had a mount on
 * that place from the start, such as a pin.  So a permission that was given later can be taken
 * back, but a place that is to be hidden later needs a pin.
 *
 * Hiding or showing a place replaces all statements of the plan about that place itself.  Its path
 * must not lead through a symbolic link (ERR_INVALID), and a stub counts as missing
 * (ERR_NOT_FOUND).  If the plan hides all of the root, only some places can be shown: those with
 * both MOUNTPLAN_LATER and MOUNTPLAN_MASK, and places below them.
 */
int mountplan_hide(struct mountplan_made *made, const char *path, struct err *err);
int mountplan_show(struct mountplan_made *made, const char *path, bool writable, struct err *err);
/*
 * Undo mountplan_hide and mountplan_show, so that the plan's own statements about the path apply
 * again.
 */
int mountplan_unhide(struct mountplan_made *made, const char *path, struct err *err);
