/*
 * warden_priv - the members of a warden, shared by its files.  warden.c prepares the warden.
 * wardenserve.c does the warden's work while the command runs.
 */
#pragma once
#include "confine/explainer.h"
#include "confine/grants.h"
#include "confine/grantserver.h"
#include "confine/poller.h"
#include "confine/proxy.h"
#include "confine/warden.h"
#include "core/arena.h"
#include "core/buf.h"
#include "sandbox/account.h"
#include "sandbox/netspace.h"

struct warden {
	const struct warden_orders *orders;
	struct arena arena;
	struct policy policy; /* with absolute paths (policy_resolve) */
	struct planning planning;
	struct mountplan plan;         /* the mount plan, except its list */
	struct mountplan_made *mounts; /* set while the warden serves */
	struct netspace *space;        /* NULL: the command uses the machine's network */
	struct proxy *proxy;           /* NULL: no connection leads out of the namespace */
	struct denials *denials;
	struct explainer explainer;
	struct buf lacks; /* the restrictions that are not enforced, one on each line */
	struct account account;

	/* Set while the warden serves: */
	struct poller *poller;
	struct poller_event masks, proxies, calls, channel, holder;
	struct poller_timer look;
	struct callfilter_listener *listener;
	struct resource_watch *watch;
	struct grants *grants;
	struct grantserver *granting;
	int socket;
	bool limited;     /* the command has exceeded a limit, and its programs were killed */
	bool attended;    /* the strata process that runs the command is connected */
	int64_t deadline; /* when the command and its descendants have to end */
	bool over;
};

/*
 * Serve until the command and its descendants have ended.  'arg' is the struct warden.  Returns the
 * exit status of the warden's process.
 */
int wardenserve_run(void *arg, const struct commandspace_warden *given);
