/*
 * workerclient - talks to a worker: one call at a time, by one thread.
 *
 *	struct workerclient client;
 *	char *argv[] = { "strata", "worker", "--root", dir, NULL };
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
	pid_t pid; /* of the worker; 0: it is not our child */
	int fd;
	struct frame_reader reader;
	struct buf out;
	struct arena arena; /* of the last reply */
};

/* Start argv, an absolute path or a name in PATH first, with "--fd" and a number added. */
int workerclient_spawn(struct workerclient *client, char *const *argv, struct err *err);
/* Connect to a worker, or a pool, that listens on a socket. */
int workerclient_connect(struct workerclient *client, const char *path, struct err *err);
/*
 * Send a request and wait for its reply, which lives until the next call.  An error reply is
 * ERR_DENIED, ERR_INVALID, or ERR_SYSTEM without a number; reply has all of it.
 */
int workerclient_call(struct workerclient *client, const struct wire_request *request,
	struct wire_reply *reply, struct err *err);
/* The two halves of a call, for requests with an id. */
int workerclient_send(
	struct workerclient *client, const struct wire_request *request, struct err *err);
int workerclient_receive(struct workerclient *client, struct wire_reply *reply, struct err *err);
/* End the connection, and wait for a worker of ours; its status as of waitpid. */
int workerclient_close(struct workerclient *client);
