#include "mcp/resources.h"

#include <string.h>

#include "core/own.h"
#include "ops/op.h"
#include "ops/requests.h"
#include "ops/table.h"
#include "owner/rpc.h"

#define SCHEME "strata://"
#define NODE SCHEME "node/"
#define VALUES_MAX 100 /* maximum number of values of a completion, by MCP */

static const struct {
	const char *uri, *name, *title, *description;
	const struct op *op;
} listed[] = {
	{ SCHEME "log", "log", "History", "the nodes of the environment, newest first", &op_log },
	{ SCHEME "status", "status", "Status",
		"HEAD, what runs, what is stored and what is degraded", &op_status },
};

#define LISTED (sizeof(listed) / sizeof(listed[0]))

void resources_list(struct json *out, const struct mcp_settings *settings)
{
	json_open(out, "resources", '[');
	for (size_t i = 0; settings->root && i < LISTED; i++) {
		json_open(out, NULL, '{');
		json_text(out, "uri", listed[i].uri);
		json_text(out, "name", listed[i].name);
		json_text(out, "title", listed[i].title);
		json_text(out, "description", listed[i].description);
		json_text(out, "mimeType", "application/json");
		json_close(out);
	}
	json_close(out);
}

void resources_templates(struct json *out, const struct mcp_settings *settings)
{
	json_open(out, "resourceTemplates", '[');
	if (settings->root) {
		json_open(out, NULL, '{');
		json_text(out, "uriTemplate", NODE "{id}/{path}");
		json_text(out, "name", "node-file");
		json_text(out, "title", "A file in a node");
		json_text(out, "description",
			"the content of a file, or the entries of a directory, as it was in the "
			"node that a reference such as HEAD~2 or a tag names");
		json_close(out);
	}
	json_close(out);
}

/* ------------------------------------------------------------------ an operation */

/* The result of an operation that was run with parameters in JSON. */
struct outcome {
	struct json text;
	struct jsonread *result;
};

#define OUTCOME_INIT                                                                               \
	{                                                                                          \
		.text = JSON_INIT                                                                  \
	}

static void outcome_release(struct outcome *outcome)
{
	json_release(&outcome->text);
	jsonread_freep(&outcome->result);
}

/*
 * Run an operation with at most one parameter.  'name' and 'value' are the name and the value of
 * that parameter.  If 'name' is NULL, no parameter is given.
 */
static int run(struct request *request, const struct op *op, const char *name, const char *value,
	struct outcome *outcome, struct err *err)
{
	owned(json_release) struct json given = JSON_INIT;
	struct report report = REPORT_INIT;
	struct param_reader reader = {
		.name = op->name,
		.params = op->params,
		.arena = &request->arena,
		.request = arena_alloc(&request->arena, op->request_size + 1),
	};
	struct op_context ctx = {
		.root = request->settings->root,
		.workspace = request->settings->workspace,
		.arena = &request->arena,
		.report = &report,
	};

	json_open(&given, NULL, '{');
	if (name)
		json_text(&given, name, value);
	json_close(&given);
	owned(jsonread_freep) struct jsonread *object = jsonread_new(json_written(&given), err);
	int r = object ? param_read(&reader, object, err) : -(int)err->code;
	outcome->text.out.max = REQUEST_RESULT_MAX;
	json_open(&outcome->text, NULL, '{');
	if (r >= 0)
		r = op_answer(op, &ctx, reader.request, &outcome->text, err);
	if (r < 0)
		return r;
	json_close(&outcome->text);
	outcome->result = jsonread_new_max(json_written(&outcome->text), REQUEST_RESULT_MAX, err);
	return outcome->result ? 0 : -(int)err->code;
}

/* ------------------------------------------------------------------------ reading */

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef0123456789ABCDEF";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) % 16 : -1;
}

/*
 * Resolve the percent escapes of a text in place.  Returns false if an escape is not valid or
 * stands for a NUL.
 */
static bool unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		if (*from != '%') {
			*to++ = *from;
			continue;
		}
		int high = hex_digit(from[1]), low = high < 0 ? -1 : hex_digit(from[2]);
		if (low < 0 || (!high && !low))
			return false;
		*to++ = (char)(high * 16 + low);
		from += 2;
	}
	*to = '\0';
	return true;
}

