/*
 * grantwire - the requests to grant something to a running command, and the warden's answers.
 *
 * A request and an answer are each one message of JSON.  A warden answers every request, even one
 * that is not for its command.
 */
#pragma once
#include "core/param.h"

#define GRANTWIRE_MAX 65536 /* bytes of a message */

/* A request names either a path or a host. */
struct grantwire_request {
	const char *path;    /* absolute, without ".", ".." and links */
	const char *host;    /* a rule as in net.allowed_domains */
	const char *mode;    /* with path: "read" or "write", which allows reading, too */
	int64_t pid;         /* only for the command that this process belongs to; 0: for all */
	const char *command; /* only for commands of this name; NULL: for all */
	bool revoke;
};

struct grantwire_answer {
	bool selected;           /* the request is for this command */
	bool changed;            /* false: it was granted or allowed before */
	const char *rule;        /* of the policy, such as "fs.grantable: /srv"; or NULL */
	struct param_texts argv; /* of the command, shortened */
	struct err err;          /* why the request was refused; code 0: it was not */
};

/* Check that the members fit together.  Returns ERR_USAGE or ERR_INVALID if they do not. */
int grantwire_check(const struct grantwire_request *request, struct err *err);

void grantwire_write_request(struct json *out, const struct grantwire_request *request);
/* Read and check a request.  All its texts lie in arena. */
int grantwire_read_request(
	struct str text, struct arena *arena, struct grantwire_request *out, struct err *err);

void grantwire_write_answer(struct json *out, const struct grantwire_answer *answer);
int grantwire_read_answer(
	struct str text, struct arena *arena, struct grantwire_answer *out, struct err *err);
