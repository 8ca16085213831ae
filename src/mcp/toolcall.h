/*
 * toolcall - performs a tool that is an operation, in the process of its request.
 *
 * If the workspace has an owner, the owner performs what writes (ownercall.h).  The result is given
 * twice: as the document that the output schema describes, and as text.
 */
#pragma once
#include "mcp/request.h"

/* Perform request->tool, and send the reply. */
void toolcall_run(struct request *request);

/*
 * Reply with the result of a tool, or with a failure of it.  Both are ordinary replies of the
 * protocol: a model should see a failure and its remedy.
 */
void toolcall_write_result(struct json *out, const struct jsonread *id, const struct op *op,
	struct str members, const struct jsonread *result);
void toolcall_write_failure(
	struct json *out, const struct jsonread *id, struct str what, struct str remedy);
