/*
 * workerrun - serve to one peer the files that a policy allows, in a process under the same policy.
 *
 * The worker reads its policy, finds its peer, puts itself under the policy (selfconfine.h), and
 * only then reads the first frame.  Without a policy it serves the workspace, for reading and
 * writing, and nothing else.
 */
#pragma once
#include <stdbool.h>

#include "core/err.h"
#include "core/param.h"
#include "policy/policy.h"

#define WORKERRUN_UNCONFINED 78 /* exit status if a required layer of protection is missing */

struct workerrun_request {
	const char *policy;  /* file; NULL: the workspace alone */
	int64_t fd;          /* 0: standard input and output */
	const char *socket;  /* to listen on */
	const char *root;    /* the workspace; NULL: the working directory */
	int64_t pool;        /* workers to keep ready; 0: this process is the worker */
	const char *denials; /* number of a descriptor, or file */
};
extern const struct param workerrun_params[];

/* How the program that runs the worker informs people. */
struct workerrun_face {
	void (*tell)(void *arg, const char *text); /* one line: what is not enforced */
	void (*ready)(void *arg);                  /* peers can connect to the socket now */
	void *arg;
};

/* Check that the options go together. */
int workerrun_check(const struct workerrun_request *request, struct err *err);
/*
 * Serve until the peer ends.  Returns an exit status: 0, 1 after a protocol error, or
 * WORKERRUN_UNCONFINED with the missing layer in err.
 */
int workerrun_main(const struct workerrun_request *request, const struct workerrun_face *face,
	struct err *err);

/* The plan of a worker, the same for all workers of a pool. */
struct workerrun {
	const struct policy *policy;
	const char *given; /* absolute path by which the workspace was named, or NULL */
	const char *workspace;
	int denials; /* -1: none */
	const struct workerrun_face *face;
};
/*
 * Put this process under the policy.  The descriptor keep stays open.  Returns 0, a negative error,
 * or WORKERRUN_UNCONFINED with the missing layer in err.
 */
int workerrun_confine(const struct workerrun *worker, int keep, struct err *err);
/* Serve one connection in a process that workerrun_confine was called in. */
int workerrun_serve(const struct workerrun *worker, int in, int out, struct err *err);
/* Returns a listening socket that only this user can connect to. */
int workerrun_listen(const char *path, struct err *err);
/* Wait for a connection of the same user, and close those of others.  Returns the descriptor. */
int workerrun_accept(int listener, struct err *err);
