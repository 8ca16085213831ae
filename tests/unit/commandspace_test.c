/* commandspace: mounts, network and warden of one command. */
#include "sandbox_fixture.h"

#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/utsname.h>

#include "core/child.h"
#include "sandbox/commandspace.h"
#include "sandbox/maskfs.h"

#define ENTRY(kind, path)                                                                          \
	{                                                                                          \
		MOUNTPLAN_##kind, path                                                             \
	}
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static const struct mountplan_entry typical[] = {
	ENTRY(READ_ONLY, "/"),
	ENTRY(WRITABLE, "/root"),
	ENTRY(MASK, "/etc"),
	ENTRY(MASK, "/marker"),
	ENTRY(STUB, "/root/.git/hooks"),
	ENTRY(PRIVATE, "/tmp"),
};

/* The data of the warden.  The tests request an action from it by sending one byte. */
struct duty {
	int news; /* a pipe that gets one byte for each access to a mask */
};

static void hear(void *arg, size_t entry, const char *path, pid_t pid)
{
	struct duty *duty = arg;

	(void)!write(duty->news, entry == 2 && !strcmp(path, "passwd") ? "p" : "?", 1);
}

static int answer(const struct commandspace_warden *warden, char question)
{
	struct err err = { 0 };
	int r = question == 'h' ? mountplan_hide(warden->mounts, "/root", &err)
				: mountplan_unhide(warden->mounts, "/root", &err);

	if (r < 0)
		fprintf(stderr, "%s\n", err.text);
	return r;
}

/* Serve until the other ends of the socket are closed. */
static int be_warden(void *arg, const struct commandspace_warden *warden)
{
	struct maskfs *masks = warden->mounts->masks;
	char question;

	for (;;) {
		struct pollfd ready[] = { { warden->socket, POLLIN, 0 },
			{ masks ? maskfs_fd(masks) : -1, POLLIN, 0 } };

		if (poll(ready, 2, -1) < 0 || (masks && maskfs_serve(masks) < 0))
			return 2;
		if (!ready[0].revents)
			continue;
		if (recv(warden->socket, &question, 1, 0) != 1)
			break;
		if (answer(warden, question) < 0 || send(warden->socket, "", 1, MSG_NOSIGNAL) != 1)
			return 3;
	}
	mountplan_remove_stubs(warden->mounts);
	return 7;
}

static struct place *started_with(
	void **state, const struct commandspace_plan *plan, struct commandspace *space)
{
	struct place *place = started(state);

	ok(place, commandspace_make(&place->sandbox, plan, space, &place->err));
	return place;
}

/* Run a line with the shell in these namespaces.  Returns the exit status. */
static int shell_in(struct place *place, const struct commandspace *space, const char *line)
{
	const char *const argv[] = { "sh", "-c", line, NULL };
	struct sandbox_command command = { .argv = argv, .env = plain_env, .space = space };

	ok(place, run_command(place, &command));
	return place->result.status;
}

static void try_typical(struct place *place, const struct commandspace *space)
{
	assert_int_equal(shell_in(place, space,
				 "! touch /no && touch /root/yes /tmp/mine /dev/shm/x && "
				 "! cat /marker && ! ls /etc/passwd && ! cat /etc/passwd && "
				 "echo $$ >/proc/self/comm && echo fine"),
		0);
	assert_non_null(strstr(place->out, "fine\n"));
	/* The command runs as root in the sandbox, who has all rights over the namespace. */
	assert_int_equal(shell_in(place, space,
				 "! umount /etc && ! umount -l /marker && ! umount /root && "
				 "! mount -o remount,bind,rw / && ! touch /no && "
				 "! rmdir /root/.git/hooks && ! mv /root/.git /root/x && "
				 "! unshare -m umount -l /etc && echo fine"),
		0);
	assert_non_null(strstr(place->out, "fine\n"));
}

static void end_warden(struct commandspace *space, int expected)
{
	pid_t pid = space->pid;

	commandspace_release(space);
	int status = child_wait(pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), expected);
}

/*
 * Whether file systems in memory can map ids, which needs Linux 6.3.  Empty masks then belong to
 * nobody in the sandbox.
 */
static bool can_map_memory(void)
{
	struct utsname name;
	int major = 0, minor = 0;

	return uname(&name) == 0 && sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 3));
}

static void restricts_one_command(void **state)
{
	const struct mountplan mounts = {
		.list = typical, .n = COUNT(typical) - 2, .stub_locks = -1
	};
	const struct commandspace_plan plan = { .mounts = &mounts };
	struct commandspace space;
	struct place *place = started_with(state, &plan, &space);

	assert_int_equal(space.pid, 0);
	assert_int_equal(shell_in(place, &space,
				 "! touch /no && touch /root/yes && ! cat /marker && "
				 "! ls /etc/passwd && ! umount /etc && echo fine"),
		0);
	assert_non_null(strstr(place->out, "fine\n"));
	if (can_map_memory())
		assert_int_equal(shell_in(place, &space, "! ls /etc"), 0);
	/* Other commands of the sandbox are not restricted. */
	assert_int_equal(shell(place, "touch /yes && cat /marker /etc/passwd"), 0);
	commandspace_release(&space);
}

