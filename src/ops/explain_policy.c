/*
 * explain_policy - describe in words what a policy allows, or whether it allows one path or host.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "core/at.h"
#include "core/own.h"
#include "ops/policies.h"
#include "ops/policyfile.h"
#include "ops/shape.h"
#include "policy/domains.h"
#include "policy/rule.h"
#include "policy/sentences.h"

#define ANY_PORT 443 /* port for judging a host, if no rule names a port */

static const struct param params[] = {
	PARAM(explain_policy_request, file, TEXT, PARAM_REQUIRED | PARAM_POSITIONAL,
		"the file of the policy; - is standard input"),
	PARAM(explain_policy_request, subject, TEXT, PARAM_POSITIONAL,
		"a path, which begins with /, ~/ or $WORKSPACE/, or HOST or HOST:PORT"),
	PARAM(explain_policy_request, workspace, TEXT, 0,
		"the directory that $WORKSPACE stands for; the working directory otherwise"),
	PARAM(explain_policy_request, home, TEXT, 0,
		"the directory that ~ stands for; $HOME otherwise"),
	PARAM(explain_policy_request, write, FLAG, 0, "whether the path may be written"),
	{ 0 },
};

static int find_place(const struct explain_policy_request *req, struct arena *arena,
	struct policy_place *out, struct err *err)
{
	owned_mem char *here = NULL;
	const char *home = req->home ?: getenv("HOME");

	if (!req->workspace) {
		owned_fd int fd = at_open_given(".", O_PATH | O_DIRECTORY, 0, err);

		here = fd < 0 ? NULL : at_path_of(fd, err);
		if (!here)
			return err_context(err, "the working directory");
	}
	out->home = home && *home ? home : "/";
	out->workspace = req->workspace ?: arena_strdup(arena, here);
	return 0;
}

/*
 * Set *out to the path that 'subject' stands for: variables are replaced, and surplus slashes are
 * removed.  A '*' in the result is an ordinary character.
 */
static int resolve_path(const char *subject, const struct policy_place *place, struct arena *arena,
	struct str *out, struct err *err)
{
	owned(buf_release) struct buf path = BUF_INIT;
	struct str rest = str_of(subject), name;
	const char *base = "";

	if (subject[0] == '~' || subject[0] == '$') {
		struct str root = str_take_name(&rest);

		base = subject[0] == '~' ? place->home : place->workspace;
		if (!str_eq(root, STR("~")) && !str_eq(root, STR("$WORKSPACE")))
			return err_set(err, ERR_USAGE,
				"policy: only '~/' and '$WORKSPACE/' are known, not '%.200s'",
				subject);
	}
	for (struct str part = str_of(base); (name = str_take_name(&part)).len;)
		buf_addf(&path, "/%.*s", (int)name.len, name.ptr);
	while ((name = str_take_name(&rest)).len) {
		if (str_eq(name, STR("..")))
			return err_set(err, ERR_USAGE, "policy: '..' in '%.200s'", subject);
		if (!str_eq(name, STR(".")))
			buf_addf(&path, "/%.*s", (int)name.len, name.ptr);
	}
	*out = path.len ? arena_str(arena, (struct str){ path.data, path.len }) : STR("/");
	return 0;
}

static int explain_path(struct op_context *ctx, const struct explain_policy_request *req,
	const struct policy *policy, struct err *err)
{
	struct explain_policy_row row = { .access = req->write ? "write" : "read" };
	struct str path;
	int r = resolve_path(req->subject, &policy->place, ctx->arena, &path, err);

	if (r < 0)
		return r;
	row.subject = path.ptr;
	verdict_path(policy, req->write ? VERDICT_WRITE : VERDICT_READ, path, &row.verdict);
	return op_emit(ctx, &row, err);
}

static int explain_port(struct op_context *ctx, const struct policy *policy, struct str host,
	uint16_t port, struct err *err)
{
	struct explain_policy_row row = {
		.access = "connect",
		.subject = arena_str(ctx->arena, host).ptr,
		.port = port,
	};

	verdict_host(policy, host, port, &row.verdict);
	return op_emit(ctx, &row, err);
}

/* A host without a port is judged with each port that the policy names. */
static int explain_ports(
	struct op_context *ctx, const struct policy *policy, struct str host, struct err *err)
{
	uint16_t ports[POLICY_RULES_MAX];
	size_t n = verdict_ports(policy, ports, POLICY_RULES_MAX);
	int r = 0;

