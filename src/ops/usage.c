#include "ops/usage.h"

#include "core/diskuse.h"
#include "ops/nodetrace.h"
#include "ops/shape.h"
#include "ops/tournamentdir.h"

static uint64_t measure(struct env *env, const char *name, struct usage *usage)
{
	struct diskuse use = { 0 };

	diskuse_add(env->rootfd, name, &use);
	usage->unread += use.unread;
	return use.bytes;
}

uint64_t usage_database(struct env *env)
{
	struct usage ignored = { 0 };

	return measure(env, ENV_DATABASE, &ignored) + measure(env, ENV_DATABASE "-wal", &ignored);
}

int usage_look(struct env *env, bool quick, struct usage *usage, struct err *err)
{
	static const char *const store[] = { "packs", ENV_DATABASE, ENV_DATABASE "-wal",
		ENV_DATABASE "-shm", WORKSPACE_INDEX_DIR, "quarantine" };
	struct workspace_usage below;
	int r = workspace_usage(env->rootfd, &below, err);

	if (r < 0)
		return r;
	*usage = (struct usage){
		.base = below.base,
		.layers = below.layers,
		.layers_limit = below.layers_limit,
		.uppers_unknown = quick && !(env->kind && env->kind->mounted),
	};
	for (size_t i = 0; i < sizeof(store) / sizeof(store[0]); i++)
		usage->store += measure(env, store[i], usage);
	if (!usage->uppers_unknown)
		usage->uppers = measure(env, WORKSPACE_LIVE_DIR, usage);
	usage->traces = measure(env, NODETRACE_DIR, usage);
	usage->logs = measure(env, TOURNAMENTDIR_LOGS, usage);
	return 0;
}

uint64_t usage_sum(const struct usage *usage)
{
	return usage->base + usage->layers + usage->uppers + usage->store + usage->traces +
	       usage->logs;
}

uint64_t usage_fewer(uint64_t before, uint64_t after)
{
	return before > after ? before - after : 0;
}

struct usage usage_less(const struct usage *before, const struct usage *after)
{
	return (struct usage){
		.base = usage_fewer(before->base, after->base),
		.layers = usage_fewer(before->layers, after->layers),
		.uppers = usage_fewer(before->uppers, after->uppers),
		.store = usage_fewer(before->store, after->store),
		.traces = usage_fewer(before->traces, after->traces),
		.logs = usage_fewer(before->logs, after->logs),
	};
}

void usage_json(struct json *out, const char *name, const struct usage *usage)
{
	json_open(out, name, '{');
	json_uint(out, "base", usage->base);
	json_uint(out, "layers", usage->layers);
	json_number(out, "uppers", !usage->uppers_unknown, (int64_t)usage->uppers);
	json_uint(out, "store", usage->store);
	json_uint(out, "traces", usage->traces);
	json_uint(out, "logs", usage->logs);
	json_close(out);
}
