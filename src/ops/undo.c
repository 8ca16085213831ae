/*
 * undo, redo - move HEAD back and forward again along its journal.  Uncaptured work counts as the
 * newest change: it is saved in a safety node, and the first step back leads to the state before
 * that work.
 */
#include "ops/requests.h"

static const struct param params[] = {
	PARAM(step_request, steps, COUNT, PARAM_POSITIONAL, "how far; 1 unless given"),
	{ 0 },
};

static int do_undo(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct step_request *req = request;

	return movement_step(ctx, req->steps ? -req->steps : -1, out, err);
}

static int do_redo(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct step_request *req = request;

	return movement_step(ctx, req->steps ? req->steps : 1, out, err);
}

const struct op op_undo = {
	.name = "undo",
	.summary = "go back to where HEAD was before",
	.advice = "Goes back along the moves of HEAD, and 'redo' comes back.",
	.flags = OP_WRITES,
	.access = ENV_REPLACE,
	.params = params,
	.request_size = sizeof(struct step_request),
	.result_size = sizeof(struct movement),
	.result = MOVEMENT_SHAPE,
	.run = do_undo,
	.result_json = movement_json,
};

const struct op op_redo = {
	.name = "redo",
	.summary = "go forward again after undo",
	.advice = "Takes back an 'undo'.",
	.flags = OP_WRITES,
	.access = ENV_REPLACE,
	.params = params,
	.request_size = sizeof(struct step_request),
	.result_size = sizeof(struct movement),
	.result = MOVEMENT_SHAPE,
	.run = do_redo,
	.result_json = movement_json,
};
