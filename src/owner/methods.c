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
	const struct op *op; /* NULL: no method has the request's name */
	struct arena arena;
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

/* Returns the request struct of the operation, filled from the parameters, or NULL on error. */
static void *read_params(struct asked *asked, struct err *err)
{
	struct param_reader reader = {
		.name = asked->request.method,
		.params = asked->op->params,
		.arena = &asked->arena,
		.request = arena_alloc(&asked->arena, asked->op->request_size + 1),
	};
	int r = param_read(&reader, asked->request.params, err);

	return r < 0 ? NULL : reader.request;
}

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

/*
 * Refuse a parameter that is a descriptor of the caller, or a "-", which means a standard stream.
 * The request of a client comes without descriptors, and the operation has no other output than the
 * answer.
 */
static int refuse_descriptors(const struct param *params, const void *request, struct err *err)
{
	const struct param *descriptor = param_with_descriptor(params, request);

	for (const struct param *p = params; p && p->name; p++) {
		if (strcmp(param_text(p, request) ?: "", "-") != 0)
			continue;
		if (p->flags & PARAM_STDOUT)
			return err_set(err, ERR_USAGE,
				"'%s' must be a path: the socket has no other output", p->name);
		if (p->flags & PARAM_STDIN)
			return err_set(err, ERR_USAGE,
				"'%s' must be a path: the socket has no other input", p->name);
	}
	return descriptor ? err_set(err, ERR_USAGE,
				    "'%s' must be a path: a request has no descriptors",
				    descriptor->name)
			  : 0;
}

static int start_operation(struct asked *asked, struct err *err)
{
	void *request = read_params(asked, err);

	if (!request || refuse_descriptors(asked->op->params, request, err) < 0)
		return -(int)err->code;
	return start_call(asked, CALL_OP, asked->op, request, NULL, err);
}

static struct exec_request *read_exec(struct asked *asked, struct err *err)
{
	struct exec_request *request = read_params(asked, err);

	if (request && refuse_descriptors(asked->op->params, request, err) < 0)
		return NULL;
	if (request && !request->argv.count == !request->shell) {
		err_set(err, ERR_USAGE, "either 'argv' or 'shell' is needed");
		return NULL;
	}
	return request && exec_take_shell(request, &asked->arena, err) >= 0 ? request : NULL;
}

/* Send an event about a grant that the operation has made or revoked. */
static void send_grant(struct owner *owner, const char *event, const struct jsonread *answer)
{
	const struct jsonread *result = answer ? jsonread_member(answer, "result") : NULL;
	owned(json_release) struct json out = JSON_INIT;
	int64_t changed = 0;

	if (!result || jsonread_get_int(result, "changed", &changed) != JSONREAD_FOUND || !changed)
		return;
	rpc_notify(&out, event);
	for (size_t i = 0; i < jsonread_count(result); i++)
		jsonread_write(&out, jsonread_key(result, i).ptr, jsonread_item(result, i));
	rpc_end(&out);
	client_send_all(owner, json_written(&out));
}

static void on_granted(struct owner *owner, const struct jsonread *answer)
{
	send_grant(owner, "policy.granted", answer);
}

static void on_revoked(struct owner *owner, const struct jsonread *answer)
{
	send_grant(owner, "policy.revoked", answer);
}

static int change_grants(struct asked *asked, struct err *err)
{
	struct call_plan plan = {
		.kind = CALL_OP,
		.op = asked->op,
		.request = read_params(asked, err),
		.client = asked->client,
		.id = asked->request.id,
		.done = asked->op == &op_grant ? on_granted : on_revoked,
	};

	return plan.request ? call_start(asked->owner, &plan, NULL, err) : -(int)err->code;
}

static int start_exec(struct asked *asked, struct err *err)
{
	struct exec_request *request = read_exec(asked, err);

	if (!request)
		return -(int)err->code;
	return start_call(asked, CALL_EXEC, &op_exec, request, NULL, err);
}

