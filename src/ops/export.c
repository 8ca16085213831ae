/* export - write a node as a tar archive or as a directory. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "ops/progress.h"
#include "ops/requests.h"
#include "ops/shape.h"
#include "tree/tarball.h"

#define TEMP_MAX 64

static const struct param params[] = {
	PARAM(export_request, ref, TEXT, PARAM_REQUIRED | PARAM_POSITIONAL,
		"the node: an id, a tag, HEAD, HEAD~2, a time"),
	PARAM(export_request, format, TEXT, 0, "tar (the default) or dir"),
	PARAM(export_request, output, TEXT, PARAM_REQUIRED | PARAM_STDOUT,
		"the file or directory to write; - is standard output", .letter = 'o'),
	{ 0 },
};

/* The tree that is exported, and its size. */
struct export
{
	struct op_context *ctx;
	struct hash tree;
	uint64_t entries;
	uint64_t bytes;
};

static int write_archive(struct export *export, int fd, struct err *err)
{
	struct tarball_written written = { 0 };
	struct progress shown;

	if (isatty(fd)) {
		err_set(err, ERR_INVALID, "an archive cannot be written to a terminal");
		return err_hint(err, "give a file with -o FILE, or a pipe");
	}
	progress_begin_count(&shown, export->ctx, "exporting", &written.entries, export->entries);
	int r = tarball_write(
		export->ctx->env->store, &export->tree, fd, export->ctx->report, &written, err);
	progress_end(&shown);
	return r;
}

/*
 * Write the archive under a temporary name and rename it, so that no program sees half an archive.
 */
static int write_beside(struct export *export, int dirfd, const char *name, struct err *err)
{
	char temp[TEMP_MAX];

	snprintf(temp, sizeof(temp), ".strata-export-%d", (int)getpid());
	(void)unlinkat(dirfd, temp, 0); /* left by a killed process with the same pid */
	owned_fd int fd = at_create(dirfd, temp, O_WRONLY | O_EXCL | O_NOFOLLOW, 0666, err);
	if (fd < 0)
		return fd;
	int r = write_archive(export, fd, err);
	if (r >= 0)
		r = at_fsync(fd, name, err);
	if (r >= 0)
		r = at_rename(dirfd, temp, name, err);
	if (r < 0)
		(void)unlinkat(dirfd, temp, 0);
	return r < 0 ? r : at_fsync(dirfd, ".", err);
}

static int write_file(struct export *export, const char *path, struct err *err)
{
	const char *name;
	owned_fd int dirfd = at_open_given_parent(path, &name, err);

	if (!*name)
		return err_set(err, ERR_INVALID, "'%s' is not the name of a file", path);
	return dirfd < 0 ? dirfd : write_beside(export, dirfd, name, err);
}

static int export_tar(struct export *export, const char *output, struct err *err)
{
	struct err missing = { 0 };
	struct statx stx;

	if (!strcmp(output, "-")) {
		int r = write_archive(export, STDOUT_FILENO, err);

		return r < 0 ? err_context(err, "standard output") : r;
	}
	owned_fd int there = at_open_given(output, O_PATH, 0, &missing);
	if (there < 0 || at_fd_stat(there, &stx) < 0)
		return write_file(export, output, err);
	if (S_ISDIR(stx.stx_mode))
		return err_set(err, ERR_INVALID, "'%s' is a directory", output);
	if (S_ISREG(stx.stx_mode)) {
		/* Replace the file at the end of symbolic links, and not the links. */
		owned_mem char *path = at_path_of(there, err);

		return path ? write_file(export, path, err) : -(int)err->code;
	}
	owned_fd int fd = at_open_given(output, O_WRONLY | O_NOCTTY, 0, err);
	return fd < 0 ? fd : write_archive(export, fd, err);
}

static int check_empty(int fd, const char *path, struct err *err)
{
	int r = at_holds_only(fd, "", err);

	if (r < 0)
		return err_context(err, "'%s'", path);
	if (r > 0)
		return 0;
	err_set(err, ERR_INVALID, "'%s' is not empty", path);
	return err_hint(err, "export to a new or an empty directory");
}

static int export_dir(struct export *export, const char *output, struct err *err)
{
	struct treeapply_progress progress = { 0 };
	struct progress shown;
	struct op_context *ctx = export->ctx;
	int r = 0;

	if (!strcmp(output, "-"))
		return err_set(err, ERR_INVALID, "a directory cannot go to standard output");
	owned_fd int fd = at_open_given(output, O_RDONLY | O_DIRECTORY, 0, err);
	if (fd == -ERR_NOT_FOUND) {
		r = at_mkdirs_given(output, 0700, err);
		fd = r < 0 ? r : at_open_given(output, O_RDONLY | O_DIRECTORY, 0, err);
	}
	r = fd < 0 ? fd : check_empty(fd, output, err);
	if (r < 0)
		return r;
	struct treeapply_options options = {
		.fd = fd,
		.store = ctx->env->store,
		.to = &export->tree,
		.donor = -1,
		.durable = true,
		.report = ctx->report,
		.progress = &progress,
	};
	progress_begin_count(&shown, ctx, "exporting", &progress.entries, export->entries);
	r = treeapply_run(&options, err);
	progress_end(&shown);
	return r;
}

static int open_export(struct op_context *ctx, const struct export_request *req, struct ref *ref,
	struct export *export, struct err *err)
{
	struct env *env = ctx->env;
	struct entry root = { 0 };
	int r = env_resolve(env, req->ref, ref, err);

	if (r < 0)
		return r;
	if (ref->work) {
		err_set(err, ERR_INVALID, "'work' has no node to export");
		return err_hint(err, "commit first, then export HEAD");
	}
	r = env_tree(env, ref, &export->tree, err);
	if (r >= 0)
		r = treeiter_top(env->store, &export->tree, &root, err);
	if (r >= 0) {
		export->entries = root.count;
		export->bytes = root.size;
	}
	return r;
}

static int do_export(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct export_request *req = request;
	struct export_result *result = out;
	struct export export = { .ctx = ctx };
	bool dir = req->format && !strcmp(req->format, "dir");
	struct ref ref;

	if (req->format && !dir && strcmp(req->format, "tar"))
		return err_set(err, ERR_USAGE, "--format is tar or dir, not '%s'", req->format);
	if (!*req->output)
		return err_set(err, ERR_USAGE, "--output needs a name");
	int r = open_export(ctx, req, &ref, &export, err);
	if (r >= 0)
		r = dir ? export_dir(&export, req->output, err)
			: export_tar(&export, req->output, err);
	if (r < 0)
		return r;
	memcpy(result->id, ref.id, sizeof(result->id));
	result->entries = export.entries;
	result->bytes = export.bytes;
	result->report = ctx->report;
	return 0;
}

static void result_json(struct json *out, const void *result)
{
	const struct export_result *res = result;

	json_text(out, "id", res->id);
	json_uint(out, "entries", res->entries);
	json_uint(out, "bytes", res->bytes);
	shape_report(out, res->report);
}

const struct op op_export = {
	.name = "export",
	.summary = "write a node as a tar file or a directory",
	.flags = OP_PERSON,
	.access = ENV_READ,
	.params = params,
	.request_size = sizeof(struct export_request),
	.result_size = sizeof(struct export_result),
	.result = "id:text entries:int bytes:int " SHAPE_REPORT,
	.run = do_export,
	.result_json = result_json,
};
