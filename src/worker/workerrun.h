/*
 * workerrun - serves to one peer the files that a policy allows, in a process that is under the
 * same policy.
 *
 * The worker reads its policy, waits for its peer, and puts itself under the policy
 * (selfconfine.h).  Only then does the worker read the first frame.  Without a policy, the worker
 * serves the workspace, for reading and writing, and no other files.
 */
#pragma once
#include <stdbool.h>

#include "core/err.h"
#include "core/param.h"
#include "policy/policy.h"

#define WORKERRUN_UNCONFINED 78 /* exit status if a required layer of protection is missing */

struct workerrun_request {
	const char *policy;  /* file with the policy; NULL: only the workspace is served */
	int64_t fd;          /* 0: standard input and output */
	const char *socket;  /* path of the socket to listen on */
	const char *root;    /* the workspace; NULL: the working directory */
	int64_t pool;        /* number of workers to keep ready; 0: this process is the worker */
	const char *denials; /* number of a descriptor, or path of a file */
};
extern const struct param workerrun_params[];

/*
 * Functions that the worker calls to inform people.  The program that runs the worker provides
 * them.
 */
struct workerrun_face {
	/* 'text' is one line about a part of the policy that is not enforced */
	void (*tell)(void *arg, const char *text);
	void (*ready)(void *arg); /* peers can connect to the socket now */
	void *arg;
};

/* Check whether the options can be used together. */
int workerrun_check(const struct workerrun_request *request, struct err *err);
/*
 * Serve until the peer closes the connection.  Returns an exit status: 0, or 1 after a protocol
 * error, or WORKERRUN_UNCONFINED with the missing layer in err.
 */
int workerrun_main(const struct workerrun_request *request, const struct workerrun_face *face,
	struct err *err);

/* The settings of a worker.  All workers of a pool have the same settings. */
struct workerrun {
	const struct policy *policy;
	const char *given; /* absolute path that was given for the workspace, or NULL */
	const char *workspace;
	int denials; /* descriptor that denials are written to; -1: none */
	const struct workerrun_face *face;
};
/*
 * Put this process under the policy.  The descriptor 'keep' stays open.  Returns 0, a negative
 * error, or WORKERRUN_UNCONFINED with the missing layer in err.
 */
int workerrun_confine(const struct workerrun *worker, int keep, struct err *err);
/* Serve one connection.  workerrun_confine must have been called in this process. */
int workerrun_serve(const struct workerrun *worker, int in, int out, struct err *err);
/* Returns a listening socket that only this user can connect to. */
int workerrun_listen(const char *path, struct err *err);
/*
 * Wait for a connection of the same user.  Connections of other users are closed.  Returns a
 * descriptor.
 */
int workerrun_accept(int listener, struct err *err);