static int spawn_exec(struct asked *asked, struct err *err)
{
	struct exec_request *request = read_exec(asked, err);
	struct call *call;
	struct json out;

	if (!request || start_call(asked, CALL_SPAWN, &op_exec, request, &call, err) < 0)
		return -(int)err->code;
	begin_answer(asked, &out);
	json_int(&out, "process", call->number);
	end_answer(asked, &out);
	return 0;
}

/* ----------------------------------------------- methods that the owner itself implements */

/* Add the commands that the owner runs, with the numbers of their calls, to a request of 'ps'. */
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

static int start_ps(struct asked *asked, struct err *err)
{
	struct ps_request *request = read_params(asked, err);

	if (!request || list_commands(asked, request, err) < 0)
		return -(int)err->code;
	return start_call(asked, CALL_OP, asked->op, request, NULL, err);
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

static int signal_command(struct asked *asked, struct err *err)
{
	const struct kill_request *request = read_params(asked, err);
	int sig = request ? signal_of(request->signal, err) : -(int)err->code;
	struct json out;

	if (sig < 0)
		return sig;
	struct call *call = call_find(asked->owner, request->process);
	if (!call || !call->command || call->answered)
		return err_set(err, ERR_NOT_FOUND, "no process %lld", (long long)request->process);
	call_signal(call, sig);
	begin_answer(asked, &out);
	json_int(&out, "process", request->process);
	json_int(&out, "signal", sig);
	end_answer(asked, &out);
	return 0;
}

struct withdrawing {
	struct client *client;
	const char *id; /* the id of the request to cancel, as JSON */
};

/*
 * If a waiting line is the request that is to be cancelled, answer that the request never began,
 * and return true.
 */
static bool cancel_waiting(void *arg, struct str line)
{
	struct withdrawing *withdrawing = arg;
	struct rpc_request request;
	struct err err = { 0 };
	bool same = rpc_read(line, &request, &err) == RPC_NONE && request.id;
	owned_mem char *id = same ? jsonread_text(request.id) : NULL;

	same = same && !strcmp(id, withdrawing->id);
	if (same) {
		err_set(&err, ERR_SYSTEM, "%s was cancelled before it began", request.method);
		client_send_error(withdrawing->client, request.id, RPC_CANCELLED, &err);
	}
	rpc_request_release(&request);
	return same;
}

/* Cancel the requests with the given id.  Only requests of the same connection are cancelled. */
static int cancel_requests(struct asked *asked, struct err *err)
{
	const struct cancel_request *request = read_params(asked, err);
	bool found = false;
	struct json out;

	if (!request)
		return -(int)err->code;
	owned_mem char *wanted = jsonread_text(request->id);
	for (struct call *call = asked->owner->calls; call; call = call->next) {
		if (call->client != asked->client || call->answered || !call->id ||
			strcmp(call->id, wanted) != 0)
			continue;
		call_cancel(call);
		found = true;
	}
	struct withdrawing withdrawing = { asked->client, wanted };
	found |= client_drop_waiting(asked->client, cancel_waiting, &withdrawing);
	begin_answer(asked, &out);
	json_bool(&out, "cancelled", found);
	end_answer(asked, &out);
	return 0;
}

static int subscribe_client(struct asked *asked, struct err *err)
{
	struct json out;

	if (!read_params(asked, err))
		return -(int)err->code;
	/*
	 * First send new events to the older subscribers, so that the new subscriber gets only
	 * later events.
	 */
	news_send(asked->owner);
	asked->client->subscribed = true;
	begin_answer(asked, &out);
	json_bool(&out, "subscribed", true);
	json_text(&out, "head", asked->owner->head);
	end_answer(asked, &out);
	return 0;
}

/*
 * Run an operation that another strata process has relayed.  The operation uses the descriptors
 * that came with the request.
 */
static int start_relayed(struct asked *asked, struct err *err)
{
	const struct relay_request *request = read_params(asked, err);

	if (!request)
		return -(int)err->code;
	const struct op *op = table_find(request->operation);
	if (!op || !op->run || !op_is_relayed(op))
		return err_set(
			err, ERR_INVALID, "'%.100s' is not done by owners", request->operation);
	if (asked->client->n_fds != CLIENT_FDS_MAX)
		return err_set(err, ERR_USAGE,
			"relay: the standard descriptors, a directory and a request must come "
			"along");
	return start_call(asked, CALL_RELAY, op, NULL, NULL, err);
}

/*
 * Pass on a signal to a relayed operation.  The signal came from the terminal of the strata process
 * that relayed the operation.
 */
static int signal_relayed(struct asked *asked, struct err *err)
{
	const struct kill_request *request = read_params(asked, err);
	int sig = request ? signal_of(request->signal, err) : -(int)err->code;

	if (sig < 0)
		return sig;
	for (struct call *call = asked->owner->calls; call; call = call->next) {
		if (call->client != asked->client || call->kind != CALL_RELAY || !call->task.pid)
			continue;
		/*
		 * Signal the whole process group, because children of the task do parts of the
		 * operation.
		 */
		(void)kill(-call->task.pid, sig);
	}
	return 0;
}

/* ------------------------------------------------------------- requests of clients */

/*
 * The operations for which a plain call is not enough.  The function 'serve' returns 0 if it has
 * sent the answer, or has started a call that will send the answer.
 */
static const struct service {
	const struct op *op;
	int (*serve)(struct asked *asked, struct err *err);
} services[] = {
	{ &op_cancel, cancel_requests },
	{ &op_exec, start_exec },
	{ &op_grant, change_grants },
	{ &op_kill, signal_command },
	{ &op_ps, start_ps },
	{ &op_relay, start_relayed },
	{ &op_relay_signal, signal_relayed },
	{ &op_revoke, change_grants },
	{ &op_spawn, spawn_exec },
	{ &op_subscribe, subscribe_client },
};

static int serve_request(struct asked *asked, struct err *err)
{
	for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++)
		if (services[i].op == asked->op)
			return services[i].serve(asked, err);
	return start_operation(asked, err);
}

