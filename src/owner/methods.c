#include "owner/methods.h"

#include <signal.h>
#include <string.h>

#include "core/own.h"
#include "ops/exec.h"
#include "ops/requests.h"
#include "ops/table.h"
#include "owner/owner_priv.h"

/* A request that is being handled. */
struct asked {
	struct owner *owner;
	struct client *client;
	struct rpc_request request;
	struct arena arena;
};

struct method {
	const char *name;
	/* Returns 0 when the answer was sent, or when a call was started that will send it. */
	int (*run)(struct asked *asked, struct err *err);
	const struct param *params;
	bool at_once; /* needs no task, so it never waits for other requests */
};

/* ------------------------------------------------------------------- answering */

static void begin_answer(struct asked *asked, struct json *out)
{
	*out = (struct json)JSON_INIT;
	rpc_begin(out, asked->request.id);
}

static void end_answer(struct asked *asked, struct json *out)
{
	rpc_end(out);
	if (asked->request.id)
		client_send(asked->client, json_written(out));
	json_release(out);
}

/* Fill the struct of a request with the parameters that came. */
static int read_params(
	struct asked *asked, const struct param *params, void *request, struct err *err)
{
	struct param_reader reader = {
		.name = asked->request.method,
		.params = params,
		.arena = &asked->arena,
		.request = request,
	};

	return param_read(&reader, asked->request.params, err);
}

/* The requests and parameters of the owner's own methods. */
struct kill_request {
	int64_t process;
	const struct jsonread *signal;
};
static const struct param kill_params[] = {
	PARAM(kill_request, process, COUNT, PARAM_REQUIRED, "the process, by its number in 'ps'"),
	PARAM(kill_request, signal, VALUE, 0, "number or name; TERM unless given"),
	{ 0 },
};
struct cancel_request {
	const struct jsonread *id;
};
static const struct param cancel_params[] = {
	PARAM(cancel_request, id, VALUE, PARAM_REQUIRED, "the id of the request to cancel"),
	{ 0 },
};
static const struct param no_params[] = { { 0 } };
struct relay_request {
	const char *operation;
};
static const struct param relay_params[] = {
	PARAM(relay_request, operation, TEXT, PARAM_REQUIRED, "the operation's name"),
	{ 0 },
};
static const struct param signal_params[] = {
	PARAM(kill_request, signal, VALUE, PARAM_REQUIRED, "number or name"),
	{ 0 },
};

/* ------------------------------------------------------------------- operations */

static int start_call(struct asked *asked, enum call_kind kind, const struct op *op,
	const void *request, struct call **made, struct err *err)
{
	struct call_plan plan = {
		.kind = kind,
		.op = op,
		.request = request,
		.client = asked->client,
		.id = asked->request.id,
	};

	return call_start(asked->owner, &plan, made, err);
}

static int method_op(struct asked *asked, const struct op *op, struct err *err)
{
	void *request = arena_alloc(&asked->arena, op->request_size + 1);

	if (read_params(asked, op->params, request, err) < 0)
		return -(int)err->code;
	if (op == &op_export && !strcmp(((const struct export_request *)request)->output, "-"))
		return err_set(
			err, ERR_USAGE, "'output' must be a path: the socket has no other output");
	return start_call(asked, CALL_OP, op, request, NULL, err);
}

static int read_exec(struct asked *asked, struct exec_request **request, struct err *err)
{
	*request = arena_alloc(&asked->arena, sizeof(**request));
	if (asked->request.params && jsonread_member(asked->request.params, "policy"))
		return err_set(err, ERR_UNSUPPORTED, "policies are not built in yet");
	if (read_params(asked, op_exec.params, *request, err) < 0)
		return -(int)err->code;
	if (!(*request)->argv.count == !(*request)->shell)
		return err_set(err, ERR_USAGE, "either 'argv' or 'shell' is needed");
	return exec_take_shell(*request, &asked->arena, err);
}

