#include "query/zfspool.h"

#include "core/own.h"
#include "query/zfsline.h"
#include "query/zfsstatus.h"
#include "query/zfstool.h"

#define STATUS_MAX ((size_t)8 << 20) /* bytes of zpool status */

struct pools {
	struct tool_call call;
	pool_visit visit;
	void *arg;
};

static void release_pools(struct pools *pools)
{
	tool_release(&pools->call);
}

static int take_pool(void *arg, struct str line, struct err *err)
{
	struct pools *pools = arg;
	struct pool pool;

	if (!zfsline_pool(line, &pool))
		return zfstool_garbage(&pools->call, line, "a pool", err);
	return pools->visit(pools->arg, &pool, err);
}

int zfspool_list(struct family *family, pool_visit visit, void *arg, struct err *err)
{
	static const char *const argv[] = { "zpool", "list", "-H", "-p", "-o",
		"name,size,allocated,free,health", NULL };
	owned(release_pools) struct pools pools = {
		.call = { .argv = argv, .visit = take_pool },
		.visit = visit,
		.arg = arg,
	};

	pools.call.arg = &pools;
	return zfstool_run(family, &pools.call, err);
}

int zfspool_status(struct family *family, const char *pool, pool_status_visit visit, void *arg,
	struct err *err)
{
	const char *const argv[] = { "zpool", "status", pool, NULL };
	owned(tool_release) struct tool_call call = { .argv = argv, .output.max = STATUS_MAX };
	owned(arena_release) struct arena arena = { 0 };
	int r = zfstool_run(family, &call, err);

	if (r < 0)
		return r;
	r = zfsstatus_read(
		(struct str){ call.output.data ?: "", call.output.len }, &arena, visit, arg, err);
	if (r < 0)
		zfstool_blame(family, &call);
	return r;
}
