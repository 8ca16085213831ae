/*
 * call - an operation that a task runs, for a client or for the owner itself.
 *
 * The task runs the operation as the command line would and sends back the whole answer, one line
 * of JSON-RPC.  While exec runs a command, the command's output is passed on to the client, no
 * faster than the client reads.
 */
#pragma once
#include "core/buf.h"
#include "ops/op.h"
#include "owner/rpc.h"
#include "owner/task.h"

#define CALL_RESULT_MAX ((size_t)32 << 20) /* bytes of one answer */

struct call;
struct client;
struct loop_event;
struct owner;

enum call_kind {
	CALL_OP,    /* an operation */
	CALL_EXEC,  /* a command whose output goes to the client, which waits for its end */
	CALL_SPAWN, /* a command whose output goes to the client, which does not wait */
	CALL_RELAY, /* an operation for another strata process, on that process's descriptors */
	CALL_AGENT, /* the command of supervise, on the owner's descriptors */
};

/* The parameters of call_start. */
struct call_plan {
	enum call_kind kind;
	const struct op *op;
	const void *request;       /* the operation's own struct; NULL for CALL_RELAY */
	struct client *client;     /* NULL: the owner itself */
	const struct jsonread *id; /* of the client's request; NULL: it wants no answer */
	/*
	 * For a call of the owner itself.  answer has "result" or "error"; NULL: it cannot be read.
	 */
	void (*done)(struct owner *owner, const struct jsonread *answer);
};

struct call_pipe {
	struct call *call;
	const char *stream;
	int fd;
	struct loop_event *event;
};

struct call {
	struct task task; /* must be the first member */
	struct call *next;
	struct owner *owner;
	enum call_kind kind;
	const struct op *op;
	struct client *client; /* NULL: disconnected, or a call of the owner itself */
	void (*done)(struct owner *owner, const struct jsonread *answer);
	char *id;      /* JSON; NULL: no answer is wanted */
	char *command; /* JSON list of the arguments, for a call that runs a program; or NULL */
	int64_t number;
	int64_t began;
	bool writes;
	bool executes; /* runs a client's command, and makes a node when the command has ended */
	bool answered;
	int ended; /* status of the task's process, once it has ended */
	struct call_pipe reply, out[2];
	struct buf answer;
};

int call_start(
	struct owner *owner, const struct call_plan *plan, struct call **made, struct err *err);
/* Send a signal to the command of a call. */
void call_signal(struct call *call, int sig);
/* End a call, whatever kind it is of. */
void call_cancel(struct call *call);

/*
 * Handle the end of a connection: calls that the client waited for end, commands that it spawned go
 * on.
 */
void call_orphan(struct owner *owner, struct client *client);
/* Pass on the output that was held back until the client read again. */
void call_resume(struct owner *owner, struct client *client);
struct call *call_find(struct owner *owner, int64_t number);
void call_end_all(struct owner *owner);
