/* diff - find the differences between two nodes, or between a node and the live tree. */
#include <string.h>

#include "core/own.h"
#include "core/textdiff.h"
#include "ops/refview.h"
#include "ops/requests.h"
#include "ops/shape.h"
#include "query/strata.h"

#define PATCH_FILE_MAX ((uint64_t)8 << 20) /* larger files count as binary */
#define PATCH_CONTEXT 3

static const struct param params[] = {
	PARAM(diff_request, a, TEXT, PARAM_REQUIRED | PARAM_POSITIONAL, "the node to compare from"),
	PARAM(diff_request, b, TEXT, PARAM_POSITIONAL,
		"the node to compare with; the live tree unless given"),
	PARAM(diff_request, stat, FLAG, 0, "only the numbers of changes"),
	PARAM(diff_request, name_status, FLAG, 0, "only the kind of change and the path"),
	PARAM(diff_request, patch, FLAG, 0, "the contents of text files as a unified diff",
		.letter = 'p'),
	PARAM(diff_request, paths, TEXTS, PARAM_AFTER_DASHES,
		"only these paths and what is below them"),
	{ 0 },
};

struct differing {
	struct op_context *ctx;
	bool patch;
	struct view *a;
	struct view *b;
};

static bool is_work(const char *text)
{
	return !text || !strcmp(text, "work");
}

static enum env_access access_for(const void *request)
{
	const struct diff_request *req = request;

	return is_work(req->a) || is_work(req->b) ? ENV_LOOK : ENV_READ;
}

static bool is_text_file(const struct entry *entry)
{
	return entry && entry->type == ENTRY_FILE && entry->content != ENTRY_UNREAD;
}

static int read_text(struct view *view, const struct entry *entry, struct str path, struct buf *out,
	struct err *err)
{
	if (!is_text_file(entry))
		return 0;
	return view->ops->read(view, entry, path, 0, UINT64_MAX, content_append, out, err);
}

/* Make the unified diff of a change.  patch stays empty if no text changed. */
static int make_patch(struct differing *differing, const struct treediff_change *change,
	struct buf *patch, bool *binary, struct err *err)
{
	owned(buf_release) struct buf a = BUF_INIT, b = BUF_INIT, name_a = BUF_INIT,
				      name_b = BUF_INIT;
	struct str new_path = change->op == 'R' ? change->new_path : change->path;
	bool file_a = is_text_file(change->a), file_b = is_text_file(change->b);

	if ((!file_a && !file_b) ||
		(change->a && change->b && entry_same_content(change->a, change->b)))
		return 0;
	if ((file_a && change->a->size > PATCH_FILE_MAX) ||
		(file_b && change->b->size > PATCH_FILE_MAX)) {
		*binary = true;
		return 0;
	}
	int r = read_text(differing->a, change->a, change->path, &a, err);
	if (r >= 0)
		r = read_text(differing->b, change->b, new_path, &b, err);
	if (r < 0)
		return r;
	struct str text_a = { a.data ? a.data : "", a.len },
		   text_b = { b.data ? b.data : "", b.len };
	*binary = textdiff_is_binary(text_a) || textdiff_is_binary(text_b);
	if (*binary)
		return 0;
	textdiff_name(&name_a, "a/", file_a, change->path);
	textdiff_name(&name_b, "b/", file_b, new_path);
	textdiff_unified(patch, text_a, text_b, name_a.data, name_b.data, PATCH_CONTEXT);
	return 0;
}

static int emit_change(void *arg, const struct treediff_change *change, struct err *err)
{
	struct differing *differing = arg;
	owned(buf_release) struct buf patch = BUF_INIT;
	struct diff_row row = { .change = change };
	int r = 0;

	if (differing->patch)
		r = make_patch(differing, change, &patch, &row.binary, err);
	row.patch = (struct str){ patch.data ? patch.data : "", patch.len };
	return r < 0 ? r : op_emit(differing->ctx, &row, err);
}

static int resolve_side(struct op_context *ctx, const char *text, struct hash *tree,
	const char **name, bool *work, struct err *err)
{
	struct ref ref = { .work = true };
	int r = is_work(text) ? 0 : env_resolve(ctx->env, text, &ref, err);

	if (r >= 0)
		r = env_tree(ctx->env, &ref, tree, err);
	*work = ref.work;
	*name = ref.work ? "work" : arena_strdup(ctx->arena, ref.id);
	return r;
}

static int do_diff(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct diff_request *req = request;
	struct diff_result *result = out;
	struct str *paths = arena_alloc(ctx->arena, (req->paths.count + 1) * sizeof(*paths));
	struct treediff_options options = { paths, req->paths.count, true };
	struct differing differing = { .ctx = ctx, .patch = req->patch };
	bool work_a = false, work_b = false;
	struct hash a, b;

	if (req->stat + req->name_status + req->patch > 1)
		return err_set(err, ERR_USAGE, "diff: one of --stat, --name-status and --patch");
	int r = resolve_side(ctx, req->a, &a, &result->a, &work_a, err);
	if (r >= 0)
		r = resolve_side(ctx, req->b, &b, &result->b, &work_b, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < req->paths.count; i++)
		paths[i] = refview_path(ctx, str_of(req->paths.list[i]));
	int live = workspace_live(ctx->env->workspace);
	owned(view_closep) struct view *view_a =
		strata_view(ctx->env->store, &a, work_a ? live : -1);
	owned(view_closep) struct view *view_b =
		strata_view(ctx->env->store, &b, work_b ? live : -1);
	differing.a = view_a;
	differing.b = view_b;
	return treediff_run(
		ctx->env->store, &a, &b, &options, emit_change, &differing, &result->counts, err);
}

static void row_json(struct json *out, const void *row)
{
	const struct diff_row *diff = row;

	shape_change(out, diff->change);
	if (diff->patch.len)
		json_str(out, "patch", diff->patch);
}

static void result_json(struct json *out, const void *result)
{
	const struct diff_result *res = result;

	json_text(out, "a", res->a);
	json_text(out, "b", res->b);
}

const struct op op_diff = {
	.name = "diff",
	.summary = "what differs between two nodes, or a node and the live tree",
	.advice = "'a' and 'b' are references such as HEAD~1, a tag or an id. Without 'b', "
		  "'a' is compared with the live tree. Set 'patch' to get the changed "
		  "lines.",
	.access = ENV_READ,
	.access_for = access_for,
	.params = params,
	.request_size = sizeof(struct diff_request),
	.result_size = sizeof(struct diff_result),
	.rows = "changes",
	.row = "{" SHAPE_CHANGE "patch?:text}",
	.result = "a:text b:text",
	.run = do_diff,
	.row_json = row_json,
	.result_json = result_json,
};