	if (!n)
		ports[n++] = ANY_PORT;
	for (size_t i = 0; i < n && i < POLICY_RULES_MAX && r >= 0; i++)
		r = explain_port(ctx, policy, host, ports[i], err);
	return r;
}

static int explain_host(struct op_context *ctx, const struct explain_policy_request *req,
	const struct policy *policy, struct err *err)
{
	owned(buf_release) struct buf text = BUF_INIT;
	struct domains_rule subject;
	const char *why = domains_read_rule(str_of(req->subject), &subject);

	if (!why && (subject.kind != DOMAINS_EXACT || subject.port == DOMAINS_PORT_STAR))
		why = "stands for several hosts or ports";
	if (why)
		return err_set(err, ERR_USAGE,
			"policy: '%.200s' %s; a path begins with '/', '~/' or '$WORKSPACE/'",
			req->subject, why);
	int port = subject.port;
	subject.port = DOMAINS_PORT_NONE;
	domains_write_rule(&text, &subject);
	struct str host = { text.data, text.len };
	return port ? explain_port(ctx, policy, host, (uint16_t)port, err)
		    : explain_ports(ctx, policy, host, err);
}

static bool is_path(const char *subject)
{
	return subject[0] == '/' || subject[0] == '~' || subject[0] == '$';
}

static int check(const void *request, struct err *err)
{
	const struct explain_policy_request *req = request;

	if (req->write && (!req->subject || !is_path(req->subject)))
		return err_set(err, ERR_USAGE, "policy: --write is for a path");
	if (req->home && req->home[0] != '/')
		return err_set(err, ERR_USAGE, "policy: the home is an absolute path");
	if (req->workspace && req->workspace[0] != '/')
		return err_set(err, ERR_USAGE, "policy: the workspace is an absolute path");
	return 0;
}

static int explain_policy(
	struct op_context *ctx, const void *request, void *result, struct err *err)
{
	const struct explain_policy_request *req = request;
	struct explain_policy_result *res = result;
	struct policy_place place;
	struct policy policy;
	int r = find_place(req, ctx->arena, &place, err);

	if (r >= 0)
		r = policyfile_read(req->file, ctx->arena, &policy, err);
	if (r >= 0)
		r = policy_resolve(&policy, &place, ctx->arena, &res->policy, err);
	if (r < 0)
		return r;
	if (!req->subject)
		res->statements = sentences_list(&res->policy, ctx->arena);
	else
		r = is_path(req->subject) ? explain_path(ctx, req, &res->policy, err)
					  : explain_host(ctx, req, &res->policy, err);
	return r;
}

static void row_json(struct json *out, const void *row)
{
	const struct explain_policy_row *it = row;

	json_text(out, "access", it->access);
	json_text(out, it->port ? "host" : "path", it->subject);
	if (it->port)
		json_int(out, "port", it->port);
	json_bool(out, "allowed", it->verdict.allowed);
	json_text(out, "rule", it->verdict.rule);
	json_text(out, "remedy", it->verdict.allowed ? NULL : it->verdict.remedy);
}

static void result_json(struct json *out, const void *result)
{
	const struct explain_policy_result *res = result;

	json_text(out, "preset", res->policy.preset);
	json_text(out, "home", res->policy.place.home);
	json_text(out, "workspace", res->policy.place.workspace);
	policy_write(out, "policy", &res->policy);
	json_texts(out, "statements", res->statements.list, res->statements.n);
	json_texts(out, "warnings", res->policy.warnings.list, res->policy.warnings.n);
}

const struct op op_explain_policy = {
	.name = "policy explain",
	.summary = "what a policy says, or what it says about one path or host",
	.flags = OP_NO_ENV | OP_ANYWHERE | OP_LOCAL,
	.params = params,
	.request_size = sizeof(struct explain_policy_request),
	.result_size = sizeof(struct explain_policy_result),
	.rows = "verdicts",
	.row = "{access:text path?:text host?:text port?:int allowed:bool rule:text remedy:text?}",
	.result = "preset:text? home:text workspace:text policy:any statements:[text] "
		  "warnings:[text]",
	.check = check,
	.run = explain_policy,
	.row_json = row_json,
	.result_json = result_json,
};
