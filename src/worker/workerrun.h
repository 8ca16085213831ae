/*
 * workerrun - serves the files that a policy allows to one peer, under that policy itself.
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

#define WORKERRUN_UNCONFINED 78 /* exit status where a required layer is missing */

struct workerrun_request {
	const char *policy;  /* file; NULL: the workspace alone */
	int64_t fd;          /* 0: standard input and output */
	const char *socket;  /* to listen on */
	const char *root;    /* the workspace; NULL: the working directory */
	int64_t pool;        /* warm workers; 0: this process is the only one */
	const char *denials; /* number of a descriptor, or file */
};
extern const struct param workerrun_params[];

/* How the program around it talks to people. */
struct workerrun_face {
	void (*tell)(void *arg, const char *text); /* one line: what is not enforced */
	void (*ready)(void *arg);                  /* the socket can be connected to */
	void *arg;
};

/* Whether the options go together. */
int workerrun_check(const struct workerrun_request *request, struct err *err);
/*
 * Serve until the peer ends.  Returns an exit status: 0, 1 after a protocol error, or
 * WORKERRUN_UNCONFINED, and then err says what is missing.
 */
int workerrun_main(const struct workerrun_request *request, const struct workerrun_face *face,
	struct err *err);

/* What a worker is made from, for the pool. */
struct workerrun {
	const struct policy *policy;
	const char *given; /* the workspace as it was named, absolute; NULL: as it is */
	const char *workspace;
	int denials; /* -1: none */
	const struct workerrun_face *face;
};
/* Put this process under the policy; keep stays open.  As workerrun_main. */
int workerrun_confine(const struct workerrun *worker, int keep, struct err *err);
/* Serve one connection in a process that workerrun_confine was called in. */
int workerrun_serve(const struct workerrun *worker, int in, int out, struct err *err);
/* A socket that only this user can connect to. */
int workerrun_listen(const char *path, struct err *err);
/* Wait for a peer of the same user; others are turned away. */
int workerrun_accept(int listener, struct err *err);
