/*
 * restriction - what a command may do, besides the limits that its mounts and its network set.
 *
 * The command's process takes on a restriction after it has joined its namespaces, and passes it on
 * to all its descendants.  It takes on the parts in this order:
 *
 *	limits          of resource.h
 *	capabilities    out of the bounding set
 *	no_new_privs    or CAP_SYS_ADMIN is needed for the next two
 *	Landlock        its paths are looked up as root of the inside
 *	call filter     its listener goes to the warden
 *	ids             become those of the command's user (inside.c)
 *	capabilities    out of the other sets
 *
 * A traced command runs below a tracer, which needs system calls and descriptors that the command
 * may not have.  So the limits and the call filter are put off until the tracer's child executes
 * the command (restriction_finish).  The filter then explains nothing, since the tracer has the
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
	 * Its rules name paths, not descriptors.  The command gets a Landlock domain of its own if
	 * these rules limit anything.
	 */
	struct landlock_rules landlock;
	bool filtered;
	unsigned calls; /* if filtered: enum callfilter_variant */
	bool bounded;
	uint64_t capabilities; /* if bounded: those that remain */
	bool no_new_privs;
	struct resource_limits limits;
	/*
	 * The directory of the struct resource_group to fork the command into; borrowed.  -1: none.
	 */
	int group;
	/*
	 * Set inside only: the socket to the command's warden (commandspace.h).  The warden gets
	 * one message of one byte, with the listener of the call filter, or without it if no calls
	 * can be explained.  -1: there is no warden.
	 */
	int warden;
};

#define RESTRICTION_INIT ((struct restriction){ .warden = -1, .group = -1 })

/* Whether the command has a Landlock domain of its own. */
bool restriction_has_domain(const struct restriction *restriction);

/*
 * Take on the restriction, before the change of ids.  If traced is set, leave limits and call
 * filter to restriction_finish; *restriction then has to stay in memory until that.
 */
int restriction_enter(const struct restriction *restriction, bool traced, struct err *err);
/* Take on the rest of the restriction, after the change of ids. */
int restriction_settle(const struct restriction *restriction, struct err *err);
/*
 * Take on what restriction_enter has put off, in this process or in the one it was forked from.
 * Does nothing if nothing was put off.
 */
int restriction_finish(struct err *err);

/*
 * Write the lists of a restriction as texts that each end with a zero byte, and read them again.
 * next returns one text after the other, or NULL.  The lists that are read are never freed.
 */
void restriction_write(const struct restriction *restriction, struct buf *out);
bool restriction_read(struct restriction *restriction, const char *(*next)(void *arg), void *arg);
