/*
 * mountplan - what a program may do with the files of its mount namespace.
 *
 * A plan says things about paths.  What is said about a directory holds for all below it, until
 * something else is said about a path there.  Of what is said about the same place the stricter
 * wins.  A path that does not exist is left out, unless it is a stub.
 *
 * Mounts enforce the plan, so it holds for every program in the mount namespace, whatever its
 * rights to the files are.  A program that has rights over the namespace itself could take the
 * mounts away.  So the namespace is copied to a user namespace below, where they are locked.
 *
 * Directories on the way to a place that is restricted cannot be renamed, and links on the way
 * cannot be replaced.  Descriptors that were opened before are not restricted.
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
	MOUNTPLAN_READ_ONLY, /* but /proc, /dev/shm and /dev/pts, if writing there is possible now
			      */
	MOUNTPLAN_WRITABLE,  /* as it is now */
	MOUNTPLAN_MASK,      /* cannot be read; holes are made by MOUNTPLAN_SHOW alone */
	MOUNTPLAN_SHOW,
	MOUNTPLAN_PIN,       /* cannot be renamed or removed */
	MOUNTPLAN_PROTECT,   /* read-only, and cannot be renamed or removed */
	MOUNTPLAN_STUB,      /* the same; a missing directory is made, empty and marked */
	MOUNTPLAN_STUB_FILE, /* the same for a file */
	MOUNTPLAN_STUB_DOT,  /* the same for a file that has the line "." (core/stub.h) */
	MOUNTPLAN_NO_EXEC,
	MOUNTPLAN_EXEC,
	MOUNTPLAN_PRIVATE, /* an empty directory in memory instead; holes as in a mask */
	MOUNTPLAN_LATER,   /* may be shown later; cannot be renamed or removed until then */
	MOUNTPLAN_ROOT,    /* path is "/": nothing but what is shown exists, and it is read-only */
};

struct mountplan_entry {
	enum mountplan_kind kind;
	const char *path; /* absolute */
};

struct mountplan {
	const struct mountplan_entry *list;
	size_t n;
	unsigned owner; /* the id of root inside, who gets the directories that are made */
	bool changes;   /* something may be hidden or shown later */
	int device;     /* of maskfs_open, taken over; -1: masks are empty, and nobody is told */
	int nobody;     /* user namespace that has none of our ids, for empty masks; -1: none */
	/*
	 * A file for the locks of stubs, opened for writing for this plan alone, which all plans
	 * for the same tree have in common.  Borrowed.  -1: there are no other plans.
	 */
	int stub_locks;
	/* Called for each look at what is masked: entry is the place in list. */
	void (*told)(void *arg, size_t entry, const char *path, pid_t pid);
	void *arg;
};

/* A directory or file that was made as mount point. */
struct mountplan_stub {
	const char *path;
	int dir; /* that it is in, opened before the plan held */
	int fd;  /* the stub */
	const char *name;
	bool is_dir;
};

/* A plan that holds.  Everything is owned. */
struct mountplan_made {
	struct arena arena;
	struct mountplace *places;
	struct maskfs *masks;   /* to be served; NULL: there are none, or they are empty */
	struct err unexplained; /* why masks are empty; code 0: they are not */
	struct mountplan_stub *stubs;
	size_t n_stubs;
	bool stubs_removed;
	unsigned owner; /* and the following: as in the plan */
	int nobody;
	int stub_locks;
	int before, here; /* mount namespaces without and with the plan; -1: no later changes */
	void (*told)(void *arg, size_t entry, const char *path, pid_t pid);
	void *arg;
	const size_t *entries; /* by node of masks */
};

#define MOUNTPLAN_MADE_INIT                                                                        \
	((struct mountplan_made){ .nobody = -1, .stub_locks = -1, .before = -1, .here = -1 })

/*
 * Make a copy of the mount namespace of this process, which has one thread, and apply the plan
 * there.  The working directory is "/" afterwards.  self is /proc/self, or -1 if there will be no
 * later changes.  On failure the process is of no more use.
 */
int mountplan_apply(
	const struct mountplan *plan, int self, struct mountplan_made *out, struct err *err);
/* Also after a failure.  Stubs stay. */
void mountplan_release(struct mountplan_made *made);

/*
 * Whether the plan that holds now hides a path, or, write, keeps programs from writing there. Links
 * are not followed: for a path that leads through one the answer may be wrong.
 */
bool mountplan_forbids(const struct mountplan_made *made, const char *path, bool write);

/*
 * The path, without a slash before it, that keeps a path from being renamed or removed: the path
 * itself or one below, which the plan restricts.  NULL: there is none.  Belongs to made.
 */
const char *mountplan_keeper(const struct mountplan_made *made, const char *path);

/*
 * Remove the stubs that nobody has used, and that no other plan needs.  The process goes back to
 * the mount namespace without the plan; without later changes it has to be there already.  There
 * are no later changes after that.  What was removed goes from the disk with mountplan_release.
 */
void mountplan_remove_stubs(struct mountplan_made *made);

/*
 * Later changes, by a process that has stayed in the mount namespace.  If its mounts are shared,
 * they change in its copies as well, and are locked in those of user namespaces below.  Files that
 * are open stay open.  Masks that are made later tell nobody.
 *
 * A program that may mount can evade a later restriction in two ways.  It can cut its mounts off
 * from changes beforehand.  And it can mount the directory above again, without what is mounted in
 * it, unless the plan has mounted something on the place from the start, such as a pin.  So a
 * permission that was given later can be taken back, but what is to be hidden later wants a pin.
 *
 * What is hidden or shown replaces all that the plan says about that place itself.  Its path leads
 * through no symbolic link (ERR_INVALID), and a stub counts as missing (ERR_NOT_FOUND).  Where the
 * plan hides all of the root, only places that it has as MOUNTPLAN_LATER and MOUNTPLAN_MASK, and
 * what lies below these, can be shown.
 */
int mountplan_hide(struct mountplan_made *made, const char *path, struct err *err);
int mountplan_show(struct mountplan_made *made, const char *path, bool writable, struct err *err);
/* Go back to what the plan says. */
int mountplan_unhide(struct mountplan_made *made, const char *path, struct err *err);
