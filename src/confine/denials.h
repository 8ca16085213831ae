/*
 * denials - what a policy has denied, as it happens.
 *
 * Every denial is one line of JSON, written by one write: "time" and "what"; "path" and "access",
 * or "host" and "port", or the "name" of a call or limit; "rule", "remedy", "pid" if it is known,
 * "times".  In one second, the same denial is written at most once, and at most 200 lines of
 * denials.  A line that would have to wait for its reader is lost.  The first DENIALS_KEPT_MAX
 * denials are kept in a list, for the summary at the end and for the node of the command.  Only one
 * process writes denials: the warden.
 *
 * Grants and their revocations while the program runs (grants.h) are written to the same places,
 * since they tell which denials are to be expected.
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
	const char *access;  /* if a path is granted or revoked: "read", "write"; else NULL */
	char rule[VERDICT_TEXT_MAX], remedy[VERDICT_TEXT_MAX];
	int pid; /* inside; 0: not known */
	uint64_t times;
};

struct denials; /* all that were told of */

/*
 * Make an empty list.  sink is a descriptor that denials are written to; it is borrowed.  -1:
 * none.
 */
struct denials *denials_new(int sink);
/*
 * Add a sink.  A regular file is locked by flock(2) for each write, so that a reader may empty it.
 * More sinks than DENIALS_SINKS_MAX are ignored.
 */
void denials_add_sink(struct denials *denials, int sink);
void denials_free(struct denials *denials);
/* Note a denial.  what and subject are copied. */
void denials_add(struct denials *denials, const char *what, const char *subject,
	const struct verdict *verdict, int pid);
/* Write again each denial in the list that has happened more often than its last line says. */
void denials_flush(struct denials *denials);
/* Write a line about something that is no denial.  Every such line is written, at once. */
void denials_note(struct denials *denials, const struct denial *line);
/*
 * Returns the denials that are kept, in the order in which they first happened.  *total is the
 * number of all denials.
 */
const struct denial *denials_list(const struct denials *denials, size_t *n, uint64_t *total);
/* Write a denial as members of the object that is open in out. */
void denials_json(struct json *out, const struct denial *denial);
