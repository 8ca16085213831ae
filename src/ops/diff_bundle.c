/* diff_bundle - show the changes that a command made, as a unified diff. */

#include "core/own.h"
#include "core/textdiff.h"
#include "ops/bundles.h"
#include "ops/shape.h"
#include "ops/tracedir.h"
#include "trace/bundle/bundle_content.h"

#define PATCH_FILE_MAX ((size_t)8 << 20) /* larger files count as binary */
#define PATCH_CONTEXT 3

static const struct param params[] = {
	TRACEDIR_PARAM(diff_bundle_request),
	PARAM(diff_bundle_request, path, TEXT, PARAM_POSITIONAL,
		"only this path and what is below it"),
	{ 0 },
};

static int add_content(void *arg, const void *bytes, size_t len, struct err *err)
{
	struct buf *out = arg;

	buf_add(out, bytes, len);
	if (out->overflowed)
		return err_set(err, ERR_LIMIT, "too large for a patch");
	return 0;
}

static bool is_file(const struct bundle_file *file, enum bundle_side side)
{
	return file->state[side].exists && file->state[side].type == BUNDLE_FILE;
}

/*
 * Read the content of one side.  The content is empty if that side has no file.  Returns 1, or 0 if
 * the content is too large or the bundle does not have it.  With the result 0, row->binary or
 * row->lacks is set.
 */
static int read_content(struct bundle *bundle, const struct bundle_file *file,
	enum bundle_side side, struct buf *out, struct diff_bundle_row *row, struct arena *arena,
	struct err *err)
{
	struct err why = { 0 };
	int r = is_file(file, side) ? bundle_content(bundle, file, side, add_content, out, &why)
				    : 0;

	if (r >= 0)
		return 1;
	if (why.code == ERR_LIMIT)
		row->binary = true;
	else if (why.code == ERR_NOT_FOUND)
		row->lacks = arena_printf(arena, "%s: %s", bundle_side_name(side), why.text);
	else
		*err = why;
	return row->binary || row->lacks ? 0 : err_context(err, "'%s'", file->path.ptr);
}

static int make_patch(struct bundle *bundle, const struct bundle_file *file,
	struct diff_bundle_row *row, struct arena *arena, struct buf *patch, struct err *err)
{
	owned(buf_release) struct buf a = { .max = PATCH_FILE_MAX }, b = { .max = PATCH_FILE_MAX },
				      name_a = BUF_INIT, name_b = BUF_INIT;
	int r = read_content(bundle, file, BUNDLE_BEFORE, &a, row, arena, err);

	if (r > 0)
		r = read_content(bundle, file, BUNDLE_AFTER, &b, row, arena, err);
	if (r <= 0)
		return r;
	struct str text_a = { a.data ?: "", a.len }, text_b = { b.data ?: "", b.len };
	if (str_eq(text_a, text_b)) {
		row->what &= ~(unsigned)BUNDLE_CHANGED_CONTENT;
		return 0;
	}
	row->binary = textdiff_is_binary(text_a) || textdiff_is_binary(text_b);
	if (row->binary)
		return 0;
	textdiff_name(&name_a, "a", is_file(file, BUNDLE_BEFORE), file->path);
	textdiff_name(&name_b, "b", is_file(file, BUNDLE_AFTER), file->path);
	textdiff_unified(patch, text_a, text_b, name_a.data, name_b.data, PATCH_CONTEXT);
	row->patch = (struct str){ patch->data ?: "", patch->len };
	return 0;
}

static char op_of(const struct bundle_file *file)
{
	bool before = file->state[BUNDLE_BEFORE].exists, after = file->state[BUNDLE_AFTER].exists;

	return before == after ? '~' : after ? '+' : '-';
}

/* Whether a change is listed.  A change of the time alone is not listed. */
static bool is_news(unsigned what)
{
	return what & ~(unsigned)BUNDLE_CHANGED_MTIME;
}

static int emit_change(struct op_context *ctx, struct bundle *bundle,
	const struct bundle_file *file, struct diff_bundle_result *result, struct err *err)
{
	owned(buf_release) struct buf patch = BUF_INIT;
	struct diff_bundle_row row = {
		.file = file,
		.op = op_of(file),
		.what = bundle_compare(file),
		.patch = STR(""),
	};
	bool content = row.what & (BUNDLE_CHANGED_CONTENT | BUNDLE_CHANGED_TYPE) &&
		       (is_file(file, BUNDLE_BEFORE) || is_file(file, BUNDLE_AFTER));
	int r = content ? make_patch(bundle, file, &row, ctx->arena, &patch, err) : 0;

	if (r < 0 || !is_news(row.what))
		return r;
	result->added += row.op == '+';
	result->deleted += row.op == '-';
	result->modified += row.op == '~';
	return op_emit(ctx, &row, err);
}

static int do_diff_bundle(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct diff_bundle_request *req = request;
	owned(bundle_closep) struct bundle *bundle = tracedir_open(req->dir, err);
	int r = 0;

	if (!bundle)
		return -(int)err->code;
	struct str top = req->path ? tracedir_path(bundle, req->path, ctx->arena) : STR("/");
	bool known = !req->path;
	for (size_t i = 0; i < bundle->n_files && r >= 0; i++) {
		const struct bundle_file *file = &bundle->files[i];

		if (!tracedir_is_below(file->path, top))
			continue;
		known = true;
		r = file->by_other ? 0 : emit_change(ctx, bundle, file, out, err);
	}
	if (r >= 0 && !known)
		return err_set(err, ERR_NOT_FOUND, "no record of '%s' or below it", top.ptr);
	return r;
}

static void row_json(struct json *out, const void *row)
{
	const struct diff_bundle_row *diff = row;
	static const char *const names[] = {
		['+'] = "added", ['-'] = "deleted", ['~'] = "modified"
	};

	json_str(out, "path", diff->file->path);
	json_text(out, "change", names[(unsigned char)diff->op]);
	json_bits(
		out, "what", diff->op == '~' ? diff->what : 0, BUNDLE_CHANGES, bundle_change_name);
	tracedir_state_json(out, "before", &diff->file->state[BUNDLE_BEFORE]);
	tracedir_state_json(out, "after", &diff->file->state[BUNDLE_AFTER]);
	json_bool(out, "binary", diff->binary);
	if (diff->lacks)
		json_text(out, "lacks", diff->lacks);
	if (diff->patch.len)
		json_str(out, "patch", diff->patch);
}

static void result_json(struct json *out, const void *result)
{
	const struct diff_bundle_result *res = result;

	json_uint(out, "added", res->added);
	json_uint(out, "modified", res->modified);
	json_uint(out, "deleted", res->deleted);
}

const struct op op_diff_bundle = {
	.name = "trace diff",
	.summary = "what the command changed, as a unified diff",
	.flags = OP_NO_ENV | OP_ANYWHERE | OP_LOCAL,
	.params = params,
	.request_size = sizeof(struct diff_bundle_request),
	.result_size = sizeof(struct diff_bundle_result),
	.rows = "changes",
	.row = "{path:text change:text what:[text] before:" TRACEDIR_STATE_SHAPE
	       "after:" TRACEDIR_STATE_SHAPE "binary:bool lacks?:text patch?:text}",
	.result = "added:int modified:int deleted:int",
	.run = do_diff_bundle,
	.row_json = row_json,
	.result_json = result_json,
};
