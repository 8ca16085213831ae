/* trace show - what a bundle holds: what was run, and the paths it touched. */
#include <string.h>

#include "cli/command.h"
#include "cli/tracedir.h"
#include "core/own.h"
#include "core/text.h"
#include "core/when.h"

#define INDENT 2

struct show_request {
	const char *dir;
};

/* The bundle is closed when it is printed. */
struct show_result {
	struct str *command;
	size_t n_command;
	struct str cwd, engine;
	bool has_status, has_complete, complete;
	int64_t exit_status, started, ended;
	struct str *reasons;
	size_t n_reasons;
	struct bundle_repository *repositories;
	size_t n_repositories;
	uint64_t processes, files, blobs;
	uint64_t created, deleted, changed;
};

struct show_row {
	const struct show_result *summary;
	const struct bundle_file *file;
	struct str previous; /* path; empty for the first */
};

static const struct param params[] = {
	PARAM(show_request, dir, TEXT, PARAM_REQUIRED | PARAM_POSITIONAL,
		"the directory of the bundle"),
	{ 0 },
};

/* --------------------------------------------------------------- operation */

static struct str *copy_strings(struct arena *arena, const struct str *list, size_t count)
{
	struct str *copy = arena_alloc(arena, count * sizeof(*copy));

	for (size_t i = 0; i < count; i++)
		copy[i] = arena_str(arena, list[i]);
	return copy;
}

static void copy_repositories(
	struct arena *arena, const struct bundle *bundle, struct show_result *summary)
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

/* '+' made, '-' removed, '~' changed, '*' changed by somebody else, ' ' as it was. */
static char sign_of(const struct bundle_file *file)
{
	bool before = file->state[BUNDLE_BEFORE].exists, after = file->state[BUNDLE_AFTER].exists;

	if (file->by_other)
		return before != after || bundle_compare(file) ? '*' : ' ';
	if (before != after)
		return after ? '+' : '-';
	return bundle_compare(file) ? '~' : ' ';
}

