/*
 * import - a tar archive as a new node on top of HEAD.
 *
 * HEAD and the live tree stay where they are: look at it with 'diff', go there
 * with 'checkout'.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"
#include "ops/requests.h"
#include "tree/tarball.h"

static const struct op_param params[] = {
	{ "file", 0, OP_TEXT, OP_REQUIRED | OP_POSITIONAL, offsetof(struct import_request, file) },
	{ "message", 'm', OP_TEXT, 0, offsetof(struct import_request, message) },
	{ NULL, 0, 0, 0, 0 },
};

/* How far the archive has been read; a pipe does not tell. */
static uint64_t read_bytes(void *arg)
{
	off_t at = lseek(*(int *)arg, 0, SEEK_CUR);

	return at < 0 ? 0 : (uint64_t)at;
}

static int read_archive(
	struct op_context *ctx, const char *file, struct hash *tree, struct err *err)
{
	bool standard = !strcmp(file, "-");
	struct statx stx;
	owned_fd int fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
				   : at_open_given(file, O_RDONLY | O_NOCTTY, 0, err);

	if (fd < 0)
		return standard ? err_errno(err, "standard input") : fd;
	uint64_t total = at_fd_stat(fd, &stx) == 0 && S_ISREG(stx.stx_mode) ? stx.stx_size : 0;
	common_watch_work(ctx, "importing", read_bytes, &fd, total);
	int r = tarball_read(ctx->env->store, fd, tree, ctx->report, err);
	common_unwatch(ctx);
	return r < 0 ? err_context(err, "'%s'", file) : r;
}

static int count_entries(
	struct store *store, const struct hash *tree, uint64_t *entries, struct err *err)
{
	struct treeiter *iter = mem_alloc(sizeof(*iter));
	struct entry root;

	treeiter_init(iter, store);
	int r = treeiter_root(iter, tree, &root, err);
	if (r >= 0)
		*entries = root.count;
	treeiter_release(iter);
	free(iter);
	return r;
}

static int run(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct import_request *req = request;
	struct import_result *result = out;
	struct node *node = arena_alloc(ctx->arena, sizeof(*node));
	struct node head;
	int r = 0;

	*node = (struct node){
		.kind = NODE_IMPORT,
		.message = str_of(req->message ? req->message
					       : arena_printf(ctx->arena, "import %s", req->file)),
	};
	if (r >= 0 && node->message.len > NODE_MESSAGE_MAX)
		return err_set(err, ERR_LIMIT, "message longer than %zu bytes", NODE_MESSAGE_MAX);
	if (r >= 0)
		r = read_archive(ctx, req->file, &node->tree, err);
	if (r < 0)
		return r;
	/* Only now: reading may have taken long, and HEAD moved. */
	r = common_head(ctx, &head, err);
	if (r < 0)
		return r;
	node->time = when_now();
	memcpy(node->made_from, head.id, sizeof(node->made_from));
	r = common_summarise(ctx, node, &head.tree, NULL, err);
	if (r >= 0)
		r = count_entries(ctx->env->store, &node->tree, &result->entries, err);
	if (r >= 0)
		r = history_add(&ctx->env->history, node, NULL, NULL, err);
	result->report = ctx->report;
	return r < 0 ? r : common_node_row(ctx, ctx->arena, node, &result->node, err);
}

static void result_json(struct json *out, const void *result)
{
	const struct import_result *res = result;

	common_node_json(out, &res->node);
	json_uint(out, "entries", res->entries);
	common_report_json(out, res->report);
}

const struct op op_import = {
	.name = "import",
	.flags = OP_LOCAL | OP_WRITES,
	.access = ENV_STORE,
	.params = params,
	.request_size = sizeof(struct import_request),
	.result_size = sizeof(struct import_result),
	.run = run,
	.result_json = result_json,
};
