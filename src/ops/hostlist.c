/*
 * hostlist - the operation 'hosts': list the hosts of hosts.toml, and try to ask them.
 *
 * Several hosts are tried at the same time.  Each host is asked twice.  The first answer shows how
 * long connecting takes.  The second answer shows how long any later question takes.
 */
#include <poll.h>

#include "core/own.h"
#include "core/when.h"
#include "ops/op.h"
#include "ops/requests.h"
#include "rpc/hostclient.h"
#include "rpc/hostreply.h"

#define AT_ONCE 16
#define TIMEOUT 15 /* time limit in seconds for the answer of a host */

static const struct param params[] = {
	PARAM(hosts_request, name, TEXTS, PARAM_POSITIONAL, "only these hosts"),
	PARAM(hosts_request, check, FLAG, 0, "connect to the hosts and say which can be asked"),
	PARAM(hosts_request, timeout, COUNT, 0,
		"seconds after which a silent host counts as not reachable (15)", .cap = 600),
	PARAM(hosts_request, config, TEXT, PARAM_PERSON, "the hosts file"),
	{ 0 },
};

/* A host that is being tried or is waiting for its turn. */
struct trial {
	struct arena *arena;
	const struct hosts_host *host;
	struct hostlink_options options;
	struct hostclient_face face;
	struct hostclient *client;
	struct hosts_check check;
	int64_t begun, connected;
	bool done;
};

static void note_failure(struct trial *trial, struct str value)
{
	(void)hostreply_error(trial->host->name, value, NULL, &trial->check.err);
	trial->done = true;
}

static const char *name_origin(const struct trial *trial)
{
	const struct hostlink_start *start = hostclient_started(trial->client);

	if (trial->host->transport == HOSTS_LOCAL)
		return "local";
	if (!start || !start->bootstrapped)
		return "installed";
	if (!start->cached)
		return "temporary";
	return start->changed ? "replaced" : start->sent ? "sent" : "cache";
}

static void note_providers(struct trial *trial, struct str value)
{
	struct err ignored = { 0 };
	owned(jsonread_freep) struct jsonread *info = jsonread_new(value, &ignored);
	const struct jsonread *list = info ? jsonread_member(info, "providers") : NULL;
	size_t n = list && jsonread_type(list) == JSONREAD_ARRAY ? jsonread_count(list) : 0;
	const char **names = arena_alloc(trial->arena, (n + 1) * sizeof(*names));

	for (size_t i = 0; i < n; i++) {
		const struct jsonread *name = jsonread_item(list, i);

		if (jsonread_type(name) == JSONREAD_STRING)
			names[trial->check.n_providers++] =
				arena_str(trial->arena, jsonread_str(name)).ptr;
	}
	trial->check.providers = names;
}

static void take_answer(void *arg, uint64_t tag, const struct hostclient_answer *answer)
{
	struct trial *trial = arg;
	int64_t now = when_monotonic();

	if (answer->failed) {
		note_failure(trial, answer->value);
		return;
	}
	if (tag == 0) {
		trial->connected = now;
		hostclient_ask(trial->client, 1, "agent_info", (struct str){ 0 });
		return;
	}
	trial->check.ok = trial->done = true;
	trial->check.connect_ms = (trial->connected - trial->begun) / WHEN_MS;
	trial->check.latency_ms = (now - trial->connected) / WHEN_MS;
	trial->check.agent_version = arena_strdup(trial->arena, hostclient_version(trial->client));
	trial->check.agent = name_origin(trial);
	note_providers(trial, answer->value);
}

static void begin_trial(struct trial *trial, int64_t seconds)
{
	trial->options.start_ms = (int)(seconds * 1000);
	trial->face = (struct hostclient_face){ .answer = take_answer, .arg = trial };
	trial->begun = when_monotonic();
	trial->client = hostclient_new(trial->host, &trial->options, &trial->face);
	hostclient_ask(trial->client, 0, "agent_info", (struct str){ 0 });
	hostclient_handle(trial->client);
}

static int emit(struct op_context *ctx, const struct hosts_host *host,
	const struct hosts_check *check, struct err *err)
{
	struct hosts_row row = { .host = host, .check = check };

	return op_emit(ctx, &row, err);
}

/* Wait until at least one of the hosts [first, end) has an event, and handle all events. */
static void step(struct trial *trials, size_t first, size_t end)
{
	struct pollfd polls[AT_ONCE * HOSTCLIENT_POLLS];
	size_t n = 0;
	int wait = -1;

	for (size_t i = first; i < end; i++) {
		int ms = trials[i].client ? hostclient_wait_ms(trials[i].client) : -1;

		if (trials[i].client)
			n += hostclient_polls(trials[i].client, polls + n);
		if (ms >= 0 && (wait < 0 || ms < wait))
			wait = ms;
	}
	(void)poll(polls, n, wait);
	for (size_t i = first; i < end; i++)
		if (trials[i].client)
			hostclient_handle(trials[i].client);
}