static void summarise(struct arena *arena, const struct bundle *bundle, struct show_result *summary)
{
	*summary = (struct show_result){
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

static int run(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct show_request *req = request;
	struct show_result *summary = out;
	owned(bundle_closep) struct bundle *bundle = tracedir_open(req->dir, err);
	struct show_row row = { .summary = summary, .previous = STR("") };
	int r = 0;

	if (!bundle)
		return -(int)err->code;
	summarise(ctx->arena, bundle, summary);
	for (size_t i = 0; i < bundle->n_files && r >= 0; i++) {
		row.file = &bundle->files[i];
		r = op_emit(ctx, &row, err);
		row.previous = row.file->path;
	}
	return r;
}

static void row_json(struct json *out, const void *row)
{
	const struct bundle_file *file = ((const struct show_row *)row)->file;

	json_open(out, NULL, '{');
	json_str(out, "path", file->path);
	json_open(out, "operations", '[');
	for (unsigned i = 0; i < BUNDLE_OPERATIONS; i++)
		if (file->operations & 1u << i)
			json_text(out, NULL, bundle_operation_name(1u << i));
	json_close(out);
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
	json_close(out);
}

static void strings_json(struct json *out, const char *key, const struct str *list, size_t count)
{
	json_open(out, key, '[');
	for (size_t i = 0; i < count; i++)
		json_str(out, NULL, list[i]);
	json_close(out);
}

static void time_json(struct json *out, const char *key, int64_t instant)
{
	char text[40];

	json_text(out, key, instant ? when_iso(instant, text) : NULL);
}

static void result_json(struct json *out, const void *result)
{
	const struct show_result *res = result;

	strings_json(out, "command", res->command, res->n_command);
	if (res->has_status)
		json_int(out, "exit_status", res->exit_status);
	else
		json_none(out, "exit_status");
	json_str(out, "start_cwd", res->cwd);
	json_str(out, "engine", res->engine);
	if (res->has_complete)
		json_bool(out, "complete", res->complete);
	else
		json_none(out, "complete");
	strings_json(out, "incomplete_reasons", res->reasons, res->n_reasons);
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

/* ------------------------------------------------------------------ people */

/* As one could type it, nearly: what holds a space stands in quotes. */
static void print_word(struct str word)
{
	bool quotes = !word.len || memchr(word.ptr, ' ', word.len);

	if (quotes && text_is_utf8(word)) {
		putchar('"');
		output_text(word);
		putchar('"');
	} else {
		output_name(word);
	}
}

static void print_head(struct output *out, const struct show_result *res)
{
	printf("command    ");
	output_style(out, OUTPUT_BOLD);
	for (size_t i = 0; i < res->n_command; i++) {
		if (i)
			putchar(' ');
		print_word(res->command[i]);
	}
	output_style(out, OUTPUT_PLAIN);
	printf("\nin         ");
	output_name(res->cwd);
	putchar('\n');
	if (res->has_status)
		printf("exit       %lld\n", (long long)res->exit_status);
	if (res->started && res->ended >= res->started) {
		char time[40];

		printf("ran        %s, %.3f s\n", when_local(res->started, time),
			(double)(res->ended - res->started) / (double)WHEN_SECOND);
	}
	if (res->engine.len) {
		printf("engine     ");
		output_text(res->engine);
		putchar('\n');
	}
	if (res->has_complete)
		printf("complete   %s\n", res->complete ? "yes" : "no");
	for (size_t i = 0; i < res->n_reasons; i++) {
		printf("           ");
		output_text(res->reasons[i]);
		putchar('\n');
	}
	for (size_t i = 0; i < res->n_repositories; i++) {
		printf("git        ");
		output_name(res->repositories[i].root);
		printf(" at %.12s\n", res->repositories[i].head.ptr);
	}
	printf("paths      %llu (+%llu ~%llu -%llu), %llu contents saved\n",
		(unsigned long long)res->files, (unsigned long long)res->created,
		(unsigned long long)res->changed, (unsigned long long)res->deleted,
		(unsigned long long)res->blobs);
	if (res->processes)
		printf("processes  %llu\n", (unsigned long long)res->processes);
	putchar('\n');
}

static void print_letters(struct output *out, const struct bundle_file *file)
{
	static const char letters[] = "rweldcnxm"; /* in the order of the bits */
	char sign = file ? sign_of(file) : ' ';

	output_style(out, sign == '+'   ? OUTPUT_GOOD
			  : sign == '-' ? OUTPUT_BAD
			  : sign == '~' ? OUTPUT_ID
					: OUTPUT_PLAIN);
	printf("%c ", sign);
	for (unsigned i = 0; i < BUNDLE_OPERATIONS; i++)
		putchar(!file ? ' ' : file->operations & 1u << i ? letters[i] : '-');
	printf("  ");
}

static void print_name(
	struct output *out, const struct bundle_file *file, struct str name, int depth, bool dir)
{
	print_letters(out, file);
	printf("%*s", INDENT * depth, "");
	output_name(name);
	if (dir)
		putchar('/');
	output_style(out, OUTPUT_PLAIN);
	putchar('\n');
}

/* How far two paths are the same, by whole names. */
static size_t shared_length(struct str a, struct str b)
{
	size_t shared = 0;

	for (size_t i = 0; i < b.len; i++) {
		if (i >= a.len ? b.ptr[i] != '/' : a.ptr[i] != b.ptr[i])
			break;
		if (i + 1 == b.len || b.ptr[i + 1] == '/')
			shared = i + 1 >= a.len || a.ptr[i + 1] == '/' ? i + 1 : shared;
		if (i >= a.len)
			break;
	}
	return shared;
}

/* A line for each directory on the way that has none yet, and one for the path. */
static void print_row(struct output *out, const void *request, const void *row)
{
	const struct show_row *show = row;
	const struct bundle_file *file = show->file;
	struct str rest = file->path, name;
	size_t shared = shared_length(show->previous, file->path);
	bool dir = file->state[BUNDLE_BEFORE].type == BUNDLE_DIR ||
		   file->state[BUNDLE_AFTER].type == BUNDLE_DIR;

	if (!show->previous.len)
		print_head(out, show->summary);
	if (file->path.len == 1) {
		print_letters(out, file);
		printf("/\n");
		output_style(out, OUTPUT_PLAIN);
		return;
	}
	for (int depth = 0; (name = str_take_name(&rest)).len; depth++) {
		size_t end = (size_t)(name.ptr - file->path.ptr) + name.len;

		if (!rest.len)
			print_name(out, file, name, depth, dir);
		else if (end > shared)
			print_name(out, NULL, name, depth, true);
	}
}

static int print_result(struct output *out, const void *request, const void *result)
{
	const struct show_result *res = result;

	if (!out->json && !res->files)
		print_head(out, res);
	return 0;
}

static const struct op op_show_bundle = {
	.name = "trace show",
	.flags = OP_NO_ENV | OP_ANYWHERE | OP_LOCAL,
	.params = params,
	.request_size = sizeof(struct show_request),
	.result_size = sizeof(struct show_result),
	.rows = "files",
	.run = run,
	.row_json = row_json,
	.result_json = result_json,
};

const struct command trace_show = {
	.name = "show",
	.summary = "what was run, and the paths it touched",
	.op = &op_show_bundle,
	.row = print_row,
	.result = print_result,
};
