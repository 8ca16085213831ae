/*
 * hostlink - one connection to the agent of a host.
 *
 * The link starts ssh (or, for a local host, the agent), has the agent brought to the host if the
 * host asks for that, and then carries lines in both directions.  Lines that are sent before the
 * agent runs wait.  The caller polls: hostlink_polls says for what, hostlink_handle does what has
 * become possible and never blocks.
 *
 * A link that has ended stays ended; hostlink_handle returned why.  To go on, the caller opens
 * another one.
 */
#pragma once
#include <poll.h>
#include <stdbool.h>

#include "core/json.h"
#include "rpc/hosts.h"

/* A reply has up to 8 MiB, and a few members around it. */
#define HOSTLINK_LINE_MAX (((size_t)8 << 20) + 65536)
#define HOSTLINK_POLLS 4

struct hostlink;

struct hostlink_options {
	const struct param_texts *agent; /* options of the agent; NULL: none */
	const char *agent_file;          /* the program to send or run; NULL: the usual one */
	int start_ms;                    /* may pass without a sign of life; 0: a minute */
};

/* How the agent was started, for people. */
struct hostlink_start {
	bool bootstrapped;
	bool sent;    /* the program was sent, since the host did not have it */
	bool changed; /* the host had another file under its name, which was replaced */
	bool cached;  /* the host keeps it */
	int64_t took; /* ns from the start to the first line that the agent can read */
};

/* Start to connect.  host and options must live as long as the link. */
struct hostlink *hostlink_open(
	const struct hosts_host *host, const struct hostlink_options *options, struct err *err);
/* Returns after the processes of the link have ended. */
void hostlink_close(struct hostlink *link);

/* Send a line; a line feed is added. */
void hostlink_send(struct hostlink *link, struct str line);
size_t hostlink_unsent(const struct hostlink *link); /* bytes that wait */

/* Fill in what to poll for.  Returns how many of the entries are used. */
size_t hostlink_polls(const struct hostlink *link, struct pollfd polls[HOSTLINK_POLLS]);
/* The time at which hostlink_handle must be called even if nothing happens. */
int64_t hostlink_deadline(const struct hostlink *link);
/*
 * Read and write as much as possible.  Returns 0, or negative when the link has ended; lines that
 * arrived before can still be taken.
 */
int hostlink_handle(struct hostlink *link, struct err *err);
/* Take the next line from the agent.  It is valid until hostlink_handle is called. */
bool hostlink_next(struct hostlink *link, struct str *line);
/* NULL until the agent can read. */
const struct hostlink_start *hostlink_started(const struct hostlink *link);
/* Note that a line was a reply: from now on, the agent may take its time. */
void hostlink_answered(struct hostlink *link);
/*
 * Fill in the error that a line of the agent is not in the protocol; the link ends.  If no
 * line was a reply before, a login file of the host may have printed it.
 */
int hostlink_refuse_line(struct hostlink *link, struct str line, struct err *err);

/* Write what the link's process has said, and its arguments, as members of an object. */
void hostlink_members(struct json *out, const struct hostlink *link);
