/*
 * client - the connection of one client to the owner: reads the lines that the client sends, and
 * writes the lines that the owner sends.
 *
 * The limits below bound the memory of a connection.  A client that sends too much gets an error.
 * If a client does not read its answers, the owner reads no further requests from this client.
 *
 * The owner goes on reading while requests of the client are running, because the client may cancel
 * a request or disconnect.  A client that shuts down only its sending side still gets all its
 * answers.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "core/buf.h"
#include "core/str.h"
#include "owner/rpc.h"

#define CLIENT_MAX 256 /* maximum number of connections at a time */
/* maximum number of requests of one connection that run at a time; further requests wait */
#define CLIENT_REQUESTS_MAX 64
/* maximum number of bytes of waiting requests; a request that does not fit is refused */
#define CLIENT_WAITING_MAX RPC_LINE_MAX
/* if a client has more unread bytes than this, the owner reads no more requests from it */
#define CLIENT_FULL (1 << 20)
/* if a client has more unread bytes than this, its connection is closed */
#define CLIENT_OUT_MAX (64 << 20)

/*
 * Indexes of the descriptors that come with a relayed operation.  The indexes 0 to 2 are those of
 * the standard descriptors.
 */
enum { CLIENT_FD_CWD = 3, CLIENT_FD_OPERATION, CLIENT_FDS_MAX };

struct owner;
struct loop_event;

struct client {
	struct client *next;
	struct owner *owner;
	int fd;
	struct loop_event *reading, *writing;
	struct buf in;
	/* number of bytes at the start of 'in' that are requests which wait for their turn */
	size_t waiting;
	bool handling;             /* handle_lines is working on 'in' */
	bool ended;                /* the client sends nothing more, but may wait for answers */
	struct loop_event *hangup; /* timer of the check whether the client has hung up */
	bool skipping;             /* the rest of a line that is too long is being skipped */
	struct buf out;
	size_t sent; /* bytes of 'out' that have been sent */
	bool subscribed;
	bool lost;               /* the event loop will close the connection */
	size_t requests;         /* number of running requests */
	int fds[CLIENT_FDS_MAX]; /* descriptors that came with the bytes that were read last */
	size_t n_fds;
};

/* Accept connections on the owner's listening socket. */
void client_listen(struct owner *owner);
void client_close_all(struct owner *owner);

/* Send one line, made by a function of rpc.h. */
void client_send(struct client *client, struct str line);
/* Send an error as the answer to the request with this id.  id may be NULL. */
void client_send_error(struct client *client, const struct jsonread *id, enum rpc_code code,
	const struct err *err);
/* Whether the client has so many unread bytes that further output should wait. */
bool client_is_full(const struct client *client);
/*
 * Call matches(arg, line) for each waiting line of the client, and drop the line if the result is
 * true.  Returns true if any line was dropped.  This function may be called only while a line of
 * the client is being handled.
 */
bool client_drop_waiting(
	struct client *client, bool (*matches)(void *arg, struct str line), void *arg);
/*
 * Count a running request of the client as answered, and go on with the waiting lines of the
 * client.
 */
void client_answered(struct client *client);
/* Send a line to all subscribers. */
void client_send_all(struct owner *owner, struct str line);
