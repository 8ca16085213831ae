/*
 * owning - the functions of op_context.owner.  With them, an operation makes this process the owner
 * of a workspace, or a client of the owner.
 */
#pragma once
#include "cli/command.h"
#include "ops/supervise.h"

extern const struct op_owner owning;

/* Call a method of the owner.  This is the function op_owner.call, and is defined in cmd_ctl.c. */
int cmd_ctl_call(struct op_context *ctx, const struct ctl_request *req, struct err *err);
int owning_result(struct output *out, const void *request, const void *result);