/* Turn the URI of a file in a node into the reference REF:PATH.  Returns NULL for any other URI. */
static char *reference_of(struct request *request, const char *uri)
{
	size_t prefix = sizeof(NODE) - 1;

	if (strncmp(uri, NODE, prefix) != 0)
		return NULL;
	char *reference = arena_strdup(&request->arena, uri + prefix);
	char *slash = strchr(reference, '/');
	if (!slash || slash == reference || !unescape(reference))
		return NULL;
	slash = strchr(reference, '/');
	if (memchr(reference, ':', (size_t)(slash - reference)))
		return NULL;
	*slash = ':';
	return reference;
}

static void send_contents(const struct request *request, const char *uri, const char *mime,
	const char *key, struct str content)
{
	owned(json_release) struct json out = JSON_INIT;

	rpc_begin(&out, request->id);
	json_open(&out, "contents", '[');
	json_open(&out, NULL, '{');
	json_text(&out, "uri", uri);
	json_text(&out, "mimeType", mime);
	json_str(&out, key, content);
	json_close(&out);
	json_close(&out);
	rpc_end(&out);
	request_send(request, &out);
}

static int read_document(
	struct request *request, const char *uri, const struct op *op, struct err *err)
{
	owned(outcome_release) struct outcome outcome = OUTCOME_INIT;
	int r = run(request, op, NULL, NULL, &outcome, err);

	if (r >= 0)
		send_contents(
			request, uri, "application/json", "text", json_written(&outcome.text));
	return r;
}

static int read_file(struct request *request, const char *uri, const char *where, struct err *err)
{
	owned(outcome_release) struct outcome file = OUTCOME_INIT, dir = OUTCOME_INIT;
	struct str content = STR(""), encoding = STR("");
	bool truncated = false;

	/* The content of a directory is the list of its entries. */
	if (run(request, &op_cat, "where", where, &file, err) < 0) {
		struct err first = *err;

		if (first.code == ERR_INVALID &&
			run(request, &op_ls, "where", where, &dir, err) >= 0) {
			send_contents(
				request, uri, "application/json", "text", json_written(&dir.text));
			return 0;
		}
		*err = first;
		return -(int)err->code;
	}
	(void)jsonread_get_bool(file.result, "truncated", &truncated);
	if (truncated)
		return err_set(err, ERR_LIMIT, "'%s' is too large to be read as a whole", where);
	(void)jsonread_get_str(file.result, "content", &content);
	(void)jsonread_get_str(file.result, "encoding", &encoding);
	bool binary = str_eq(encoding, STR("base64"));
	send_contents(request, uri, binary ? "application/octet-stream" : "text/plain",
		binary ? "blob" : "text", content);
	return 0;
}

void resources_read(struct request *request)
{
	const char *uri = request_text(request->params, "uri");
	struct err err = { 0 };
	int r = 0;

	if (!uri) {
		err_set(&err, ERR_INVALID, "'uri' must be a string");
		request_fail(request, RPC_PARAMS, &err);
		return;
	}
	const char *where = request->settings->root ? reference_of(request, uri) : NULL;
	for (size_t i = 0; request->settings->root && i < LISTED; i++)
		if (!strcmp(listed[i].uri, uri)) {
			r = read_document(request, uri, listed[i].op, &err);
			where = NULL;
			uri = NULL;
			break;
		}
	if (where)
		r = read_file(request, uri, where, &err);
	else if (uri)
		r = err_set(&err, ERR_NOT_FOUND, "no resource has the URI '%.200s'", uri);
	if (r < 0)
		request_fail(
			request, err.code == ERR_NOT_FOUND ? RPC_NO_RESOURCE : RPC_INTERNAL, &err);
}

/* --------------------------------------------------------------------- completion */

struct completion {
	struct json out;
	struct str typed;
	size_t values;
	bool more;
};

