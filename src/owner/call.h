/*
 * call - an operation done by a task, for a client or for the owner itself.
 *
 * The task runs the operation as the command line would and sends back the whole answer, one
 * line of JSON-RPC.  A command it runs (exec) has its output passed on to the client while it
 * runs, no faster than the client reads.
 */
#pragma once
#include "core/buf.h"
#include "ops/op.h"
#include "owner/rpc.h"
#include "owner/task.h"

#define CALL_RESULT_MAX ((size_t)32 << 20) /* of one answer */

struct call;
struct client;
struct loop_event;
struct owner;

enum call_kind {
	CALL_OP,    /* an operation */
	CALL_EXEC,  /* a command whose output goes to the client */
	CALL_SPAWN, /* the same, and nobody waits for it */
	CALL_RELAY, /* an operation as a strata would do it, on the client's own descriptors */
	CALL_AGENT, /* the command of supervise, on ours */
};

/* How a call is to be made. */
struct call_plan {
	enum call_kind kind;
	const struct op *op;
	const void *request; /* as the operation wants it; not of CALL_RELAY */
	struct client *client;
	const struct jsonread *id; /* to be answered under; NULL: not at all */
	/* The owner's own: called with the answer, an object with "result" or "error", or NULL. */
	void (*done)(struct owner *owner, const struct jsonread *answer);
};

struct call_pipe {
	struct call *call;
	const char *stream;
	int fd;
	struct loop_event *event;
};

struct call {
	struct task task; /* first */
	struct call *next;
	struct owner *owner;
	enum call_kind kind;
	const struct op *op;
	struct client *client; /* NULL: gone, or the owner's own */
	void (*done)(struct owner *owner, const struct jsonread *answer);
	char *id;      /* JSON */
	char *command; /* of a program: JSON list of its arguments */
	int64_t number;
	int64_t began;
	bool writes;
	bool executes; /* a command, of which it makes a node itself */
	bool answered;
	int ended; /* how its task did, once it has no process */
	struct call_pipe reply, out[2];
	struct buf answer;
};

int call_start(
	struct owner *owner, const struct call_plan *plan, struct call **made, struct err *err);
/* Have the command of a call get a signal. */
void call_signal(struct call *call, int sig);
/* End a call, whatever it does. */
void call_cancel(struct call *call);

/* A client has gone: what it waited for ends, what it spawned goes on. */
void call_orphan(struct owner *owner, struct client *client);
/* A client reads again. */
void call_resume(struct owner *owner, struct client *client);
struct call *call_find(struct owner *owner, int64_t number);
void call_end_all(struct owner *owner);
