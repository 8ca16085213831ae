/* sandbox: the view of programs in it, and its lifetime. */
#include "sandbox_fixture.h"

#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/un.h>

/* ----------------------------------------------------- view of programs in it */

static void its_root_is_the_tree(void **state)
{
	struct place *place = started(state);

	assert_prints(place, "cat /marker; id -u; pwd; hostname", "inside\n0\n/\nstrata\n");
	assert_string_equal(place->sandbox.degraded, "");
	assert_int_equal(shell(place, "echo new >/tmp/new"), 0);
	assert_true(there(place->root, "tmp/new"));
}

static void sees_no_process_of_the_host(void **state)
{
	struct place *place = started(state);

	assert_prints(
		place, "cd /proc; for p in [0-9]*; do cat $p/comm; done", "strata-holder\nsh\n");
	assert_prints(place, "cat /proc/1/cmdline | head -c 13", "strata-holder");
}

/* Every mount in the sandbox is one of the plan's. */
static void sees_no_mount_beyond_the_plan(void **state)
{
	struct place *place = started(state);
	char *rest = NULL;
	int n = 0;

	(void)shell(place, "while read a b c d e f; do echo $e; done </proc/self/mountinfo");
	for (char *at = strtok_r(place->out, "\n", &rest); at; at = strtok_r(NULL, "\n", &rest)) {
		static const char *const places[] = { "/dev/", "/proc/", "/sys/" };
		bool known = !strcmp(at, "/") || !strcmp(at, "/dev") || !strcmp(at, "/proc") ||
			     !strcmp(at, "/sys") || !strcmp(at, "/etc/resolv.conf");

		for (size_t i = 0; i < 3; i++)
			known |= !strncmp(at, places[i], strlen(places[i]));
		if (!known)
			fail_msg("mounted inside: %s", at);
		n++;
	}
	assert_true(n > 10);
}

static void has_no_inherited_descriptor(void **state)
{
	struct place *place = started(state);
	int left_open = dup(place->fd); /* a descriptor without O_CLOEXEC */

	assert_true(left_open > 2);
	/* 3 is the directory that ls reads. */
	assert_prints(place, "exec ls /proc/self/fd", "0\n1\n2\n3\n");
	close(left_open);
}

static void has_only_the_environment_given(void **state)
{
	struct place *place = started(state);

	const char *const argv[] = { "env", NULL };
	struct sandbox_command command = { .argv = argv, .env = plain_env };

	setenv("SECRET", "of the caller", 1);
	ok(place, run_command(place, &command));
	unsetenv("SECRET");
	assert_string_equal(place->out, "PATH=/bin:/sbin\nHOME=/root\n");
}

static void protects_what_is_the_hosts(void **state)
{
	static const char *const attempts[] = {
		"echo x >/proc/sys/kernel/domainname",
		"echo x >/proc/sysrq-trigger",
		"mount -o remount,rw,bind /sys",
		"umount /sys",
		"mkdir /sys/fs/cgroup/x",
		"mkdir /sys/fs/cgroup/unified/x",
		"chmod 600 /dev/null",
		"mknod /dev/sda b 8 0",
		"echo x >/etc/resolv.conf",
		"rm /etc/resolv.conf",
		"umount /etc/resolv.conf",
		"mount -o remount,rw,bind /etc/resolv.conf",
	};
	struct place *place = started(state);

	for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++)
		if (shell(place, attempts[i]) == 0)
			fail_msg("allowed: %s", attempts[i]);
	/*
	 * A program may change properties of its own sandbox.  It may mount a file system only if
	 * its root is not root of the machine.
	 */
	assert_int_equal(shell(place, "hostname other"), 0);
	assert_int_equal(shell(place, "mount -t tmpfs none /tmp") == 0, !place->sandbox.host_root);
}

static void root_of_the_host_is_covered(void **state)
{
	struct place *place = started(state);

	if (world.user != SANDBOX_USER_ROOT) {
		printf("# skip: not root\n");
		skip();
	}
	assert_int_not_equal(shell(place, "echo 1 >/proc/sys/vm/drop_caches"), 0);
	assert_int_not_equal(shell(place, "cat /proc/kmsg"), 0);
	/* Mounts and namespaces of its own give it no way around this. */
	assert_int_not_equal(shell(place, "umount /proc/sys; echo 1 >/proc/sys/vm/drop_caches"), 0);
	assert_int_not_equal(shell(place, "unshare -U -r -m sh -c 'mount -t proc x /tmp; echo 1 "
					  ">/tmp/sys/vm/drop_caches'"),
		0);
	assert_int_not_equal(shell(place, "mount -t cgroup2 x /tmp; mkdir /tmp/strata-test && "
					  "rmdir /tmp/strata-test"),
		0);
}