static int method_exec(struct asked *asked, struct err *err)
{
	struct exec_request *request;
	int r = read_exec(asked, &request, err);

	return r < 0 ? r : start_call(asked, CALL_EXEC, &op_exec, request, NULL, err);
}

static int method_spawn(struct asked *asked, struct err *err)
{
	struct exec_request *request;
	struct call *call;
	struct json out;
	int r = read_exec(asked, &request, err);

	if (r >= 0)
		r = start_call(asked, CALL_SPAWN, &op_exec, request, &call, err);
	if (r < 0)
		return r;
	begin_answer(asked, &out);
	json_int(&out, "process", call->number);
	end_answer(asked, &out);
	return 0;
}

/* --------------------------------------------------------- the owner's own methods */

/* Adds the commands that the owner runs, with their numbers, to a request of ps. */
static int list_commands(struct asked *asked, struct ps_request *request, struct err *err)
{
	static const char *const kinds[] = {
		[CALL_EXEC] = "exec",
		[CALL_SPAWN] = "spawn",
		[CALL_AGENT] = "agent",
	};
	size_t n = 0;

	for (const struct call *call = asked->owner->calls; call; call = call->next)
		n++;
	struct ps_known *known = arena_alloc(&asked->arena, (n + 1) * sizeof(*known));
	request->known = known;
	for (const struct call *call = asked->owner->calls; call; call = call->next) {
		if (!call->command || call->answered)
			continue;
		owned(jsonread_freep) struct jsonread *argv =
			jsonread_new(str_of(call->command), err);
		struct ps_known *one = &known[request->n_known++];

		*one = (struct ps_known){
			.number = call->number,
			.kind = kinds[call->kind],
			.task = call->task.pid,
			.began = call->began,
		};
		if (!argv || param_read_texts("argv", argv, &asked->arena, &one->argv, err) < 0)
			return -(int)err->code;
	}
	return 0;
}

static int method_ps(struct asked *asked, struct err *err)
{
	struct ps_request *request = arena_alloc(&asked->arena, sizeof(*request));
	int r = read_params(asked, op_ps.params, request, err);

	if (r >= 0)
		r = list_commands(asked, request, err);
	return r < 0 ? r : start_call(asked, CALL_OP, &op_ps, request, NULL, err);
}

static int signal_of(const struct jsonread *given, struct err *err)
{
	static const struct {
		const char *name;
		int number;
	} names[] = { { "TERM", SIGTERM }, { "KILL", SIGKILL }, { "INT", SIGINT },
		{ "HUP", SIGHUP }, { "QUIT", SIGQUIT }, { "USR1", SIGUSR1 }, { "USR2", SIGUSR2 },
		{ "STOP", SIGSTOP }, { "CONT", SIGCONT } };
	enum jsonread_type type = given ? jsonread_type(given) : JSONREAD_NULL;
	int64_t number = type == JSONREAD_INT ? jsonread_int(given) : given ? 0 : SIGTERM;

	if (type == JSONREAD_STRING) {
		struct str name = jsonread_str(given);

		if (str_starts(name, STR("SIG")))
			name = (struct str){ name.ptr + 3, name.len - 3 };
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (str_eq(name, str_of(names[i].name)))
				number = names[i].number;
	}
	return number > 0 && number < NSIG
		       ? (int)number
		       : err_set(err, ERR_INVALID, "'signal' must be a signal, by number or name");
}

static int method_kill(struct asked *asked, struct err *err)
{
	struct kill_request request = { 0 };
	struct json out;
	int r = read_params(asked, kill_params, &request, err);
	int sig = r < 0 ? r : signal_of(request.signal, err);

	if (sig < 0)
		return sig;
	struct call *call = call_find(asked->owner, request.process);
	if (!call || !call->command || call->answered)
		return err_set(err, ERR_NOT_FOUND, "no process %lld", (long long)request.process);
	call_signal(call, sig);
	begin_answer(asked, &out);
	json_int(&out, "process", request.process);
	json_int(&out, "signal", sig);
	end_answer(asked, &out);
	return 0;
}

