/*
 * The warden is one thread around a poller.  It answers every access to a mask, and every system
 * call that the call filter reports.  So programs in the sandbox may be waiting for the warden, and
 * the warden must never wait for such a program.
 */
#include "confine/warden_priv.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "core/own.h"
#include "core/when.h"
#include "sandbox/message.h"

#define LINGER_MS 1000 /* pause between two checks for processes left by the command */
#define DRAIN_EVENTS 4096

static void on_masks_ready(void *arg, unsigned what, bool failed)
{
	struct warden *warden = arg;

	if (maskfs_serve(warden->mounts->masks) < 0)
		poller_remove(warden->poller, &warden->masks);
}

static void on_proxy_ready(void *arg, unsigned what, bool failed)
{
	proxy_step(((struct warden *)arg)->proxy);
}

static void finish(struct warden *warden)
{
	warden->over = true;
}

static bool has_hung_up(int fd)
{
	struct pollfd listener = { .fd = fd };

	return poll(&listener, 1, 0) > 0 && listener.revents & POLLHUP;
}

static void on_calls_ready(void *arg, unsigned what, bool failed)
{
	struct warden *warden = arg;
	struct err ignored = { 0 };

	if (callfilter_notified(warden->listener, explainer_call, &warden->explainer, &ignored) >
			0 ||
		!has_hung_up(callfilter_listener_fd(warden->listener)))
		return;
	/* No process with the filter is left, so the command and all its descendants have ended. */
	poller_remove(warden->poller, &warden->calls);
	if (!warden->attended)
		finish(warden);
}

static void on_holder_end(void *arg, unsigned what, bool failed)
{
	finish(arg);
}

/*
 * Kill all programs of the command because they have exceeded a limit, and add a denial about the
 * limit.
 */
static void enforce(struct warden *warden, const char *rule, const char *used)
{
	struct verdict verdict = { .allowed = false };
	struct err ignored = { 0 };

	snprintf(verdict.rule, sizeof(verdict.rule), "%s", rule);
	snprintf(verdict.remedy, sizeof(verdict.remedy), "raise %s", rule);
	denials_add(warden->denials, "limit", used, &verdict, 0);
	(void)resource_kill(warden->watch, &ignored);
}

static void on_limit(struct warden *warden, enum resource_kind kind, struct resource_usage *usage)
{
	owned(buf_release) struct buf text = BUF_INIT;
	static const char *const rules[] = {
		[RESOURCE_CPU] = "limits.cpu_time_secs",
		[RESOURCE_MEMORY] = "limits.max_rss_bytes",
		[RESOURCE_TASKS] = "limits.max_processes",
	};
	struct resource_limits limits = planning_limits(&warden->policy);

	resource_describe(&limits, kind, usage, &text);
	enforce(warden, rules[kind], text.data);
}

/*
 * The time of the command is over: kill the programs that it has left running.  The strata process
 * that runs the command kills the command itself.
 */
static void on_late(struct warden *warden)
{
	char used[64];

	snprintf(used, sizeof(used), "more than %lld s",
		(long long)warden->policy.limits.wall_time_secs);
	enforce(warden, "limits.wall_time_secs", used);
	warden->deadline = INT64_MAX;
}

static bool has_limits(const struct policy *policy)
{
	return policy->limits.cpu_time_secs || policy->limits.max_rss_bytes ||
	       policy->limits.max_processes;
}

/*
 * Check the processes of the command, and kill them if they exceed a limit.  Returns whether any
 * processes are left.
 */
static bool look_at_processes(struct warden *warden)
{
	struct resource_usage usage = { 0 };
	enum resource_kind kind = resource_check(warden->watch, &usage);

	if (kind != RESOURCE_NONE && !warden->limited)
		on_limit(warden, kind, &usage);
	warden->limited = kind != RESOURCE_NONE;
	return usage.tasks > 0;
}

