/*
 * maskfs - a file system that refuses every look into it, and tells who tried.
 *
 * It is a FUSE file system spoken over /dev/fuse.  Its root holds masks: directories and files that
 * are mounted over what programs shall not read.  Such a mask can be looked at with stat.  All else
 * fails with EACCES and is told, with the name that was looked for.  A directory in a mask can lead
 * to a place where the mask has a hole.
 *
 * One process serves, from its event loop: maskfs_fd is readable when maskfs_serve has something to
 * do, which never blocks.  That process must not use a name inside a mask itself, since it would
 * wait for its own answer.  When it ends, programs get ENOTCONN.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/err.h"

/* A mask, or a name in a mask that can be looked up.  A directory comes before its entries. */
struct maskfs_node {
	const char *path;   /* in the file system: one name for a mask, else more */
	mode_t type;        /* S_IFDIR, S_IFREG or S_IFLNK */
	const char *target; /* of a link */
};

/*
 * Called for each refused access.  node is the index of the mask, path leads from there to the name
 * that was looked for, "" for the mask itself.  pid is as this process sees it; 0: it does not.
 */
typedef void maskfs_told(void *arg, size_t node, const char *path, pid_t pid);

struct maskfs;

/*
 * Open /dev/fuse, for maskfs_new, in the user namespace that is to own the file system.  The error
 * says why file systems like this one cannot be used here.
 */
int maskfs_open(struct err *err);
/* Whether they can be. */
bool maskfs_probe(struct err *err);

/*
 * Make the file system, and its mount, which is not attached.  The mount namespace has to belong to
 * the user namespace that device was opened in.  device is from maskfs_open, and is
 * taken over.  nodes are copied.  Serves until all of them are known to the kernel.  NULL on error.
 */
struct maskfs *maskfs_new(int device, const struct maskfs_node *nodes, size_t n, maskfs_told *told,
	void *arg, struct err *err);
/* Programs that look at a mask from now on get ENOTCONN.  NULL is fine. */
void maskfs_free(struct maskfs *fs);
/* The mount, and a node in it, as O_PATH descriptors; borrowed. */
int maskfs_mount(const struct maskfs *fs);
int maskfs_node(const struct maskfs *fs, size_t node);

/* Close what only mounting needs, when all mounts have been made. */
void maskfs_settle(struct maskfs *fs);
int maskfs_fd(const struct maskfs *fs);
/* Answer all that was asked.  Negative when the file system is no longer mounted anywhere. */
int maskfs_serve(struct maskfs *fs);
