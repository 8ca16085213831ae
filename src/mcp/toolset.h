/*
 * toolset - the operations and query methods that a client of MCP may call.
 *
 * Each tool is an operation of ops/table.h.  Its description, its two JSON Schemas and its
 * annotations come from the struct op.  A tool has one more parameter than its operation: the
 * name of a workspace, or the name of the host to ask.
 */
#pragma once
#include "core/operation.h"

enum tool_kind {
	TOOL_OPERATION, /* an operation on the environment */
	TOOL_QUERY,     /* a method of the query protocol */
};

struct tool {
	const struct op *op;
	const char *name;
	enum tool_kind kind;
	const struct param *params; /* the parameters that a client may give */
	size_t where;               /* offset of the name of the workspace or host in the request */
	size_t request_size;
};

/* Which tools a server offers. */
struct tool_rights {
	bool environment; /* tools for the environment; false if there is no environment */
	bool adds;        /* tools that only add to the history */
	bool writes;      /* all tools */
	bool restores;    /* query methods that restore files */
	bool confined;    /* commands run under a policy */
};

struct toolset {
	struct tool *list;
	size_t n;
	struct arena arena;
	struct str listed; /* JSON of the reply to tools/list: "tools":[...] */
};

void toolset_init(struct toolset *set, const struct tool_rights *rights);
void toolset_release(struct toolset *set);
const struct tool *toolset_find(const struct toolset *set, struct str name); /* or NULL */
/* Returns the workspace or the host that a request names, or NULL if it names none. */
const char *toolset_where(const struct tool *tool, const void *request);
