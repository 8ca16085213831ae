/*
 * callfilter - the system calls that a program under a policy may make: a seccomp allow list.
 *
 * The filters are made at build time, since making one takes milliseconds.  tools/mkcallfilter.c
 * has the lists.  The filters cover the machine's architecture and the 32-bit architecture that
 * goes with it.  A denied call fails with EPERM.  These calls fail with ENOSYS: calls of x32, calls
 * that are newer than the list, and calls that programs can do without.
 *
 * A filter compares numbers, and cannot follow pointers.  So:
 *
 *	clone3      keeps its flags in memory.  It fails with ENOSYS, so that the C library uses
 *	            clone(2) instead
 *	socketcall  keeps its arguments in memory.  It is denied to 32-bit programs, which have
 *	            had other calls for sockets since Linux 4.3
 *	listen      has a descriptor and no family.  So CALLFILTER_NO_LISTEN denies it for UNIX
 *	            sockets, too.  Landlock's rule for bind(2) is not enough: listen(2) without
 *	            bind(2) takes a TCP port of the kernel's choice
 *	execveat    is allowed with an empty path.  Such a call evades Landlock and the flags of
 *	            mounts only if the file is from memfd_create(2), and CALLFILTER_EXEC prevents
 *	            the execution of these files
 *
 * Connections by MSG_FASTOPEN and MPTCP evade the port rules of Landlock (Linux 6.18).  So a filter
 * refuses both kinds, with the error of a kernel that supports neither MSG_FASTOPEN nor MPTCP.
 * NETLINK_ROUTE is allowed, because getaddrinfo(3) uses it.
 *
 * The options below let the command's warden (commandspace.h) explain denials.  With
 * CALLFILTER_EXPLAIN, denied calls and calls that change files wait until the warden has answered a
 * notification.  With CALLFILTER_EXEC as well, calls that execute a program wait, too.  The warden
 * decides nothing: a denied call is always refused, and any other call always goes on to the
 * kernel, which decides.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/err.h"

enum callfilter_variant {
	CALLFILTER_NESTED = 1 << 0,    /* allow mounts and namespaces, for making sandboxes */
	CALLFILTER_NO_LISTEN = 1 << 1, /* deny listen(2) */
	CALLFILTER_EXEC = 1 << 2,      /* files in memory cannot be executed (MFD_NOEXEC_SEAL) */
	CALLFILTER_EXPLAIN = 1 << 3,   /* notify a listener of calls, to explain denials */
	CALLFILTER_VARIANTS = 1 << 4,
};

struct sock_fprog;

/* Returns the BPF program of a variant.  The program is never freed. */
const struct sock_fprog *callfilter_bytes(unsigned variant);

/*
 * Load a BPF program for this thread and for children that it makes from now on.  This needs
 * CAP_SYS_ADMIN in the caller's user namespace, or PR_SET_NO_NEW_PRIVS.  Returns a listener, which
 * belongs to the caller, or 0 if want_listener is not set.  ERR_BUSY: the thread already has a
 * filter with a listener.
 */
int callfilter_load(const struct sock_fprog *program, bool want_listener, struct err *err);

/* A call that waits for an answer. */
struct callfilter_event {
	const char *call; /* name of the call */
	/*
	 * true: the call will be refused; false: the call changes or executes a file, if the kernel
	 * allows that
	 */
	bool denied;
	pid_t pid, tid; /* process and thread, in the PID namespace of this process */
	/*
	 * as 'pid', but one PID namespace further down; equal to 'pid' if there is no such
	 * namespace
	 */
	pid_t inside;
	/*
	 * Absolute paths below the root of the thread's mount namespace, without "." and "..".
	 * Links in the paths are not followed.  NULL: the call has no such path, or the path could
	 * not be read.
	 */
	const char *path, *path2;
	uint64_t args[6];
};

struct callfilter_listener;

/*
 * Take over fd, a listener that a process of a sandbox has sent.  If fd is no listener, it is
 * closed, and the error is ERR_INVALID.  'proc' is the /proc of this process's PID namespace, and
 * is borrowed.
 */
struct callfilter_listener *callfilter_listener_take(int fd, int proc, struct err *err);
void callfilter_listener_free(struct callfilter_listener *listener);
/*
 * Returns a descriptor that is readable when a call waits.  poll reports POLLHUP when no process
 * with the filter is left.
 */
int callfilter_listener_fd(const struct callfilter_listener *listener);

typedef void callfilter_hear(void *arg, const struct callfilter_event *event);
/*
 * Receive one notification, pass the call to the callback, and answer the notification.  The
 * callback must not look at files of the sandbox: the caller itself may be the process that serves
 * these files.  Returns 1, or 0 if the call does not wait any more.  Blocks until a call waits.
 */
int callfilter_notified(
	struct callfilter_listener *listener, callfilter_hear *hear, void *arg, struct err *err);