/*
 * Whether clients can call an operation by its name.  Queries are not called by their names:
 * clients call the operation 'query'.
 */
static bool is_method(const struct op *op)
{
	return op->flags & OP_OWNER || (op->run && !(op->flags & OP_LOCAL));
}

const struct op *methods_find(const char *name)
{
	const struct op *op = table_find(name);

	return op && is_method(op) ? op : NULL;
}

const struct op *methods_listed(size_t i)
{
	const struct op *op;

	for (size_t at = 0; (op = table_at(at)); at++)
		if (is_method(op) && !(op->flags & OP_INTERNAL) && i-- == 0)
			break;
	return op;
}

/*
 * Whether a request has to wait.  It has to wait if it needs a task and its client already has the
 * maximum number of running requests.
 */
static bool must_wait(const struct asked *asked)
{
	return asked->client->requests >= CLIENT_REQUESTS_MAX && !(asked->op->flags & OP_AT_ONCE);
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
	bool is_request = code == RPC_NONE;

	if (is_request)
		asked.op = methods_find(asked.request.method);
	if (is_request && !asked.op) {
		code = RPC_NO_METHOD;
		err_set(&err, ERR_NOT_FOUND, "no method '%.100s'", asked.request.method);
		err_hint(&err, "'strata ctl help' lists them");
	} else if (is_request && must_wait(&asked)) {
		waits = may_wait(client, line, &err);
	} else if (is_request) {
		(void)serve_request(&asked, &err);
	}
	/*
	 * A notification gets no answer.  A line that is not a valid request gets an error, even
	 * without an id.
	 */
	if (err.code && (asked.request.id || !is_request))
		client_send_error(client, asked.request.id,
			code == RPC_NONE ? errcode_rpc(&err) : code, &err);
	arena_release(&asked.arena);
	rpc_request_release(&asked.request);
	return !waits;
}
