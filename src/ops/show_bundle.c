/* show_bundle - describe a bundle: the command that was run, and the paths it touched. */
#include "core/own.h"
#include "core/when.h"
#include "ops/bundles.h"
#include "ops/shape.h"
#include "ops/tracedir.h"

static struct str *copy_strings(struct arena *arena, const struct str *list, size_t count)
{
	struct str *copy = arena_alloc(arena, count * sizeof(*copy));

	for (size_t i = 0; i < count; i++)
		copy[i] = arena_str(arena, list[i]);
	return copy;
}

static void copy_repositories(
	struct arena *arena, const struct bundle *bundle, struct show_bundle_result *summary)
{
	summary->n_repositories = bundle->n_repositories;
	summary->repositories =
		arena_alloc(arena, bundle->n_repositories * sizeof(*summary->repositories));
	for (size_t i = 0; i < bundle->n_repositories; i++)
		summary->repositories[i] = (struct bundle_repository){
			.root = arena_str(arena, bundle->repositories[i].root),
			.head = arena_str(arena, bundle->repositories[i].head),
		};
}

static char sign_of(const struct bundle_file *file)
{
	bool before = file->state[BUNDLE_BEFORE].exists, after = file->state[BUNDLE_AFTER].exists;

	if (file->by_other)
		return before != after || bundle_compare(file) ? '*' : ' ';
	if (before != after)
		return after ? '+' : '-';
	return bundle_compare(file) ? '~' : ' ';
}

static void summarise(
	struct arena *arena, const struct bundle *bundle, struct show_bundle_result *summary)
{
	*summary = (struct show_bundle_result){
		.command = copy_strings(arena, bundle->command, bundle->n_command),
		.n_command = bundle->n_command,
		.cwd = arena_str(arena, bundle->start_cwd),
		.engine = arena_str(arena, bundle->engine),
		.has_status = bundle->has_status,
		.exit_status = bundle->exit_status,
		.has_complete = bundle->has_complete,
		.complete = bundle->complete,
		.started = bundle->started,
		.ended = bundle->ended,
		.reasons = copy_strings(arena, bundle->reasons, bundle->n_reasons),
		.n_reasons = bundle->n_reasons,
		.processes = bundle->n_processes,
		.files = bundle->n_files,
		.blobs = bundle->blobs ? pqread_rows(bundle->blobs) : 0,
	};
	copy_repositories(arena, bundle, summary);
	for (size_t i = 0; i < bundle->n_files; i++) {
		char sign = sign_of(&bundle->files[i]);

		summary->created += sign == '+';
		summary->deleted += sign == '-';
		summary->changed += sign == '~';
	}
}

static int do_show_bundle(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct bundle_request *req = request;
	struct show_bundle_result *summary = out;
	owned(bundle_closep) struct bundle *bundle = tracedir_open(req->dir, err);
	struct show_bundle_row row = { .summary = summary, .previous = STR("") };
	int r = 0;

	if (!bundle)
		return -(int)err->code;
	summarise(ctx->arena, bundle, summary);
	for (size_t i = 0; i < bundle->n_files && r >= 0; i++) {
		row.file = &bundle->files[i];
		row.sign = sign_of(row.file);
		r = op_emit(ctx, &row, err);
		row.previous = row.file->path;
	}
	return r;
}

static void row_json(struct json *out, const void *row)
{
	const struct bundle_file *file = ((const struct show_bundle_row *)row)->file;

	json_str(out, "path", file->path);
	json_bits(out, "operations", file->operations, BUNDLE_OPERATIONS, bundle_operation_name);
	json_bool(out, "changed", bundle_is_changed(file));
	if (bundle_is_changed(file))
		json_text(out, "changed_by", file->by_other ? "other" : "command");
	tracedir_state_json(out, "before", &file->state[BUNDLE_BEFORE]);
	tracedir_state_json(out, "after", &file->state[BUNDLE_AFTER]);
	if (file->git.in_repo) {
		json_open(out, "git", '{');
		json_str(out, "root", file->git.root);
		json_bool(out, "tracked", file->git.tracked);
		json_bool(out, "dirty", file->git.dirty);
		json_bool(out, "ignored", file->git.ignored);
		json_close(out);
	}
}

static void time_json(struct json *out, const char *key, int64_t instant)
{
	char text[40];

	json_text(out, key, instant ? when_iso(instant, text) : NULL);
}

static void result_json(struct json *out, const void *result)
{
	const struct show_bundle_result *res = result;

	json_strs(out, "command", res->command, res->n_command);
	json_number(out, "exit_status", res->has_status, res->exit_status);
	json_str(out, "start_cwd", res->cwd);
	json_str(out, "engine", res->engine);
	if (res->has_complete)
		json_bool(out, "complete", res->complete);
	else
		json_none(out, "complete");
	json_strs(out, "incomplete_reasons", res->reasons, res->n_reasons);
	time_json(out, "started_at", res->started);
	time_json(out, "ended_at", res->ended);
	json_open(out, "git_repositories", '[');
	for (size_t i = 0; i < res->n_repositories; i++) {
		json_open(out, NULL, '{');
		json_str(out, "root", res->repositories[i].root);
		json_str(out, "head", res->repositories[i].head);
		json_close(out);
	}
	json_close(out);
	json_open(out, "counts", '{');
	json_uint(out, "processes", res->processes);
	json_uint(out, "files", res->files);
	json_uint(out, "blobs", res->blobs);
	json_uint(out, "created", res->created);
	json_uint(out, "deleted", res->deleted);
	json_uint(out, "changed", res->changed);
	json_close(out);
}

const struct op op_show_bundle = {
	.name = "trace show",
	.summary = "what was run, and the paths it touched",
	.flags = OP_NO_ENV | OP_ANYWHERE | OP_LOCAL,
	.params = tracedir_params,
	.request_size = sizeof(struct bundle_request),
	.result_size = sizeof(struct show_bundle_result),
	.rows = "files",
	.row = "{path:text operations:[text] changed:bool changed_by?:text "
	       "before:" TRACEDIR_STATE_SHAPE "after:" TRACEDIR_STATE_SHAPE
	       "git?:{root:text tracked:bool dirty:bool ignored:bool}}",
	.result = "command:[text] exit_status:int? start_cwd:text engine:text "
		  "complete:bool? incomplete_reasons:[text] started_at:text? "
		  "ended_at:text? git_repositories:[{root:text head:text}] "
		  "counts:{processes:int files:int blobs:int created:int "
		  "deleted:int changed:int}",
	.run = do_show_bundle,
	.row_json = row_json,
	.result_json = result_json,
};
