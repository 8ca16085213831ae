#include "ops/querysources.h"

#include <fcntl.h>
#include <stddef.h>

#include "core/at.h"
#include "core/own.h"
#include "ops/recovery.h"

int querysources_init(struct querysources *sources, const struct op_context *ctx,
	const struct families_options *options, struct err *err)
{
	*sources = (struct querysources){
		.options = options,
		.root = ctx->root,
		.workspace = ctx->workspace,
		.report = ctx->report,
	};
	return families_restore(options, &sources->restore, err);
}

static void close_environment(struct querysources *sources)
{
	if (sources->has_env)
		env_close(&sources->env);
	sources->has_env = false;
}

void querysources_close(struct querysources *sources)
{
	restoreroots_release(&sources->restore);
	close_environment(sources);
}

static int open_environment(
	struct querysources *sources, struct registry *registry, struct err *err)
{
	struct env *env = &sources->env;
	int r = env_open(
		env, sources->root, sources->workspace, ENV_READ, "query", sources->report, err);

	if (r < 0)
		return r;
	sources->has_env = true;
	r = recovery_run(env, sources->report, err);
	if (r >= 0)
		r = strata_dataset(&env->history, &env->arena, &registry->main, err);
	if (r < 0)
		return r;
	strata_family_init(&sources->strata, &env->history, registry->main);
	sources->strata.provider.workspace = env->row.name;
	registry_add(registry, &sources->strata.family);
	return 0;
}

/* ---------------------------------------------------------- sources for one call */

static bool can_ask(struct registry *registry)
{
	const struct registry_family *at;

	for (size_t i = 0; (at = registry_family_at(registry, i)); i++)
		if (at->usable)
			return true;
	return false;
}

static int refuse_no_environment(const struct querysources *sources, struct err *err)
{
	owned_mem char *root = env_locate(sources->root, err);

	if (!root)
		return -(int)err->code;
	err_set(err, ERR_NOT_FOUND, "no environment at '%s'", root);
	return sources->root ? err_hint(err, "make one with 'strata init --from DIR', or name "
					     "one with --root")
			     : -ERR_NOT_FOUND;
}

int querysources_open(struct querysources *sources, struct registry *registry, struct err *err)
{
	const struct families_options *options = sources->options;
	int r = 0;

	if (families_wants(options, FAMILIES_STRATA) && env_exists(sources->root))
		r = open_environment(sources, registry, err);
	if (r >= 0)
		r = families_add(options, registry, err);
	/*
	 * If no environment is searched, the options must name a provider, or at least one family
	 * must be usable.  Otherwise the call is refused.
	 */
	if (r < 0 || options->providers.count || can_ask(registry))
		return r;
	return refuse_no_environment(sources, err);
}

/* --------------------------------------------------------- sources for many calls */

static int probe_closed(struct family *family, struct err *err)
{
	struct querysources *sources =
		(struct querysources *)(void *)((char *)family -
						offsetof(struct querysources, closed));

	*err = sources->why;
	return -(int)err->code;
}

static const struct family_ops closed_ops = {
	.name = FAMILIES_STRATA,
	.probe = probe_closed,
};

static bool is_current(const struct querysources *sources)
{
	if (!families_wants(sources->options, FAMILIES_STRATA))
		return true;
	return sources->has_env ? env_is_current(&sources->env) : !env_exists(sources->root);
}

int querysources_refresh(void *arg, struct registry *registry, struct err *err)
{
	struct querysources *sources = arg;

	if (registry->n_families && is_current(sources))
		return 0;
	registry_release(registry);
	close_environment(sources);
	sources->why = (struct err){ 0 };
	if (families_wants(sources->options, FAMILIES_STRATA) && env_exists(sources->root) &&
		open_environment(sources, registry, &sources->why) < 0) {
		registry_release(registry);
		close_environment(sources);
		sources->closed.ops = &closed_ops;
		registry_add(registry, &sources->closed);
	}
	return families_add(sources->options, registry, err);
}
