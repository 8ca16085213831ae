#include "sandbox/program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "sandbox/interpreter.h"
#include "sandbox/sandbox_run.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define SHELL "/bin/sh"

static bool exists(const char *path)
{
	struct err ignored = { 0 };
	owned_fd int fd = at_open_given(path, O_PATH, 0, &ignored);

	return fd >= 0;
}

bool program_find(const char *name, char *out)
{
	const char *path = getenv("PATH") ?: "/bin:/usr/bin"; /* as execvp */
	struct statx stx;

	if (strchr(name, '/'))
		return (size_t)snprintf(out, PATH_MAX, "%s", name) < PATH_MAX;
	for (;;) {
		int len = (int)strcspn(path, ":");
		int n = snprintf(out, PATH_MAX, "%.*s/%s", len ? len : 1, len ? path : ".", name);

		if (n < PATH_MAX && at_abs_stat(out, &stx) == 0 && !S_ISDIR(stx.stx_mode))
			return true;
		if (!path[len])
			return false;
		path += len + 1;
	}
}

/* ---------------------------------------------------------------- complaints */

/* The file is there and yet ENOENT: what it needs to run is not. */
static void interpreter_missing(const char *path, struct err *err)
{
	struct err ignored = { 0 };
	owned_fd int fd = at_open_given(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, &ignored);
	char interpreter[PATH_MAX];

	if (fd < 0 || !interpreter_of(fd, interpreter))
		err_set(err, ERR_NOT_FOUND, "the interpreter of '%s' is missing", path);
	else
		err_set(err, ERR_NOT_FOUND, "the interpreter of '%s' is missing: '%s'", path,
			interpreter);
}

static int failed(const char *path, struct err *err)
{
	if (errno == ENOENT && exists(path)) {
		interpreter_missing(path, err);
		return SANDBOX_NO_COMMAND;
	}
	if (errno == ENOENT || errno == ENOTDIR) {
		err_set(err, ERR_NOT_FOUND, "no program '%s' in this environment", path);
		return SANDBOX_NO_COMMAND;
	}
	err_errno(err, "execute '%s'", path);
	return SANDBOX_NOT_EXECUTABLE;
}

/* ------------------------------------------------------------------ executing */

/* A file without a format the kernel knows is a script, as every shell has it. */
static void execute_script(const char *path, const char *const *argv, const char *const *env)
{
	size_t n = 0;

	while (argv[n])
		n++;
	owned_mem const char **with_shell = mem_alloc((n + 2) * sizeof(*with_shell));
	with_shell[0] = SHELL;
	with_shell[1] = path;
	for (size_t i = 1; i <= n; i++)
		with_shell[i + 1] = argv[i];
	execve(SHELL, (char *const *)with_shell, (char *const *)env);
	errno = ENOEXEC;
}

static void execute(const char *path, const char *const *argv, const char *const *env)
{
	execve(path, (char *const *)argv, (char *const *)env);
	if (errno == ENOEXEC)
		execute_script(path, argv, env);
}

static const char *search_path(const char *const *env)
{
	for (; *env; env++)
		if (!strncmp(*env, "PATH=", 5))
			return *env + 5;
	return DEFAULT_PATH;
}

/*
 * The first failure of a program that is there is the one worth telling; of a directory that
 * may not be searched nobody knows.
 */
static int search(const char *const *argv, const char *const *env, struct err *err)
{
	const char *path = search_path(env);
	int failure = 0;

	for (;;) {
		int len = (int)strcspn(path, ":");
		owned_mem char *full =
			mem_printf("%.*s/%s", len ? len : 1, len ? path : ".", argv[0]);

		execute(full, argv, env);
		int why = errno;
		if (!failure && exists(full)) {
			errno = why;
			failure = failed(full, err);
		}
		if (!path[len])
			break;
		path += len + 1;
	}
	if (failure)
		return failure;
	errno = ENOENT;
	return failed(argv[0], err);
}

int program_execute(const char *const *argv, const char *const *env, struct err *err)
{
	int failure;

	if (!argv[0] || !*argv[0]) {
		err_set(err, ERR_INVALID, "no command given");
		return SANDBOX_NO_COMMAND;
	}
	if (strchr(argv[0], '/')) {
		execute(argv[0], argv, env);
		failure = failed(argv[0], err);
	} else {
		failure = search(argv, env, err);
	}
	if (!exists(SHELL))
		err_hint(err, "there is no " SHELL ": this tree is no root file system");
	return failure;
}
