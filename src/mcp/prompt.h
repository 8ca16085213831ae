/*
 * prompt - the prompts of an MCP server.  A prompt describes a task about the history.  A person
 * can have the model do this task.
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
