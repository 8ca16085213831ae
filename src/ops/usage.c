#include "ops/usage.h"

#include "core/diskuse.h"
#include "ops/nodetrace.h"
#include "ops/tournamentdir.h"

static uint64_t sum_of(struct env *env, const char *const *names, size_t n, struct usage *usage)
{
	struct diskuse use = { 0 };

	for (size_t i = 0; i < n; i++)
		diskuse_add(env->rootfd, names[i], &use);
	usage->unread += use.unread;
	return use.bytes;
}

uint64_t usage_database(struct env *env)
{
	static const char *const names[] = { ENV_DATABASE, ENV_DATABASE "-wal" };
	struct usage ignored = { 0 };

	return sum_of(env, names, sizeof(names) / sizeof(names[0]), &ignored);
}

int usage_look(struct env *env, bool quick, struct usage *usage, struct err *err)
{
	static const char *const store[] = { "packs", ENV_DATABASE, ENV_DATABASE "-wal",
		ENV_DATABASE "-shm", WORKSPACE_INDEX_DIR, "quarantine" };
	static const char *const uppers[] = { WORKSPACE_LIVE_DIR };
	static const char *const traces[] = { NODETRACE_DIR };
	static const char *const logs[] = { TOURNAMENTDIR_LOGS };
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
	usage->store = sum_of(env, store, sizeof(store) / sizeof(store[0]), usage);
	if (!usage->uppers_unknown)
		usage->uppers = sum_of(env, uppers, 1, usage);
	usage->traces = sum_of(env, traces, 1, usage);
	usage->logs = sum_of(env, logs, 1, usage);
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
	if (usage->uppers_unknown)
		json_none(out, "uppers");
	else
		json_uint(out, "uppers", usage->uppers);
	json_uint(out, "store", usage->store);
	json_uint(out, "traces", usage->traces);
	json_uint(out, "logs", usage->logs);
	json_close(out);
}
