#include "mcp/session.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/own.h"
#include "mcp/asker.h"
#include "mcp/calls.h"
#include "mcp/prompt.h"
#include "mcp/resources.h"
#include "mcp/toolcall.h"
#include "owner/rpc.h"

/* The versions of the protocol that this server speaks, the newest first. */
static const char *const versions[] = { "2025-11-25", "2025-06-18" };

static const char instructions[] =
	"strata keeps every state of a directory tree, the environment, as nodes of a history. "
	"'status' and 'log' show where you are; 'diff', 'cat', 'grep' and 'file_log' read any node "
	"without changing anything; a reference is HEAD, HEAD~2, a tag or the beginning of an id. "
	"Tools that write make a node first, so their effect can be undone by 'undo' or "
	"'checkout'.";

static const char instructions_of_queries[] =
	"Questions about snapshots are answered by tools such as list_datasets, list_snapshots, "
	"file_history, content_grep and bisect_change. With 'host' they ask another machine, which "
	"'list_hosts' lists. They only read.";

struct asked {
	struct session *session;
	struct sink *sink;
	struct rpc_request request;
};

/* A request that waits until fewer requests are being answered. */
struct waiting {
	struct waiting *next;
	struct asked asked;
	size_t bytes; /* length of the message */
};

/* ----------------------------------------------------------------------- replies */

static void fail(const struct asked *asked, enum rpc_code code, const struct err *err)
{
	owned(json_release) struct json out = JSON_INIT;

	rpc_error(&out, asked->request.id, code, err, NULL, 0);
	mcpserver_send(asked->sink, &out);
}

static void begin_reply(const struct asked *asked, struct json *out)
{
	*out = (struct json)JSON_INIT;
	rpc_begin(out, asked->request.id);
}

static void end_reply(const struct asked *asked, struct json *out)
{
	rpc_end(out);
	mcpserver_send(asked->sink, out);
	json_release(out);
}

/* ------------------------------------------------------------------ the beginning */

static void reply_initialize(struct asked *asked)
{
	const struct mcp_settings *settings = &asked->session->server->settings;
	const char *wanted = request_text(asked->request.params, "protocolVersion");
	const char *version = versions[0];
	owned(buf_release) struct buf advice = BUF_INIT;
	struct err err = { 0 };
	struct json out;

	if (!wanted) {
		err_set(&err, ERR_INVALID, "'protocolVersion' must be a string");
		fail(asked, RPC_PARAMS, &err);
		return;
	}
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		if (!strcmp(versions[i], wanted))
			version = versions[i];
	begin_reply(asked, &out);
	json_text(&out, "protocolVersion", version);
	json_open(&out, "capabilities", '{');
	static const char *const names[] = { "tools", "resources", "prompts", "completions",
		"logging" };
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		json_open(&out, names[i], '{');
		json_close(&out);
	}
	json_close(&out);
	json_open(&out, "serverInfo", '{');
	json_text(&out, "name", "strata");
	json_text(&out, "title", "strata");
	json_text(&out, "version", STRATA_VERSION);
	json_close(&out);
	buf_addf(&advice, "%s%s%s", settings->root ? instructions : "", settings->root ? " " : "",
		instructions_of_queries);
	json_str(&out, "instructions", (struct str){ advice.data, advice.len });
	end_reply(asked, &out);
	asked->session->begun = true;
}

static void reply_nothing(struct asked *asked)
{
	struct json out;

	begin_reply(asked, &out);
	end_reply(asked, &out);
}

static void set_level(struct asked *asked)
{
	const char *name = request_text(asked->request.params, "level");
	enum outgoing_level level = name ? outgoing_level(str_of(name)) : OUTGOING_LEVELS;
	struct err err = { 0 };

	if (level == OUTGOING_LEVELS) {
		err_set(&err, ERR_INVALID,
			"'level' must be one of debug, info, notice, warning, "
			"error, critical, alert and emergency");
		fail(asked, RPC_PARAMS, &err);
		return;
	}
	asked->session->level = level;
	reply_nothing(asked);
}

/* -------------------------------------------------------------------------- lists */

/* Refuse a request with a cursor.  Every list is one page, so this server gives out no cursors. */
static bool refuse_cursor(const struct asked *asked)
{
	struct err err = { 0 };

	if (!asked->request.params || !jsonread_member(asked->request.params, "cursor"))
		return false;
	err_set(&err, ERR_INVALID, "'cursor' is not one that this server has given");
	fail(asked, RPC_PARAMS, &err);
	return true;
}

static void list_tools(struct asked *asked)
{
	struct json out;

	if (refuse_cursor(asked))
		return;
	begin_reply(asked, &out);
	json_members(&out, asked->session->server->settings.tools.listed);
	end_reply(asked, &out);
}

static void list_with(
	struct asked *asked, void (*list)(struct json *out, const struct mcp_settings *settings))
{
	struct json out;

