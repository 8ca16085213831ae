/*
 * exec - running a command in the environment, for the operations that do.
 */
#pragma once
#include "ops/requests.h"

#define EXEC_TIMEOUT_MAX (INT64_C(30) * 24 * 3600) /* seconds */

int exec_run(struct op_context *ctx, const struct exec_request *req, struct exec_result *result,
	struct err *err);
/* A line for the shell is a command like any other: make argv of it. */
int exec_take_shell(struct exec_request *req, struct arena *arena, struct err *err);
#define EXEC_SHAPE                                                                                 \
	"exit_status:int signal:int? timed_out:bool error:text? " SHAPE_COUNTS                     \
	"node:{" NODEROW_SHAPE "}? uncommitted:text? untraced:text? " SHAPE_REPORT
void exec_result_json(struct json *out, const void *result);
