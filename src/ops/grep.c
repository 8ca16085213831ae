/* grep - find the lines that match a pattern, in a node, in the live tree, or in all nodes. */
#include "core/own.h"
#include "ops/refview.h"
#include "ops/requests.h"
#include "ops/shape.h"

static const struct param params[] = {
	PARAM(grep_request, pattern, TEXT, PARAM_REQUIRED | PARAM_POSITIONAL,
		"a regular expression"),
	PARAM(grep_request, refs, TEXTS, PARAM_POSITIONAL,
		"the nodes to search; HEAD unless given"),
	PARAM(grep_request, all, FLAG, 0, "search all nodes, each content once"),
	PARAM(grep_request, ignore_case, FLAG, 0, "do not tell upper from lower case",
		.letter = 'i'),
	PARAM(grep_request, fixed, FLAG, 0, "take the pattern as plain text", .letter = 'F'),
	PARAM(grep_request, limit, COUNT, 0, "stop after this many matches", .letter = 'n'),
	PARAM(grep_request, paths, TEXTS, PARAM_AFTER_DASHES,
		"only these paths and what is below them"),
	{ 0 },
};

struct grepping {
	struct op_context *ctx;
	const struct grep_request *req;
	struct grep_result *result;
	struct search search;
	const char *ref;
	struct provider *provider;
};

static enum env_access access_for(const void *request)
{
	const struct grep_request *req = request;

	for (size_t i = 0; i < req->refs.count; i++)
		if (refview_is_work(req->refs.list[i]))
			return ENV_LOOK;
	return ENV_READ;
}

static int emit_match(void *arg, const struct search_match *match, struct err *err)
{
	struct grepping *grepping = arg;
	struct grep_row row = { grepping->ref, match };

	if (grepping->req->limit && grepping->result->matches >= (uint64_t)grepping->req->limit) {
		grepping->result->truncated = true;
		return 1;
	}
	grepping->result->matches++;
	return op_emit(grepping->ctx, &row, err);
}

static void note_missed(void *arg, struct str path, uint64_t line, const char *why)
{
	struct grepping *grepping = arg;

	grepping->result->missed++;
	report_add(grepping->ctx->report, REPORT_UNSEARCHED, path, "line %llu of %s: %s",
		(unsigned long long)line, grepping->ref, why);
}

static int search_view(struct grepping *grepping, struct view *view, struct err *err)
{
	const struct param_texts *paths = &grepping->req->paths;
	int r = 0;

	grepping->search.view = view;
	if (!paths->count)
		return search_run(&grepping->search, STR(""), err);
	for (size_t i = 0; i < paths->count && r >= 0 && !grepping->result->truncated; i++) {
		struct err none = { 0 };

		r = search_run(&grepping->search,
			refview_path(grepping->ctx, str_of(paths->list[i])), &none);
		/* With --all a path need not exist in every node. */
		if (r < 0 && !(none.code == ERR_NOT_FOUND && grepping->req->all)) {
			*err = none;
			return r;
		}
		r = 0;
	}
	return r;
}

static int search_snapshot(void *arg, const struct provider_snapshot *snapshot, struct err *err)
{
	struct grepping *grepping = arg;
	owned(view_closep) struct view *view =
		grepping->provider->ops->open(grepping->provider, snapshot->name, err);

	if (!view)
		return -(int)err->code;
	grepping->ref = snapshot->name;
	int r = search_view(grepping, view, err);
	return r < 0 ? r : grepping->result->truncated;
}

static int search_refs(struct grepping *grepping, struct err *err)
{
	const struct param_texts *refs = &grepping->req->refs;
	size_t count = refs->count ? refs->count : 1;

	for (size_t i = 0; i < count && !grepping->result->truncated; i++) {
		owned(view_closep) struct view *view = refview_open(grepping->ctx,
			refs->count ? refs->list[i] : "HEAD", NULL, &grepping->ref, err);

		if (!view)
			return -(int)err->code;
		int r = search_view(grepping, view, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int do_grep(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct grep_request *req = request;
	struct grepping grepping = { .ctx = ctx, .req = req, .result = out };

	grepping.result->report = ctx->report;
	unsigned flags = (req->ignore_case ? LINESEARCH_IGNORE_CASE : 0) |
			 (req->fixed ? LINESEARCH_LITERAL : 0);
	struct strata_provider provider;

	if (req->all && req->refs.count)
		return err_set(err, ERR_USAGE, "--all and nodes by name exclude each other");
	owned(linesearch_freep) struct linesearch *lines =
		linesearch_new(str_of(req->pattern), flags, err);
	if (!lines)
		return -(int)err->code;
	owned(keytable_release) struct keytable seen = { 0 };
	grepping.search = (struct search){
		.lines = lines, .visit = emit_match, .missed = note_missed, .arg = &grepping
	};
	if (!req->all)
		return search_refs(&grepping, err);
	grepping.search.seen = &seen;
	strata_provider_init(&provider, &ctx->env->history, NULL);
	grepping.provider = &provider.provider;
	return provider.provider.ops->snapshots(
		&provider.provider, search_snapshot, &grepping, err);
}

static void row_json(struct json *out, const void *row)
{
	const struct grep_row *grep = row;

	json_text(out, "node", grep->ref);
	json_str(out, "path", grep->match->path);
	json_uint(out, "line", grep->match->line);
	json_str(out, "text", grep->match->text);
}

static void result_json(struct json *out, const void *result)
{
	const struct grep_result *res = result;

	json_bool(out, "truncated", res->truncated);
	if (res->missed)
		shape_report(out, res->report);
}

const struct op op_grep = {
	.name = "grep",
	.summary = "lines that match, in nodes or through all time",
	.advice = "Searches one node unless 'all' is set. To search the live tree, run grep "
		  "in the environment.",
	.access = ENV_READ,
	.access_for = access_for,
	.params = params,
	.request_size = sizeof(struct grep_request),
	.result_size = sizeof(struct grep_result),
	.rows = "matches",
	.row = "{node:text path:text line:int text:text}",
	.result = "truncated:bool " SHAPE_OPTIONAL_REPORT,
	.run = do_grep,
	.row_json = row_json,
	.result_json = result_json,
};