static void add_value(struct completion *completion, struct str value)
{
	if (!str_starts(value, completion->typed))
		return;
	if (completion->values >= VALUES_MAX) {
		completion->more = true;
		return;
	}
	json_str(&completion->out, NULL, value);
	completion->values++;
}

/* Add HEAD, the tags, and the ids of nodes. */
static int complete_reference(
	struct request *request, struct completion *completion, struct err *err)
{
	owned(outcome_release) struct outcome log = OUTCOME_INIT;
	int r = run(request, &op_log, NULL, NULL, &log, err);
	const struct jsonread *nodes = r < 0 ? NULL : jsonread_member(log.result, "nodes");

	if (r < 0)
		return r;
	add_value(completion, STR("HEAD"));
	for (int ids = 0; ids <= 1; ids++)
		for (size_t i = 0; nodes && i < jsonread_count(nodes); i++) {
			const struct jsonread *node = jsonread_item(nodes, i);
			const struct jsonread *tags = jsonread_member(node, "tags");
			struct str id;

			for (size_t k = 0; !ids && tags && k < jsonread_count(tags); k++)
				add_value(completion, jsonread_str(jsonread_item(tags, k)));
			if (ids && jsonread_get_str(node, "id", &id) == JSONREAD_FOUND)
				add_value(completion, id);
		}
	return 0;
}

/* Add the entries of a directory.  Its path is the typed text up to the last slash. */
static int complete_path(struct request *request, const char *reference,
	struct completion *completion, struct err *err)
{
	owned(outcome_release) struct outcome dir = OUTCOME_INIT;
	const char *slash = memrchr(completion->typed.ptr, '/', completion->typed.len);
	size_t len = slash ? (size_t)(slash - completion->typed.ptr) + 1 : 0;
	struct arena *arena = &request->arena;
	const char *where =
		arena_printf(arena, "%s:%.*s", reference, (int)len, completion->typed.ptr);
	int r = run(request, &op_ls, "where", where, &dir, err);
	const struct jsonread *entries = r < 0 ? NULL : jsonread_member(dir.result, "entries");

	for (size_t i = 0; entries && i < jsonread_count(entries); i++) {
		const struct jsonread *entry = jsonread_item(entries, i);
		struct str name = STR(""), type = STR("");

		(void)jsonread_get_str(entry, "name", &name);
		(void)jsonread_get_str(entry, "type", &type);
		add_value(completion,
			str_of(arena_printf(arena, "%.*s%.*s%s", (int)len, completion->typed.ptr,
				(int)name.len, name.ptr, str_eq(type, STR("dir")) ? "/" : "")));
	}
	return r;
}

/* Returns the reference that the client has filled in already, or HEAD if there is none. */
static const char *chosen_reference(const struct jsonread *params)
{
	const struct jsonread *context = jsonread_member(params, "context");
	const struct jsonread *arguments = context ? jsonread_member(context, "arguments") : NULL;

	return request_text(arguments, "id") ?: "HEAD";
}

void resources_complete(struct request *request)
{
	const struct jsonread *argument =
		request->params ? jsonread_member(request->params, "argument") : NULL;
	const char *name = request_text(argument, "name"), *typed = request_text(argument, "value");
	struct completion completion = { .out = JSON_INIT };
	struct err err = { 0 };

	if (!name || !typed) {
		err_set(&err, ERR_INVALID, "'argument' must have a 'name' and a 'value'");
		request_fail(request, RPC_PARAMS, &err);
		return;
	}
	completion.typed = str_of(typed);
	rpc_begin(&completion.out, request->id);
	json_open(&completion.out, "completion", '{');
	json_open(&completion.out, "values", '[');
	/* Errors are ignored: the list for a directory that does not exist is empty. */
	if (request->settings->root && (!strcmp(name, "id") || !strcmp(name, "since")))
		(void)complete_reference(request, &completion, &err);
	else if (request->settings->root && !strcmp(name, "path"))
		(void)complete_path(request, chosen_reference(request->params), &completion, &err);
	json_close(&completion.out);
	json_bool(&completion.out, "hasMore", completion.more);
	json_close(&completion.out);
	rpc_end(&completion.out);
	request_send(request, &completion.out);
	json_release(&completion.out);
}