static void on_look(void *arg)
{
	struct warden *warden = arg;

	if (!look_at_processes(warden) && !warden->attended) {
		finish(warden);
		return;
	}
	if (!warden->attended && when_monotonic() >= warden->deadline)
		on_late(warden);
	poller_set(warden->poller, &warden->look,
		has_limits(&warden->policy) ? RESOURCE_LOOK_MS : LINGER_MS);
}

/*
 * Handle all events that have already happened, so that the list of denials is complete when the
 * command has ended.
 */
static void drain(struct warden *warden)
{
	struct pollfd ready = { .fd = poller_fd(warden->poller), .events = POLLIN };

	for (int i = 0; i < DRAIN_EVENTS && poll(&ready, 1, 0) > 0; i++)
		poller_step(warden->poller);
}

static bool is_named(const struct warden *warden, const char *name)
{
	const struct param_texts *argv = warden->orders->command;
	const char *program = argv && argv->count ? argv->list[0] : "";
	const char *slash = strrchr(program, '/');

	return !strcmp(name, program) || (slash && !strcmp(name, slash + 1));
}

static bool is_selected(const struct warden *warden, const struct grantwire_request *request)
{
	if (request->command && !is_named(warden, request->command))
		return false;
	return !request->pid ||
	       (request->pid <= INT_MAX && explainer_has_mounts(&warden->explainer,
						   warden->orders->proc, (pid_t)request->pid));
}

static void answer_grant(void *arg, const struct grantwire_request *request, struct arena *arena,
	struct grantwire_answer *out)
{
	struct warden *warden = arg;

	out->selected = is_selected(warden, request);
	if (!out->selected)
		return;
	if (warden->orders->command)
		out->argv = *warden->orders->command;
	(void)grants_change(warden->grants, request, arena, out, &out->err);
}

static int begin_granting(struct warden *warden, struct err *err)
{
	const struct grants_scope scope = {
		.policy = &warden->policy,
		.planning = &warden->planning,
		.mounts = warden->mounts,
		.proxy = warden->proxy,
		.denials = warden->denials,
	};
	const struct grantserver_options options = {
		.listener = warden->orders->grants ? warden->orders->grants->fd : -1,
		.proc = warden->explainer.proc,
		.answer = answer_grant,
		.arg = warden,
	};

	warden->grants = grants_new(&scope);
	warden->explainer.grants = warden->grants;
	if (options.listener < 0)
		return 0;
	warden->granting = grantserver_new(warden->poller, &options, err);
	return warden->granting ? 0 : -(int)err->code;
}

/* Stop accepting requests for grants, since the command has ended. */
static void end_granting(struct warden *warden)
{
	grantserver_free(warden->granting);
	warden->granting = NULL;
	if (warden->orders->grants)
		grantsocket_remove(warden->orders->grants);
}

static void take_listener(struct warden *warden, int fd)
{
	struct err why = { 0 };

	if (warden->listener || fd < 0)
		return;
	warden->listener = callfilter_listener_take(fd, warden->explainer.proc, &why);
	if (warden->listener)
		(void)poller_add(warden->poller, &warden->calls,
			callfilter_listener_fd(warden->listener), POLLER_READ, &why);
}

/*
 * Go on without the strata process that runs the command.  That process has ended, or needs no more
 * answers.
 */
static void leave_unattended(struct warden *warden)
{
	poller_remove(warden->poller, &warden->channel);
	close_fd(&warden->socket);
	warden->attended = false;
	poller_set(warden->poller, &warden->look, 0);
}

/*
 * Handle a request and answer it.  A warden that ends removes the stubs before it answers, so that
 * a capture after the answer sees no stubs.
 */
static void answer(struct warden *warden, char message)
{
	struct err ignored = { 0 };

	if (message == WARDEN_KILL)
		(void)resource_kill(warden->watch, &ignored);
	drain(warden);
	denials_flush(warden->denials);
	if (!look_at_processes(warden) && message != WARDEN_SUMMARY) {
		end_granting(warden);
		mountplan_remove_stubs(warden->mounts);
		finish(warden);
	}
	(void)message_send(warden->socket, &message, sizeof(message), NULL, 0);
}

