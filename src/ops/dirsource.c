#include "ops/dirsource.h"

#include <fcntl.h>

#include "core/at.h"
#include "core/own.h"

/* The scan and the ingest also make an index.  It is not needed here, so it is dropped. */
int dirsource_read(
	struct op_context *ctx, const struct dirsource *source, struct hash *tree, struct err *err)
{
	struct env *env = ctx->env;
	struct statx stx;
	struct scan_skip skip = { 0 };
	struct scan_options options = {
		.fd = source->fd,
		.store = env->store,
		.only = source->only,
		.skip = &skip,
		.n_skip = 1,
		.exclude = source->exclude,
		.n_exclude = source->n_exclude,
		.report = ctx->report,
		.progress = &source->counters->scanned,
	};
	struct scan scan;
	int r = at_fd_stat(env->rootfd, &stx);

	if (r < 0)
		return err_number(err, -r, "stat '%s'", env->root);
	skip = (struct scan_skip){ stx.stx_dev_major, stx.stx_dev_minor, stx.stx_ino };
	int spool = at_tmpfile(env->rootfd, err);
	if (spool < 0)
		return spool;
	r = scan_run(&options, spool, &scan, err);
	if (r < 0)
		return r;
	struct ingest_options how = {
		.fd = source->fd,
		.store = env->store,
		.report = ctx->report,
		.progress = &source->counters->ingested,
	};
	r = ingest_run(&scan, &how, tree, err);
	scan_release(&scan);
	return r;
}

bool dirsource_has_shell(int dir)
{
	static const char *const places[] = { "bin", "usr/bin" };
	struct err ignored = { 0 };
	struct statx stx;

	for (size_t i = 0; i < 2; i++) {
		owned_fd int fd = at_open(dir, places[i], O_PATH | O_DIRECTORY, &ignored);

		if (fd >= 0 && at_name_stat(fd, "sh", &stx) == 0)
			return true;
	}
	return false;
}
