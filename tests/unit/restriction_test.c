/* restriction: the restrictions of a command in a sandbox, and the messages to its warden. */
#include "sandbox_fixture.h"

#include <linux/capability.h>
#include <poll.h>
#include <sys/socket.h>

#include "sandbox/commandspace.h"
#include "sandbox/message.h"
#include "sandbox/restriction.h"
#include "sandbox/scope.h"

/* The namespaces of the commands.  They are those of the sandbox; one test adds a warden. */
static struct commandspace space = COMMANDSPACE_INIT;

static int run_restricted(
	struct place *place, const struct restriction *restriction, const char *line)
{
	const char *const argv[] = { "sh", "-c", line, NULL };
	const struct sandbox_command command = {
		.space = &space,
		.argv = argv,
		.env = plain_env,
		.restriction = restriction,
	};

	ok(place, run_command(place, &command));
	return place->result.status;
}

#define assert_restricted_prints(place, restriction, line, text)                                   \
	do {                                                                                       \
		(void)run_restricted(place, restriction, line);                                    \
		assert_string_equal((place)->out, text);                                           \
	} while (0)

static struct place *started_scoped(void **state)
{
	struct place *place = *state;

	skip_unless_possible();
	make_tree(place->root);
	struct sandbox_plan plan = plan_of(place);
	plan.scoped = scope_probe();
	ok(place, sandbox_start(&plan, &place->sandbox, &place->err));
	return place;
}

/* ------------------------------------------------------------------------ files */

static const struct landlock_rule rules_of_files[] = {
	{ .path = "/", .fd = -1, .access = LANDLOCK_READ | LANDLOCK_EXECUTE },
	{ .path = "/dev", .fd = -1, .access = LANDLOCK_READ | LANDLOCK_WRITE | LANDLOCK_DEVICES },
	{ .path = "/tmp", .fd = -1, .access = LANDLOCK_ALL },
	{ .path = "/none", .fd = -1, .access = LANDLOCK_ALL },
};

/* The sandbox has a domain.  Its commands run with a domain of their own, and without one. */
static void moves_files_between_directories(void **state)
{
	struct place *place = started_scoped(state);
	struct restriction restriction = RESTRICTION_INIT;

	restriction.landlock = (struct landlock_rules){
		.files = true,
		.rules = rules_of_files,
		.n = sizeof(rules_of_files) / sizeof(rules_of_files[0]),
		.bind.limited = true,
		.scopes = LANDLOCK_SCOPE_ABSTRACT | LANDLOCK_SCOPE_SIGNALS,
	};
	if (landlock_abi() < 2) {
		printf("# skip: Landlock cannot allow that here\n");
		skip();
	}
	assert_restricted_prints(place, &restriction,
		"mkdir /tmp/a /tmp/b; echo x >/tmp/a/f; busybox ln /tmp/a/f /tmp/b/f; cat /tmp/b/f",
		"x\n");
	assert_restricted_prints(place, &restriction,
		"echo x 2>/dev/null >/root/f || echo refused; cat /marker", "refused\ninside\n");
	assert_int_equal(shell(place, "echo x >/root/f"), 0);
}

static void enters_no_domain_unless_asked(void **state)
{
	struct restriction restriction = RESTRICTION_INIT;

	assert_false(restriction_has_domain(&restriction));
	restriction.landlock.connect.limited = true;
	assert_true(restriction_has_domain(&restriction));
	restriction.landlock = (struct landlock_rules){ .scopes = LANDLOCK_SCOPE_SIGNALS };
	assert_true(restriction_has_domain(&restriction));
	restriction.landlock = (struct landlock_rules){ .files = true };
	assert_true(restriction_has_domain(&restriction));
}

/* --------------------------------------------------------------- rights and calls */

static void takes_rights_away(void **state)
{
	struct place *place = started(state);
	struct restriction restriction = RESTRICTION_INIT;

	restriction.bounded = true;
	restriction.capabilities = CAPABILITY_BIT(CAP_CHOWN);
	assert_restricted_prints(place, &restriction,
		"grep -E 'Cap(Prm|Bnd|Amb)|NoNew' /proc/self/status",
		"CapPrm:\t0000000000000001\nCapBnd:\t0000000000000001\n"
		"CapAmb:\t0000000000000000\nNoNewPrivs:\t0\n");
	restriction = RESTRICTION_INIT;
	restriction.no_new_privs = true;
	assert_restricted_prints(
		place, &restriction, "grep NoNew /proc/self/status", "NoNewPrivs:\t1\n");
	restriction = RESTRICTION_INIT;
	restriction.limits.open_fds = 33;
	restriction.limits.tasks = 1000;
	assert_restricted_prints(place, &restriction, "ulimit -n", "33\n");
	(void)run_restricted(place, &restriction, "grep 'Max processes' /proc/self/limits");
	int most = 0;
	assert_int_equal(sscanf(place->out, "Max processes %d", &most), 1);
	assert_true(most > 1000 && most < 2000);
}