struct withdrawing {
	struct client *client;
	const char *id; /* JSON */
};

/* If line is the request to cancel, answer it.  A waiting request has not begun. */
static bool cancel_waiting(void *arg, struct str line)
{
	struct withdrawing *withdrawing = arg;
	owned(json_release) struct json id = JSON_INIT;
	struct rpc_request request;
	struct err err = { 0 };
	bool same = rpc_read(line, &request, &err) == RPC_NONE && request.id;

	if (same) {
		jsonread_write(&id, NULL, request.id);
		same = !strcmp(json_written(&id).ptr, withdrawing->id);
	}
	if (same) {
		err_set(&err, ERR_SYSTEM, "%s was cancelled before it began", request.method);
		client_send_error(withdrawing->client, request.id, RPC_CANCELLED, &err);
	}
	rpc_request_release(&request);
	return same;
}

/* Cancels the requests of the same connection that have the given id. */
static int method_cancel(struct asked *asked, struct err *err)
{
	owned(json_release) struct json wanted = JSON_INIT;
	struct cancel_request request = { 0 };
	bool found = false;
	struct json out;

	if (read_params(asked, cancel_params, &request, err) < 0)
		return -(int)err->code;
	jsonread_write(&wanted, NULL, request.id);
	for (struct call *call = asked->owner->calls; call; call = call->next) {
		if (call->client != asked->client || call->answered || !call->id ||
			strcmp(call->id, json_written(&wanted).ptr) != 0)
			continue;
		call_cancel(call);
		found = true;
	}
	struct withdrawing withdrawing = { asked->client, json_written(&wanted).ptr };
	found |= client_drop_waiting(asked->client, cancel_waiting, &withdrawing);
	begin_answer(asked, &out);
	json_bool(&out, "cancelled", found);
	end_answer(asked, &out);
	return 0;
}

static int method_subscribe(struct asked *asked, struct err *err)
{
	struct json out;

	if (read_params(asked, no_params, NULL, err) < 0)
		return -(int)err->code;
	/* A new subscriber hears only of nodes that are made from now on. */
	news_send(asked->owner);
	asked->client->subscribed = true;
	begin_answer(asked, &out);
	json_bool(&out, "subscribed", true);
	json_text(&out, "head", asked->owner->head);
	end_answer(asked, &out);
	return 0;
}

/* Runs an operation for another strata, on the descriptors that came with the request. */
static int method_relay(struct asked *asked, struct err *err)
{
	struct relay_request request = { 0 };

	if (read_params(asked, relay_params, &request, err) < 0)
		return -(int)err->code;
	const struct op *op = table_find(request.operation);
	if (!op || !op->run || !op_is_relayed(op))
		return err_set(
			err, ERR_INVALID, "'%.100s' is not done by owners", request.operation);
	if (asked->client->n_fds != CLIENT_FDS_MAX)
		return err_set(err, ERR_USAGE,
			"relay: the standard descriptors, a directory and a request must come "
			"along");
	return start_call(asked, CALL_RELAY, op, NULL, NULL, err);
}

/* Passes a signal from the terminal of another strata on to the operation it relayed. */
static int method_relay_signal(struct asked *asked, struct err *err)
{
	struct kill_request request = { 0 };
	int r = read_params(asked, signal_params, &request, err);
	int sig = r < 0 ? r : signal_of(request.signal, err);

	if (sig < 0)
		return sig;
	for (struct call *call = asked->owner->calls; call; call = call->next) {
		if (call->client != asked->client || call->kind != CALL_RELAY || !call->task.pid)
			continue;
		/* The process group, since children of the task may do parts of the operation. */
		(void)kill(-call->task.pid, sig);
	}
	return 0;
}

