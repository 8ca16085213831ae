#include "ops/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/at.h"
#include "core/child.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/procfile.h"
#include "core/when.h"
#include "sandbox/program.h"

#define WAIT_MS 5000       /* maximum time until a child or a program answers */
#define FILE_MAX (1 << 20) /* maximum size of a file in /proc or /etc */

void probe_set(struct probe *probe, bool ok, const char *fmt, ...)
{
	va_list ap;

	probe->ok = ok;
	va_start(ap, fmt);
	vsnprintf(probe->text, sizeof(probe->text), fmt, ap);
	va_end(ap);
}

void probe_errno(struct probe *probe, const char *what)
{
	probe_lacks(probe, "%s: %s", what, strerror(errno));
}

/* --- files --- */

void probe_new_name(char out[PROBE_NAME])
{
	uint64_t number = 0;

	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != (ssize_t)sizeof(number))
		number = (uint64_t)getpid() << 32 ^ (uint64_t)time(NULL);
	snprintf(out, PROBE_NAME, ".strata-%016llx", (unsigned long long)number);
}

char *probe_read(const char *path)
{
	owned(buf_release) struct buf text = BUF_INIT;
	struct err ignored = { 0 };

	if (procfile_read(path, FILE_MAX, &text, &ignored) < 0)
		return NULL;
	return mem_strdup(text.data ? text.data : "");
}

bool probe_write(const char *path, const char *text, struct probe *probe)
{
	struct err err = { 0 };

	if (procfile_write(path, text, &err) < 0) {
		probe_lacks(probe, "%s", err.text);
		return false;
	}
	return true;
}

/* --- children --- */

/*
 * Read to the end and keep the first size - 1 bytes.  Returns how many bytes were kept, or -1 on
 * timeout.
 */
static ssize_t read_output(int fd, char *out, size_t size)
{
	int64_t deadline = when_monotonic() + WAIT_MS * WHEN_MS;
	size_t len = 0;

	for (;;) {
		struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
		int left = when_ms_left(deadline);
		char surplus[512];
		size_t room = size - 1 - len;

		if (!left)
			return -1;
		if (poll(&poll_fd, 1, left) <= 0)
			continue;
		ssize_t n = read(fd, room ? out + len : surplus, room ? room : sizeof(surplus));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += room ? (size_t)n : 0;
	}
	out[len] = '\0';
	return (ssize_t)len;
}

static void child_main(struct doctor *doctor, probe_attempt *attempt, int out)
{
	struct probe probe = { 0 };

	attempt(doctor, &probe);
	(void)at_write_all(out, probe.ok ? "+" : "-", 1);
	(void)at_write_all(out, probe.text, strlen(probe.text));
	_exit(0);
}

void probe_in_child(struct doctor *doctor, probe_attempt *attempt, struct probe *probe)
{
	char answer[PROBE_TEXT + 1];
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return probe_errno(probe, "pipe");
	owned_fd int in = ends[0];
	owned_fd int out = ends[1];
	pid_t pid = child_fork();
	if (pid < 0)
		return probe_errno(probe, "fork");
	if (pid == 0)
		child_main(doctor, attempt, out);
	close_fd(&out);
	ssize_t n = read_output(in, answer, sizeof(answer));
	(void)kill(pid, SIGKILL);
	int status = child_wait(pid);
	if (n > 0) {
		probe->ok = answer[0] == '+';
		memcpy(probe->text, answer + 1, (size_t)n);
	} else if (n < 0) {
		probe_lacks(probe, "no answer within %d seconds", WAIT_MS / 1000);
	} else if (!WIFSIGNALED(status)) {
		probe_lacks(probe, "the attempt ended without an answer");
	} else {
		probe_lacks(probe, "the attempt was ended by signal %d", WTERMSIG(status));
	}
}

static int spawn(const char *path, const char *const *argv, int in, int out, pid_t *pid)
{
	extern char **environ;
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int r;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in, 0);
	posix_spawn_file_actions_adddup2(&actions, out, 1);
	posix_spawn_file_actions_adddup2(&actions, out, 2);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setpgroup(&attr, 0);
	r = posix_spawn(pid, path, &actions, &attr, (char *const *)argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return r;
}

void probe_program(const char *const *argv, struct probe *probe)
{
	char path[PATH_MAX], line[PROBE_TEXT - 100];
	struct err err = { 0 };
	owned_fd int null = at_open_given("/dev/null", O_RDONLY, 0, &err);
	int ends[2];
	pid_t pid;

	if (!program_find(argv[0], path))
		return probe_lacks(probe, "no program %s", argv[0]);
	if (null < 0)
		null = at_tmpfile(-1, &err); /* an empty file serves as well as /dev/null */
	if (null < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return probe_errno(probe, "pipe");
	owned_fd int in = ends[0];
	owned_fd int out = ends[1];
	errno = spawn(path, argv, null, out, &pid);
	if (errno)
		return probe_errno(probe, path);
	close_fd(&out);
	ssize_t n = read_output(in, line, sizeof(line));
	(void)kill(-pid, SIGKILL);
	int status = child_wait(pid);
	if (n < 0)
		return probe_lacks(probe, "%s does not answer", argv[0]);
	line[strcspn(line, "\r\n")] = '\0';
	if (status && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
		return probe_lacks(probe, "%s fails: %s", argv[0], line);
	probe_ok(probe, "%s", line);
}

/* --- mounts --- */

/*
 * Set the outcome after a failed mount.  The text contains the meaning of errno, and the message of
 * the kernel, if the kernel left a message in the file system context.
 */
static void mount_failed(int fs, const char *type, struct probe *probe)
{
	int saved = errno;
	char log[256] = "";
	ssize_t n = fs >= 0 ? read(fs, log, sizeof(log) - 1) : -1;

	log[n > 0 ? n : 0] = '\0';
	log[strcspn(log, "\n")] = '\0';
	/* A message begins with one letter for its kind, and a blank. */
	probe_lacks(probe, "mount %s: %s%s%s", type, strerror(saved), n > 2 ? "; " : "",
		n > 2 ? log + 2 : "");
}

int probe_mount(const char *type, const struct probe_option *options, struct probe *probe)
{
	owned_fd int fs = fsopen(type, FSOPEN_CLOEXEC);
	int r = fs < 0 ? -1 : 0;

	for (; r >= 0 && options && options->key; options++)
		r = fsconfig(fs, options->value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG,
			options->key, options->value, 0);
	if (r >= 0)
		r = fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
	int root = r >= 0 ? fsmount(fs, FSMOUNT_CLOEXEC, 0) : -1;
	if (root < 0)
		mount_failed(fs, type, probe);
	return root;
}