/* Root's sandboxes have ids of their own.  On disk, files have the ids of the tree. */
static void root_has_ids_of_its_own(void **state)
{
	struct place *place = started(state);
	struct stat st;

	if (world.user != SANDBOX_USER_ROOT) {
		printf("# skip: not root\n");
		skip();
	}
	if (!place->sandbox.shifted) {
		printf("# skip: the file system does not map ids\n");
		skip();
	}
	assert_prints(place, "awk '{ print $1, $2 }' /proc/self/uid_map", "0 2147483648\n");
	assert_int_equal(
		shell(place, "echo x >/tmp/mine; echo x >/tmp/high; chown 70000:80000 /tmp/high"),
		0);
	assert_int_equal(fstatat(place->root, "tmp/mine", &st, 0), 0);
	assert_int_equal(st.st_uid, 0);
	assert_int_equal(fstatat(place->root, "tmp/high", &st, 0), 0);
	assert_int_equal(st.st_uid, 70000);
	assert_int_equal(st.st_gid, 80000);
	assert_int_equal(shell(place, "unshare -U -r -m -p -f mount -t proc x /proc"), 0);
}

static void cannot_touch_the_holder(void **state)
{
	struct place *place = started(state);

	assert_int_not_equal(shell(place, "cat /proc/1/environ"), 0);
	assert_int_not_equal(
		shell(place, "cd /proc/1/fd/ && for fd in *; do test ! -e $fd || exit 0; "
			     "done; false"),
		0);
	assert_int_not_equal(shell(place, "ls /proc/1/root/"), 0);
	assert_int_not_equal(shell(place, "cat /proc/1/mem"), 0);
	(void)shell(place, "kill -9 1; kill -STOP 1; kill -SEGV 1");
	assert_prints(place, "echo alive", "alive\n");
}

static void resolv_conf_is_a_copy_of_the_hosts(void **state)
{
	struct place *place = *state;
	char host[OUTPUT_MAX] = "";
	owned_fd int fd = open("/etc/resolv.conf", O_RDONLY | O_CLOEXEC);

	skip_unless_possible();
	if (fd < 0) {
		printf("# skip: this machine has no /etc/resolv.conf\n");
		skip();
	}
	assert_true(read(fd, host, sizeof(host) - 1) >= 0);
	make_tree(place->root);
	/* A dangling link is covered as well. */
	assert_int_equal(unlinkat(place->root, "etc/resolv.conf", 0), 0);
	assert_int_equal(symlinkat("../run/none/stub.conf", place->root, "etc/resolv.conf"), 0);
	struct sandbox_plan plan = plan_of(place);
	ok(place, sandbox_start(&plan, &place->sandbox, &place->err));
	assert_prints(place, "cat /etc/resolv.conf", host);
	assert_prints(place, "ls /dev/.r*", "ls: /dev/.r*: No such file or directory\n");
	assert_int_equal(readlinkat(place->root, "etc/resolv.conf", host, sizeof(host)), 21);
}

static void has_devices_and_terminals(void **state)
{
	struct place *place = started(state);

	assert_int_equal(shell(place, "head -c 3 /dev/zero | wc -c; echo x >/dev/null"), 0);
	assert_string_equal(place->out, "3\n");
	assert_int_equal(
		shell(place, "head -c 3 /dev/urandom >/dev/shm/x && echo ok >/dev/stdout"), 0);
	assert_int_not_equal(shell(place, "echo x >/dev/full"), 0);
	assert_prints(place, "ls /dev | grep -v fuse",
		"fd\nfull\nnull\nptmx\npts\nrandom\nshm\nstderr\nstdin\nstdout\ntty\nurandom\nzero"
		"\n");
}

