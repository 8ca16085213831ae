/*
 * hostclient - asks the agent of one host, with several requests at a time.
 *
 * There is at most one connection.  The first request opens the connection.  If the connection is
 * lost, the client connects again.  Then it sends the unanswered requests once more, if their
 * methods only read.  A request that may have written, such as restore_file, is answered with an
 * error instead.  The agent may have carried it out, so it is never sent twice.
 *
 * Every request gets exactly one answer.  If the host cannot be asked, the answer is an error with
 * the code -32001, or -32003 after a timeout.  Errors of the connection have "stderr" and "argv" in
 * "data".
 *
 * The caller must poll, as with hostlink.h.
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
	/* Called for each answer.  New requests may be made in this function. */
	void (*answer)(void *arg, uint64_t tag, const struct hostclient_answer *answer);
	/* Called with a text for people, for example after a lost connection; may be NULL. */
	void (*notice)(void *arg, const char *text);
	void *arg;
};

/* Make a client.  host, options and face must live as long as the client. */
struct hostclient *hostclient_new(const struct hosts_host *host,
	const struct hostlink_options *options, const struct hostclient_face *face);
/* End the connection.  Requests that are not answered yet get no answer. */
void hostclient_free(struct hostclient *client);
void hostclient_freep(struct hostclient **client);

/*
 * Ask the agent.  'params' must be a JSON object without line breaks, or empty.  The answer has the
 * same tag.
 */
void hostclient_ask(struct hostclient *client, uint64_t tag, const char *method, struct str params);
/* Send a notification, which gets no answer.  'params' are as in hostclient_ask. */
void hostclient_tell(struct hostclient *client, const char *method, struct str params);
/* Ask the agent to stop the request with this tag.  The request still gets an answer. */
void hostclient_cancel(struct hostclient *client, uint64_t tag);

size_t hostclient_pending(const struct hostclient *client);
/* Returns the number of bytes of all pending requests. */
size_t hostclient_bytes(const struct hostclient *client);
size_t hostclient_polls(const struct hostclient *client, struct pollfd polls[HOSTCLIENT_POLLS]);
int hostclient_wait_ms(const struct hostclient *client); /* timeout for poll(2); -1: none */
void hostclient_handle(struct hostclient *client);

/* Returns how the agent was started, or NULL before the agent runs. */
const struct hostlink_start *hostclient_started(const struct hostclient *client);
/* Returns the "agent_version" that the agent has reported, or "" before its first answer. */
const char *hostclient_version(const struct hostclient *client);

/*
 * Ask one question and wait for the answer.  On success, returns 0 and sets result to a JSON text.
 * Otherwise returns the error of the agent or of the connection, and fills in err and data as
 * hostreply_error does.
 */
int hostclient_call(const struct hosts_host *host, const struct hostlink_options *options,
	const char *method, struct str params, struct buf *result, struct buf *data,
	struct err *err);
