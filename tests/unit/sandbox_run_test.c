/* sandbox_run: commands, their results, and their terminals. */
#include "sandbox_fixture.h"

#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <termios.h>

#include "sandbox/holder.h"
#include "sandbox/inside.h"
#include "sandbox/message.h"

/* -------------------------------------------------------------------- statuses */

static int run_argv(struct place *place, const char *first, const char *second)
{
	const char *const argv[] = { first, second, NULL };
	struct sandbox_command command = { .argv = argv, .env = plain_env };

	return run_command(place, &command);
}

static void says_the_status_as_a_shell_does(void **state)
{
	struct place *place = started(state);

	assert_int_equal(shell(place, "exit 7"), 7);
	assert_int_equal(place->result.signal, 0);
	assert_int_equal(place->result.failure, 0);
	assert_true(place->result.duration_ns > 0);
	assert_int_equal(shell(place, "kill -9 $$"), 137);
	assert_int_equal(place->result.signal, SIGKILL);
	assert_int_equal(shell(place, "exit 300"), 44);
}

static void knows_what_it_cannot_run(void **state)
{
	struct place *place = started(state);

	assert_int_equal(mkdirat(place->root, "bin/directory", 0755), 0);
	put(place->root, "bin/plain", "text", 0644);
	put(place->root, "bin/orphan", "#! /usr/bin/perl -w\n", 0755);
	put(place->root, "bin/script", "echo from a script $1\n", 0755);
	static const struct {
		const char *command;
		int failure;
		const char *text;
	} cases[] = {
		{ "missing", 127, "no program 'missing'" },
		{ "/bin/missing", 127, "no program '/bin/missing'" },
		{ "bin/sh/no", 127, "no program 'bin/sh/no'" },
		{ "orphan", 127, "the interpreter of '/bin/orphan' is missing: '/usr/bin/perl'" },
		{ "/bin/orphan", 127, "the interpreter of '/bin/orphan'" },
		{ "plain", 126, "execute '/bin/plain': Permission denied" },
		{ "/bin/directory", 126, "execute '/bin/directory': Permission denied" },
		{ "", 127, "no command" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(run_argv(place, cases[i].command, NULL) < 0);
		assert_int_equal(place->result.failure, cases[i].failure);
		if (!strstr(place->err.text, cases[i].text))
			fail_msg("'%s': %s", cases[i].command, place->err.text);
		assert_string_equal(place->err.hint, "");
	}
	/* A file of unknown format is executed as a script. */
	ok(place, run_argv(place, "script", "it"));
	assert_string_equal(place->out, "from a script it\n");
}

/* The program is from this machine, and the tree does not have its loader. */
static void names_a_missing_loader(void **state)
{
	struct place *place = started(state);
	owned_fd int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	static char part[1 << 16];
	ssize_t n = read(from, part, sizeof(part));

	assert_true(n > 0);
	owned_fd int to = openat(place->root, "bin/dynamic", O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	for (; n > 0; n = read(from, part, sizeof(part)))
		assert_int_equal(write(to, part, (size_t)n), n);
	close_fd(&to);
	assert_true(run_argv(place, "dynamic", NULL) < 0);
	assert_int_equal(place->result.failure, 127);
	assert_non_null(
		strstr(place->err.text, "the interpreter of '/bin/dynamic' is missing: '/lib"));
}

static void says_that_a_tree_is_no_root(void **state)
{
	struct place *place = *state;

	skip_unless_possible();
	struct sandbox_plan plan = plan_of(place);
	ok(place, sandbox_start(&plan, &place->sandbox, &place->err));
	assert_true(run_argv(place, "ls", NULL) < 0);
	assert_int_equal(place->result.failure, 127);
	assert_non_null(strstr(place->err.hint, "no root file system"));
}

static void begins_where_it_is_told(void **state)
{
	struct place *place = started(state);
	const char *const argv[] = { "pwd", NULL };
	struct sandbox_command command = { .argv = argv, .env = plain_env, .cwd = "/etc" };

	ok(place, run_command(place, &command));
	assert_string_equal(place->out, "/etc\n");
	command.cwd = "/none";
	assert_true(run_command(place, &command) < 0);
	assert_int_equal(place->result.failure, 125);
	assert_non_null(strstr(place->err.text, "'/none'"));
}

static void starts_from_a_clean_slate(void **state)
{
	struct place *place = started(state);
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGUSR2, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	(void)umask(077);
	assert_prints(place,
		"umask; grep -E '^Sig(Blk|Ign)' /proc/self/status | grep -v 0000000000000000",
		"0022\n");
	(void)umask(022);
	signal(SIGUSR2, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* ------------------------------------------------------------------------ users */

static int as_user(struct place *place, const char *user)
{
	const char *const argv[] = { "sh", "-c",
		"id -u; id -g; id -G; grep CapEff /proc/self/status", NULL };
	struct sandbox_command command = { .argv = argv, .env = plain_env, .user = user };

	return run_command(place, &command);
}

static void becomes_a_user_of_the_tree(void **state)
{
	struct place *place = started(state);

	assert_true(as_user(place, "nobody-knows") < 0);
	assert_int_equal(place->result.failure, 125);
	assert_non_null(strstr(place->err.text, "no user 'nobody-knows'"));
	if (!is_real_root()) {
		/* The sandbox has only one id. */
		assert_true(as_user(place, "agent") < 0);
		assert_non_null(strstr(place->err.text, "no id 1000"));
		assert_non_null(strstr(place->err.hint, "/etc/subuid"));
		return;
	}
	ok(place, as_user(place, "agent"));
	assert_string_equal(place->out, "1000\n1001\n1001 2000\nCapEff:\t0000000000000000\n");
	ok(place, as_user(place, "1000"));
	assert_string_equal(place->out, "1000\n1001\n1001 2000\nCapEff:\t0000000000000000\n");
	ok(place, as_user(place, "4242"));
	assert_string_equal(place->out, "4242\n4242\n4242\nCapEff:\t0000000000000000\n");
	assert_true(as_user(place, "4294967295") < 0);
}

static void does_not_wait_for_a_pipe_in_place_of_passwd(void **state)
{
	struct place *place = started(state);

	assert_int_equal(unlinkat(place->root, "etc/passwd", 0), 0);
	assert_int_equal(mkfifoat(place->root, "etc/passwd", 0644), 0);
	assert_true(as_user(place, "agent") < 0);
}

/* ---------------------------------------------------------------------- time, signals */

static int timed(struct place *place, const char *line, int64_t timeout_ms)
{
	const char *const argv[] = { "sh", "-c", line, NULL };
	struct sandbox_command command = {
		.argv = argv,
		.env = plain_env,
		.timeout_ms = timeout_ms,
	};

	ok(place, run_command(place, &command));
	return place->result.status;
}

/* As 'timed', but with a timeout that is long enough for the command to print "ready". */
static int timed_when_ready(struct place *place, const char *line)
{
	int64_t timeout_ms = 50;
	int status;

	do {
		timeout_ms *= 2;
		status = timed(place, line, timeout_ms);
		assert_true(place->result.timed_out);
	} while (!strstr(place->out, "ready") && timeout_ms < 20000);
	return status;
}

static void ends_in_time(void **state)
{
	struct place *place = started(state);

	assert_int_equal(timed(place, "true", 60000), 0);
	assert_false(place->result.timed_out);
	assert_int_equal(timed(place, "exec sleep 60", 50), 128 + SIGTERM);
	assert_true(place->result.timed_out);
	/* A command that handles SIGTERM can clean up. */
	int status = timed_when_ready(
		place, "trap 'exit 3' TERM; echo ready; while :; do usleep 1000; done");
	assert_int_equal(status, 3);
	/* A stopped command gets SIGTERM, too. */
	assert_int_equal(timed_when_ready(place, "echo ready; kill -STOP $$"), 128 + SIGTERM);
}

static void kills_what_does_not_end(void **state)
{
	struct place *place = started(state);

	/* The command ignores SIGTERM, and its children are in process groups of their own. */
	int status = timed_when_ready(place,
		"trap '' TERM; set -m; while :; do usleep 1000; done & echo ready; "
		"while :; do usleep 1000; done");
	assert_int_equal(status, 128 + SIGKILL);
	assert_true(place->result.duration_ns >= INT64_C(2000000000));
	assert_int_equal(sandbox_count(&place->sandbox, &place->err), 0);
}

/*
 * Two signals come before the command exists: one to pass on, and SIGUSR1, which asks for a third
 * signal.
 */
static void passes_all_early_signals_on(void **state)
{
	struct place *place = started(state);
	const union sigval go_on = { .sival_int = SIGCONT };
	sigset_t early, before;

	sigemptyset(&early);
	sigaddset(&early, SIGHUP);
	sigaddset(&early, SIGUSR1);
	assert_int_equal(sigprocmask(SIG_BLOCK, &early, &before), 0);
	assert_int_equal(raise(SIGHUP) | sigqueue(getpid(), SIGUSR1, go_on), 0);
	int status = shell(place, "exec sleep 5");
	assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
	assert_int_equal(status, 128 + SIGHUP);
}

static void passes_signals_on(void **state)
{
	struct place *place = started(state);
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		pid_t pid = fork();

		if (pid == 0) {
			while (!there(place->root, "up"))
				sleep_ms(5);
			kill(getppid(), signals[i]);
			_exit(0);
		}
		assert_int_equal(shell(place, "trap 'exit 42' INT TERM HUP QUIT; touch /up; "
					      "while :; do usleep 1000; done"),
			42);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		assert_int_equal(unlinkat(place->root, "up", 0), 0);
	}
}

static void does_not_pass_on_what_is_ignored(void **state)
{
	struct place *place = started(state);

	signal(SIGHUP, SIG_IGN);
	pid_t pid = fork();
	if (pid == 0) {
		while (!there(place->root, "up"))
			sleep_ms(5);
		kill(getppid(), SIGHUP);
		sleep_ms(50);
		put(place->root, "done", "", 0644);
		_exit(0);
	}
	assert_int_equal(
		shell(place, "touch /up; until test -e /done; do usleep 1000; done; exit 5"), 5);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	signal(SIGHUP, SIG_DFL);
}

/* In the process of a fake holder: take a command, and report that its number is 2. */
static void take_command(const int ends[2], int fds[INSIDE_FDS])
{
	struct holder_request request;
	struct holder_reply taken = { .result = 2 };

	close(ends[0]); /* so that this process notices when the strata process closes its end */
	if (message_receive(ends[1], &request, sizeof(request), fds, INSIDE_FDS, 5000) != 1 ||
		request.type != HOLDER_RUN ||
		message_send(ends[1], &taken, sizeof(taken), NULL, 0) < 0)
		_exit(1);
}

/*
 * Start a fake holder that takes a command and ends.  If tells is set, it sends the reason for its
 * end.
 */
static pid_t dying_holder(const int ends[2], bool tells)
{
	struct holder_reply last = { 0 };
	int fds[INSIDE_FDS]; /* stay open until this process ends */
	pid_t pid = fork();

	if (pid)
		return pid;
	take_command(ends, fds);
	last.result = err_set(&last.err, ERR_NOT_FOUND, "the reason");
	_exit(tells && message_send(ends[1], &last, sizeof(last), NULL, 0) < 0);
}

static void says_that_the_sandbox_has_ended(void **state)
{
	struct place *place = started(state);
	struct sandbox dying = place->sandbox;
	struct pollfd gone = { .fd = dying.fds[SANDBOX_HOLDER], .events = POLLIN };

	assert_int_equal(pidfd_send_signal(gone.fd, SIGKILL, NULL, 0), 0);
	assert_int_equal(poll(&gone, 1, 5000), 1);
	for (int told = 0; told < 2; told++) {
		int ends[2], status;

		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
		pid_t pid = dying_holder(ends, told);
		close(ends[1]);
		place->sandbox.connection = ends[0];
		assert_int_equal(run_argv(place, "true", NULL), -ERR_NOT_FOUND);
		assert_int_equal(place->result.failure, SANDBOX_FAILED);
		assert_true(place->result.ended);
		assert_string_equal(place->err.text, told ? "the reason" : "the sandbox has ended");
		close(ends[0]);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	place->sandbox = dying;
}

/* Start a fake holder whose command is killed by the signal before it was ready. */
static pid_t quick_holder(const int ends[2], int sig)
{
	const int connection = ends[1];
	struct holder_request request;
	int fds[INSIDE_FDS];
	pid_t pid = fork();

	if (pid)
		return pid;
	take_command(ends, fds);
	close(fds[INSIDE_REPORT]);
	if (write(fds[INSIDE_STATUS], &sig, sizeof(sig)) != (ssize_t)sizeof(sig))
		_exit(1);
	/* Wait until the strata process has detached. */
	close(fds[INSIDE_STATUS]);
	(void)message_receive(connection, &request, sizeof(request), NULL, 0, 5000);
	_exit(0);
}

static void a_signal_ends_a_command_on_its_way(void **state)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGKILL };
	struct place *place = started(state);
	int connection = place->sandbox.connection;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		int ends[2], status;

		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
		pid_t pid = quick_holder(ends, signals[i]);
		close(ends[1]);
		place->sandbox.connection = ends[0];
		assert_int_equal(run_argv(place, "true", NULL), 0);
		assert_int_equal(place->result.signal, signals[i]);
		assert_int_equal(place->result.status, 128 + signals[i]);
		close(ends[0]);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	place->sandbox.connection = connection;
}

/*
 * Start a fake holder whose command has no session yet, so that only a signal to the command itself
 * reaches it.
 */
static pid_t early_holder(const int ends[2])
{
	const int connection = ends[1];
	struct holder_request request;
	struct holder_reply killed = { 0 };
	int fds[INSIDE_FDS], status = SIGKILL;
	bool dead = false;
	pid_t pid = fork();

	if (pid)
		return pid;
	take_command(ends, fds);
	while (message_receive(connection, &request, sizeof(request), NULL, 0, 20000) == 1) {
		if (request.type == HOLDER_END_SESSION)
			(void)message_send(connection, &killed, sizeof(killed), NULL, 0);
		if (request.type != HOLDER_SIGNAL || request.number != SIGKILL || dead)
			continue;
		dead = write(fds[INSIDE_STATUS], &status, sizeof(status)) > 0;
		close(fds[INSIDE_REPORT]);
		close(fds[INSIDE_STATUS]);
	}
	_exit(dead ? 0 : 1);
}

static void kills_a_command_without_a_session(void **state)
{
	struct place *place = started(state);
	int connection = place->sandbox.connection;
	const union sigval kill_it = { .sival_int = SIGKILL };
	sigset_t early, before;
	int ends[2], status;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	pid_t pid = early_holder(ends);
	close(ends[1]);
	place->sandbox.connection = ends[0];
	sigemptyset(&early);
	sigaddset(&early, SIGUSR1);
	assert_int_equal(sigprocmask(SIG_BLOCK, &early, &before), 0);
	assert_int_equal(sigqueue(getpid(), SIGUSR1, kill_it), 0);
	assert_int_equal(run_argv(place, "true", NULL), 0);
	assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
	assert_int_equal(place->result.signal, SIGKILL);
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	place->sandbox.connection = connection;
}

/* Start a fake holder that kills as requested, but never reports the end of the command. */
static pid_t deaf_holder(const int ends[2])
{
	const int connection = ends[1];
	struct holder_request request;
	struct holder_reply killed = { 0 };
	int fds[INSIDE_FDS];
	pid_t pid = fork();

	if (pid)
		return pid;
	take_command(ends, fds);
	do {
		if (message_receive(connection, &request, sizeof(request), NULL, 0, 20000) != 1)
			_exit(1);
	} while (request.type != HOLDER_END_SESSION);
	if (message_send(connection, &killed, sizeof(killed), NULL, 0) < 0)
		_exit(1);
	(void)message_receive(connection, &request, sizeof(request), NULL, 0, 20000);
	_exit(0);
}

static void does_not_wait_for_the_dead(void **state)
{
	struct place *place = started(state);
	const char *const argv[] = { "true", NULL };
	struct sandbox_command command = { .argv = argv, .env = plain_env, .timeout_ms = 1 };
	int connection = place->sandbox.connection;
	int ends[2], status;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	pid_t pid = deaf_holder(ends);
	close(ends[1]);
	place->sandbox.connection = ends[0];
	assert_int_equal(run_command(place, &command), 0);
	assert_true(place->result.timed_out);
	assert_int_equal(place->result.signal, SIGKILL);
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	place->sandbox.connection = connection;
}

static void a_killed_strata_takes_its_command_along(void **state)
{
	struct place *place = started(state);
	pid_t pid = fork();

	if (pid == 0) {
		struct sandbox own = SANDBOX_INIT;
		const char *const argv[] = { "sh", "-c",
			"while :; do echo x >>/log; usleep 1000; done", NULL };
		struct sandbox_command command = { .argv = argv, .env = plain_env };

		if (sandbox_attach(place->run, "main", &own, &place->err) != 1)
			_exit(1);
		(void)sandbox_run(&own, &command, &place->result, &place->err);
		_exit(1);
	}
	assert_soon(there(place->root, "log"));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	struct stat before, after;
	struct sandbox again = SANDBOX_INIT;
	assert_soon(sandbox_attach(place->run, "main", &again, &place->err) == 0);
	assert_int_equal(fstatat(place->root, "log", &before, 0), 0);
	sleep_ms(50);
	assert_int_equal(fstatat(place->root, "log", &after, 0), 0);
	assert_int_equal(before.st_size, after.st_size);
}

static void passes_standard_input_through(void **state)
{
	struct place *place = started(state);
	owned_fd int before = dup(STDIN_FILENO);
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(write(ends[1], "through\n", 8), 8);
	close(ends[1]);
	(void)dup2(ends[0], STDIN_FILENO);
	close(ends[0]);
	assert_prints(place, "cat", "through\n");
	(void)dup2(before, STDIN_FILENO);
}

/* The status is known even if the caller of strata has ignored SIGCHLD. */
static void is_told_of_its_children(void **state)
{
	struct place *place = started(state);

	signal(SIGCHLD, SIG_IGN);
	assert_int_equal(shell(place, "exit 9"), 9);
	struct sigaction now;
	assert_int_equal(sigaction(SIGCHLD, NULL, &now), 0);
	assert_true(now.sa_handler == SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
}

/* -------------------------------------------------------------------- terminals */

struct user {
	int screen; /* master of the caller's terminal */
	pid_t strata;
	char seen[OUTPUT_MAX];
	size_t n;
};

/* Start a strata process at a terminal of 33 by 77.  It runs argv at a terminal of the sandbox. */
static void sit_down(struct place *place, struct user *user, const char *const *argv, int out)
{
	struct winsize size = { .ws_row = 33, .ws_col = 77 };

	memset(user, 0, sizeof(*user));
	user->strata = forkpty(&user->screen, NULL, NULL, &size);
	assert_true(user->strata >= 0);
	if (user->strata == 0) {
		struct sandbox own = SANDBOX_INIT;
		struct sandbox_command command = { .argv = argv, .env = plain_env, .tty = true };

		if (out >= 0)
			(void)dup2(out, STDOUT_FILENO);
		if (sandbox_attach(place->run, "main", &own, &place->err) != 1 ||
			sandbox_run(&own, &command, &place->result, &place->err) < 0) {
			dprintf(STDERR_FILENO, "%s\n", place->err.text);
			_exit(125);
		}
		sandbox_detach(&own);
		struct termios now;
		bool restored = tcgetattr(STDIN_FILENO, &now) == 0 && now.c_lflag & ICANON &&
				now.c_lflag & ECHO && now.c_oflag & OPOST;
		dprintf(STDERR_FILENO, "%s\n", restored ? "restored" : "still raw");
		_exit(place->result.status);
	}
}

static void type(struct user *user, const char *keys)
{
	assert_int_equal(write(user->screen, keys, strlen(keys)), strlen(keys));
}

static bool sees(struct user *user, const char *text)
{
	struct pollfd ready = { .fd = user->screen, .events = POLLIN };

	while (poll(&ready, 1, 0) > 0) {
		ssize_t n =
			read(user->screen, user->seen + user->n, sizeof(user->seen) - 1 - user->n);

		if (n <= 0)
			break;
		user->n += (size_t)n;
		user->seen[user->n] = '\0';
	}
	return strstr(user->seen, text);
}

#define assert_sees(user, text)                                                                    \
	do {                                                                                       \
		int left_ = 500;                                                                   \
		while (!sees(user, text) && --left_)                                               \
			sleep_ms(10);                                                              \
		if (!left_)                                                                        \
			fail_msg("no '%s' on the screen: %s", text, (user)->seen);                 \
	} while (0)

static int get_up(struct user *user)
{
	int status = -1;

	assert_sees(user, "restored");
	assert_int_equal(waitpid(user->strata, &status, 0), user->strata);
	close(user->screen);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void has_a_terminal_of_its_own(void **state)
{
	struct place *place = started(state);
	const char *const argv[] = { "sh", "-c",
		"tty; stty size; echo got it >/dev/tty; read x; echo \"<$x>\"; exit 6", NULL };
	struct user user;

	sit_down(place, &user, argv, -1);
	assert_sees(&user, "/dev/pts/0");
	assert_sees(&user, "33 77");
	assert_sees(&user, "got it");
	type(&user, "hello\r");
	assert_sees(&user, "<hello>");
	assert_int_equal(get_up(&user), 6);
}

static void follows_the_size_of_the_window(void **state)
{
	struct place *place = started(state);
	const char *const argv[] = { "sh", "-c",
		"trap 'stty size' WINCH; echo up; while :; do usleep 1000; test ! -e /stop || exit "
		"0; done",
		NULL };
	struct winsize size = { .ws_row = 12, .ws_col = 34 };
	struct user user;

	sit_down(place, &user, argv, -1);
	assert_sees(&user, "up");
	assert_int_equal(ioctl(user.screen, TIOCSWINSZ, &size), 0);
	assert_sees(&user, "12 34");
	put(place->root, "stop", "", 0644);
	assert_int_equal(get_up(&user), 0);
}

static void keys_go_inside(void **state)
{
	struct place *place = started(state);
	const char *const argv[] = { "sh", NULL };
	struct user user;

	sit_down(place, &user, argv, -1);
	assert_sees(&user, "# ");
	/* Ctrl-C ends the program, but not the shell. */
	type(&user, "sleep 100\r");
	sleep_ms(200);
	type(&user, "\003");
	type(&user, "echo status $?\r");
	assert_sees(&user, "status 130");
	/* Ctrl-Z stops the program, and the shell lists it as a job. */
	type(&user, "sleep 100\r");
	sleep_ms(200);
	type(&user, "\032");
	assert_sees(&user, "Stopped");
	type(&user, "fg; echo\r");
	sleep_ms(200);
	type(&user, "\003");
	type(&user, "echo done $((40 + 2))\r");
	assert_sees(&user, "done 42");
	/* Ctrl-D ends the shell, as soon as the shell reads its terminal. */
	for (int tries = 0; tries < 50 && !sees(&user, "restored"); tries++) {
		type(&user, "\004");
		sleep_ms(100);
	}
	assert_int_equal(get_up(&user), 0);
}

/* Only a descriptor that was a terminal is replaced by the new terminal. */
static void leaves_redirections_alone(void **state)
{
	struct place *place = started(state);
	const char *const argv[] = { "sh", "-c",
		"printf 'a\\nb\\n'; test -t 0 && test -t 2; echo $?", NULL };
	owned_fd int file = memfd_create("out", MFD_CLOEXEC);
	struct user user;
	char text[64] = "";

	sit_down(place, &user, argv, file);
	assert_int_equal(get_up(&user), 0);
	assert_true(pread(file, text, sizeof(text) - 1, 0) > 0);
	assert_string_equal(text, "a\nb\n0\n");
}

static void shows_all_a_command_printed(void **state)
{
	struct place *place = started(state);
	const char *const argv[] = { "sh", "-c",
		"i=0; while test $i -lt 2000; do i=$((i+1)); echo line $i; done; echo last words",
		NULL };
	struct user user;

	sit_down(place, &user, argv, -1);
	assert_sees(&user, "last words");
	assert_int_equal(get_up(&user), 0);
	assert_non_null(strstr(user.seen, "line 1\r"));
	assert_non_null(strstr(user.seen, "line 2000\r"));
}

static void restores_the_terminal_after_a_signal(void **state)
{
	struct place *place = started(state);
	const char *const argv[] = { "sh", "-c", "echo up; sleep 100", NULL };
	struct user user;

	sit_down(place, &user, argv, -1);
	assert_sees(&user, "up");
	kill(user.strata, SIGTERM);
	assert_int_equal(get_up(&user), 128 + SIGTERM);
}

static void gives_the_terminal_back_while_stopped(void **state)
{
	struct place *place = started(state);
	const char *const argv[] = { "sh", "-c", "echo up; read x; echo \"<$x>\"", NULL };
	struct termios now;
	struct user user;
	int status;

	sit_down(place, &user, argv, -1);
	assert_sees(&user, "up");
	kill(user.strata, SIGTSTP);
	assert_int_equal(waitpid(user.strata, &status, WUNTRACED), user.strata);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(tcgetattr(user.screen, &now), 0);
	assert_true(now.c_lflag & ICANON);
	kill(user.strata, SIGCONT);
	assert_soon(tcgetattr(user.screen, &now) == 0 && !(now.c_lflag & ICANON));
	type(&user, "on\r");
	assert_sees(&user, "<on>");
	assert_int_equal(get_up(&user), 0);
}

/* Programs of the sandbox may put any file in the place of its devices. */
static void is_not_fooled_by_a_false_ptmx(void **state)
{
	struct place *place = started(state);
	const char *const argv[] = { "true", NULL };
	struct sandbox_command command = { .argv = argv, .env = plain_env, .tty = true };

	assert_int_equal(shell(place, "rm /dev/ptmx; mknod /dev/ptmx p"), 0);
	assert_true(run_command(place, &command) < 0);
	assert_int_equal(place->result.failure, 125);
	assert_int_equal(shell(place, "rm /dev/ptmx"), 0);
	assert_true(run_command(place, &command) < 0);
	assert_non_null(strstr(place->err.text, "/dev/ptmx"));
}

static int sandbox_run_tests(void)
{
	const struct CMUnitTest tests[] = {
		place_test(says_the_status_as_a_shell_does),
		place_test(knows_what_it_cannot_run),
		place_test(names_a_missing_loader),
		place_test(says_that_a_tree_is_no_root),
		place_test(begins_where_it_is_told),
		place_test(starts_from_a_clean_slate),
		place_test(becomes_a_user_of_the_tree),
		place_test(does_not_wait_for_a_pipe_in_place_of_passwd),
		place_test(ends_in_time),
		place_test(kills_what_does_not_end),
		place_test(passes_all_early_signals_on),
		place_test(passes_signals_on),
		place_test(does_not_pass_on_what_is_ignored),
		place_test(says_that_the_sandbox_has_ended),
		place_test(a_signal_ends_a_command_on_its_way),
		place_test(kills_a_command_without_a_session),
		place_test(does_not_wait_for_the_dead),
		place_test(a_killed_strata_takes_its_command_along),
		place_test(passes_standard_input_through),
		place_test(is_told_of_its_children),
		place_test(has_a_terminal_of_its_own),
		place_test(follows_the_size_of_the_window),
		place_test(keys_go_inside),
		place_test(leaves_redirections_alone),
		place_test(shows_all_a_command_printed),
		place_test(restores_the_terminal_after_a_signal),
		place_test(gives_the_terminal_back_while_stopped),
		place_test(is_not_fooled_by_a_false_ptmx),
	};

	return cmocka_run_group_tests_name("sandbox_run", tests, NULL, NULL);
}

int main(void)
{
	return run_in_both_worlds(sandbox_run_tests);
}
