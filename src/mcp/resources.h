/*
 * resources - the resources of an MCP server: the history, and every file of every node.
 *
 *	strata://log               the nodes, as JSON
 *	strata://status            the state of the environment, as JSON
 *	strata://node/ID/PATH      a file as it was in a node, or the entries of a directory
 *
 * ID is any reference, such as a tag or HEAD~2.  PATH may have percent escapes.
 */
#pragma once
#include "mcp/request.h"

/* Write the members of the replies to resources/list and resources/templates/list. */
void resources_list(struct json *out, const struct mcp_settings *settings);
void resources_templates(struct json *out, const struct mcp_settings *settings);
/* Reply to resources/read, in the process of the request. */
void resources_read(struct request *request);
/* Reply to completion/complete: references of nodes, and paths in a node. */
void resources_complete(struct request *request);
