/*
 * call - an operation that runs in a task, for a client or for the owner itself.
 *
 * The task runs the operation as the command line would, and sends the whole answer to the owner as
 * one line of JSON-RPC.  While exec runs a command, the owner passes the command's output on to the
 * client, no faster than the client reads.
 */
#pragma once
#include "core/buf.h"
#include "ops/op.h"
#include "owner/rpc.h"
#include "owner/task.h"

#define CALL_RESULT_MAX ((size_t)32 << 20) /* maximum number of bytes of an answer */

struct call;
struct client;
struct loop_event;
struct owner;

enum call_kind {
	CALL_OP,    /* an operation */
	CALL_EXEC,  /* a command with a client that gets the output and waits for the end */
	CALL_SPAWN, /* a command with a client that gets the output and does not wait */
	/*
	 * an operation that another strata process has relayed; it uses the descriptors of that
	 * process
	 */
	CALL_RELAY,
	CALL_AGENT, /* the agent of supervise, on the owner's descriptors */
};

/* The parameters of call_start. */
struct call_plan {
	enum call_kind kind;
	const struct op *op;
	/* the struct of the operation's parameters; NULL for CALL_RELAY */
	const void *request;
	/* the client that made the request; NULL: the owner itself makes the call */
	struct client *client;
	const struct jsonread *id; /* the id of the client's request; NULL: no answer is wanted */
	/*
	 * Called when the answer to a call of the owner itself has arrived.  The parameter 'answer'
	 * has the member "result" or the member "error".  It is NULL if the answer cannot be read.
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
	/* NULL: the client has disconnected, or the owner itself made the call */
	struct client *client;
	void (*done)(struct owner *owner, const struct jsonread *answer);
	char *id; /* the id of the request, as JSON; NULL: no answer is wanted */
	/* if the call runs a program: the program's arguments as a JSON list; else NULL */
	char *command;
	int64_t number;
	int64_t began;
	bool writes;
	/* the call runs a client's command, and makes a node when the command has ended */
	bool executes;
	bool answered;
	int ended; /* wait status of the task's process, if it has ended */
	struct call_pipe reply, out[2];
	struct buf answer;
};

int call_start(
	struct owner *owner, const struct call_plan *plan, struct call **made, struct err *err);
/* Send a signal to the command that a call runs. */
void call_signal(struct call *call, int sig);
/* Cancel a call of any kind. */
void call_cancel(struct call *call);

/*
 * Handle the disconnection of a client.  Calls are cancelled if the client waited for their
 * answers.  Commands that the client has spawned go on.
 */
void call_orphan(struct owner *owner, struct client *client);
/* Pass on to a client the output that was held back because the client did not read. */
void call_resume(struct owner *owner, struct client *client);
struct call *call_find(struct owner *owner, int64_t number);
void call_end_all(struct owner *owner);
