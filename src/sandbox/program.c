#include "sandbox/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "sandbox/sandbox_run.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define SHELL "/bin/sh"

static bool exists(const char *path)
{
	struct err ignored = { 0 };
	owned_fd int fd = at_open_given(path, O_PATH, 0, &ignored);

	return fd >= 0;
}

/* ---------------------------------------------------------------- complaints */

/* Where an ELF program says its loader is; the file is as untrusted as the tree. */
static bool elf_interpreter(int fd, char out[PATH_MAX])
{
	Elf64_Ehdr head;
	Elf64_Phdr part;
	ssize_t len;

	if (at_pread_full(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
		memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
		head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(part))
		return false;
	for (unsigned i = 0; i < head.e_phnum; i++) {
		if (at_pread_full(fd, &part, sizeof(part), head.e_phoff + i * sizeof(part)) !=
			(ssize_t)sizeof(part))
			return false;
		if (part.p_type != PT_INTERP)
			continue;
		len = at_pread_full(fd, out, PATH_MAX - 1, part.p_offset);
		if (len <= 0 || part.p_filesz > (uint64_t)len)
			return false;
		out[part.p_filesz] = '\0';
		return true;
	}
	return false;
}

/* The first word after "#!". */
static bool script_interpreter(int fd, char out[PATH_MAX])
{
	char line[256];
	ssize_t n = at_pread_full(fd, line, sizeof(line) - 1, 0);

	if (n < 3 || line[0] != '#' || line[1] != '!')
		return false;
	line[n] = '\0';
	const char *word = line + 2 + strspn(line + 2, " \t");
	snprintf(out, PATH_MAX, "%.*s", (int)strcspn(word, " \t\n"), word);
	return true;
}

/* The file is there and yet ENOENT: what it needs to run is not. */
static void interpreter_missing(const char *path, struct err *err)
{
	struct err ignored = { 0 };
	owned_fd int fd = at_open_given(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, &ignored);
	char interpreter[PATH_MAX] = "";

	if (fd < 0 || !(script_interpreter(fd, interpreter) || elf_interpreter(fd, interpreter)))
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

/* The first failure that is more than "not here" is the one worth telling. */
static int search(const char *const *argv, const char *const *env, struct err *err)
{
	const char *path = search_path(env);
	int failure = 0;

	for (;;) {
		int len = (int)strcspn(path, ":");
		owned_mem char *full =
			mem_printf("%.*s/%s", len ? len : 1, len ? path : ".", argv[0]);

		execute(full, argv, env);
		if (!failure && ((errno != ENOENT && errno != ENOTDIR) || exists(full)))
			failure = failed(full, err);
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
