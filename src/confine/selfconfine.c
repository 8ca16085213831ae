#include "confine/selfconfine.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "confine/planning.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/text.h"
#include "sandbox/process.h"

static int close_others(const struct selfconfine_options *options, struct err *err)
{
	owned_mem int *keep = mem_alloc((options->n_keep + 1) * sizeof(*keep));

	for (size_t i = 0; i < options->n_keep; i++)
		keep[i] = options->keep[i];
	return process_close_others(keep, (int)options->n_keep, err);
}

static bool is_allowed(const struct policy_list *names, struct str name)
{
	for (size_t i = 0; i < names->n; i++)
		if (text_glob(str_of(names->list[i]), name))
			return true;
	return false;
}

/* Replace the environment variables by those that the policy allows or sets. */
static void scrub_environment(const struct policy_env *env)
{
	size_t n = 0, kept = 0;

	while (environ && environ[n])
		n++;
	owned_mem char **copies = mem_zalloc((n + 1) * sizeof(*copies));
	for (size_t i = 0; i < n; i++) {
		struct str name = { environ[i], strcspn(environ[i], "=") };

		if (is_allowed(&env->allow, name))
			copies[kept++] = mem_strdup(environ[i]);
	}
	/* putenv does not copy the texts, so they are never freed. */
	(void)clearenv();
	for (size_t i = 0; i < kept; i++)
		(void)putenv(copies[i]);
	for (size_t i = 0; i < env->set.n; i++)
		(void)putenv(mem_strdup(env->set.list[i]));
}

static int lower(__rlimit_resource_t resource, int64_t value, struct err *err)
{
	struct rlimit limit;

	if (!value || getrlimit(resource, &limit) < 0 || limit.rlim_max <= (rlim_t)value)
		return 0;
	limit.rlim_cur = limit.rlim_max = (rlim_t)value;
	return setrlimit(resource, &limit) < 0 ? err_errno(err, "lower a limit") : 0;
}

static int lower_limits(const struct policy_limits *limits, struct err *err)
{
	const struct rlimit none = { 0 };
	int r = lower(RLIMIT_CPU, limits->cpu_time_secs, err);

	if (r >= 0)
		r = lower(RLIMIT_NOFILE, limits->max_open_fds, err);
	if (r >= 0)
		r = lower(RLIMIT_AS, limits->max_rss_bytes, err);
	if (r >= 0 && setrlimit(RLIMIT_CORE, &none) < 0)
		r = err_errno(err, "forbid core files");
	return r;
}

/*
 * Enter Landlock and the call filter, and give up capabilities.  This process gets no right to make
 * sandboxes, even if the policy gives programs this right.
 */
static int enter_layers(const struct policy *policy, struct buf *lacks, struct err *err)
{
	owned(arena_release) struct arena arena = { 0 };
	owned(buf_release) struct buf warnings = BUF_INIT;
	struct policy own = *policy;
	struct restriction restriction;
	struct planning planning;

	own.exec.nested = false;
	/*
	 * Do not search the tree for protected names, since the caller itself refuses to write
	 * them.
	 */
	own.fs.search_depth = 0;
	if (planning_look(&own, &arena, &planning, &warnings, err) < 0)
		return -(int)err->code;
	planning_restrict(&planning, &arena, false, &restriction);
	restriction.limits = (struct resource_limits){ 0 }; /* lower_limits has set the limits */
	/* The worker runs no programs, and may lack the right to make a namespace. */
	restriction.own_ipc = false;
	/* Only root has capabilities, and the right to give them up. */
	restriction.bounded = geteuid() == 0;
	landlock_lacks(&restriction.landlock, lacks);
	if (restriction_enter(&restriction, false, err) < 0)
		return -(int)err->code;
	return restriction_settle(&restriction, err);
}

int selfconfine_enter(const struct policy *policy, const struct selfconfine_options *options,
	struct buf *lacks, struct err *err)
{
	int r = close_others(options, err);

	if (r < 0)
		return r;
	scrub_environment(&policy->env);
	if (policy->trust == POLICY_TRUST_FORBID)
		return 0;
	/* Landlock cannot deny a place within an allowed place. */
	buf_adds(lacks, "what is denied within what is allowed\n");
	if (policy->trust == POLICY_TRUST_REQUIRE) {
		err_set(err, ERR_UNSUPPORTED,
			"the policy requires a layer that is missing: mounts, for what is denied "
			"within what is allowed");
		return err_hint(err, "with \"trust\": \"auto\" the worker alone refuses that");
	}
	if (lower_limits(&policy->limits, err) < 0)
		return -(int)err->code;
	return enter_layers(policy, lacks, err);
}
