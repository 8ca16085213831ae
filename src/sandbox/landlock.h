/*
 * landlock - a Landlock domain: the files, TCP ports, sockets and signals that a process may use.
 *
 * A domain can only take rights away.  It applies to the process that enters it and to all its
 * descendants, whichever ids they have.  No process can leave a domain.  A domain enforces the
 * parts of its rules that the running kernel supports; landlock_lacks lists the others.
 *
 * Facts that the callers have to know:
 *
 *	mount(2)        fails in a domain with rules about files, so programs in it cannot make
 *	                sandboxes of their own.
 *	rename, link    between directories fail with EXDEV if a process is in a domain with rules
 *	                about files and in another domain without such rules (Linux 6.18, in either
 *	                order).  So the rules about files, ports and scopes have to be in one
 *	                domain.  A process in a domain of scope.h must not enter a domain with rules
 *	                about files.
 *	ptrace(2)       fails for processes outside of the domain, and so do reads of /proc/PID.
 *	descriptors     that are open already keep their rights.
 *	memory files    (memfd_create(2)), pipes and sockets are not restricted.
 *	ports           are those of TCP.  UDP is not restricted.  Neither are MPTCP, TCP Fast Open
 *	                (MSG_FASTOPEN) and listen(2) on a socket without an address: callfilter.h
 *	                refuses the first two always, and the third with CALLFILTER_NO_LISTEN.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"

#define LANDLOCK_RULES_MAX 4096
#define LANDLOCK_PORTS_MAX 1024

enum landlock_access {
	LANDLOCK_READ = 1 << 0,    /* read files, list directories */
	LANDLOCK_WRITE = 1 << 1,   /* write and truncate files, make and remove names */
	LANDLOCK_EXECUTE = 1 << 2, /* execute files */
	LANDLOCK_DEVICES = 1 << 3, /* use ioctl(2) on devices, including terminals */
	LANDLOCK_REFER = 1 << 4,   /* rename and link files between directories */
	LANDLOCK_ALL = (1 << 5) - 1,
};

/* The access to a file, or to a directory and everything below it. */
struct landlock_rule {
	const char *path; /* absolute path; NULL: fd is the file */
	int fd;           /* descriptor of the file, borrowed */
	unsigned access;  /* enum landlock_access */
};

struct landlock_ports {
	bool limited;         /* false: all ports may be used, and the list is ignored */
	const uint16_t *list; /* the ports that may be used */
	size_t n;
};

enum landlock_scope {
	/* no connections to abstract sockets that were made outside of the domain */
	LANDLOCK_SCOPE_ABSTRACT = 1 << 0,
	LANDLOCK_SCOPE_SIGNALS = 1 << 1, /* no signals to processes outside of the domain */
};

struct landlock_rules {
	bool files; /* false: the list 'rules' is ignored, and all files may be used */
	const struct landlock_rule *rules;
	size_t n;
	struct landlock_ports bind, connect;
	unsigned scopes; /* enum landlock_scope */
};

/*
 * Returns the version of the kernel's interface, or 0 if the kernel has no Landlock or Landlock is
 * off.
 */
int landlock_abi(void);

/* Append a line for each part of the rules that this kernel cannot enforce. */
void landlock_lacks(const struct landlock_rules *rules, struct buf *out);

/*
 * Make a domain.  Paths are looked up from the root directory of this process.  Rules for missing
 * paths are left out.  *ruleset gets a descriptor that belongs to the caller.  *ruleset becomes -1
 * if this kernel can enforce no part of the rules.
 */
int landlock_make(const struct landlock_rules *rules, int *ruleset, struct err *err);

/*
 * Put this thread into the domain, and with it the children that it makes from now on.  If ruleset
 * is -1, nothing is done.  Needs CAP_SYS_ADMIN in the caller's user namespace, or
 * PR_SET_NO_NEW_PRIVS.
 */
int landlock_enter(int ruleset, struct err *err);