static void filters_calls(void **state)
{
	struct place *place = started(state);
	struct restriction restriction = RESTRICTION_INIT;

	restriction.filtered = true;
	assert_restricted_prints(place, &restriction,
		"grep Seccomp: /proc/self/status; unshare -m true 2>/dev/null || echo refused;"
		" mkdir /tmp/d && mv /tmp/d /tmp/e && ls /tmp",
		"Seccomp:\t2\nrefused\ne\n");
	assert_int_not_equal(
		run_restricted(place, &restriction, "mount -t tmpfs none /tmp 2>/dev/null"), 0);
	/*
	 * An ordinary user in the sandbox has no right to load a filter.  The process loads it
	 * earlier, while it is root.
	 */
	const char *const argv[] = { "sh", "-c", "id -u; unshare -U true || echo refused", NULL };
	struct sandbox_command command = {
		.argv = argv,
		.env = plain_env,
		.user = "agent",
		.restriction = &restriction,
	};
	if (place->sandbox.shifted) {
		ok(place, run_command(place, &command));
		assert_non_null(strstr(place->out, "1000\n"));
		assert_non_null(strstr(place->out, "refused\n"));
	}
	restriction.calls = CALLFILTER_NESTED;
	assert_int_equal(run_restricted(place, &restriction, "unshare -m true"), 0);
}

/* ----------------------------------------------------------------------- warden */

static void hear(void *arg, const struct callfilter_event *event)
{
	dprintf(*(int *)arg, "%s %s%s %d\n", event->call, event->denied ? "denied " : "",
		event->path ? event->path : "-", event->inside > 0 && event->inside != event->pid);
}

static int serve(int socket, int out)
{
	struct callfilter_listener *listener;
	struct err err = { 0 };
	int fd = -1;
	char c;

	if (message_receive(socket, &c, 1, &fd, 1, 10000) != 1 || fd < 0)
		return 1;
	listener = callfilter_listener_take(fd, open("/proc", O_PATH | O_CLOEXEC), &err);
	if (!listener)
		return 2;
	struct pollfd ready = { .fd = callfilter_listener_fd(listener), .events = POLLIN };
	while (poll(&ready, 1, 10000) > 0 && !(ready.revents & POLLHUP))
		if (callfilter_notified(listener, hear, &out, &err) < 0)
			return 3;
	callfilter_listener_free(listener);
	return 0;
}

static void tells_the_warden(void **state)
{
	struct place *place = started(state);
	struct restriction restriction = RESTRICTION_INIT;
	owned_fd int out = memfd_create("heard", MFD_CLOEXEC);
	char text[4096];
	int ends[2], status;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	pid_t warden = fork();
	if (warden == 0) {
		close(ends[0]);
		_exit(serve(ends[1], out));
	}
	close(ends[1]);
	restriction.filtered = true;
	restriction.calls = CALLFILTER_EXPLAIN;
	space.warden = ends[0];
	assert_restricted_prints(place, &restriction,
		"cd /tmp; mkdir d; echo x >d/../f; unshare -m true 2>/dev/null || ls", "d\nf\n");
	space = COMMANDSPACE_INIT;
	close(ends[0]);
	assert_int_equal(waitpid(warden, &status, 0), warden);
	assert_int_equal(status, 0);
	ssize_t n = pread(out, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	assert_non_null(strstr(text, " /tmp/d 1\n"));
	assert_non_null(strstr(text, " /tmp/f 1\n"));
	assert_non_null(strstr(text, "unshare denied - 1\n"));
}

/* The command runs in a cgroup of its own. */
static void runs_in_the_cgroup_of_the_command(void **state)
{
	struct place *place = started(state);
	struct restriction restriction = RESTRICTION_INIT;
	struct resource_group group;
	struct err err = { 0 };

	if (place->sandbox.fds[SANDBOX_JOBS] < 0) {
		/* Here, cgroups were not delegated to ordinary users. */
		printf("# skip: %s\n", is_real_root() ? "the sandbox has no cgroup" : "not root");
		skip();
	}
	ok(place, resource_group_make(place->sandbox.fds[SANDBOX_JOBS], &restriction.limits, &group,
			  &place->err));
	restriction.group = group.dir;
	(void)run_restricted(place, &restriction, "grep ^0:: /proc/self/cgroup");
	assert_non_null(strstr(place->out, group.name));
	assert_int_equal(run_restricted(place, &restriction, "sleep 100 >/dev/null 2>&1 &"), 0);
	/* The command is frozen with the sandbox, and ends with it. */
	ok(place, sandbox_freeze(&place->sandbox, &place->err));
	ok(place, sandbox_thaw(&place->sandbox, &place->err));
	assert_int_equal(unlinkat(group.parent, group.name, AT_REMOVEDIR), -1);
	ok(place, sandbox_kill(&place->sandbox, "test", &err));
	assert_int_equal(faccessat(group.parent, group.name, F_OK, 0), -1);
	resource_group_release(&group);
}

static int tests(void)
{
	const struct CMUnitTest all[] = {
		place_test(moves_files_between_directories),
		place_test(enters_no_domain_unless_asked),
		place_test(takes_rights_away),
		place_test(filters_calls),
		place_test(tells_the_warden),
		place_test(runs_in_the_cgroup_of_the_command),
	};

	return cmocka_run_group_tests(all, NULL, NULL);
}

int main(void)
{
	return run_in_both_worlds(tests);
}
