/*
 * op - running an operation (core/operation.h) of the table (ops/table.h).
 *
 * An operation runs with a context: the open environment, an arena that lives
 * as long as the result, a report of exceptions, and sinks for rows and raw data.
 * Long lists are handed out row by row, so memory does not grow with them.
 */
#pragma once
#include "core/arena.h"
#include "core/operation.h"
#include "ops/env.h"

struct ctl_request;
struct supervise_request;

/* Work that only a process of the face can do, since it lies above operations. */
struct op_owner {
	/* Own the workspace until told to end; *status is the agent's. */
	int (*own)(struct op_context *ctx, const struct supervise_request *request, int *status,
		struct err *err);
	/* Call a method of the process that owns the workspace, and print the answer. */
	int (*call)(struct op_context *ctx, const struct ctl_request *request, struct err *err);
};

struct op_context {
	struct env *env;  /* NULL for operations that need none */
	const char *root; /* where the environment is or shall be */
	const char *workspace;
	struct arena *arena;
	struct report *report;
	/* Each row of a listing; negative stops. */
	int (*row)(void *arg, const void *row, struct err *err);
	/* Raw bytes (cat, export); bytes NULL are zeros. */
	int (*data)(void *arg, const void *bytes, uint64_t len, struct err *err);
	/* Now and then during long work; total 0 when not known. */
	void (*progress)(void *arg, const char *stage, uint64_t done, uint64_t total);
	/* The state of the operation, each time it has changed; NULL at its end. */
	void (*watch)(void *arg, const void *state);
	const struct op_owner *owner; /* NULL: this face cannot own a workspace */
	bool in_order;                /* rows are wanted in their order, not as they come */
	void *arg;
};

/* Whether the owner of a workspace, where there is one, does it. */
static inline bool op_is_relayed(const struct op *op)
{
	return op->flags & OP_WRITES && !(op->flags & OP_ALONE);
}

/* Open what an operation needs, run it, close. */
int op_run(const struct op *op, struct op_context *ctx, const void *request, void *result,
	struct err *err);

/*
 * The members of the result, in the object that is open in out: the list of rows, which the caller
 * adds by row_json between the two calls, and what the result itself has.
 */
void op_json_begin(const struct op *op, struct json *out);
void op_json_end(const struct op *op, struct json *out, const void *result);

/* Emit one row, counting nothing; the face's business. */
static inline int op_emit(struct op_context *ctx, const void *row, struct err *err)
{
	return ctx->row ? ctx->row(ctx->arg, row, err) : 0;
}

/* A function for readers of content, which passes the bytes on; arg is the context. */
int op_send(void *arg, const void *bytes, uint64_t len, struct err *err);

static inline void op_progress(
	struct op_context *ctx, const char *stage, uint64_t done, uint64_t total)
{
	if (ctx->progress)
		ctx->progress(ctx->arg, stage, done, total);
}