	if (refuse_cursor(asked))
		return;
	begin_reply(asked, &out);
	list(&out, &asked->session->server->settings);
	end_reply(asked, &out);
}

static void list_resources(struct asked *asked)
{
	list_with(asked, resources_list);
}

static void list_templates(struct asked *asked)
{
	list_with(asked, resources_templates);
}

static void list_prompts(struct asked *asked)
{
	list_with(asked, prompt_list);
}

static void get_prompt(struct asked *asked)
{
	struct err err = { 0 };
	struct json out;

	begin_reply(asked, &out);
	if (prompt_get(&asked->session->server->settings, asked->request.params, &out, &err) >= 0) {
		end_reply(asked, &out);
		return;
	}
	json_release(&out);
	fail(asked, RPC_PARAMS, &err);
}

/* ------------------------------------------------------------------- long requests */

static void start(struct asked *asked, const struct tool *tool, calls_answer *answer)
{
	const struct jsonread *meta = NULL;
	struct request request = {
		.settings = &asked->session->server->settings,
		.id = asked->request.id,
		.params = asked->request.params,
		.tool = tool,
		.level = asked->session->level,
	};
	struct err err = { 0 };

	if (request.params && jsonread_get_object(request.params, "_meta", &meta) == JSONREAD_FOUND)
		request.token = jsonread_member(meta, "progressToken");
	if (calls_start(asked->session->server, asked->sink, &request, answer, &err) < 0)
		fail(asked, RPC_INTERNAL, &err);
}

static void read_resource(struct asked *asked)
{
	start(asked, NULL, resources_read);
}

static void complete(struct asked *asked)
{
	start(asked, NULL, resources_complete);
}

static void ask_question(struct asked *asked, const struct tool *tool)
{
	const struct jsonread *arguments = NULL;
	struct request request = { .id = asked->request.id, .tool = tool };
	struct err err = { 0 };

	if (jsonread_get_object(asked->request.params, "arguments", &arguments) ==
		JSONREAD_WRONG_TYPE) {
		err_set(&err, ERR_INVALID, "'arguments' must be an object");
		fail(asked, RPC_PARAMS, &err);
		return;
	}
	const struct jsonread *given = arguments ? jsonread_member(arguments, "host") : NULL;
	const char *host = request_text(arguments, "host");
	/*
	 * Without this check, a host that is empty or is not a text would count as no host, and
	 * this machine would answer.
	 */
	if (given && jsonread_type(given) != JSONREAD_NULL && (!host || !*host)) {
		err_set(&err, ERR_INVALID, "'host' must be the name of a host");
		fail(asked, RPC_PARAMS, &err);
		return;
	}
	if (asker_ask(asked->session->server, asked->sink, &request, host, arguments, &err) < 0)
		fail(asked, err.code == ERR_LIMIT ? RPC_PARAMS : RPC_INTERNAL, &err);
}

static void call_tool(struct asked *asked)
{
	const struct toolset *tools = &asked->session->server->settings.tools;
	const char *name = request_text(asked->request.params, "name");
	const struct tool *tool = name ? toolset_find(tools, str_of(name)) : NULL;
	struct err err = { 0 };

	if (!tool) {
		err_set(&err, ERR_INVALID, "no tool '%.100s'", name ?: "");
		err_hint(&err, "tools/list lists them; a tool that writes needs 'strata mcp "
			       "--allow-write'");
		fail(asked, RPC_PARAMS, &err);
		return;
	}
	if (tool->kind == TOOL_QUERY)
		ask_question(asked, tool);
	else
		start(asked, tool, toolcall_run);
}

/* ------------------------------------------------------------------- notifications */

/* Take the request at *slot out of the list of requests that wait. */
static struct waiting *take_waiting(struct session *session, struct waiting **slot)
{
	struct waiting *waiting = *slot;

	*slot = waiting->next;
	if (session->last == &waiting->next)
		session->last = slot;
	session->waiting -= waiting->bytes;
	return waiting;
}

static void free_waiting(struct waiting *waiting)
{
	rpc_request_release(&waiting->asked.request);
	free(waiting);
}

static bool is_same(const struct jsonread *a, const struct jsonread *b)
{
	owned_mem char *text_a = jsonread_text(a), *text_b = jsonread_text(b);

	return !strcmp(text_a, text_b);
}

/* Drop a request that waits.  Returns false if no request with this id waits. */
static bool drop_waiting(struct asked *asked, const struct jsonread *id)
{
	struct waiting **slot = &asked->session->first;

	while (*slot &&
		!((*slot)->asked.sink == asked->sink && is_same((*slot)->asked.request.id, id)))
		slot = &(*slot)->next;
	if (!*slot)
		return false;
	free_waiting(take_waiting(asked->session, slot));
	return true;
}

static void cancel_request(struct asked *asked)
{
	const struct jsonread *id =
		asked->request.params ? jsonread_member(asked->request.params, "requestId") : NULL;
	struct server *server = asked->session->server;

	if (id && !calls_cancel(server, asked->sink, id) && !asker_cancel(server, asked->sink, id))
		(void)drop_waiting(asked, id);
}

