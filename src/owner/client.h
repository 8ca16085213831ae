/*
 * client - a connection to the owner, with the lines that are read from it and written to it.
 *
 * A client that sends too much gets an error, and a client that does not read is waited for.
 * Neither takes more memory than the limits below.  The owner goes on reading while requests of the
 * client are running, because the client may cancel a request or disconnect.  A client that shuts
 * down only its sending side still gets all its answers.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "core/buf.h"
#include "core/str.h"
#include "owner/rpc.h"

#define CLIENT_MAX 256                  /* connections */
#define CLIENT_REQUESTS_MAX 64          /* running at a time for one connection; more wait */
#define CLIENT_WAITING_MAX RPC_LINE_MAX /* bytes of waiting requests; more are refused */
#define CLIENT_FULL (1 << 20)           /* unread bytes; with more, its requests are not read */
#define CLIENT_OUT_MAX (64 << 20)       /* unread bytes; with more, the connection is closed */

/* Descriptors that come with a relayed operation, after the standard ones. */
enum { CLIENT_FD_CWD = 3, CLIENT_FD_OPERATION, CLIENT_FDS_MAX };

struct owner;
struct loop_event;

struct client {
	struct client *next;
	struct owner *owner;
	int fd;
	struct loop_event *reading, *writing;
	struct buf in;
	size_t waiting;            /* bytes at the start of in: requests that wait for their turn */
	bool handling;             /* handle_lines is working on in */
	bool ended;                /* it sends nothing more, but may wait for answers */
	struct loop_event *hangup; /* timer: look whether a client that ended has hung up */
	bool skipping;             /* the rest of a line that was too long is being skipped */
	struct buf out;
	size_t sent; /* bytes of out that were sent */
	bool subscribed;
	bool lost;               /* the event loop will close it */
	size_t requests;         /* how many are running */
	int fds[CLIENT_FDS_MAX]; /* descriptors that came with the bytes just read */
	size_t n_fds;
};

/* Accept connections on the owner's listening socket. */
void client_listen(struct owner *owner);
void client_close_all(struct owner *owner);

/* Send one line, as rpc.h has written it. */
void client_send(struct client *client, struct str line);
/* Send an error; id is that of the request, or NULL. */
void client_send_error(struct client *client, const struct jsonread *id, enum rpc_code code,
	const struct err *err);
/* Whether the client has many bytes to read, so that further output should wait. */
bool client_is_full(const struct client *client);
/*
 * Drop the waiting lines of a client that match.  Returns true if there were any.  Called only
 * while a line of the client is handled.
 */
bool client_drop_waiting(
	struct client *client, bool (*matches)(void *arg, struct str line), void *arg);
/* Note that one of the client's running requests has been answered. */
void client_answered(struct client *client);
/* Send a line to all subscribers. */
void client_send_all(struct owner *owner, struct str line);
