/*
 * grantsocket - where the wardens of a workspace listen for grants.
 *
 * Each warden has a socket in the directory ROOT/run/NAME.grants, with a name of its own and mode
 * 0600.  A warden removes its socket when it ends.  If a warden was killed, the next process that
 * asks removes its socket.
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

/* Make a socket.  run is the directory ROOT/run, and workspace the name of the workspace. */
int grantsocket_make(int run, const char *workspace, struct grantsocket *out, struct err *err);
/* Remove the socket's name.  The descriptors stay open. */
void grantsocket_remove(const struct grantsocket *socket);
/* Close the descriptors.  If nobody else listens at the socket, its name is removed. */
void grantsocket_release(struct grantsocket *socket);

/*
 * Ask every warden of a workspace.  Calls told with each answer of a warden whose command the
 * request was for.  The answers lie in arena.
 */
int grantsocket_ask(int run, const char *workspace, const struct grantwire_request *request,
	struct arena *arena, int (*told)(void *arg, const struct grantwire_answer *, struct err *),
	void *arg, struct err *err);
