/*
 * maskfs - a file system that refuses every access to its files, and reports the process that
 * tried.
 *
 * This is a FUSE file system that is served over /dev/fuse.  Its root contains masks: directories
 * and files that are mounted over the places that programs must not read.  stat works on a mask.
 * Every other access fails with EACCES and is reported, with the name that was looked up.  A
 * directory in a mask can lead to a place where the mask has a hole.
 *
 * One process serves the file system, from its event loop: when maskfs_fd is readable, the process
 * calls maskfs_serve, which never blocks.  This process must not itself use a name inside a mask,
 * since it would wait for its own answer.  When the process has ended, programs that access a mask
 * get ENOTCONN.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/err.h"

/*
 * A mask, or a name in a mask that can be looked up.  In a list of nodes, a directory comes before
 * its entries.
 */
struct maskfs_node {
	/* path in the file system: "MASK" for a mask, "MASK/NAME" for a name in it */
	const char *path;
	mode_t type;        /* S_IFDIR, S_IFREG or S_IFLNK */
	const char *target; /* target, if the node is a link */
};

/*
 * Called for each refused access.  'node' is the index of the mask.  'path' leads from the mask to
 * the name that was looked up; it is "" for the mask itself.  'pid' is the number, in the PID
 * namespace of this process, of the process that tried; 0: it has no number there.
 */
typedef void maskfs_told(void *arg, size_t node, const char *path, pid_t pid);

struct maskfs;

/*
 * Open /dev/fuse for maskfs_new.  The caller must be in the user namespace that will own the file
 * system.  On failure, err says why such file systems cannot be used here.
 */
int maskfs_open(struct err *err);
/* Whether file systems like this one can be used here. */
bool maskfs_probe(struct err *err);

/*
 * Make the file system and its mount, which is not attached yet.  'device' comes from maskfs_open,
 * and is taken over.  The mount namespace of this process must belong to the user namespace in
 * which the device was opened.  The nodes are copied.  The function serves requests until the
 * kernel knows all nodes.  Returns NULL on error.
 */
struct maskfs *maskfs_new(int device, const struct maskfs_node *nodes, size_t n, maskfs_told *told,
	void *arg, struct err *err);
/* Stop serving.  From now on, programs that access a mask get ENOTCONN.  fs may be NULL. */
void maskfs_free(struct maskfs *fs);
/*
 * maskfs_mount returns an O_PATH descriptor of the mount, and maskfs_node one of a node in the
 * mount.  The descriptors still belong to fs.
 */
int maskfs_mount(const struct maskfs *fs);
int maskfs_node(const struct maskfs *fs, size_t node);

/* Close the descriptors that are needed only until all mounts have been made. */
void maskfs_settle(struct maskfs *fs);
int maskfs_fd(const struct maskfs *fs);
/*
 * Answer all requests that wait.  Returns a negative number when the file system is no longer
 * mounted anywhere.
 */
int maskfs_serve(struct maskfs *fs);
