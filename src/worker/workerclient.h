/*
 * workerclient - sends requests to a worker: one call at a time, in one thread.
 *
 *	struct workerclient client;
 *	char *argv[] = { "strata", "worker", "--root", dir, NULL };
 *
 *	workerclient_spawn(&client, argv, err);
 *	workerclient_call(&client, &(struct wire_request){ .kind = WIRE_STAT, .path = path },
 *		&reply, err);
 *	workerclient_close(&client);
 */
#pragma once
#include <sys/types.h>

#include "core/arena.h"
#include "worker/frame.h"
#include "worker/wire.h"

struct workerclient {
	pid_t pid; /* pid of the worker; 0: it is no child of this process */
	int fd;
	struct frame_reader reader;
	struct buf out;
	struct arena arena; /* memory of the last reply */
};

/*
 * Start a worker with argv, to which "--fd" and a number are added.  argv[0] is an absolute path,
 * or a name that is looked up along PATH.
 */
int workerclient_spawn(struct workerclient *client, char *const *argv, struct err *err);
/* Connect to a worker, or a pool, that listens on a socket. */
int workerclient_connect(struct workerclient *client, const char *path, struct err *err);
/*
 * Send a request and wait for its reply, which is valid until the next call.  If the reply is an
 * error, the function fails with ERR_DENIED, ERR_INVALID, or ERR_SYSTEM without an errno.  *reply
 * has the whole answer of the worker.
 */
int workerclient_call(struct workerclient *client, const struct wire_request *request,
	struct wire_reply *reply, struct err *err);
/* The two halves of a call.  They are for requests with an id. */
int workerclient_send(
	struct workerclient *client, const struct wire_request *request, struct err *err);
int workerclient_receive(struct workerclient *client, struct wire_reply *reply, struct err *err);
/*
 * End the connection.  If the worker is a child of this process, wait for it.  Returns the child's
 * status as waitpid gives it, or 0.
 */
int workerclient_close(struct workerclient *client);
