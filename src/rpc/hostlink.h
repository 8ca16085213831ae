/*
 * hostlink - one connection to the agent of a host.
 *
 * The link starts ssh, or, for a local host, the agent.  If hosts.toml says so, the link first
 * brings the agent to the host.  Then the link carries lines in both directions.  Lines that are
 * sent before the agent runs have to wait.
 *
 * The caller must poll the descriptors that hostlink_polls fills in, and then call hostlink_handle,
 * which never blocks.  After an error of hostlink_handle, nothing more can be sent or received, and
 * the caller must open another link.
 */
#pragma once
#include <poll.h>
#include <stdbool.h>

#include "core/json.h"
#include "rpc/hosts.h"

/* A reply has a result of up to 8 MiB, and a few more members. */
#define HOSTLINK_LINE_MAX (((size_t)8 << 20) + 65536)
#define HOSTLINK_POLLS 4

struct hostlink;

struct hostlink_options {
	const struct param_texts *agent; /* options of the agent; NULL: none */
	/* the program to send or run; NULL: the one that agentfile.h finds */
	const char *agent_file;
	/* longest time without a read or write before the first reply; 0: one minute */
	int start_ms;
};

/* How the agent was started, to be shown to people. */
struct hostlink_start {
	bool bootstrapped;
	bool sent;    /* the program was sent, since the host did not have it */
	bool changed; /* the host had another file under the name of the program, and replaced it */
	bool cached;  /* the host keeps the program */
	int64_t took; /* ns from the start of the link until the agent could take requests */
};

/* Start to connect.  Returns NULL on error.  host and options must live as long as the link. */
struct hostlink *hostlink_open(
	const struct hosts_host *host, const struct hostlink_options *options, struct err *err);
/* Close the link.  Returns after its processes have ended. */
void hostlink_close(struct hostlink *link);
/*
 * Give up the requests that the agent is working on.  hostlink_close then cuts the connection, and
 * does not wait for the replies.  link may be NULL.
 */
void hostlink_abandon(struct hostlink *link);

/* Send a line.  A line feed is added. */
void hostlink_send(struct hostlink *link, struct str line);
size_t hostlink_unsent(const struct hostlink *link); /* number of bytes that are not written yet */

/* Fill in polls for poll(2).  Returns the number of entries that are used. */
size_t hostlink_polls(const struct hostlink *link, struct pollfd polls[HOSTLINK_POLLS]);
/* Returns the time at which hostlink_handle must be called even if nothing happens. */
int64_t hostlink_deadline(const struct hostlink *link);
/*
 * Read and write as much as possible.  Returns 0, or a negative error if the link has ended.  After
 * an error, the lines that arrived earlier can still be taken.
 */
int hostlink_handle(struct hostlink *link, struct err *err);
/*
 * Take the next line from the agent.  The line is valid until hostlink_handle is called.  Returns
 * false if there is no line.
 */
bool hostlink_next(struct hostlink *link, struct str *line);
/* Returns how the agent was started, or NULL as long as the agent cannot receive requests yet. */
const struct hostlink_start *hostlink_started(const struct hostlink *link);
/* Record that the agent has replied.  From now on, its silence does not end the link. */
void hostlink_answered(struct hostlink *link);
/*
 * End the link because a line of the agent does not belong to the protocol, and fill in err.  If
 * the agent has not replied before, the message says that a login file of the host may have printed
 * the line.
 */
int hostlink_refuse_line(struct hostlink *link, struct str line, struct err *err);

/* Write the arguments of the link's process and the end of its stderr as members of an object. */
void hostlink_members(struct json *out, const struct hostlink *link);
