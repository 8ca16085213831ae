/*
 * op - what strata can do, as data: one struct op per operation, one table of
 * them all.  The command line, and later the control socket, MCP and HTTP, are
 * faces of this table: they fill a request from their input by its parameter
 * list and turn the result into their output.
 *
 * An operation runs with a context: the open environment, an arena that lives
 * as long as the result, a report of exceptions, and sinks for rows and raw data.
 * Long lists are handed out row by row, so memory does not grow with them.
 */
#pragma once
#include "core/arena.h"
#include "core/param.h"
#include "ops/env.h"

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
	/* What goes on, each time it has changed; NULL at its end. */
	void (*watch)(void *arg, const void *state);
	bool in_order; /* rows are wanted in their order, not as they come */
	void *arg;
};

enum op_flags {
	OP_NO_ENV = 1 << 0,    /* runs without an environment, or opens it itself */
	OP_WRITES = 1 << 1,    /* for faces that tell reading from writing */
	OP_ANYWHERE = 1 << 2,  /* with OP_NO_ENV: context.root may be NULL */
	OP_ELSE_READ = 1 << 3, /* where the environment cannot be written, reading will do */
	OP_LOCAL = 1 << 4,     /* for the command line only */
	OP_ALONE = 1 << 5,     /* with OP_WRITES: also beside an owner by the process itself */
	OP_STOPS = 1 << 6, /* goes on for long: SIGTERM ends it in order, and nothing comes of it */
};

struct op {
	const char *name;
	unsigned flags;
	enum env_access access;
	const struct param *params; /* ends with a NULL name; NULL: none */
	size_t request_size;
	size_t result_size;
	/* Whether the parameters go together, before anything is opened; or NULL. */
	int (*check)(const void *request, struct err *err);
	/* The access this request needs, where that depends on it; else NULL. */
	enum env_access (*access_for)(const void *request);
	const char *rows; /* JSON name of the list of rows, NULL: none */
	int (*run)(struct op_context *ctx, const void *request, void *result, struct err *err);
	void (*row_json)(struct json *out, const void *row);
	/* The members of the result object. */
	void (*result_json)(struct json *out, const void *result);
};

/* Every operation, sorted by name. */
extern const struct op *const op_table[];
extern const size_t op_table_size;

const struct op *op_named(const char *name); /* NULL: no such operation */

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

static inline void op_progress(
	struct op_context *ctx, const char *stage, uint64_t done, uint64_t total)
{
	if (ctx->progress)
		ctx->progress(ctx->arg, stage, done, total);
}
