/*
 * grantserver - answers those who grant and revoke (grantwire.h), for the warden.
 *
 * A peer must belong to the user of this process.  It must not be in a PID namespace below that of
 * this process, where the programs inside are.  These do not see the socket, and are refused if
 * they get hold of it all the same.
 */
#pragma once
#include "confine/grantwire.h"
#include "confine/poller.h"

struct grantserver_options {
	int listener; /* borrowed; SOCK_SEQPACKET */
	int proc;     /* the /proc of this process's own PID namespace; borrowed */
	/*
	 * Fill in the answer to a well-formed request from a permitted peer.  Its texts may lie in
	 * arena.
	 */
	void (*answer)(void *arg, const struct grantwire_request *request, struct arena *arena,
		struct grantwire_answer *out);
	void *arg;
};

struct grantserver;

/* Start to serve from a poller, which is borrowed.  Returns NULL on error. */
struct grantserver *grantserver_new(
	struct poller *poller, const struct grantserver_options *options, struct err *err);
void grantserver_free(struct grantserver *server);
