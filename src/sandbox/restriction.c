#include "sandbox/restriction.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "sandbox/message.h"

static const struct restriction *put_off; /* the restriction that restriction_finish completes */

bool restriction_has_domain(const struct restriction *restriction)
{
	const struct landlock_rules *rules = &restriction->landlock;

	return rules->files || rules->bind.limited || rules->connect.limited || rules->scopes;
}

/* -------------------------------------------------------------------- entering */

static int set_limits(const struct restriction *restriction, struct err *err)
{
	struct err lacking = { 0 };
	owned_fd int proc = at_open_given("/proc", O_RDONLY | O_DIRECTORY, 0, &lacking);

	return resource_apply(&restriction->limits, proc, err);
}

static int enter_domain(const struct restriction *restriction, struct err *err)
{
	owned_fd int ruleset = -1;

	if (landlock_make(&restriction->landlock, &ruleset, err) < 0)
		return -(int)err->code;
	return landlock_enter(ruleset, err);
}

static int send_listener(int warden, int listener, struct err *err)
{
	const char nothing = 0;
	int r = message_send(warden, &nothing, 1, &listener, listener >= 0);

	return r < 0 ? err_number(err, -r, "hand the listener to the warden") : 0;
}

static int load_filter(const struct restriction *restriction, struct err *err)
{
	unsigned plain = restriction->calls & ~(unsigned)CALLFILTER_EXPLAIN;
	owned_fd int listener = -1;
	struct err busy = { 0 };

	if (restriction->calls == plain || restriction->warden < 0)
		return callfilter_load(callfilter_bytes(plain), false, err);
	listener = callfilter_load(callfilter_bytes(restriction->calls), true, &busy);
	if (listener < 0) {
		if (busy.code != ERR_BUSY) {
			*err = busy;
			return -(int)err->code;
		}
		/*
		 * ERR_BUSY: this process is already in another sandbox, whose warden listens to its
		 * calls.
		 */
		if (callfilter_load(callfilter_bytes(plain), false, err) < 0)
			return -(int)err->code;
	}
	return send_listener(restriction->warden, listener, err);
}

int restriction_enter(const struct restriction *restriction, bool traced, struct err *err)
{
	if (!traced && set_limits(restriction, err) < 0)
		return -(int)err->code;
	if (restriction->own_ipc && unshare(CLONE_NEWIPC) < 0)
		return err_errno(err, "give the command IPC objects of its own");
	if ((restriction->bounded && capability_bound(restriction->capabilities, err) < 0))
		return -(int)err->code;
	if (restriction->no_new_privs && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_errno(err, "forbid new privileges");
	if (enter_domain(restriction, err) < 0)
		return -(int)err->code;
	put_off = traced ? restriction : NULL;
	return traced || !restriction->filtered ? 0 : load_filter(restriction, err);
}

int restriction_settle(const struct restriction *restriction, struct err *err)
{
	return restriction->bounded ? capability_keep(restriction->capabilities, err) : 0;
}

int restriction_finish(struct err *err)
{
	const struct restriction *restriction = put_off;

	put_off = NULL;
	if (!restriction)
		return 0;
	if (set_limits(restriction, err) < 0)
		return -(int)err->code;
	if (!restriction->filtered)
		return 0;
	/*
	 * Set no_new_privs.  After the change of ids, this process may have lost the right to load
	 * a filter without it.
	 */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_errno(err, "forbid new privileges");
	return callfilter_load(
		callfilter_bytes(restriction->calls & ~(unsigned)CALLFILTER_EXPLAIN), false, err);
}

/* --------------------------------------------------------------------- as texts */

static void write_ports(const struct landlock_ports *ports, struct buf *out)
{
	for (size_t i = 0; ports->limited && i < ports->n; i++) {
		buf_addf(out, "%u", ports->list[i]);
		buf_addc(out, '\0');
	}
}

void restriction_write(const struct restriction *restriction, struct buf *out)
{
	const struct landlock_rules *rules = &restriction->landlock;

	for (size_t i = 0; i < rules->n; i++) {
		buf_addf(out, "%u%s", rules->rules[i].access, rules->rules[i].path);
		buf_addc(out, '\0');
	}
	write_ports(&rules->bind, out);
	write_ports(&rules->connect, out);
}

static bool read_ports(struct landlock_ports *ports, const char *(*next)(void *arg), void *arg)
{
	uint16_t *list;

	if (!ports->limited)
		ports->n = 0;
	if (ports->n > LANDLOCK_PORTS_MAX)
		return false;
	list = mem_alloc((ports->n + 1) * sizeof(*list));
	for (size_t i = 0; i < ports->n; i++) {
		const char *text = next(arg);

		if (!text)
			return false; /* leak-ok: this process ends */
		list[i] = (uint16_t)strtoul(text, NULL, 10);
	}
	ports->list = list;
	return true;
}

bool restriction_read(struct restriction *restriction, const char *(*next)(void *arg), void *arg)
{
	struct landlock_rules *rules = &restriction->landlock;

	if (rules->n > LANDLOCK_RULES_MAX)
		return false;
	struct landlock_rule *list = mem_alloc((rules->n + 1) * sizeof(*list));
	for (size_t i = 0; i < rules->n; i++) {
		const char *text = next(arg);
		char *path;

		if (!text)
			return false; /* leak-ok: this process ends */
		list[i] = (struct landlock_rule){ .fd = -1 };
		list[i].access = (unsigned)strtoul(text, &path, 10);
		list[i].path = path;
	}
	rules->rules = list;
	return read_ports(&rules->bind, next, arg) && read_ports(&rules->connect, next, arg);
}
