/* exec - run a command in the environment, for exec, shell and tournament. */
#pragma once
#include "ops/requests.h"

#define EXEC_TIMEOUT_MAX (INT64_C(30) * 24 * 3600) /* seconds */

int exec_run(struct op_context *ctx, const struct exec_request *req, struct exec_result *result,
	struct err *err);
/* Replace req->shell, if it is set, by the argv that runs this line. */
int exec_take_shell(struct exec_request *req, struct arena *arena, struct err *err);
#define EXEC_SHAPE                                                                                 \
	"exit_status:int signal:int? timed_out:bool error:text? " SHAPE_COUNTS                     \
	"node:{" NODEROW_SHAPE "}? uncommitted:text? untraced:text? " SHAPE_REPORT
void exec_result_json(struct json *out, const void *result);
