/* prompt - the prompts of an MCP server.  Each is a task about the history, for a person to start.
 */
#pragma once
#include "mcp/request.h"

void prompt_list(struct json *out, const struct mcp_settings *settings);
/*
 * Write the members of the reply to prompts/get.  Returns ERR_NOT_FOUND if there is no such prompt,
 * and ERR_INVALID if an argument is missing or is no text.
 */
int prompt_get(const struct mcp_settings *settings, const struct jsonread *params, struct json *out,
	struct err *err);
