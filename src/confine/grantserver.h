/*
 * grantserver - answers those who grant and revoke (grantwire.h), for the warden.
 *
 * A peer must be of this process's user.  And it must not be in a PID namespace below that of this
 * process, as programs inside are: they do not see the socket, and would be refused if they did.
 */
#pragma once
#include "confine/grantwire.h"
#include "confine/poller.h"

struct grantserver_options {
	int listener; /* borrowed; SOCK_SEQPACKET */
	int proc;     /* of this process's own PID namespace; borrowed */
	/* Fill in the answer to a request that is in order; texts may lie in arena. */
	void (*answer)(void *arg, const struct grantwire_request *request, struct arena *arena,
		struct grantwire_answer *out);
	void *arg;
};

struct grantserver;

/* Serve from a poller, which is borrowed.  NULL on error. */
struct grantserver *grantserver_new(
	struct poller *poller, const struct grantserver_options *options, struct err *err);
void grantserver_free(struct grantserver *server);