static void has_a_network_of_its_own(void **state)
{
	struct place *place = *state;

	skip_unless_possible();
	make_tree(place->root);
	struct sandbox_plan plan = plan_of(place);
	plan.no_net = true;
	plan.hostname = "alone";
	ok(place, sandbox_start(&plan, &place->sandbox, &place->err));
	assert_prints(place, "ls /sys/class/net; hostname", "lo\nalone\n");
	assert_prints(place, "ip addr show lo | grep -c 127.0.0.1", "1\n");
	/* A program can use any port of its own loopback device. */
	assert_prints(place,
		"(while :; do nc -l -p 80 >>/tmp/got; done) & "
		"until test -s /tmp/got; do echo hello | nc -w 1 127.0.0.1 80; usleep 1000; done "
		"2>&-; "
		"head -n 1 /tmp/got",
		"hello\n");
}

/* ----------------------------------------------------------------- its trees */

/* The tree is hostile: its links lead to places outside. */
static void is_not_led_out_by_links(void **state)
{
	struct place *place = *state;

	skip_unless_possible();
	make_tree(place->root);
	assert_int_equal(mkdirat(place->fd, "victim", 0755), 0);
	put(place->fd, "victim/resolv.conf", "victim", 0644);
	static const char *const names[] = { "dev", "proc", "sys", "etc" };
	for (size_t i = 0; i < 4; i++) {
		char old[16];

		snprintf(old, sizeof(old), "old-%s", names[i]);
		assert_int_equal(renameat(place->root, names[i], place->root, old), 0);
		assert_int_equal(symlinkat("../victim", place->root, names[i]), 0);
	}
	struct sandbox_plan plan = plan_of(place);
	ok(place, sandbox_start(&plan, &place->sandbox, &place->err));
	assert_non_null(strstr(place->sandbox.degraded, "no /dev"));
	assert_non_null(strstr(place->sandbox.degraded, "no /proc"));
	assert_non_null(strstr(place->sandbox.degraded, "no /sys"));
	assert_int_equal(shell(place, "cat /marker"), 0);
	owned_fd int victim = openat(place->fd, "victim", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(at_holds_only(victim, "resolv.conf", &place->err), 1);
}

static void makes_nothing_in_the_tree(void **state)
{
	struct place *place = *state;
	const char *const argv[] = { "/busybox", "true", NULL };
	struct sandbox_command command = { .argv = argv, .env = plain_env };

	skip_unless_possible();
	assert_int_equal(linkat(AT_FDCWD, world.busybox, place->root, "busybox", 0), 0);
	struct sandbox_plan plan = plan_of(place);
	ok(place, sandbox_start(&plan, &place->sandbox, &place->err));
	assert_non_null(strstr(place->sandbox.degraded, "no /proc"));
	ok(place, run_command(place, &command));
	assert_int_equal(place->result.status, 0);
	assert_int_equal(at_holds_only(place->root, "busybox", &place->err), 1);
	/* Without /proc the processes cannot be counted. */
	assert_int_equal(sandbox_count(&place->sandbox, &place->err), -ERR_UNSUPPORTED);
}

static void start_overlay(struct place *place, const char *const *lower, size_t n)
{
	struct sandbox_plan plan = plan_of(place);

	plan.root = (struct sandbox_root){
		.dir = place->fd,
		.lower = lower,
		.n_lower = n,
		.upper = "upper",
		.work = "work",
	};
	assert_int_equal(mkdirat(place->fd, "upper", 0755), 0);
	assert_int_equal(mkdirat(place->fd, "work", 0755), 0);
	ok(place, sandbox_start(&plan, &place->sandbox, &place->err));
}

static void stacks_layers(void **state)
{
	struct place *place = *state;
	const char *const lower[] = { "a:b,c\\d", "root" };

	skip_unless_possible();
	make_tree(place->root);
	put(place->root, "hidden", "below", 0644);
	assert_int_equal(mkdirat(place->fd, lower[0], 0755), 0);
	owned_fd int top = openat(place->fd, lower[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put(top, "hidden", "above", 0644);
	start_overlay(place, lower, 2);
	assert_prints(place, "cat /hidden; echo; cat /marker", "above\ninside\n");
	assert_int_equal(shell(place, "rm /marker; echo new >/new; mkdir /d; mv /tmp /tmp2"), 0);
	assert_true(there(place->fd, "upper/new"));
	assert_true(there(place->root, "marker"));
	struct stat st;
	assert_int_equal(fstatat(place->fd, "upper/marker", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISCHR(st.st_mode) && st.st_rdev == 0);
}

/*
 * The names of the layers are too long for a single option.  Older kernels need another way for
 * them.
 */
static void stacks_layers_with_long_names(void **state)
{
	struct place *place = *state;
	char name[NAME_MAX + 1], path[3 * NAME_MAX];
	const char *const lower[] = { path, "root" };

	skip_unless_possible();
	make_tree(place->root);
	memset(name, 'n', 200);
	snprintf(name + 200, sizeof(name) - 200, ":,\\");
	snprintf(path, sizeof(path), "%s/%s", name, name);
	assert_int_equal(mkdirat(place->fd, name, 0755), 0);
	assert_int_equal(mkdirat(place->fd, path, 0755), 0);
	owned_fd int top = openat(place->fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put(top, "long", "found\n", 0644);
	start_overlay(place, lower, 2);
	assert_prints(place, "cat /long /marker", "found\ninside\n");
	assert_int_equal(shell(place, "echo x >/new"), 0);
	assert_true(there(place->fd, "upper/new"));
}

/* The names fit into the page that older kernels have for all options. */
static void stacks_many_layers(void **state)
{
	enum { LAYERS = 128, NAME_SIZE = 32 };
	static char names[LAYERS][NAME_SIZE];
	const char *lower[LAYERS + 1];
	struct place *place = *state;

	skip_unless_possible();
	make_tree(place->root);
	assert_int_equal(mkdirat(place->fd, "layers", 0755), 0);
	for (int i = 0; i < LAYERS; i++) {
		snprintf(names[i], NAME_SIZE, "layers/%08d", i);
		lower[i] = names[i];
		assert_int_equal(mkdirat(place->fd, names[i], 0755), 0);
		owned_fd int layer =
			openat(place->fd, names[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		put(layer, names[i] + strlen("layers/"), "here\n", 0644);
		put(layer, "which", names[i], 0644);
	}
	lower[LAYERS] = "root";
	start_overlay(place, lower, LAYERS + 1);
	assert_prints(place, "cat /which; echo; cat /00000127 /marker; ls -d /0* | wc -l",
		"layers/00000000\nhere\ninside\n128\n");
	assert_int_equal(shell(place, "rm /00000127; echo x >/which"), 0);
	assert_prints(place, "cat /which; ls -d /0* | wc -l", "x\n127\n");
	assert_true(there(place->fd, "upper/which"));
}

static void says_why_an_overlay_cannot_be(void **state)
{
	struct place *place = *state;
	const char *const lower[] = { "missing", "root" };
	struct sandbox_plan plan = plan_of(place);

	skip_unless_possible();
	plan.root = (struct sandbox_root){
		.dir = place->fd,
		.lower = lower,
		.n_lower = 2,
		.upper = "upper",
		.work = "work",
	};
	assert_true(sandbox_start(&plan, &place->sandbox, &place->err) < 0);
	assert_non_null(strstr(place->err.text, "mount overlay"));
	assert_int_equal(sandbox_attach(place->run, "main", &place->sandbox, &place->err), 0);
}

static void can_be_read_only(void **state)
{
	struct place *place = *state;

	skip_unless_possible();
	make_tree(place->root);
	struct sandbox_plan plan = plan_of(place);
	plan.root.read_only = true;
	ok(place, sandbox_start(&plan, &place->sandbox, &place->err));
	assert_int_not_equal(shell(place, "echo x >/new"), 0);
	assert_int_equal(shell(place, "mount -o remount,rw / || echo x >/dev/shm/x"), 0);
	assert_int_not_equal(shell(place, "echo x >/new"), 0);
}

static void its_root_can_be_read_from_outside(void **state)
{
	struct place *place = started(state);

	assert_int_equal(shell(place, "mount -t tmpfs none /tmp; echo x >/seen"), 0);
	owned_fd int root = sandbox_open_root(&place->sandbox, &place->err);
	assert_true(root >= 0);
	assert_true(there(root, "seen"));
	assert_true(there(root, "dev/ptmx"));
}

/* -------------------------------------------------------------- its lifetime */

static bool attached(struct place *place)
{
	struct sandbox again = SANDBOX_INIT;
	int r = sandbox_attach(place->run, "main", &again, &place->err);

	sandbox_detach(&again);
	ok(place, r);
	return r;
}

static void ends_when_nothing_is_left(void **state)
{
	struct place *place = started(state);

	assert_int_equal(sandbox_count(&place->sandbox, &place->err), 0);
	sandbox_detach(&place->sandbox);
	assert_soon(!attached(place));
	/* The socket is stale then, but does not prevent a new start. */
	assert_true(there(place->run, "main.holder"));
	struct sandbox_plan plan = plan_of(place);
	ok(place, sandbox_start(&plan, &place->sandbox, &place->err));
	assert_true(attached(place));
	struct stat st;
	assert_int_equal(fstatat(place->run, "main.holder", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

static void background_jobs_keep_it(void **state)
{
	struct place *place = started(state);

	assert_int_equal(shell(place, "until test -e /stop; do usleep 1000; done &"), 0);
	assert_true(sandbox_count(&place->sandbox, &place->err) >= 1);
	sandbox_detach(&place->sandbox);
	sleep_ms(100);
	assert_int_equal(sandbox_attach(place->run, "main", &place->sandbox, &place->err), 1);
	assert_true(sandbox_count(&place->sandbox, &place->err) >= 1);
	/* The namespaces are the same, so the later strata process sees the job. */
	assert_int_equal(shell(place, "ps | grep -q [u]sleep || ps | grep -q 'test -e'"), 0);
	sandbox_detach(&place->sandbox);
	put(place->root, "stop", "", 0644);
	assert_soon(!attached(place));
}

static void killing_it_kills_everything(void **state)
{
	struct place *place = started(state);

	assert_int_equal(
		shell(place, "setsid sh -c 'while :; do echo x >>/log; usleep 1000; done' &"), 0);
	assert_soon(there(place->root, "log"));
	ok(place, sandbox_kill(&place->sandbox, "test", &place->err));
	assert_false(attached(place));
	struct stat before, after;
	assert_int_equal(fstatat(place->root, "log", &before, 0), 0);
	sleep_ms(50);
	assert_int_equal(fstatat(place->root, "log", &after, 0), 0);
	assert_int_equal(before.st_size, after.st_size);
}

static off_t size_of(struct place *place, const char *name)
{
	struct stat st = { 0 };

	(void)fstatat(place->root, name, &st, 0);
	return st.st_size;
}

static bool grows(struct place *place, const char *name)
{
	off_t before = size_of(place, name);

	sleep_ms(100);
	return size_of(place, name) > before;
}

/*
 * In a child: start a sandbox with a job in the background.  If freeze is set, freeze it.  Then
 * wait.
 */
static pid_t other_strata(struct place *place, bool freeze)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	struct sandbox_plan plan = plan_of(place);
	const char *const argv[] = { "sh", "-c",
		"while :; do echo x >>/log; usleep 1000; done & until test -s /log; do usleep "
		"1000; done",
		NULL };
	struct sandbox_command command = { .argv = argv, .env = plain_env };
	if (sandbox_start(&plan, &place->sandbox, &place->err) < 0 ||
		sandbox_run(&place->sandbox, &command, &place->result, &place->err) < 0 ||
		(freeze && sandbox_freeze(&place->sandbox, &place->err) < 0))
		_exit(1);
	put(place->root, "ready", "", 0644);
	pause();
	_exit(1);
}

static void who_dies_attached_takes_it_along(void **state)
{
	struct place *place = *state;

	skip_unless_possible();
	make_tree(place->root);
	for (int freeze = 0; freeze < 2; freeze++) {
		pid_t pid = other_strata(place, freeze);

		assert_soon(there(place->root, "ready"));
		assert_int_equal(grows(place, "log"), !freeze);
		/* This is the same when a second strata process is attached. */
		assert_int_equal(
			sandbox_attach(place->run, "main", &place->sandbox, &place->err), 1);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		assert_soon(!attached(place));
		sandbox_detach(&place->sandbox);
		assert_soon(!grows(place, "log"));
		assert_int_equal(unlinkat(place->root, "ready", 0), 0);
		assert_int_equal(unlinkat(place->root, "log", 0), 0);
	}
}

/*
 * A strata process that has only frozen the sandbox, as a commit does, has started no program in
 * it.  When it is killed, the sandbox goes on.
 */
static void who_only_froze_it_just_leaves(void **state)
{
	struct place *place = started(state);
	pid_t pid;

	assert_int_equal(shell(place, "while :; do echo x >>/log; usleep 500; done &"), 0);
	assert_soon(there(place->root, "log"));
	pid = fork();
	if (pid == 0) {
		struct sandbox own = SANDBOX_INIT;

		if (sandbox_attach(place->run, "main", &own, &place->err) != 1 ||
			sandbox_freeze(&own, &place->err) < 0)
			_exit(1);
		put(place->root, "ready", "", 0644);
		pause();
	}
	assert_soon(there(place->root, "ready"));
	assert_false(grows(place, "log"));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_soon(grows(place, "log"));
}

/* Kill the holder itself. */
static void its_end_is_the_end_of_all(void **state)
{
	struct place *place = started(state);

	assert_int_equal(
		shell(place, "setsid sh -c 'while :; do echo x >>/log; usleep 500; done' &"), 0);
	assert_soon(there(place->root, "log"));
	owned_fd int jobs = fcntl(place->sandbox.fds[SANDBOX_JOBS], F_DUPFD_CLOEXEC, 3);
	assert_int_equal(
		pidfd_send_signal(place->sandbox.fds[SANDBOX_HOLDER], SIGKILL, NULL, 0), 0);
	assert_soon(!attached(place));
	/* A holder that dies closes its socket first, and kills the other processes last. */
	assert_soon(!grows(place, "log"));
	assert_int_equal(sandbox_count(&place->sandbox, &place->err), -ERR_NOT_FOUND);
	sandbox_detach(&place->sandbox);
	/* Its cgroup was removed, too. */
	struct stat st;
	assert_true(jobs < 0 || fstatat(jobs, "cgroup.procs", &st, 0) < 0);
	struct sandbox_plan plan = plan_of(place);
	ok(place, sandbox_start(&plan, &place->sandbox, &place->err));
	assert_prints(place, "echo again", "again\n");
}

static void others_are_told_who_ended_it(void **state)
{
	struct place *place = started(state);
	struct sandbox other = SANDBOX_INIT;

	assert_int_equal(sandbox_attach(place->run, "main", &other, &place->err), 1);
	ok(place, sandbox_kill(&place->sandbox, "checkout", &place->err));
	assert_int_equal(sandbox_count(&other, &place->err), -ERR_NOT_FOUND);
	assert_string_equal(place->err.text,
		"count processes: the sandbox has ended: 'strata checkout' ended all that ran in "
		"it");
	sandbox_detach(&other);
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

#define MANY 300 /* more connections than an ordinary queue has room for */

/* A holder that was stopped by SIGSTOP exists but does not answer. */
static void one_that_is_stopped_can_be_killed(void **state)
{
	struct place *place = started(state);
	int holder = place->sandbox.fds[SANDBOX_HOLDER];
	struct sandbox mute = SANDBOX_INIT;
	char want[64];

	assert_int_equal(shell(place, "while :; do echo x >>/log; usleep 1000; done &"), 0);
	snprintf(want, sizeof(want), "process %d (strata-holder)", (int)place->sandbox.pid);
	assert_int_equal(pidfd_send_signal(holder, SIGSTOP, NULL, 0), 0);
	long began = now_ms();
	assert_int_equal(sandbox_attach(place->run, "main", &mute, &place->err), -ERR_SYSTEM);
	assert_true(now_ms() - began < 2000);
	assert_non_null(strstr(place->err.text, want));
	assert_non_null(strstr(place->err.text, "stopped"));
	assert_non_null(strstr(place->err.hint, "kill -CONT"));
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(sandbox_reach(place->run, "main", 1, &mute, &place->err), 1);
		assert_int_equal(mute.mute.code, ERR_SYSTEM);
		assert_int_equal(mute.pid, place->sandbox.pid);
		sandbox_detach(&mute);
	}
	/* A strata process that was attached before gets the same error. */
	assert_int_equal(sandbox_count(&place->sandbox, &place->err), -ERR_SYSTEM);
	assert_non_null(strstr(place->err.text, want));
	assert_true(now_ms() - began < 10000);
	assert_int_equal(sandbox_reach(place->run, "main", 1, &mute, &place->err), 1);
	assert_true(sandbox_open_root(&mute, &place->err) < 0);
	ok(place, sandbox_kill(&mute, "test", &place->err));
	assert_false(attached(place));
	assert_false(grows(place, "log"));
}

/* A holder that continues forgets the clients that have detached meanwhile. */
static void one_that_was_stopped_goes_on(void **state)
{
	struct place *place = started(state);
	int holder = place->sandbox.fds[SANDBOX_HOLDER];
	struct sandbox mute = SANDBOX_INIT;

	assert_int_equal(pidfd_send_signal(holder, SIGSTOP, NULL, 0), 0);
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(sandbox_reach(place->run, "main", 1, &mute, &place->err), 1);
		sandbox_detach(&mute);
	}
	assert_int_equal(pidfd_send_signal(holder, SIGCONT, NULL, 0), 0);
	assert_true(attached(place));
	assert_prints(place, "echo again", "again\n");
}

static void signals_to_it_reach_the_inside(void **state)
{
	struct place *place = started(state);

	assert_int_equal(
		shell(place, "(trap 'echo x >/got; exit' HUP; while :; do usleep 1000; done) &"),
		0);
	sleep_ms(50);
	assert_int_equal(pidfd_send_signal(place->sandbox.fds[SANDBOX_HOLDER], SIGHUP, NULL, 0), 0);
	assert_soon(there(place->root, "got"));
}

/* ------------------------------------------------------------------- freezing */

/* a shell, its child, a process in a session of its own, and a stopped one */
static const char writers[] =
	"while :; do echo x >>/one; usleep 500; done &"
	"setsid sh -c 'while :; do echo x >>/two; usleep 500; done' &"
	"(while :; do echo x >>/three; usleep 500; done) & echo $! >/pid;"
	"until test -s /one && test -s /two && test -s /three; do usleep 1000; done;"
	"p=$(cat /pid); kill -STOP $p; until grep -q State:.T /proc/$p/status; do usleep 1000; "
	"done";

static void freezes_and_thaws(struct place *place)
{
	for (int round = 0; round < 5; round++) {
		ok(place, sandbox_freeze(&place->sandbox, &place->err));
		assert_false(grows(place, "one"));
		assert_false(grows(place, "two"));
		ok(place, sandbox_thaw(&place->sandbox, &place->err));
		assert_soon(grows(place, "one"));
		assert_soon(grows(place, "two"));
		/* A process that was stopped before stays stopped. */
		assert_false(grows(place, "three"));
	}
}

static void freezes_what_runs(void **state)
{
	struct place *place = started(state);

	assert_int_equal(shell(place, writers), 0);
	freezes_and_thaws(place);
	assert_int_equal(shell(place, "kill -CONT $(cat /pid)"), 0);
	assert_soon(grows(place, "three"));
}

static void leaving_thaws(void **state)
{
	struct place *place = started(state);

	assert_int_equal(shell(place, writers), 0);
	ok(place, sandbox_freeze(&place->sandbox, &place->err));
	sandbox_detach(&place->sandbox);
	assert_soon(grows(place, "one"));
	assert_int_equal(sandbox_attach(place->run, "main", &place->sandbox, &place->err), 1);
	ok(place, sandbox_freeze(&place->sandbox, &place->err));
	/* Frozen processes can be killed. */
	ok(place, sandbox_kill(&place->sandbox, "test", &place->err));
	assert_false(grows(place, "one"));
}

/* Two files that are written one after the other are consistent in every freeze. */
static void a_frozen_moment_is_not_torn(void **state)
{
	struct place *place = started(state);

	assert_int_equal(shell(place, "i=0; while :; do i=$((i+1)); echo $i >/a.new; mv /a.new /a; "
				      "echo $i >/b.new; mv /b.new /b; done & "
				      "until test -s /b; do usleep 1000; done"),
		0);
	for (int round = 0; round < 50; round++) {
		char a[32] = "", b[32] = "";

		ok(place, sandbox_freeze(&place->sandbox, &place->err));
		for (int look = 0; look < 2; look++) {
			owned_fd int fa = openat(place->root, "a", O_RDONLY | O_CLOEXEC);
			owned_fd int fb = openat(place->root, "b", O_RDONLY | O_CLOEXEC);
			char was_a[32], was_b[32];

			memcpy(was_a, a, sizeof(a));
			memcpy(was_b, b, sizeof(b));
			assert_true(
				read(fa, a, sizeof(a) - 1) > 0 && read(fb, b, sizeof(b) - 1) > 0);
			if (look) {
				assert_string_equal(a, was_a);
				assert_string_equal(b, was_b);
			}
		}
		assert_in_range(atoi(a) - atoi(b), 0, 1);
		ok(place, sandbox_thaw(&place->sandbox, &place->err));
	}
}

/* A command that is started while the sandbox is frozen waits for the thaw. */
static void nobody_enters_while_frozen(void **state)
{
	struct place *place = started(state);
	struct sandbox other = SANDBOX_INIT;

	ok(place, sandbox_freeze(&place->sandbox, &place->err));
	pid_t pid = fork();
	if (pid == 0) {
		const char *const argv[] = { "touch", "/late", NULL };
		struct sandbox_command command = { .argv = argv, .env = plain_env };

		if (sandbox_attach(place->run, "main", &other, &place->err) != 1 ||
			sandbox_run(&other, &command, &place->result, &place->err) < 0)
			_exit(1);
		sandbox_detach(&other);
		_exit(place->result.status);
	}
	sleep_ms(100);
	assert_false(there(place->root, "late"));
	ok(place, sandbox_thaw(&place->sandbox, &place->err));
	int status = -1;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(there(place->root, "late"));
}

/* ----------------------------------------------------------------- attachment */

static void nobody_is_there_before_it_starts(void **state)
{
	struct place *place = *state;

	skip_unless_possible();
	assert_int_equal(sandbox_attach(place->run, "main", &place->sandbox, &place->err), 0);
	assert_string_equal(place->err.text, "");
}

static void speaks_only_its_own_protocol(void **state)
{
	struct place *place = *state;
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	skip_unless_possible();
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/main.holder",
		place->run);
	owned_fd int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 1), 0);
	pid_t pid = fork();
	if (pid == 0) {
		int fd = accept(listener, NULL, NULL);

		_exit(fd < 0 || send(fd, "hello", 5, 0) != 5 ||
			recv(fd, address.sun_path, 1, 0) < 0);
	}
	assert_int_equal(
		sandbox_attach(place->run, "main", &place->sandbox, &place->err), -ERR_UNSUPPORTED);
	assert_non_null(strstr(place->err.text, "another version"));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static int sandbox_tests(void)
{
	const struct CMUnitTest tests[] = {
		place_test(its_root_is_the_tree),
		place_test(sees_no_process_of_the_host),
		place_test(sees_no_mount_beyond_the_plan),
		place_test(has_no_inherited_descriptor),
		place_test(has_only_the_environment_given),
		place_test(protects_what_is_the_hosts),
		place_test(root_of_the_host_is_covered),
		place_test(root_has_ids_of_its_own),
		place_test(cannot_touch_the_holder),
		place_test(resolv_conf_is_a_copy_of_the_hosts),
		place_test(has_devices_and_terminals),
		place_test(has_a_network_of_its_own),
		place_test(is_not_led_out_by_links),
		place_test(makes_nothing_in_the_tree),
		place_test(stacks_layers),
		place_test(stacks_layers_with_long_names),
		place_test(stacks_many_layers),
		place_test(says_why_an_overlay_cannot_be),
		place_test(can_be_read_only),
		place_test(its_root_can_be_read_from_outside),
		place_test(ends_when_nothing_is_left),
		place_test(background_jobs_keep_it),
		place_test(killing_it_kills_everything),
		place_test(who_dies_attached_takes_it_along),
		place_test(who_only_froze_it_just_leaves),
		place_test(its_end_is_the_end_of_all),
		place_test(others_are_told_who_ended_it),
		place_test(one_that_is_stopped_can_be_killed),
		place_test(one_that_was_stopped_goes_on),
		place_test(signals_to_it_reach_the_inside),
		place_test(freezes_what_runs),
		place_test(leaving_thaws),
		place_test(a_frozen_moment_is_not_torn),
		place_test(nobody_enters_while_frozen),
		place_test(nobody_is_there_before_it_starts),
		place_test(speaks_only_its_own_protocol),
	};

	return cmocka_run_group_tests_name("sandbox", tests, NULL, NULL);
}

int main(void)
{
	return run_in_both_worlds(sandbox_tests);
}
