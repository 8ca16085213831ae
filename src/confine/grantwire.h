/*
 * grantwire - what a command is asked for while it runs, and what its warden answers.
 *
 * A request and an answer are each one message of JSON.  The warden answers every request, also one
 * that is not for its command.
 */
#pragma once
#include "core/param.h"

#define GRANTWIRE_MAX 65536 /* bytes of a message */

/* Either a path or a host. */
struct grantwire_request {
	const char *path;    /* absolute, with no ".", ".." or link in it */
	const char *host;    /* a rule as in net.allowed_domains */
	const char *mode;    /* with path: "read" or "write", which allows reading, too */
	int64_t pid;         /* only of the command that this process belongs to; 0: of all */
	const char *command; /* only of commands of this name; NULL: of all */
	bool revoke;
};

struct grantwire_answer {
	bool selected;           /* the request is for this command */
	bool changed;            /* false: it was so before */
	const char *rule;        /* of the policy, such as "fs.grantable: /srv"; or NULL */
	struct param_texts argv; /* of the command, shortened */
	struct err err;          /* why the request was refused; code 0: it was not */
};

/* Check that the members go together: ERR_USAGE, ERR_INVALID. */
int grantwire_check(const struct grantwire_request *request, struct err *err);

void grantwire_write_request(struct json *out, const struct grantwire_request *request);
/* Read and check.  All texts lie in arena. */
int grantwire_read_request(
	struct str text, struct arena *arena, struct grantwire_request *out, struct err *err);

void grantwire_write_answer(struct json *out, const struct grantwire_answer *answer);
int grantwire_read_answer(
	struct str text, struct arena *arena, struct grantwire_answer *out, struct err *err);
