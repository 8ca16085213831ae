/*
 * restriction - what a command may do, besides what its mounts and its network show.
 *
 * The command's process takes a restriction on after it has joined its namespaces, and passes it on
 * to all its descendants.  The order is:
 *
 *	limits          of resource.h
 *	capabilities    out of the bounding set
 *	no_new_privs    or CAP_SYS_ADMIN is needed for the next two
 *	Landlock        its paths are looked up as root of the inside
 *	call filter     its listener goes to the warden
 *	ids             become those of the command's user (inside.c)
 *	capabilities    out of the other sets
 *
 * A command that is traced has a tracer, which needs calls and descriptors that the command may
 * not have.  So limits and call filter wait until the tracer's child executes the command
 * (restriction_finish).  The filter then explains nothing, since tracing has the only listener.
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
	/* Paths only, no descriptors.  The command gets a domain of its own, if this asks for one.
	 */
	struct landlock_rules landlock;
	bool filtered;
	unsigned calls; /* if filtered: enum callfilter_variant */
	bool bounded;
	uint64_t capabilities; /* if bounded: those that remain */
	bool no_new_privs;
	struct resource_limits limits;
	/*
	 * The directory of a struct resource_group, which the command is forked into; borrowed.
	 * -1: none.
	 */
	int group;
	/*
	 * Set inside only: the socket to the command's warden (commandspace.h).  The warden gets
	 * one message of one byte with the listener, or without, if nothing can be explained.  -1:
	 * there is no warden.
	 */
	int warden;
};

#define RESTRICTION_INIT ((struct restriction){ .warden = -1, .group = -1 })

/* Whether the command has a Landlock domain of its own. */
bool restriction_has_domain(const struct restriction *restriction);

/*
 * Take the restriction on, before the change of ids.  traced: put limits and filter off until
 * restriction_finish; the restriction then has to stay where it is.
 */
int restriction_enter(const struct restriction *restriction, bool traced, struct err *err);
/* The rest, after the change of ids. */
int restriction_settle(const struct restriction *restriction, struct err *err);
/* Do what restriction_enter has put off, in this process or in one above; else nothing. */
int restriction_finish(struct err *err);

/*
 * Write the lists of a restriction as texts that end with a zero byte, and read them again; next
 * returns one text after the other, or NULL.  The memory that is read into is never freed.
 */
void restriction_write(const struct restriction *restriction, struct buf *out);
bool restriction_read(struct restriction *restriction, const char *(*next)(void *arg), void *arg);
