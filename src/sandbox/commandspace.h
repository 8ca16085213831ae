/*
 * commandspace - the namespaces that one command has for itself.
 *
 * A command can have mounts of its own: a copy of the sandbox's mounts, with binds (bindmounts.h)
 * and under a plan (mountplan.h).  It can also have a network of its own.  Programs that the
 * command starts share its mounts and its network.
 *
 * The mounts are made in the user namespace that the sandbox was built in.  Then they are copied to
 * the user namespace in which programs of the sandbox run, where they are locked.  A child makes
 * the mounts, because a process that has joined a sandbox's mounts cannot return.  The child is not
 * in the sandbox's PID namespace, so no program of the sandbox can reach it.  If there is work to
 * do while the command runs, the child stays in its namespaces as the command's warden.  The warden
 * may change the mounts, and its changes reach the command.
 */
#pragma once
#include <sys/types.h>

#include "core/err.h"
#include "sandbox/bindspec.h"
#include "sandbox/mountplan.h"
#include "sandbox/sandbox.h"

/* The data for the work of a warden. */
struct commandspace_warden {
	struct mountplan_made *mounts; /* NULL: there is no plan */
	int proc;                      /* /proc of the warden's own PID namespace; O_PATH */
	unsigned long long mnt;        /* inode number of the command's mount namespace */
	int net;    /* descriptor of the command's own network namespace; -1: none */
	int socket; /* socket to the process that will become the command */
};

#define COMMANDSPACE_FDS_MAX 13

struct commandspace_plan {
	struct bindspecs binds;
	/*
	 * NULL: there is no plan.  commandspace_make works on a copy, and sets the members 'owner',
	 * 'device' and 'nobody' of that copy.  Stubs (mountstub.h) need a warden.
	 */
	const struct mountplan *mounts;
	/*
	 * Complete 'mounts', the copy of the mount plan.  This function is called before the copy
	 * is applied.  During the call, the root directory is the tree that the command will see,
	 * including binds.  NULL: the plan is complete already.
	 */
	int (*look)(void *arg, struct mountplan *mounts, struct err *err);
	void *look_arg;
	/*
	 * Make the command's network.  This function is called in the user namespace that the
	 * sandbox was built in, with the files of the host.  Returns a descriptor of the namespace;
	 * the caller of the function must not close it.  NULL: the command has the sandbox's
	 * network.
	 */
	int (*make_net)(void *arg, struct err *err);
	void *net_arg;
	/*
	 * Do the work of the warden.  This function is called in the command's outer mount
	 * namespace, and in a session of its own.  The result is the warden's exit status.  NULL:
	 * there is no warden.
	 */
	int (*keep)(void *arg, const struct commandspace_warden *warden);
	void *keep_arg;
	/*
	 * The descriptors that the functions above use.  Elements that are -1 are ignored.  A
	 * warden inherits no other descriptors, not even 0, 1 and 2, since the warden may outlive
	 * the process that made it.
	 */
	int fds[COMMANDSPACE_FDS_MAX];
	size_t n_fds;
};

/* Namespaces for sandbox_run, which borrows them. */
struct commandspace {
	int mnt;    /* descriptor of the mount namespace */
	int net;    /* descriptor of the network namespace; -1: the sandbox's is used */
	int warden; /* socket to the warden; -1: there is none */
	int keeper; /* pidfd of the warden; -1: there is none */
	/* pid of the warden, a child that this process has to wait for; 0: there is none */
	pid_t pid;
	int points; /* number of mount points that were made for binds, and stay in the tree */
};

#define COMMANDSPACE_INIT                                                                          \
	((struct commandspace){ .mnt = -1, .net = -1, .warden = -1, .keeper = -1 })

/* Make the namespaces.  The binds are added to the sandbox's list (bindlist.h). */
int commandspace_make(const struct sandbox *sandbox, const struct commandspace_plan *plan,
	struct commandspace *out, struct err *err);
/* Close the descriptors.  The warden goes on. */
void commandspace_release(struct commandspace *space);
