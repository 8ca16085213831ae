/*
 * stdio - serves one MCP client over standard input and output, with a message on each line.
 *
 * The server ends when the input has ended and all requests are answered, or when the client does
 * not read any more.
 */
#pragma once
#include "mcp/mcpserver.h"

int stdio_serve(struct server *server, struct err *err);
