/*
 * hostclient - asks the agent of one host, with several requests at a time.
 *
 * There is at most one connection, which is opened when the first request comes.  If the connection
 * is lost, the client connects again and sends the requests that have no reply once more, but only
 * those of methods that read.  A request that may have written, such as restore_file, is answered
 * with an error instead: it may have been carried out, so it is never sent twice.
 *
 * Every request gets exactly one answer.  If the host cannot be asked, the answer is an error with
 * the code -32001, or -32003 after too long a time, whose "data" has "stderr" and "argv".
 *
 * The caller polls, as with hostlink.h.
 */
#pragma once
#include "rpc/hostlink.h"

#define HOSTCLIENT_POLLS HOSTLINK_POLLS

struct hostclient;

struct hostclient_answer {
	bool failed;
	struct str value; /* the result, or the error object of JSON-RPC, as JSON */
};

struct hostclient_face {
	/* The answer to a request.  New requests may be made here. */
	void (*answer)(void *arg, uint64_t tag, const struct hostclient_answer *answer);
	/* Something that people may want to know, such as a lost connection; may be NULL. */
	void (*notice)(void *arg, const char *text);
	void *arg;
};

/* host, options and face must live as long as the client. */
struct hostclient *hostclient_new(const struct hosts_host *host,
	const struct hostlink_options *options, const struct hostclient_face *face);
/* Ends the connection.  Requests without an answer get none. */
void hostclient_free(struct hostclient *client);
void hostclient_freep(struct hostclient **client);

/* params is a JSON object without line breaks, or empty.  tag comes back with the answer. */
void hostclient_ask(struct hostclient *client, uint64_t tag, const char *method, struct str params);
/* The same without an answer. */
void hostclient_tell(struct hostclient *client, const char *method, struct str params);
/* Have the agent stop the request with this tag; it is still answered. */
void hostclient_cancel(struct hostclient *client, uint64_t tag);

size_t hostclient_pending(const struct hostclient *client);
size_t hostclient_bytes(const struct hostclient *client); /* of all pending requests */
size_t hostclient_polls(const struct hostclient *client, struct pollfd polls[HOSTCLIENT_POLLS]);
int hostclient_wait_ms(const struct hostclient *client); /* for poll(2); -1: as long as it takes */
void hostclient_handle(struct hostclient *client);

/* What is known of the connection; NULL while there is none. */
const struct hostlink_start *hostclient_started(const struct hostclient *client);
/* "agent_version" of the agent; "" if it has not answered. */
const char *hostclient_version(const struct hostclient *client);

/*
 * Fill in the error that an error object of JSON-RPC describes.  The members of its "data" are
 * appended to data, which may be NULL.
 */
int hostclient_error(const char *host, struct str value, struct buf *data, struct err *err);

/*
 * Ask one question and wait for the answer.  Returns 0 and the result in *result, which is JSON, or
 * the error of the agent or the connection, as hostclient_error fills it in.
 */
int hostclient_call(const struct hosts_host *host, const struct hostlink_options *options,
	const char *method, struct str params, struct buf *result, struct buf *data,
	struct err *err);