static bool is_request(char message)
{
	return message == WARDEN_SUMMARY || message == WARDEN_END || message == WARDEN_KILL;
}

/*
 * Receive a message of one byte.  The message is a request, or it comes from the command's process
 * and carries the listener of the command's call filter.
 */
static void on_message(void *arg, unsigned what, bool failed)
{
	struct warden *warden = arg;
	char message = 0;
	int fd = -1;
	int r = message_receive(warden->socket, &message, sizeof(message), &fd, 1, 0);

	if (r == -ETIMEDOUT || r == -EPROTO)
		return;
	if (r != 1) {
		leave_unattended(warden);
	} else if (is_request(message)) {
		close_fd(&fd);
		answer(warden, message);
	} else {
		take_listener(warden, fd);
	}
}

static int begin_serving(struct warden *warden, struct err *err)
{
	const struct warden_orders *orders = warden->orders;

	warden->poller = poller_new(err);
	if (!warden->poller)
		return -(int)err->code;
	if (poller_add(warden->poller, &warden->channel, warden->socket, POLLER_READ, err) < 0 ||
		poller_add(warden->poller, &warden->holder, orders->holder, POLLER_READ, err) < 0)
		return -(int)err->code;
	if (warden->mounts->masks &&
		poller_add(warden->poller, &warden->masks, maskfs_fd(warden->mounts->masks),
			POLLER_READ, err) < 0)
		return -(int)err->code;
	if (warden->proxy && poller_add(warden->poller, &warden->proxies, proxy_fd(warden->proxy),
				     POLLER_READ, err) < 0)
		return -(int)err->code;
	return 0;
}

static int64_t find_deadline(const struct policy *policy)
{
	int64_t secs = planning_wall_secs(policy);

	return secs ? when_monotonic() + secs * WHEN_SECOND : INT64_MAX;
}

int wardenserve_run(void *arg, const struct commandspace_warden *given)
{
	struct warden *warden = arg;
	struct resource_limits limits = planning_limits(&warden->policy);
	struct err err = { 0 };

	(void)prctl(PR_SET_NAME, "strata-warden", 0, 0, 0);
	(void)signal(SIGPIPE, SIG_IGN); /* the reader of the denials may end at any time */
	warden->socket = given->socket;
	warden->explainer.proc = given->proc;
	warden->explainer.mnt = given->mnt;
	warden->explainer.mounts = warden->mounts = given->mounts;
	warden->attended = true;
	warden->deadline = find_deadline(&warden->policy);
	warden->channel = (struct poller_event){ .fd = -1, .ready = on_message, .arg = warden };
	warden->holder = (struct poller_event){ .fd = -1, .ready = on_holder_end, .arg = warden };
	warden->masks = (struct poller_event){ .fd = -1, .ready = on_masks_ready, .arg = warden };
	warden->proxies = (struct poller_event){ .fd = -1, .ready = on_proxy_ready, .arg = warden };
	warden->calls = (struct poller_event){ .fd = -1, .ready = on_calls_ready, .arg = warden };
	warden->look = (struct poller_timer){ .expired = on_look, .arg = warden };
	warden->watch = resource_watch_new(
		&limits, warden->orders->proc, warden->orders->group, given->mnt);
	if (begin_serving(warden, &err) < 0 || begin_granting(warden, &err) < 0)
		return 1;
	if (has_limits(&warden->policy))
		poller_set(warden->poller, &warden->look, RESOURCE_LOOK_MS);
	while (!warden->over) {
		struct pollfd ready = { .fd = poller_fd(warden->poller), .events = POLLIN };

		if (poll(&ready, 1, -1) < 0 && errno != EINTR)
			break;
		poller_step(warden->poller);
	}
	denials_flush(warden->denials);
	end_granting(warden);
	mountplan_remove_stubs(warden->mounts);
	if (warden->orders->group)
		resource_group_release(warden->orders->group);
	return 0;
}
