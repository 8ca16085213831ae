/*
 * denials - writes each denial of a policy as soon as it happens, and keeps a list of denials.
 *
 * Every denial is one line of JSON, written by one write.  Its members are "time" and "what"; then
 * "path" and "access", or "host" and "port", or the "name" of a system call or limit; then "rule",
 * "remedy", "pid" if the process is known, and "times".  In one second, the same denial is written
 * at most once, and at most 200 lines are written in all.  A line that would have to wait for its
 * reader is lost.  The denials that are in no line are counted, and one line has their number.  The
 * first DENIALS_KEPT_MAX denials are kept in a list, for the summary at the end and for the node of
 * the command.  Only one process writes denials: the warden.
 *
 * Grants that are made or revoked while the program runs (grants.h) are written to the same places,
 * because a grant changes which accesses are denied.
 */
#pragma once
#include "core/arena.h"
#include "core/err.h"
#include "core/json.h"
#include "policy/verdict.h"

#define DENIALS_KEPT_MAX 100
#define DENIALS_SINKS_MAX 3

/*
 * The value of "what" for the end of a warden, which is no denial: a warden was killed, and its
 * command with it.
 */
#define DENIALS_WARDEN "warden"
/* The value of "rule" in such a line. */
#define DENIALS_WARDEN_RULE "no program of a command runs without the command's warden"
/* The value of "what" for the number of denials that are in no line of their own. */
#define DENIALS_MORE "more"

struct denial {
	/*
	 * "read", "write", "execute", "connect", "resolve", "call", "limit", "grant", "revoke", or
	 * DENIALS_WARDEN or DENIALS_MORE
	 */
	const char *what;
	const char *subject; /* the path, HOST:PORT, or the name of the call */
	/* for a path that is granted or revoked: "read" or "write"; else NULL */
	const char *access;
	char rule[VERDICT_TEXT_MAX], remedy[VERDICT_TEXT_MAX];
	int pid; /* number of the process in the sandbox; 0: not known */
	uint64_t times;
};

struct denials; /* every denial so far */

/*
 * Returns an empty list, which the caller frees.  'sink' is a descriptor that denials are written
 * to, or -1 for none; it is borrowed.
 */
struct denials *denials_new(int sink);
enum denials_sink {
	DENIALS_GIVEN, /* given by the caller */
	/* a file of strata with a limit; it also says how many denials the other sinks lack */
	DENIALS_OWN,
};
/*
 * Add a descriptor that denials are written to; it is borrowed.  A regular file is locked by
 * flock(2) during each write, so that a reader that takes the lock may empty the file.  Descriptors
 * beyond DENIALS_SINKS_MAX are ignored.
 */
void denials_add_sink(struct denials *denials, int sink, enum denials_sink kind);
/*
 * Returns 0, or the errno that keeps lines from being written to a descriptor now: EPIPE if its
 * reader has gone, EAGAIN if its reader is too slow.
 */
int denials_check(int sink);
/* Returns the reason that such an errno stands for. */
const char *denials_describe(int error);
void denials_free(struct denials *denials);
/* Add a denial.  The texts are copied. */
void denials_add(struct denials *denials, const char *what, const char *subject,
	const struct verdict *verdict, int pid);
/*
 * Write a further line for each kept denial that has happened again since its last line.  Also
 * write the number of denials that are in no line.
 */
void denials_flush(struct denials *denials);
/*
 * Write a line about an event that is not a denial.  Such lines are written at once, and none is
 * left out.
 */
void denials_note(struct denials *denials, const struct denial *line);
/*
 * Returns the denials that are kept, *n of them, in the order in which they first happened.  *total
 * is the number of all denials.  The list belongs to 'denials'.
 */
const struct denial *denials_list(const struct denials *denials, size_t *n, uint64_t *total);
/* Write a denial as members of the object that is open in 'out'. */
void denials_json(struct json *out, const struct denial *denial);
