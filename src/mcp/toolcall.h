/*
 * toolcall - answers a call of a tool of the kind TOOL_OPERATION, in the process of the request.
 *
 * If the workspace has an owner, the owner performs operations that write (ownercall.h).  The reply
 * has the result twice: as the document that the output schema describes, and as text.
 */
#pragma once
#include "mcp/request.h"

/* Perform request->tool, and send the reply. */
void toolcall_run(struct request *request);

/*
 * The first function writes the reply with the result of a tool.  The second function writes the
 * reply that says why a tool has failed.  In the protocol, both replies are results, since errors
 * of the protocol might not be shown to the model.
 */
void toolcall_write_result(struct json *out, const struct jsonread *id, const struct op *op,
	struct str members, const struct jsonread *result);
void toolcall_write_failure(
	struct json *out, const struct jsonread *id, struct str what, struct str remedy);
