/*
 * op - runs an operation (core/operation.h) of the table (ops/table.h).
 *
 * An operation runs with a context.  The context has the open environment, an arena that lives as
 * long as the result, a report of exceptions, and sinks for rows and raw data.  Long lists are
 * passed on row by row, so memory does not grow with them.  A face is a part of strata, such as the
 * command line, that starts operations and shows their results.
 */
#pragma once
#include "core/arena.h"
#include "core/operation.h"
#include "ops/env.h"

struct ctl_request;
struct mcp_request;
struct supervise_request;

/* Functions that the face provides, because their code is in a layer above the operations. */
struct op_owner {
	/*
	 * Own the workspace until a signal or a request ends the ownership.  *status becomes the
	 * exit status of the agent.
	 */
	int (*own)(struct op_context *ctx, const struct supervise_request *request, int *status,
		struct err *err);
	/* Call a method of the process that owns the workspace, and print the answer. */
	int (*call)(struct op_context *ctx, const struct ctl_request *request, struct err *err);
	/* Serve a client of the Model Context Protocol on standard input and output. */
	int (*mcp)(struct op_context *ctx, const struct mcp_request *request, struct err *err);
};

struct op_context {
	struct env *env;  /* NULL for operations that need no environment */
	const char *root; /* the directory of the environment, which may not exist yet */
	const char *workspace;
	struct arena *arena;
	struct report *report;
	/*
	 * Called with each row of a listing.  If this function returns a negative number, the
	 * operation ends.
	 */
	int (*row)(void *arg, const void *row, struct err *err);
	/* Called with raw bytes (cat, export).  If bytes is NULL, the bytes are zeros. */
	int (*data)(void *arg, const void *bytes, uint64_t len, struct err *err);
	/* Called now and then during long work.  total is 0 if the total is not known. */
	void (*progress)(void *arg, const char *stage, uint64_t done, uint64_t total);
	/* Called with messages that the user should see at once, one on each line. */
	void (*notice)(void *arg, const char *lines);
	/* Called with the state of the operation after each change, and with NULL at the end. */
	void (*watch)(void *arg, const void *state);
	const struct op_owner *owner; /* NULL: the caller cannot own a workspace */
	bool in_order;                /* rows must come in final order, not as they become known */
	void *arg;
};

/* Whether this process leaves the operation to the owner of the workspace, if there is an owner. */
static inline bool op_is_relayed(const struct op *op)
{
	return op->flags & OP_WRITES && !(op->flags & OP_ALONE);
}

/* Open the environment as op demands, run the operation, and close the environment. */
int op_run(const struct op *op, struct op_context *ctx, const void *request, void *result,
	struct err *err);

/*
 * Write a result into the JSON object that is open in out: call op_json_begin, then op_json_row for
 * each row, then op_json_end.
 */
void op_json_begin(const struct op *op, struct json *out);
void op_json_row(const struct op *op, struct json *out, const void *row);
void op_json_end(const struct op *op, struct json *out, const void *result);

/*
 * Run the operation, and write the members of its whole result into the object that is open in out.
 * Of the functions of ctx, only 'progress' and 'notice' are called.  Returns ERR_LIMIT if out gets
 * longer than its limit.  After an error, the object is not complete.
 */
int op_answer(const struct op *op, const struct op_context *ctx, const void *request,
	struct json *out, struct err *err);

/* Pass one row to the caller of the operation.  The caller may limit or count the rows. */
static inline int op_emit(struct op_context *ctx, const void *row, struct err *err)
{
	return ctx->row ? ctx->row(ctx->arg, row, err) : 0;
}

/*
 * Pass bytes on to the data sink.  arg is the context, so this function can be passed to functions
 * that read content.
 */
int op_send(void *arg, const void *bytes, uint64_t len, struct err *err);

static inline void op_progress(
	struct op_context *ctx, const char *stage, uint64_t done, uint64_t total)
{
	if (ctx->progress)
		ctx->progress(ctx->arg, stage, done, total);
}