static void a_warden_serves_while_it_runs(void **state)
{
	int news[2];
	assert_int_equal(pipe2(news, O_CLOEXEC | O_NONBLOCK), 0);
	struct duty duty = { .news = news[1] };
	const struct mountplan mounts = {
		.list = typical, .n = COUNT(typical), .stub_locks = -1, .told = hear, .arg = &duty
	};
	const struct commandspace_plan plan = {
		.mounts = &mounts, .keep = be_warden, .fds = { news[1] }, .n_fds = 1
	};
	struct commandspace space;
	struct place *place = started_with(state, &plan, &space);
	struct err no_fuse = { 0 };
	char c = 0;

	try_typical(place, &space);
	int device = maskfs_open(&no_fuse);
	if (device >= 0)
		while (c != 'p')
			assert_int_equal(read(news[0], &c, 1), 1);
	close_fd(&device);
	assert_true(there(place->root, "root/.git/hooks"));
	assert_false(there(place->root, "tmp/mine"));
	end_warden(&space, 7);
	assert_false(there(place->root, "root/.git"));
	close(news[0]);
	close(news[1]);
}

/* In a process of its own, send the warden a request when the command has begun. */
static pid_t change_soon(struct place *place, const struct commandspace *space)
{
	pid_t pid = fork();
	char c = 'h';

	if (pid != 0)
		return pid;
	for (int tries = 1000; tries && !there(place->root, "root/begun"); tries--)
		sleep_ms(5);
	_exit(send(space->warden, &c, 1, MSG_NOSIGNAL) != 1 || recv(space->warden, &c, 1, 0) != 1);
}

static void changes_reach_a_running_command(void **state)
{
	const struct mountplan mounts = { .list = typical, .n = COUNT(typical), .stub_locks = -1 };
	const struct commandspace_plan plan = { .mounts = &mounts, .keep = be_warden };
	struct commandspace space;
	struct place *place = started_with(state, &plan, &space);
	int status;
	pid_t pid = change_soon(place, &space);

	/*
	 * The warden hides and locks the directory for a running command.  A nested namespace
	 * cannot show it.
	 */
	assert_int_equal(shell_in(place, &space,
				 "touch /root/begun; n=0; "
				 "while [ -e /root/begun ] && [ $n -lt 1000 ]; do "
				 "n=$((n + 1)); usleep 5000; done; ! [ -e /root/begun ] && "
				 "! umount -l /root && ! [ -e /root/begun ] && echo fine"),
		0);
	assert_non_null(strstr(place->out, "fine\n"));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	end_warden(&space, 7);
}

/* Programs that wait for answers of the warden can be frozen at any time. */
static void freezes_who_looks_at_masks(void **state)
{
	const struct mountplan mounts = { .list = typical, .n = COUNT(typical), .stub_locks = -1 };
	const struct commandspace_plan plan = { .mounts = &mounts, .keep = be_warden };
	struct commandspace space;
	struct place *place = started_with(state, &plan, &space);

	assert_int_equal(shell_in(place, &space,
				 "for i in 1 2 3; do (while :; do cat /etc/x /marker; done) "
				 ">/dev/null 2>&1 </dev/null & done"),
		0);
	for (int i = 0; i < 20; i++) {
		sleep_ms(3);
		ok(place, sandbox_freeze(&place->sandbox, &place->err));
		ok(place, sandbox_thaw(&place->sandbox, &place->err));
	}
	ok(place, sandbox_kill(&place->sandbox, "test", &place->err));
	end_warden(&space, 7);
}

/* -------------------------------------------------------------------- network */

struct net {
	int fd;
};

static int open_empty_net(void *arg, struct err *err)
{
	struct net *net = arg;

	if (unshare(CLONE_NEWNET) < 0)
		return err_errno(err, "make a network namespace");
	net->fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	return net->fd;
}

static void has_a_network_of_its_own(void **state)
{
	struct net net;
	const struct commandspace_plan plan = { .make_net = open_empty_net, .net_arg = &net };
	struct commandspace space;
	struct place *place = started_with(state, &plan, &space);

	assert_true(space.net >= 0);
	assert_int_equal(shell_in(place, &space, "grep -c : /proc/net/dev; ls /sys/class/net"), 0);
	assert_string_equal(place->out, "1\nlo\n");
	/* Other commands have the sandbox's network. */
	assert_int_equal(shell(place, "[ $(grep -c : /proc/net/dev) -ge 1 ]"), 0);
	commandspace_release(&space);
}

static int refuse_net(void *arg, struct err *err)
{
	return err_set(err, ERR_UNSUPPORTED, "no network today");
}

static void says_what_failed(void **state)
{
	static const struct mountplan_entry loop[] = { ENTRY(MASK, "/loop/x") };
	const struct mountplan mounts = { .list = loop, .n = 1, .stub_locks = -1 };
	const struct commandspace_plan no_net = { .make_net = refuse_net };
	const struct commandspace_plan no_mounts = { .mounts = &mounts, .keep = be_warden };
	struct commandspace space;
	struct place *place = started(state);

	assert_int_equal(symlinkat("loop", place->root, "loop"), 0);
	assert_int_equal(
		commandspace_make(&place->sandbox, &no_net, &space, &place->err), -ERR_UNSUPPORTED);
	assert_string_equal(place->err.text, "no network today");
	assert_int_equal(
		commandspace_make(&place->sandbox, &no_mounts, &space, &place->err), -ERR_INVALID);
	assert_int_equal(space.pid, 0);
	assert_int_equal(space.warden, -1);
	/* No child process is left. */
	assert_true(waitpid(-1, NULL, WNOHANG) <= 0);
}

static int all_tests(void)
{
	const struct CMUnitTest tests[] = {
		place_test(restricts_one_command),
		place_test(a_warden_serves_while_it_runs),
		place_test(changes_reach_a_running_command),
		place_test(freezes_who_looks_at_masks),
		place_test(has_a_network_of_its_own),
		place_test(says_what_failed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	return run_in_both_worlds(all_tests);
}
