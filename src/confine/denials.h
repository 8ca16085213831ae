/*
 * denials - what a policy has denied, as it happens.
 *
 * Every denial is one line of JSON, written by one write: "time" and "what"; "path" and "access",
 * or "host" and "port", or the "name" of a call or limit; "rule", "remedy", "pid" if it is known,
 * "times".  The same denial is written once a second at most, and no more than 200 different ones
 * are; a line that would have to wait for its reader is lost.  A list of the first
 * DENIALS_KEPT_MAX is kept for the summary at the end and for the node.  One process writes: the
 * warden.
 *
 * What is granted and revoked while the program runs (grants.h) is written to the same places,
 * since it says which denials are to be expected.
 */
#pragma once
#include "core/arena.h"
#include "core/err.h"
#include "core/json.h"
#include "policy/verdict.h"

#define DENIALS_KEPT_MAX 100
#define DENIALS_SINKS_MAX 3

struct denial {
	/* "read", "write", "execute", "connect", "resolve", "call", "limit", "grant", "revoke" */
	const char *what;
	const char *subject; /* path, HOST:PORT, or name of the call */
	const char *access;  /* of a path that is granted or revoked: "read", "write" */
	char rule[VERDICT_TEXT_MAX], remedy[VERDICT_TEXT_MAX];
	int pid; /* inside; 0: not known */
	uint64_t times;
};

struct denials; /* all that were told of */

/* sink: a descriptor that every new denial is written to, borrowed; -1: none. */
struct denials *denials_new(int sink);
/*
 * Add one.  A regular file is locked by flock(2) for each write, so that a reader may empty it.
 * Those above DENIALS_SINKS_MAX are left out.
 */
void denials_add_sink(struct denials *denials, int sink);
void denials_free(struct denials *denials);
/* Note one.  what and subject are copied. */
void denials_add(struct denials *denials, const char *what, const char *subject,
	const struct verdict *verdict, int pid);
/* Write those kept ones again that have happened more often than was written. */
void denials_flush(struct denials *denials);
/* Write a line about something that is no denial: each of them, at once. */
void denials_note(struct denials *denials, const struct denial *line);
/* The kept ones, in the order in which they happened first; *total counts all. */
const struct denial *denials_list(const struct denials *denials, size_t *n, uint64_t *total);
/* One as members of the object that is open. */
void denials_json(struct json *out, const struct denial *denial);
