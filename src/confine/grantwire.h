/*
 * grantwire - the format of requests for grants to a running command, and of the warden's answers.
 *
 * A request is one message of JSON, and so is an answer.  A warden answers every request, even one
 * that does not select its command.
 */
#pragma once
#include "core/param.h"

#define GRANTWIRE_MAX 65536 /* bytes of a message */

/* A request names either a path or a host. */
struct grantwire_request {
	const char *path;    /* absolute, without ".", ".." and links */
	const char *host;    /* a rule as in net.allowed_domains */
	const char *mode;    /* for a path: "read", or "write", which allows reading, too */
	int64_t pid;         /* selects the command that this process belongs to; 0: all commands */
	const char *command; /* selects commands of this name; NULL: all commands */
	bool revoke;
};

struct grantwire_answer {
	bool selected;           /* the request selects this warden's command */
	bool changed;            /* false: the path or host was granted or allowed before */
	const char *rule;        /* the rule of the policy, such as "fs.grantable: /srv"; or NULL */
	struct param_texts argv; /* the arguments of the command, shortened */
	struct err err; /* why the request was refused; its code is 0 if it was not refused */
};

/*
 * Check that the members of a request fit together.  Returns ERR_USAGE or ERR_INVALID if they do
 * not.
 */
int grantwire_check(const struct grantwire_request *request, struct err *err);

void grantwire_write_request(struct json *out, const struct grantwire_request *request);
/* Read and check a request.  The arena owns its texts. */
int grantwire_read_request(
	struct str text, struct arena *arena, struct grantwire_request *out, struct err *err);

void grantwire_write_answer(struct json *out, const struct grantwire_answer *answer);
int grantwire_read_answer(
	struct str text, struct arena *arena, struct grantwire_answer *out, struct err *err);
