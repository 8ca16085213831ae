#include "owner/cmdline.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "core/at.h"
#include "core/buf.h"
#include "core/own.h"

int cmdline_write(const char *const *argv, char *const *env, struct err *err)
{
	owned(buf_release) struct buf text = BUF_INIT;
	owned_fd int fd = memfd_create("strata-cmdline", MFD_CLOEXEC);

	if (fd < 0)
		return err_errno(err, "make a file in memory");
	for (; *argv; argv++)
		buf_add(&text, *argv, strlen(*argv) + 1);
	for (; *env; env++)
		buf_add(&text, *env, strlen(*env) + 1);
	errno = -at_write_all(fd, text.data, text.len);
	return errno ? err_errno(err, "write the command line") : take_fd(&fd);
}

static int read_text(int fd, struct arena *arena, struct str *text, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_errno(err, "the command line");
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > CMDLINE_MAX)
		return err_set(err, ERR_USAGE,
			"the command line must be a file of at most %zu bytes", CMDLINE_MAX);
	char *bytes = arena_alloc(arena, (size_t)st.st_size + 1);
	ssize_t n = at_pread_full(fd, bytes, (size_t)st.st_size, 0);
	if (n < 0) {
		errno = (int)-n;
		return err_errno(err, "read the command line");
	}
	*text = (struct str){ bytes, (size_t)n };
	return n && bytes[n - 1] ? err_set(err, ERR_USAGE, "the command line has no end") : 0;
}

int cmdline_read(int fd, int64_t argc, struct arena *arena, struct op_texts *argv,
	struct op_texts *env, struct err *err)
{
	struct str text = { 0 };
	size_t n = 0;
	int r = read_text(fd, arena, &text, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < text.len; i++)
		n += !text.ptr[i];
	if (argc < 1 || (uint64_t)argc > n)
		return err_set(err, ERR_USAGE, "'argc' must be the number of arguments");
	*argv = (struct op_texts){ .count = (size_t)argc };
	*env = (struct op_texts){ .count = n - (size_t)argc };
	argv->list = arena_alloc(arena, (argv->count + 1) * sizeof(*argv->list));
	env->list = arena_alloc(arena, (env->count + 1) * sizeof(*env->list));
	const char *at = text.ptr;
	for (size_t i = 0; i < n; i++, at += strlen(at) + 1)
		*(i < argv->count ? &argv->list[i] : &env->list[i - argv->count]) = at;
	return 0;
}
