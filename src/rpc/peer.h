/*
 * peer - the program that sends requests on standard input, and gets replies on standard output.
 *
 * peer_serve is the loop of an agent.  It reads lines (linereader.h), refuses lines that are no
 * requests, passes the requests to the functions of a struct peer_face, and writes the replies
 * (outbox.h).  The loop itself answers "$/cancel".  Replies may come in any order.
 *
 * The loop reads nothing while the member 'load' returns PEER_FULL, or while many bytes of replies
 * are unsent.  So a peer that does not read its replies cannot use up the memory.
 */
#pragma once
#include <poll.h>

#include "rpc/envelope.h"
#include "rpc/linereader.h"
#include "rpc/outbox.h"

#define PEER_UNSENT_MAX ((size_t)1 << 20) /* unsent bytes at which reading stops */
#define PEER_POLLS_MAX 16

enum peer_load {
	PEER_IDLE, /* every request is answered */
	PEER_BUSY,
	PEER_FULL, /* no more requests can be taken now */
};

/* The functions that answer the requests. */
struct peer_face {
	/* Take a request other than "$/cancel".  The request is valid during the call. */
	void (*request)(void *arg, const struct envelope *request);
	/*
	 * Stop the requests that have this id.  Each gets an error as its reply.  Returns their
	 * number.
	 */
	size_t (*cancel)(void *arg, struct str id);
	enum peer_load (*load)(const void *arg);
	/*
	 * Fill in fds for poll(2), up to PEER_POLLS_MAX elements, and return their number.
	 * 'unsent' is the number of bytes that the peer has not taken yet.  *wake becomes the time
	 * of CLOCK_MONOTONIC at which 'handle' must be called at the latest.  If this function does
	 * not set *wake, there is no such time.
	 */
	size_t (*poll)(void *arg, size_t unsent, struct pollfd *fds, int64_t *wake);
	/* Do the work that is possible according to fds. */
	void (*handle)(void *arg, const struct pollfd *fds);
};

struct peer {
	int in, out; /* copies of standard input and output */
	struct linereader lines;
	struct outbox outbox;
	void (*before)(int); /* disposition of SIGPIPE before peer_open */
	const struct peer_face *face;
	void *arg;
};

/*
 * Take over the standard streams.  Until peer_close, descriptor 1 is a copy of standard error, so
 * that only replies get to the peer.  A write to a peer that has hung up gives an error and no
 * signal.  If peer_open fails, peer_close must not be called.
 */
int peer_open(struct peer *peer, const struct peer_face *face, void *arg, struct err *err);
void peer_close(struct peer *peer);
/* In a child process: close the streams of the peer, and leave the standard streams as they are. */
void peer_leave(struct peer *peer);

/*
 * Send the bytes of *line that begin at the offset 'start'.  The peer may take over the memory of
 * *line.
 */
void peer_reply(struct peer *peer, struct buf *line, size_t start);
/* Reply with an error, unless the request is a notification. */
void peer_refuse(struct peer *peer, const struct envelope *request, enum rpc_code code,
	const struct err *err);

/*
 * Serve the peer.  Returns 0 when the input has ended and all requests are answered, or an error if
 * a stream failed or the peer has hung up.
 */
int peer_serve(struct peer *peer, struct err *err);
