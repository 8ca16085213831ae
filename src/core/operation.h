/*
 * operation - the description of an operation or a query method, as data.
 *
 * One struct op contains everything that the interfaces need for an operation: its name, its
 * parameters, the shape of its result, and the function that performs the operation.  An operation
 * that only the owner of a workspace performs (OP_OWNER) has no function here; the function is in
 * owner/methods.c.
 *
 * There are four interfaces: the command line, the control socket, the query protocol and the Model
 * Context Protocol (MCP).  Each interface fills in a request as the list of parameters says, and
 * turns the result into its output.  ops/op.h runs operations, query/method.h answers queries, and
 * ops/table.h is the table of operations and queries.
 */
#pragma once
#include "core/param.h"

struct method_context;
struct op_context;

enum op_flags {
	OP_NO_ENV = 1 << 0,     /* runs without an environment, or opens the environment itself */
	OP_WRITES = 1 << 1,     /* changes something; an operation without this flag only reads */
	OP_ANYWHERE = 1 << 2,   /* with OP_NO_ENV: op_context.root may be NULL */
	OP_ELSE_READ = 1 << 3,  /* if the environment cannot be written, open it for reading only */
	OP_LOCAL = 1 << 4,      /* for the command line only */
	OP_ALONE = 1 << 5,      /* with OP_WRITES: never handed to the owner of the workspace */
	OP_STOPS = 1 << 6,      /* may run long; SIGTERM makes it end cleanly, without a result */
	OP_DESTROYS = 1 << 7,   /* with OP_WRITES: history or files are gone for good afterwards */
	OP_EXECUTES = 1 << 8,   /* runs a command in the sandbox; makes a node when it ends */
	OP_OWNER = 1 << 9,      /* only the owner of a workspace performs it: owner/methods.c */
	OP_AT_ONCE = 1 << 10,   /* with OP_OWNER: answered at once, even if other requests wait */
	OP_INTERNAL = 1 << 11,  /* called by other strata processes; not in lists of operations */
	OP_OWNERLESS = 1 << 12, /* without an owner, 'strata ctl' does the work itself */
	OP_PERSON = 1 << 13,    /* reaches beyond the environment; never offered to a model */
	OP_ADDS = 1 << 14,      /* with OP_WRITES: adds to the history, and changes nothing else */
	OP_REPEATABLE = 1 << 15, /* with OP_WRITES: the same request again changes nothing more */
};

struct op {
	const char *name;
	const char *summary; /* one line, for people and for models */
	/* Further sentences after the summary, for a model: when to use the operation, and how. */
	const char *advice; /* NULL: none */
	unsigned flags;
	unsigned access;            /* enum env_access */
	const struct param *params; /* ends with a NULL name; NULL: none */
	size_t request_size;
	size_t result_size;
	const char *rows;   /* JSON name of the list of rows; NULL: none */
	const char *row;    /* with rows: the shape of a row, see schema.h */
	const char *result; /* shape of the other members of the result; NULL: none */
	/* Check that the parameters fit together, before anything is opened; may be NULL. */
	int (*check)(const void *request, struct err *err);
	/* Return the access that a request needs.  NULL: all requests need 'access'. */
	unsigned (*access_for)(const void *request);
	/*
	 * Whether a request frees space on the disk, and so must work even when the disk is full;
	 * may be NULL.
	 */
	bool (*frees)(const void *request);
	int (*run)(struct op_context *ctx, const void *request, void *result, struct err *err);
	/* Write the members of a row, or the row itself if its shape is not an object. */
	void (*row_json)(struct json *out, const void *row);
	/* Write the members of the result object. */
	void (*result_json)(struct json *out, const void *result);
	/* Query methods have this function instead of the three above; see query/method.h. */
	int (*answer)(
		struct method_context *ctx, const void *request, struct json *out, struct err *err);
};