/* Try all hosts, and emit their rows in the order of the file. */
static int try_hosts(struct op_context *ctx, struct trial *trials, size_t count, int64_t seconds,
	struct hosts_result *result, struct err *err)
{
	size_t first = 0, end = 0;
	int r = 0;

	while (r >= 0 && first < count) {
		for (; end < count && end < first + AT_ONCE; end++)
			begin_trial(&trials[end], seconds);
		bool some_done = false;
		for (size_t i = first; i < end; i++) {
			if (!trials[i].done || !trials[i].client)
				continue;
			hostclient_free(trials[i].client);
			trials[i].client = NULL;
		}
		for (; r >= 0 && first < end && trials[first].done; first++) {
			some_done = true;
			result->n_failed += !trials[first].check.ok;
			r = emit(ctx, trials[first].host, &trials[first].check, err);
		}
		if (!some_done)
			step(trials, first, end);
	}
	for (size_t i = first; i < end; i++)
		hostclient_free(trials[i].client);
	return r;
}

static int do_hosts(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct hosts_request *req = request;
	struct hosts_result *result = out;
	struct hosts hosts;
	int r = hosts_read(req->config, ctx->arena, &hosts, err);

	if (r < 0)
		return r;
	size_t count = req->name.count ?: hosts.count;
	struct trial *trials = arena_alloc(ctx->arena, (count + 1) * sizeof(*trials));
	result->path = hosts.path;
	result->exists = hosts.has_file;
	for (size_t i = 0; i < count; i++) {
		trials[i].arena = ctx->arena;
		trials[i].host = req->name.count ? hosts_find(&hosts, req->name.list[i], err)
						 : &hosts.list[i];
		if (!trials[i].host)
			return -(int)err->code;
	}
	if (req->check)
		return try_hosts(ctx, trials, count, req->timeout ?: TIMEOUT, result, err);
	for (size_t i = 0; r >= 0 && i < count; i++)
		r = emit(ctx, trials[i].host, NULL, err);
	return r;
}

static void write_check(struct json *out, const struct hosts_check *check)
{
	json_open(out, "check", '{');
	json_bool(out, "ok", check->ok);
	json_text(out, "error", check->ok ? NULL : check->err.text);
	json_text(out, "hint", check->err.hint[0] ? check->err.hint : NULL);
	json_text(out, "agent_version", check->agent_version);
	json_text(out, "agent", check->agent);
	json_texts(out, "providers", check->providers, check->n_providers);
	json_number(out, "connect_ms", check->ok, check->connect_ms);
	json_number(out, "latency_ms", check->ok, check->latency_ms);
	json_close(out);
}

static void row_json(struct json *out, const void *row)
{
	const struct hosts_row *item = row;
	const struct hosts_host *host = item->host;
	bool ssh = host->transport == HOSTS_SSH;

	json_text(out, "name", host->name);
	json_text(out, "transport", hosts_transport_name(host->transport));
	json_text(out, "ssh_target", host->ssh_target);
	json_text(out, "agent_mode", ssh ? hosts_mode_name(host->agent_mode) : NULL);
	json_text(out, "agent_path", host->agent_path);
	json_bool(out, "sudo", host->sudo);
	json_texts(out, "ssh_options", host->ssh_options.list, host->ssh_options.count);
	json_bool(out, "allow_restore", host->allow_restore);
	json_texts(out, "restore_paths", host->restore_paths.list, host->restore_paths.count);
	if (item->check)
		write_check(out, item->check);
}

static void result_json(struct json *out, const void *result)
{
	const struct hosts_result *res = result;

	json_text(out, "path", res->path);
	json_bool(out, "exists", res->exists);
}

const struct op op_hosts = {
	.name = "hosts",
	.summary = "the hosts that questions can be sent to",
	.flags = OP_LOCAL | OP_NO_ENV | OP_ANYWHERE,
	.access = ENV_READ,
	.params = params,
	.request_size = sizeof(struct hosts_request),
	.result_size = sizeof(struct hosts_result),
	.rows = "hosts",
	.row = "{name:text transport:text ssh_target:text? agent_mode:text? agent_path:text? "
	       "sudo:bool ssh_options:[text] allow_restore:bool restore_paths:[text] "
	       "check?:{ok:bool error:text? hint:text? agent_version:text? agent:text? "
	       "providers:[text] connect_ms:int? latency_ms:int?}}",
	.result = "path:text exists:bool",
	.run = do_hosts,
	.row_json = row_json,
	.result_json = result_json,
};
