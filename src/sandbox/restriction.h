/*
 * restriction - the restrictions of a command, besides those that its mounts and its network set.
 *
 * The command's process sets its restrictions after it has joined its namespaces.  All its
 * descendants inherit them.  The process sets the parts in this order:
 *
 *	limits          of resource.h
 *	IPC namespace   one of the command's own
 *	capabilities    are removed from the bounding set
 *	no_new_privs    either this or CAP_SYS_ADMIN is needed for the next two
 *	Landlock        its paths are looked up as root in the sandbox
 *	call filter     its listener goes to the warden
 *	ids             become those of the command's user (inside.c)
 *	capabilities    are removed from the other sets
 *
 * A traced command runs below a tracer, which needs system calls and descriptors that the command
 * must not have.  So the limits and the call filter are set later, when the tracer's child executes
 * the command (restriction_finish).  The filter then explains no denials, since the tracer has the
 * only listener.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"
#include "sandbox/callfilter.h"
#include "sandbox/capability.h"
#include "sandbox/landlock.h"
#include "sandbox/resource.h"

struct restriction {
	/*
	 * The Landlock rules.  They name paths, not descriptors.  The command gets a Landlock
	 * domain of its own if these rules limit anything.
	 */
	struct landlock_rules landlock;
	bool filtered;
	unsigned calls; /* if 'filtered' is set: bits of enum callfilter_variant */
	bool bounded;
	uint64_t capabilities; /* if 'bounded' is set: the capabilities that remain */
	bool no_new_privs;
	struct resource_limits limits;
	/*
	 * The command has System V IPC objects and POSIX message queues of its own, instead of the
	 * sandbox's.
	 */
	bool own_ipc;
	/*
	 * Directory of the struct resource_group that the command is forked into; borrowed.  -1:
	 * none.
	 */
	int group;
	/*
	 * Set only in the sandbox: the socket to the command's warden (commandspace.h).  The warden
	 * gets one message of one byte over it.  If calls can be explained, the message carries the
	 * listener of the call filter.  -1: there is no warden.
	 */
	int warden;
};

#define RESTRICTION_INIT ((struct restriction){ .warden = -1, .group = -1 })

/* Whether the command has a Landlock domain of its own. */
bool restriction_has_domain(const struct restriction *restriction);

/*
 * Set the restrictions that come before the change of ids.  If 'traced' is set, the limits and the
 * call filter are left to restriction_finish, and *restriction must stay in memory until then.
 */
int restriction_enter(const struct restriction *restriction, bool traced, struct err *err);
/* Set the restrictions that come after the change of ids. */
int restriction_settle(const struct restriction *restriction, struct err *err);
/*
 * Set the restrictions that restriction_enter has put off, if there are any.  Call this in the same
 * process or in a child of it.
 */
int restriction_finish(struct err *err);

/*
 * Write the lists of a restriction as texts that each end with a zero byte, and read them again.
 * The function 'next' returns one text after the other, and then NULL.  The lists that are read are
 * never freed.
 */
void restriction_write(const struct restriction *restriction, struct buf *out);
bool restriction_read(struct restriction *restriction, const char *(*next)(void *arg), void *arg);