static const struct method methods[] = {
	{ "cancel", method_cancel, cancel_params, true },
	{ "exec", method_exec, NULL, false },
	{ "kill", method_kill, kill_params, true },
	{ "ps", method_ps, NULL, false },
	{ "relay", method_relay, relay_params, false },
	{ "relay.signal", method_relay_signal, signal_params, true },
	{ "spawn", method_spawn, NULL, false },
	{ "subscribe", method_subscribe, no_params, true },
};

static const struct method *find_method(const char *name)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (!strcmp(methods[i].name, name))
			return &methods[i];
	return NULL;
}

/* An operation that can be called over the socket; NULL: there is none of that name. */
static const struct op *find_op(const char *name)
{
	const struct op *op = table_find(name);

	return op && op->run && !(op->flags & OP_LOCAL) ? op : NULL;
}

const struct param *methods_params(const char *name)
{
	const struct method *method = find_method(name);
	const struct op *op = find_op(name);

	if (method && method->params)
		return method->params;
	/* The other methods are operations; exec has the second name spawn. */
	if (!strcmp(name, "exec") || !strcmp(name, "spawn"))
		op = &op_exec;
	return op ? op->params ? op->params : no_params : NULL;
}

const char *methods_name(size_t i)
{
	static const char *const own[] = { "exec", "spawn", "kill", "cancel", "subscribe" };
	size_t n = sizeof(own) / sizeof(own[0]), at = 0;

	if (i < n)
		return own[i];
	for (const struct op *op; (op = table_at(at)); at++)
		if (op->run && !(op->flags & OP_LOCAL) && i-- == n)
			return op->name;
	return NULL;
}

static int run_method(struct asked *asked, enum rpc_code *code, struct err *err)
{
	const char *name = asked->request.method;
	const struct method *method = find_method(name);
	const struct op *op = find_op(name);

	*code = RPC_NONE;
	if (method)
		return method->run(asked, err);
	if (op)
		return method_op(asked, op, err);
	*code = RPC_NO_METHOD;
	err_set(err, ERR_NOT_FOUND, "no method '%.100s'", name);
	return err_hint(err, "'strata ctl help' lists them");
}

/* Whether a request needs a task, and its client has as many of them as it may. */
static bool must_wait(const struct asked *asked)
{
	const char *name = asked->request.method;
	const struct method *method = find_method(name);

	return asked->client->requests >= CLIENT_REQUESTS_MAX &&
	       (method ? !method->at_once : find_op(name) != NULL);
}

static bool may_wait(const struct client *client, struct str line, struct err *err)
{
	if (client->n_fds)
		err_set(err, ERR_BUSY,
			"%d requests are running, and one with descriptors cannot wait",
			CLIENT_REQUESTS_MAX);
	else if (client->waiting + line.len >= CLIENT_WAITING_MAX)
		err_set(err, ERR_LIMIT, "%d requests are running, and %zu bytes of others wait",
			CLIENT_REQUESTS_MAX, client->waiting);
	return !err->code;
}

bool methods_handle_line(struct owner *owner, struct client *client, struct str line)
{
	bool waits = false;
	struct asked asked = { .owner = owner, .client = client };
	struct err err = { 0 };
	enum rpc_code code = rpc_read(line, &asked.request, &err);

	if (code != RPC_NONE) {
		client_send_error(client, asked.request.id, code, &err);
	} else if (must_wait(&asked)) {
		waits = may_wait(client, line, &err);
		if (!waits && asked.request.id)
			client_send_error(client, asked.request.id, errcode_rpc(&err), &err);
	} else if (run_method(&asked, &code, &err) < 0 && asked.request.id) {
		if (code == RPC_NONE)
			code = errcode_rpc(&err);
		client_send_error(client, asked.request.id, code, &err);
	}
	arena_release(&asked.arena);
	rpc_request_release(&asked.request);
	return !waits;
}
