/*
 * grantsocket - the sockets at which the wardens of a workspace accept requests for grants.
 *
 * Each warden has a socket in the directory ROOT/run/NAME.grants, with a name of its own and mode
 * 0600.  A warden removes its socket when it ends.  The socket of a killed warden is removed by the
 * next process that sends requests to the wardens.
 */
#pragma once
#include "confine/grantwire.h"

#define GRANTSOCKET_NAME 24

struct grantsocket {
	int dir; /* the directory of the socket */
	int fd;  /* the listening socket */
	char name[GRANTSOCKET_NAME];
};

#define GRANTSOCKET_INIT ((struct grantsocket){ .dir = -1, .fd = -1 })

/* Make a socket.  'run' is the directory ROOT/run, and 'workspace' is a workspace's name. */
int grantsocket_make(int run, const char *workspace, struct grantsocket *out, struct err *err);
/* Remove the socket's name.  The descriptors stay open. */
void grantsocket_remove(const struct grantsocket *socket);
/*
 * Remove the sockets that killed wardens have left, in a workspace that has no wardens.  Returns
 * the number of removed sockets.
 */
int grantsocket_sweep(int run, const char *workspace);
/* Close the descriptors.  If no other process listens at the socket, its name is removed. */
void grantsocket_release(struct grantsocket *socket);

/*
 * Send a request to every warden of a workspace.  The callback 'told' gets the answer of each
 * warden whose command the request selects.  The arena owns the answers.
 */
int grantsocket_ask(int run, const char *workspace, const struct grantwire_request *request,
	struct arena *arena, int (*told)(void *arg, const struct grantwire_answer *, struct err *),
	void *arg, struct err *err);
