/*
 * client - the connections to an owner: lines in, lines out.
 *
 * A client that sends more than it may is told so, one that does not read is waited for, and
 * neither costs more memory than the limits below.  However many of its requests are at work, it
 * is listened to: it may cancel one, or go.  One that shuts down only its own side gets
 * all its answers.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "core/buf.h"
#include "core/str.h"
#include "owner/rpc.h"

#define CLIENT_MAX 256                  /* connections */
#define CLIENT_REQUESTS_MAX 64          /* of one connection, at a time: more wait */
#define CLIENT_WAITING_MAX RPC_LINE_MAX /* bytes of those that wait: more are refused */
#define CLIENT_FULL (1 << 20)           /* bytes not yet read by it: nothing more is read from it */
#define CLIENT_OUT_MAX (64 << 20)       /* then it is given up */

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
	size_t waiting;             /* bytes of in: requests that are too many for now */
	bool taking;                /* lines are being taken from in */
	bool ended;                 /* it will send nothing more, and may wait for answers */
	struct loop_event *minding; /* whether one that has ended is still there */
	bool skipping;              /* the rest of a line that was too long */
	struct buf out;
	size_t sent; /* of out */
	bool subscribed;
	bool lost; /* to be closed when it is safe */
	size_t requests;
	int fds[CLIENT_FDS_MAX]; /* came with what is read now */
	size_t n_fds;
};

/* Wait for connections on a listening socket. */
void client_listen(struct owner *owner);
void client_close_all(struct owner *owner);

/* One line, as rpc.h has written it. */
void client_send(struct client *client, struct str line);
/* Whether it has yet to read what it was sent: output for it can wait. */
bool client_is_full(const struct client *client);
/* While one of its lines is taken: drop those that wait and are meant; whether any was. */
bool client_withdraw(struct client *client, bool (*is_it)(void *arg, struct str line), void *arg);
/* One of its requests has been answered. */
void client_answered(struct client *client);
/* To all that want to know. */
void client_tell(struct owner *owner, struct str line);
