#include "mcp/toolset.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"
#include "core/schema.h"
#include "mcp/exectool.h"
#include "ops/table.h"
#include "query/method.h"

#define PARAMS_MAX 32 /* no operation has more parameters */

static const char instruction_of_workspace[] =
	"the workspace, which is a live copy of the environment with a HEAD of its own; "
	"'workspaces' lists them";
static const char instruction_of_host[] =
	"ask this remote host instead of this machine; 'list_hosts' lists them";

static bool is_query(const struct op *op)
{
	return op->answer;
}

/* Whether a client with these rights may see and call an operation or a method. */
static bool is_offered(const struct op *op, const struct tool_rights *rights)
{
	bool writes = op->flags & OP_WRITES;

	if (is_query(op))
		return !writes || rights->restores;
	if (op == &op_hosts)
		return true;
	if (op->flags & (OP_LOCAL | OP_INTERNAL | OP_OWNER | OP_PERSON) || !op->run)
		return false;
	/* A tournament cannot run its commands under a policy. */
	if (rights->confined && op == &op_tournament)
		return false;
	return rights->environment &&
	       (!writes || rights->writes || (rights->adds && op->flags & OP_ADDS));
}

/* ----------------------------------------------------------------- the parameters */

/*
 * Make the list of the parameters that a client may give.  The list has the parameters of the
 * operation, without those that only a person may give.  It also has a parameter for the workspace
 * or the host, except for the operation 'hosts'.
 */
static void make_params(struct tool *tool, struct arena *arena)
{
	struct param *params = arena_alloc(arena, (PARAMS_MAX + 2) * sizeof(*params));
	size_t n = 0;

	for (const struct param *param = tool->op->params; param && param->name; param++)
		if (!(param->flags & PARAM_PERSON)) {
			assert(n < PARAMS_MAX);
			params[n++] = *param;
		}
	tool->where = (tool->op->request_size + _Alignof(max_align_t)) & -_Alignof(max_align_t);
	tool->request_size = tool->where + sizeof(char *);
	tool->params = params;
	if (tool->op == &op_hosts)
		return;
	params[n] = (struct param){
		.name = tool->kind == TOOL_QUERY ? "host" : "workspace",
		.help = tool->kind == TOOL_QUERY ? instruction_of_host : instruction_of_workspace,
		.offset = tool->where,
		.type = PARAM_TEXT,
	};
}

const char *toolset_where(const struct tool *tool, const void *request)
{
	const void *slot = (const char *)request + tool->where;

	return *(const char *const *)slot;
}

/* -------------------------------------------------------------- the description */

/* Write a name such as file_log as the title "File log". */
static void write_title(struct json *out, const char *name)
{
	owned(buf_release) struct buf title = BUF_INIT;

	for (const char *at = name; *at; at++)
		buf_addc(&title, *at == '_' ? ' ' : at == name ? (char)toupper(*at) : *at);
	json_str(out, "title", (struct str){ title.data, title.len });
}

static void write_annotations(struct json *out, const struct op *op)
{
	bool writes = op->flags & OP_WRITES;

	json_open(out, "annotations", '{');
	write_title(out, op->name);
	json_bool(out, "readOnlyHint", !writes);
	if (writes) {
		json_bool(out, "destructiveHint", !(op->flags & OP_ADDS));
		json_bool(out, "idempotentHint", op->flags & OP_REPEATABLE);
	}
	json_bool(out, "openWorldHint", is_query(op) || op->flags & OP_EXECUTES);
	json_close(out);
}

static void write_tool(struct json *out, const struct tool *tool)
{
	owned(buf_release) struct buf text = BUF_INIT;
	const struct op *op = tool->op;

	buf_addc(&text, (char)toupper(op->summary[0]));
	buf_addf(&text, "%s.%s%s", op->summary + 1, op->advice ? " " : "", op->advice ?: "");
	json_open(out, NULL, '{');
	json_text(out, "name", tool->name);
	write_title(out, tool->name);
	json_str(out, "description", (struct str){ text.data, text.len });
	schema_request(out, "inputSchema", tool->params);
	schema_result(out, "outputSchema", op, op == &op_exec ? EXECTOOL_SHAPE : NULL);
	write_annotations(out, op);
	json_close(out);
}

/* ------------------------------------------------------------------------ the set */

void toolset_init(struct toolset *set, const struct tool_rights *rights)
{
	owned(json_release) struct json out = JSON_INIT;
	const struct op *op;
	size_t n = 0;

	*set = (struct toolset){ 0 };
	while (table_at(n))
		n++;
	set->list = arena_alloc(&set->arena, n * sizeof(*set->list));
	json_open(&out, NULL, '{');
	struct json_mark start = json_mark(&out);
	json_open(&out, "tools", '[');
	for (size_t i = 0; (op = table_at(i)); i++) {
		if (!is_offered(op, rights))
			continue;
		struct tool *tool = &set->list[set->n++];

		*tool = (struct tool){
			.op = op,
			.name = op == &op_hosts ? "list_hosts" : op->name,
			.kind = is_query(op) ? TOOL_QUERY : TOOL_OPERATION,
		};
		make_params(tool, &set->arena);
		write_tool(&out, tool);
	}
	json_close(&out);
	set->listed = arena_str(&set->arena, json_since(&out, start));
}

void toolset_release(struct toolset *set)
{
	arena_release(&set->arena);
}

const struct tool *toolset_find(const struct toolset *set, struct str name)
{
	for (size_t i = 0; i < set->n; i++)
		if (str_eq(str_of(set->list[i].name), name))
			return &set->list[i];
	return NULL;
}
