/*
 * maskfs - a file system that refuses every access to its files, and reports who tried.
 *
 * It is a FUSE file system spoken over /dev/fuse.  Its root holds masks: directories and files that
 * are mounted over the places that programs shall not read.  stat works on such a mask.  Every
 * other access fails with EACCES and is reported, with the name that was looked for.  A directory
 * in a mask can lead to a place where the mask has a hole.
 *
 * One process serves the file system, from its event loop: when maskfs_fd is readable, it calls
 * maskfs_serve, which never blocks.  This process must not itself use a name inside a mask, since
 * it would wait for its own answer.  When it has ended, programs that access a mask get ENOTCONN.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/err.h"

/* A mask, or a name in a mask that can be looked up.  A directory comes before its entries. */
struct maskfs_node {
	const char *path;   /* in the file system: "MASK" for a mask, "MASK/NAME" in it */
	mode_t type;        /* S_IFDIR, S_IFREG or S_IFLNK */
	const char *target; /* of a link */
};

/*
 * Called for each refused access.  node is the index of the mask.  path leads from the mask to the
 * name that was looked for, and is "" for the mask itself.  pid is the number of the process in our
 * PID namespace, or 0 if it has none there.
 */
typedef void maskfs_told(void *arg, size_t node, const char *path, pid_t pid);

struct maskfs;

/*
 * Open /dev/fuse, for maskfs_new, in the user namespace that is to own the file system.  The error
 * says why file systems like this one cannot be used here.
 */
int maskfs_open(struct err *err);
/* Whether file systems like this one can be used here. */
bool maskfs_probe(struct err *err);

/*
 * Make the file system, and its mount, which is not attached yet.  device is from maskfs_open, and
 * is taken over.  Our mount namespace has to belong to the user namespace that device was opened
 * in.  nodes are copied.  Serves the kernel's requests until it knows all nodes.  Returns NULL on
 * error.
 */
struct maskfs *maskfs_new(int device, const struct maskfs_node *nodes, size_t n, maskfs_told *told,
	void *arg, struct err *err);
/* Stop serving: programs that access a mask from now on get ENOTCONN.  fs may be NULL. */
void maskfs_free(struct maskfs *fs);
/* Return the mount, or a node in it, as an O_PATH descriptor that still belongs to fs. */
int maskfs_mount(const struct maskfs *fs);
int maskfs_node(const struct maskfs *fs, size_t node);

/* Close the descriptors that only mounting needs.  Called when all mounts have been made. */
void maskfs_settle(struct maskfs *fs);
int maskfs_fd(const struct maskfs *fs);
/*
 * Answer all requests that wait.  Returns a negative number when the file system is no longer
 * mounted anywhere.
 */
int maskfs_serve(struct maskfs *fs);
