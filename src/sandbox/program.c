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
	const char *path = getenv("PATH") ?: "/bin:/usr/bin"; /* the same default as execvp has */
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

/* -------------------------------------------------------------------- errors */

static int not_found(const char *path, struct err *err)
{
	err_set(err, ERR_NOT_FOUND, "no program '%s' in this environment", path);
	if (!exists(SHELL))
		err_hint(err, "there is no " SHELL ": this tree is no root file system");
	return SANDBOX_NO_COMMAND;
}

int program_refused(int error, const char *path, const char *interpreter, struct err *err)
{
	if (error == ENOTDIR) {
		err_set(err, ERR_NOT_FOUND, "no program '%s' in this environment", path);
		return SANDBOX_NO_COMMAND;
	}
	/* The program exists.  So ENOENT means that its interpreter does not exist. */
	if (error == ENOENT) {
		err_set(err, ERR_NOT_FOUND, "the interpreter of '%s' is missing%s%s%s", path,
			*interpreter ? ": '" : "", interpreter, *interpreter ? "'" : "");
		return SANDBOX_NO_COMMAND;
	}
	errno = error;
	err_errno(err, "execute '%s'", path);
	return SANDBOX_NOT_EXECUTABLE;
}

/* -------------------------------------------------------------------- finding */

static const char *search_path(const char *const *env)
{
	for (; *env; env++)
		if (!strncmp(*env, "PATH=", 5))
			return *env + 5;
	return DEFAULT_PATH;
}

/*
 * Find all files called 'name' in the directories of 'path', which has the form of PATH.  Files in
 * unreadable directories count as missing.
 */
static size_t search_along(const char *name, const char *path, char **found, size_t max)
{
	size_t n = 0;

	while (n < max) {
		int len = (int)strcspn(path, ":");
		char *full = mem_printf("%.*s/%s", len ? len : 1, len ? path : ".", name);

		if (exists(full))
			found[n++] = full;
		else
			free(full);
		if (!path[len])
			break;
		path += len + 1;
	}
	return n;
}

/*
 * Accept a name with a slash, unless the file is missing.  A file that cannot be looked at is
 * accepted, since it may exist.
 */
static size_t take_as_given(const char *path, char **found)
{
	struct err why = { 0 };
	owned_fd int fd = at_open_given(path, O_PATH, 0, &why);

	if (fd < 0 && (why.code == ERR_NOT_FOUND || why.errno_value == ENOTDIR))
		return 0;
	found[0] = mem_strdup(path);
	return 1;
}

static void read_interpreter(struct program *program)
{
	struct err ignored = { 0 };
	char interpreter[PATH_MAX];
	owned_fd int fd =
		at_open_given(program->paths[0], O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, &ignored);

	if (fd >= 0 && interpreter_of(fd, interpreter))
		snprintf(program->interpreter, sizeof(program->interpreter), "%.*s",
			PROGRAM_INTERPRETER_MAX - 1, interpreter);
}

int program_look(
	const char *const *argv, const char *const *env, struct program *out, struct err *err)
{
	size_t n;

	*out = (struct program){ 0 };
	if (!argv[0] || !*argv[0]) {
		err_set(err, ERR_INVALID, "no command given");
		return SANDBOX_NO_COMMAND;
	}
	n = strchr(argv[0], '/')
		    ? take_as_given(argv[0], out->paths)
		    : search_along(argv[0], search_path(env), out->paths, PROGRAM_PATHS_MAX);
	if (!n)
		return not_found(argv[0], err);
	read_interpreter(out);
	return 0;
}

void program_release(struct program *program)
{
	for (char **path = program->paths; *path; path++)
		free_mem(path);
}
