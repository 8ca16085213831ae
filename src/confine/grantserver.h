/*
 * grantserver - answers requests to grant and revoke (grantwire.h), for the warden.
 *
 * A peer must belong to the user of this process.  It must not be in a PID namespace below that of
 * this process, because sandboxed programs are in such a namespace.  These programs do not see the
 * socket, and are refused even if they get a descriptor of it.
 */
#pragma once
#include "confine/grantwire.h"
#include "confine/poller.h"

struct grantserver_options {
	int listener; /* a listening SOCK_SEQPACKET socket; borrowed */
	int proc;     /* the /proc of this process's own PID namespace; borrowed */
	/*
	 * Fills in the answer to a well-formed request from a permitted peer.  The arena may own
	 * the texts of the answer.
	 */
	void (*answer)(void *arg, const struct grantwire_request *request, struct arena *arena,
		struct grantwire_answer *out);
	void *arg;
};

struct grantserver;

/* Start to serve peers with the events of a poller, which is borrowed.  Returns NULL on error. */
struct grantserver *grantserver_new(
	struct poller *poller, const struct grantserver_options *options, struct err *err);
void grantserver_free(struct grantserver *server);
