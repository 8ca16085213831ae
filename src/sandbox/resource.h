/*
 * resource - limits on the resources that one command and all its descendants use.
 *
 * The kernel enforces limits of one process (setrlimit(2)).  It also enforces limits of a cgroup,
 * where a cgroup with the controllers can be made: by root in the root cgroup, or by a user to whom
 * cgroups were delegated.  Everywhere else the warden looks at the processes from time to time.
 *
 * The warden counts a process as a process of the command if any of the following is true.  If the
 * command has a cgroup, only the cgroup is checked:
 *
 *	its cgroup              is that of the command, which no program can leave
 *	its mount namespace     is that of the command: each command under a policy has one for
 *	                        itself.  Without nested sandboxes, the call filter keeps processes
 *	                        in it
 *	its parent              belongs to the command
 *	its past                the warden counted the process when it looked the last time
 *
 * So without a cgroup, the warden can lose track of a program.  This happens if, between two looks,
 * the program makes a mount namespace and its parent ends.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"

#define RESOURCE_LOOK_MS 100 /* a good pause between two looks */

/* In each member, 0 stands for no limit. */
struct resource_limits {
	int64_t cpu_secs;     /* seconds of all processes together */
	int64_t memory_bytes; /* resident bytes; pages that processes share count once */
	int64_t open_fds;     /* number of open descriptors of each process */
	int64_t tasks;        /* number of processes and their threads */
};

struct resource_usage {
	int64_t cpu_ns; /* without a cgroup, the true value may be higher */
	int64_t memory_bytes;
	int64_t tasks;
};

enum resource_kind { RESOURCE_NONE, RESOURCE_CPU, RESOURCE_MEMORY, RESOURCE_TASKS };

/*
 * Set the limits of this process and its descendants.  These limits are a little higher than those
 * of resource_check.  So resource_check detects an excess first, and can report which limit was
 * exceeded.  'proc' is the /proc of this process, for counting the tasks that the user already has;
 * it is negative if /proc cannot be read.
 */
int resource_apply(const struct resource_limits *limits, int proc, struct err *err);

/* Whether 'sig' is the signal by which the kernel kills a process that has used up its CPU time. */
bool resource_is_cpu_signal(int sig);

#define RESOURCE_NAME_MAX 64

/* A cgroup for one command. */
struct resource_group {
	int dir, parent; /* -1: there is none */
	char name[RESOURCE_NAME_MAX];
	bool memory, tasks; /* the kernel enforces these limits on it */
};

#define RESOURCE_GROUP_INIT ((struct resource_group){ .dir = -1, .parent = -1 })

/*
 * Make a cgroup below 'jobs', which is the cgroup of a sandbox (SANDBOX_JOBS, borrowed).  The
 * holder forks the command into the new cgroup.  The new cgroup gets those limits for which it has
 * controllers.
 */
int resource_group_make(int jobs, const struct resource_limits *limits, struct resource_group *out,
	struct err *err);
/*
 * Append a line for each limit that is enforced less strictly, because there is no cgroup or the
 * cgroup lacks the controller for the limit.  'nested' says that programs may make mount
 * namespaces.
 */
void resource_lacks(const struct resource_limits *limits, const struct resource_group *group,
	bool nested, struct buf *out);
/* Close a cgroup.  If its processes have ended, remove it. */
void resource_group_release(struct resource_group *group);

struct resource_watch;

/*
 * Begin to watch a command.  'proc' is a /proc that lists the processes of the command, such as
 * that of the sandbox.  'group' is the cgroup of the command; if 'group' is NULL or group->dir is
 * -1, the command has no cgroup.  'mnt' is the inode number of the command's mount namespace.
 * 'limits', 'proc' and 'group' are borrowed.
 */
struct resource_watch *resource_watch_new(const struct resource_limits *limits, int proc,
	const struct resource_group *group, unsigned long long mnt);
void resource_watch_free(struct resource_watch *watch);

/* Look at the processes.  Returns a limit that the processes exceed, or RESOURCE_NONE. */
enum resource_kind resource_check(struct resource_watch *watch, struct resource_usage *usage);

/* Kill all processes of the command.  ERR_LIMIT: some processes have not ended. */
int resource_kill(struct resource_watch *watch, struct err *err);

/* Append a description for people: "2.1 GiB of memory, and 2.0 GiB is the limit". */
void resource_describe(const struct resource_limits *limits, enum resource_kind kind,
	const struct resource_usage *usage, struct buf *out);
