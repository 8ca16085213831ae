/*
 * landlock - a Landlock domain: which files, TCP ports, sockets and signals a process may use.
 *
 * A domain only takes rights away.  It holds for the process that enters it and for all its
 * descendants, whatever their ids, and cannot be left.  A domain enforces the parts of its rules
 * that the running kernel supports; landlock_lacks lists the others.
 *
 * Facts that the callers have to know:
 *
 *	mount(2)        fails in a domain with rules about files, so programs in it cannot make
 *	                sandboxes of their own.
 *	rename, link    between directories fail with EXDEV if a process is in a domain with rules
 *	                about files and in another one without (Linux 6.18, in either order).  So
 *	                files, ports and scopes have to be in one domain, and the process that
 *	                enters it may not be in a domain of scope.h.
 *	ptrace(2)       and looks into /proc/PID of processes outside of the domain fail.
 *	descriptors     that are open already keep their rights.
 *	files in memory of memfd_create(2), pipes and sockets are not restricted.
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
	LANDLOCK_DEVICES = 1 << 3, /* ioctl(2) of devices, that of terminals included */
	LANDLOCK_REFER = 1 << 4,   /* rename and link to and from other directories */
	LANDLOCK_ALL = (1 << 5) - 1,
};

/* What may be done with a file, or with a directory and everything below it. */
struct landlock_rule {
	const char *path; /* absolute; NULL: fd is the file */
	int fd;           /* borrowed */
	unsigned access;  /* enum landlock_access */
};

struct landlock_ports {
	bool limited;         /* false: all ports may be used */
	const uint16_t *list; /* the ports that may be used if limited */
	size_t n;
};

enum landlock_scope {
	LANDLOCK_SCOPE_ABSTRACT = 1 << 0, /* no abstract sockets that were made outside */
	LANDLOCK_SCOPE_SIGNALS = 1 << 1,  /* no signals to processes outside of the domain */
};

struct landlock_rules {
	bool files; /* false: rules is ignored, and all files may be used */
	const struct landlock_rule *rules;
	size_t n;
	struct landlock_ports bind, connect;
	unsigned scopes; /* enum landlock_scope */
};

/*
 * Returns the version of the kernel's interface, or 0 if the kernel has no Landlock or it is
 * off.
 */
int landlock_abi(void);

/* Append a line for each part of rules that this kernel cannot enforce. */
void landlock_lacks(const struct landlock_rules *rules, struct buf *out);

/*
 * Make a domain.  Paths are looked up in the root of this process; rules for missing paths are left
 * out.  *ruleset gets a descriptor that belongs to the caller, or -1 if there is nothing that this
 * kernel can restrict.
 */
int landlock_make(const struct landlock_rules *rules, int *ruleset, struct err *err);

/*
 * Put this thread, and children that it makes from now on, into the domain.  Does nothing if
 * ruleset is -1.  Needs CAP_SYS_ADMIN in the caller's user namespace, or PR_SET_NO_NEW_PRIVS.
 */
int landlock_enter(int ruleset, struct err *err);
