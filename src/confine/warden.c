#include "confine/warden.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "confine/findings.h"
#include "confine/warden_priv.h"
#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"

/* --------------------------------------------------------------- preparation */

static int resolve_policy(struct warden *warden, struct err *err)
{
	const struct warden_orders *orders = warden->orders;

	if (account_find(orders->user ? orders->user : "root", &warden->account, err) < 0)
		return -(int)err->code;
	const struct policy_place place = { warden->account.home, orders->workspace };
	return policy_resolve(orders->policy, &place, &warden->arena, &warden->policy, err);
}

static int write_report(const struct warden *warden, struct err *err)
{
	const struct findings_report report = {
		.home = warden->account.home,
		.variables = warden->proxy ? proxy_environment(warden->proxy) : NULL,
		.lacks = &warden->lacks,
		.planning = &warden->planning,
	};

	return findings_write(&report, warden->orders->report, err);
}

static const struct bindspec *find_bind(const struct bindspecs *binds, const char *path)
{
	/* A bind comes before the binds that lie in it. */
	for (size_t i = binds ? binds->n : 0; i--;) {
		size_t len = strlen(binds->list[i].inside);

		if (!strncmp(path, binds->list[i].inside, len) && path[len] == '/')
			return &binds->list[i];
	}
	return NULL;
}

/*
 * Record, in the file 'stub_record', the stubs that may be made in directories of the host.  If
 * this process is killed, the next capture finds the stubs in the live tree, but the stubs in
 * directories of the host can be found only through that file.
 */
static int record_stubs(
	const struct warden_orders *orders, const struct mountplan *mounts, struct err *err)
{
	owned(buf_release) struct buf record = BUF_INIT;

	for (size_t i = 0; i < mounts->n; i++) {
		const struct mountplan_entry *entry = &mounts->list[i];
		const struct bindspec *bind = mountplan_is_stub(entry->kind)
						      ? find_bind(orders->binds, entry->path)
						      : NULL;

		if (!bind || bind->read_only)
			continue;
		const char *below = entry->path + strlen(bind->inside) + 1;
		buf_add(&record, bind->host, strlen(bind->host) + 1);
		buf_add(&record, below, strlen(below) + 1);
	}
	if (!record.len || orders->stub_record < 0)
		return 0;
	errno = -at_write_all(orders->stub_record, record.data, record.len);
	return errno ? err_errno(err, "record the names that shall not be made") : 0;
}

/*
 * Find the files that the policy covers in the tree that the command will see.  In this function,
 * that tree is the root of this process.
 */
static int look(void *arg, struct mountplan *mounts, struct err *err)
{
	struct warden *warden = arg;

	if (resolve_policy(warden, err) < 0 || planning_look(&warden->policy, &warden->arena,
						       &warden->planning, &warden->lacks, err) < 0)
		return -(int)err->code;
	planning_mounts(&warden->planning, &warden->arena, mounts);
	warden->explainer.entries = mounts->list;
	if (record_stubs(warden->orders, mounts, err) < 0)
		return -(int)err->code;
	return write_report(warden, err);
}

static int make_net(void *arg, struct err *err)
{
	struct warden *warden = arg;
	const struct policy *policy = warden->orders->policy;
	const bool captured = policy->net.mode == POLICY_NET_ALLOWLIST;

	warden->space = netspace_new(captured, err);
	if (!warden->space)
		return -(int)err->code;
	if (captured)
		warden->proxy = proxy_new(policy, warden->space, warden->denials, NULL, err);
	return captured && !warden->proxy ? -(int)err->code : netspace_fd(warden->space);
}

struct warden *warden_new(const struct warden_orders *orders)
{
	struct warden *warden = mem_zalloc(sizeof(*warden));

	warden->orders = orders;
	warden->lacks = (struct buf)BUF_INIT;
	warden->denials = denials_new(-1);
	warden->explainer = (struct explainer){
		.policy = &warden->policy,
		.denials = warden->denials,
		.proc = -1,
	};
	for (size_t i = 0; i < DENIALS_SINKS_MAX; i++)
		denials_add_sink(
			warden->denials, orders->sinks[i], i == 0 ? DENIALS_GIVEN : DENIALS_OWN);
	return warden;
}

void warden_free(struct warden *warden)
{
	if (!warden)
		return;
	denials_free(warden->denials);
	account_release(&warden->account);
	buf_release(&warden->lacks);
	arena_release(&warden->arena);
	free(warden);
}

/* ---------------------------------------------------------------------- plans */

static void add_fd(struct commandspace_plan *plan, int fd)
{
	plan->fds[plan->n_fds++] = fd;
}

static void plan_fds(const struct warden_orders *orders, struct commandspace_plan *plan)
{
	const int fds[] = { orders->proc, orders->stub_locks, orders->stub_record, orders->holder,
		orders->report };

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		add_fd(plan, fds[i]);
	for (size_t i = 0; i < DENIALS_SINKS_MAX; i++)
		add_fd(plan, orders->sinks[i]);
	if (orders->group) {
		add_fd(plan, orders->group->dir);
		add_fd(plan, orders->group->parent);
	}
	if (orders->grants) {
		add_fd(plan, orders->grants->dir);
		add_fd(plan, orders->grants->fd);
	}
}

/* Set those members of a plan that are about mounts and descriptors. */
static void plan_mounts(struct warden *warden, struct commandspace_plan *plan)
{
	plan_fds(warden->orders, plan);
	warden->plan = (struct mountplan){
		.device = -1,
		.nobody = -1,
		.private_bytes = warden->orders->policy->limits.max_rss_bytes,
		.changes = warden->orders->policy->fs.grantable.n > 0,
		.stub_locks = warden->orders->stub_locks,
		.told = explainer_masked,
		.arg = &warden->explainer,
	};
	plan->mounts = &warden->plan;
	plan->look = look;
	plan->look_arg = warden;
	plan->keep_arg = warden;
}

void warden_plan(struct warden *warden, struct commandspace_plan *plan)
{
	plan_mounts(warden, plan);
	if (warden->orders->policy->net.mode != POLICY_NET_HOST)
		plan->make_net = make_net;
	plan->net_arg = warden;
	plan->keep = wardenserve_run;
}

static int remove_stubs(void *arg, const struct commandspace_warden *given)
{
	mountplan_remove_stubs(given->mounts);
	return 0;
}

void warden_plan_removal(struct warden *warden, struct commandspace_plan *plan)
{
	plan_mounts(warden, plan);
	plan->keep = remove_stubs;
}
