/*
 * exectool - runs a command for the tool 'exec', and keeps the output of the command.
 *
 * The result of the operation 'exec' says how the command ended.  The result of the tool also has
 * the output of the command.  If the output is long, only its beginning and its end are kept.
 */
#pragma once
#include "mcp/request.h"
#include "ops/op.h"

struct exec_request;

/* The shape (core/schema.h) of the members that exectool_add writes. */
#define EXECTOOL_SHAPE "stdout:text stderr:text output_left_out:int "

/* maximum number of bytes that are kept of a stream: half from its beginning, half from its end */
#define EXECTOOL_KEPT ((size_t)64 << 10)

#define EXECTOOL_QUIET_MS 1000 /* interval of progress messages while a command prints nothing */

/* One stream of output. */
struct exectool_stream {
	struct buf head, tail;
	uint64_t left_out;
};

struct exectool_output {
	struct exectool_stream out, err;
	uint64_t bytes; /* number of bytes of both streams */
};

void exectool_take(struct exectool_output *output, bool is_stderr, struct str bytes);
/* Send a progress message, which says that the command runs. */
void exectool_tell(struct request *request, const struct exectool_output *output);
void exectool_release(struct exectool_output *output);
/* Write the members of EXECTOOL_SHAPE. */
void exectool_add(struct json *out, const struct exectool_output *output);

/*
 * Describe the result of the tool.  The output goes to 'text'.  How the command ended, and what
 * strata has to say about it, goes to 'notes', in lines.
 */
void exectool_describe(struct buf *text, struct buf *notes, const struct jsonread *result);

/*
 * Run the command in a child of this process, and wait for its end.  *answer becomes the answer
 * that the owner of a workspace would send (owner/rpc.h).  If this process gets SIGTERM, the
 * command is killed.
 */
int exectool_run(struct request *request, const struct op_context *ctx,
	const struct exec_request *exec, struct exectool_output *output, struct buf *answer,
	struct err *err);
