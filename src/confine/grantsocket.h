/*
 * grantsocket - where the wardens of a workspace listen for grants.
 *
 * Each has a socket in ROOT/run/NAME.grants, with a name of its own and mode 0600.  A warden
 * removes its socket when it ends.  One that was left by a warden that was killed is removed by the
 * next process that asks.
 */
#pragma once
#include "confine/grantwire.h"

#define GRANTSOCKET_NAME 24

struct grantsocket {
	int dir; /* that the socket is in */
	int fd;  /* listens */
	char name[GRANTSOCKET_NAME];
};

#define GRANTSOCKET_INIT ((struct grantsocket){ .dir = -1, .fd = -1 })

/* run is ROOT/run, workspace the name of one. */
int grantsocket_make(int run, const char *workspace, struct grantsocket *out, struct err *err);
/* Remove the name.  The descriptors stay open. */
void grantsocket_remove(const struct grantsocket *socket);
/* Close.  A name that nobody listens at any more is removed. */
void grantsocket_release(struct grantsocket *socket);

/*
 * Ask every warden of a workspace, and call told with each answer that says that the request was
 * for its command.  Answers lie in arena.
 */
int grantsocket_ask(int run, const char *workspace, const struct grantwire_request *request,
	struct arena *arena, int (*told)(void *arg, const struct grantwire_answer *, struct err *),
	void *arg, struct err *err);
