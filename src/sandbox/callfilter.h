/*
 * callfilter - the system calls that a program under a policy may make: a seccomp allow list.
 *
 * The filters are made at build time (tools/mkcallfilter.c has the lists), since making one takes
 * milliseconds.  They cover the machine's architecture and the 32-bit one that goes with it.  A
 * denied call fails with EPERM.  Calls of x32, calls that are newer than the list, and calls that
 * programs can do without fail with ENOSYS.
 *
 * A filter compares numbers, and cannot follow pointers.  So:
 *
 *	clone3      keeps its flags in memory: ENOSYS, and the C library falls back to clone(2)
 *	socketcall  keeps its arguments in memory: denied to 32-bit programs, which have had calls
 *	            of their own for sockets since Linux 4.3
 *	listen      has a descriptor and no family.  CALLFILTER_NO_LISTEN denies it for UNIX
 *	            sockets, too.  Landlock denies bind(2) of TCP ports, but listen(2) without
 *	            bind(2) takes a port of the kernel's choice
 *	execveat    with an empty path is allowed: the only files without a name that Landlock
 *	            and mount flags do not cover are those of memfd_create(2)
 *
 * Connections by MSG_FASTOPEN and MPTCP evade the port rules of Landlock (Linux 6.18), so a filter
 * refuses both in the way of a kernel that lacks them.  NETLINK_ROUTE is allowed, because
 * getaddrinfo(3) uses it.
 *
 * With CALLFILTER_EXPLAIN, calls that are denied and calls that change files wait until the warden
 * has answered a notification.  The warden only learns of the call, to explain a denial, and
 * decides nothing: a denied call is always refused, and a call that changes files always goes on to
 * the kernel, which decides.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/err.h"

enum callfilter_variant {
	CALLFILTER_NESTED = 1 << 0,    /* mounts and namespaces, to make sandboxes with */
	CALLFILTER_NO_LISTEN = 1 << 1, /* no listen(2) */
	CALLFILTER_EXEC = 1 << 2,      /* files in memory cannot be executed (MFD_NOEXEC_SEAL) */
	CALLFILTER_EXPLAIN = 1 << 3,   /* with a listener */
	CALLFILTER_VARIANTS = 1 << 4,
};

struct sock_fprog;

/* Returns the BPF program of a variant, which is never freed. */
const struct sock_fprog *callfilter_bytes(unsigned variant);

/*
 * Load a BPF program for this thread and for children that it makes from now on.  Needs
 * CAP_SYS_ADMIN in the caller's user namespace, or PR_SET_NO_NEW_PRIVS.  Returns a listener, which
 * belongs to the caller, or 0 without want_listener.  ERR_BUSY: the thread has a filter with a
 * listener already.
 */
int callfilter_load(const struct sock_fprog *program, bool want_listener, struct err *err);

/* A call that waits for an answer. */
struct callfilter_event {
	const char *call; /* its name */
	bool denied;      /* it will be refused; else it changes files, if the kernel allows that */
	pid_t pid, tid;   /* process and thread, in the PID namespace of this process */
	pid_t inside;     /* the process in the PID namespace below, if it is in one; else pid */
	/*
	 * Absolute paths below the root of the thread's mount namespace, without "." and "..".
	 * Links in them are not followed.  NULL: the call has none, or it could not be read.
	 */
	const char *path, *path2;
	uint64_t args[6];
};

struct callfilter_listener;

/*
 * Take over fd, a listener that a process of a sandbox has sent.  ERR_INVALID if it is something
 * else; fd is closed then.  proc is the /proc of this process's PID namespace, and is borrowed.
 */
struct callfilter_listener *callfilter_listener_take(int fd, int proc, struct err *err);
void callfilter_listener_free(struct callfilter_listener *listener);
/* Readable when a call waits; POLLHUP when no process with the filter is left. */
int callfilter_listener_fd(const struct callfilter_listener *listener);

typedef void callfilter_hear(void *arg, const struct callfilter_event *event);
/*
 * Receive one notification, call hear about it, and answer it.  hear must not look at files of the
 * sandbox: the caller may be the one who serves these.  Returns 1, or 0 if the call does not wait
 * any more.  Blocks until a call waits.
 */
int callfilter_notified(
	struct callfilter_listener *listener, callfilter_hear *hear, void *arg, struct err *err);