static void ignore(struct asked *asked)
{
}

/* ------------------------------------------------------------------------ messages */

enum {
	EARLY = 1 << 0,        /* may come before 'initialize' */
	NOTIFICATION = 1 << 1, /* gets no reply */
	APART = 1 << 2,        /* starts a process */
};

static const struct method {
	const char *name;
	unsigned flags;
	void (*serve)(struct asked *asked);
} methods_served[] = {
	{ "completion/complete", APART, complete },
	{ "initialize", EARLY, reply_initialize },
	{ "logging/setLevel", 0, set_level },
	{ "notifications/cancelled", NOTIFICATION, cancel_request },
	{ "notifications/initialized", NOTIFICATION, ignore },
	{ "notifications/progress", NOTIFICATION, ignore },
	{ "notifications/roots/list_changed", NOTIFICATION, ignore },
	{ "ping", EARLY, reply_nothing },
	{ "prompts/get", 0, get_prompt },
	{ "prompts/list", 0, list_prompts },
	{ "resources/list", 0, list_resources },
	{ "resources/read", APART, read_resource },
	{ "resources/templates/list", 0, list_templates },
	{ "tools/call", APART, call_tool },
	{ "tools/list", 0, list_tools },
};

static const struct method *find_method(const char *name)
{
	for (size_t i = 0; i < sizeof(methods_served) / sizeof(methods_served[0]); i++)
		if (!strcmp(methods_served[i].name, name))
			return &methods_served[i];
	return NULL;
}

static bool is_full(const struct server *server)
{
	return calls_are_full(server) || asker_is_full(server);
}

/* Serve a valid message.  Returns false if the message has to wait. */
static bool serve(struct asked *asked)
{
	const struct method *method = find_method(asked->request.method);
	bool is_request = asked->request.id;
	struct err err = { 0 };

	if (method && !(method->flags & NOTIFICATION) == !is_request)
		method = NULL;
	if (method && method->flags & APART && is_full(asked->session->server))
		return false;
	if (method && is_request && !asked->session->begun && !(method->flags & EARLY)) {
		err_set(&err, ERR_INVALID, "the first request must be 'initialize'");
		fail(asked, RPC_INVALID, &err);
	} else if (method) {
		method->serve(asked);
	} else if (is_request) {
		err_set(&err, ERR_NOT_FOUND, "no method '%.100s'", asked->request.method);
		fail(asked, RPC_NO_METHOD, &err);
	}
	return true;
}

/*
 * Whether a message has the form of a reply.  This server sends no requests, so no reply is
 * expected.
 */
static bool is_reply(const struct rpc_request *request)
{
	return request->whole && jsonread_type(request->whole) == JSONREAD_OBJECT &&
	       !jsonread_member(request->whole, "method") &&
	       (jsonread_member(request->whole, "result") ||
		       jsonread_member(request->whole, "error"));
}

void session_init(struct session *session, struct server *server)
{
	*session = (struct session){ .server = server, .level = OUTGOING_INFO };
	session->last = &session->first;
}

void session_release(struct session *session)
{
	while (session->first)
		free_waiting(take_waiting(session, &session->first));
}

bool session_waits(const struct session *session)
{
	return session->first;
}

/* Keep a request until later.  Returns false if too many requests are kept. */
static bool keep(struct asked *asked, size_t bytes)
{
	struct session *session = asked->session;

	if (session->waiting + bytes > SESSION_WAITING_MAX)
		return false;
	struct waiting *waiting = mem_zalloc(sizeof(*waiting));
	*waiting = (struct waiting){ .asked = *asked, .bytes = bytes };
	/* The request belongs to the list now. */
	asked->request = (struct rpc_request){ 0 };
	*session->last = waiting;
	session->last = &waiting->next;
	session->waiting += bytes;
	return true;
}

void session_resume(struct session *session)
{
	while (session->first && !is_full(session->server)) {
		struct waiting *waiting = take_waiting(session, &session->first);

		(void)serve(&waiting->asked);
		free_waiting(waiting);
	}
}

bool session_take(struct session *session, struct sink *sink, struct str message)
{
	struct asked asked = { .session = session, .sink = sink };
	struct err err = { 0 };
	enum rpc_code code = rpc_read(message, &asked.request, &err);
	bool taken = true;

	if (code == RPC_NONE && asked.request.id &&
		jsonread_type(asked.request.id) == JSONREAD_NULL) {
		code = RPC_INVALID;
		err_set(&err, ERR_INVALID, "'id' must be a string or a number");
	}
	if (code == RPC_NONE)
		taken = serve(&asked) || keep(&asked, message.len);
	else if (!is_reply(&asked.request))
		fail(&asked, code == RPC_LIMIT ? RPC_PARSE : code, &err);
	rpc_request_release(&asked.request);
	return taken;
}
