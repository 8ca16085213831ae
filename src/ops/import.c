/*
 * import - make a node from a tar archive, as a child of HEAD.  HEAD and the live tree do not
 * change: 'diff' can show the node, and 'checkout' can check it out.
 */
#include <fcntl.h>
#include <string.h>

#include "core/at.h"
#include "core/own.h"
#include "core/when.h"
#include "ops/newnode.h"
#include "ops/progress.h"
#include "ops/requests.h"
#include "ops/shape.h"
#include "tree/tarball.h"

static const struct param params[] = {
	PARAM(import_request, file, TEXT, PARAM_REQUIRED | PARAM_POSITIONAL,
		"a tar file; - is standard input"),
	PARAM(import_request, message, TEXT, 0, "what the node is described with", .letter = 'm'),
	{ 0 },
};

/*
 * Returns the number of bytes of the archive that were read.  For a pipe, which has no position,
 * the result is 0.
 */
static uint64_t read_bytes(void *arg)
{
	off_t at = lseek(*(int *)arg, 0, SEEK_CUR);

	return at < 0 ? 0 : (uint64_t)at;
}

static int read_archive(
	struct op_context *ctx, const char *file, struct hash *tree, struct err *err)
{
	bool standard = !strcmp(file, "-");
	struct progress shown;
	struct statx stx;
	owned_fd int fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
				   : at_open_given(file, O_RDONLY | O_NOCTTY, 0, err);

	if (fd < 0)
		return standard ? err_errno(err, "standard input") : fd;
	uint64_t total = at_fd_stat(fd, &stx) == 0 && S_ISREG(stx.stx_mode) ? stx.stx_size : 0;
	progress_begin_work(&shown, ctx, "importing", read_bytes, &fd, total);
	int r = tarball_read(ctx->env->store, fd, tree, ctx->report, err);
	progress_end(&shown);
	return r < 0 ? err_context(err, "'%s'", file) : r;
}

static int do_import(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct import_request *req = request;
	struct import_result *result = out;
	struct node *node = arena_alloc(ctx->arena, sizeof(*node));
	struct node head;
	struct entry root;

	*node = (struct node){
		.kind = NODE_IMPORT,
		.message = str_of(req->message ? req->message
					       : arena_printf(ctx->arena, "import %s", req->file)),
	};
	if (node->message.len > NODE_MESSAGE_MAX)
		return err_set(err, ERR_LIMIT, "message longer than %zu bytes", NODE_MESSAGE_MAX);
	int r = read_archive(ctx, req->file, &node->tree, err);
	/* Look up HEAD only now, because it may have moved while the archive was read. */
	if (r >= 0)
		r = env_head(ctx->env, ctx->arena, &head, err);
	if (r < 0)
		return r;
	node->time = when_now();
	memcpy(node->made_from, head.id, sizeof(node->made_from));
	r = newnode_summarise(ctx, node, &head.tree, NULL, err);
	if (r >= 0)
		r = treeiter_top(ctx->env->store, &node->tree, &root, err);
	result->entries = r < 0 ? 0 : root.count;
	if (r >= 0)
		r = history_add(&ctx->env->history, node, NULL, NULL, err);
	result->report = ctx->report;
	return r < 0 ? r : noderow_fill(ctx, ctx->arena, node, &result->node, err);
}

static void result_json(struct json *out, const void *result)
{
	const struct import_result *res = result;

	noderow_json(out, &res->node);
	json_uint(out, "entries", res->entries);
	shape_report(out, res->report);
}

const struct op op_import = {
	.name = "import",
	.summary = "make a node from a tar file",
	.flags = OP_LOCAL | OP_WRITES,
	.access = ENV_STORE,
	.params = params,
	.request_size = sizeof(struct import_request),
	.result_size = sizeof(struct import_result),
	.result = NODEROW_SHAPE "entries:int " SHAPE_REPORT,
	.run = do_import,
	.result_json = result_json,
};
