/*
 * stdio - serves one MCP client over standard input and output.  Each message is a line.
 *
 * The server ends when the input has ended and all requests are answered, or when the client
 * has closed its end of the output.
 */
#pragma once
#include "mcp/mcpserver.h"

int stdio_serve(struct server *server, struct err *err);
