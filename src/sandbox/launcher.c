#include "sandbox/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/at.h"
#include "core/err.h"
#include "core/mem.h"
#include "core/own.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif
#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)
#define SIZE_TEXT_MAX 24

/* The bytes of the launcher program.  The Makefile embeds them. */
extern const char launcher_image[];
extern const uint64_t launcher_image_size;

static int make_memory_file(void)
{
	const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create("strata-launcher", flags | MFD_EXEC);

	/* Linux before 6.3 does not have MFD_EXEC.  There every memory file is executable. */
	return fd < 0 && errno == EINVAL ? memfd_create("strata-launcher", flags) : fd;
}

int launcher_open(struct err *err)
{
	owned_fd int fd = make_memory_file();

	if (fd < 0) {
		err_errno(err, "make a program in memory");
		return err->errno_value == EACCES
			       ? err_hint(err, "as root: sysctl vm.memfd_noexec=0")
			       : -(int)err->code;
	}
	errno = -at_write_all(fd, launcher_image, launcher_image_size);
	if (errno || fcntl(fd, F_ADD_SEALS, SEALS) < 0)
		return err_errno(err, "make a program in memory");
	return take_fd(&fd);
}

static size_t count_texts(char *const *list)
{
	size_t n = 0;

	while (list[n])
		n++;
	return n;
}

static char *const *add_all(const char **to, char *const *list)
{
	while (*list)
		*to++ = *list++;
	return (char *const *)to;
}

int launcher_execute(int launcher, const struct launcher_command *command, struct err *err)
{
	size_t n = count_texts(command->paths) + count_texts((char *const *)command->argv);
	owned_mem const char **argv = mem_alloc((n + 4) * sizeof(*argv));
	char size[SIZE_TEXT_MAX];

	snprintf(size, sizeof(size), "%lu", command->size);
	argv[0] = "launcher";
	argv[1] = size;
	const char **next = (const char **)add_all(argv + 2, command->paths);
	*next++ = "";
	next = (const char **)add_all(next, (char *const *)command->argv);
	*next = NULL;
	/*
	 * Move the image above LAUNCHER_FD, so that this number is free for the socket.  The socket
	 * stays open when the launcher is executed.
	 */
	owned_fd int image = fcntl(launcher, F_DUPFD_CLOEXEC, LAUNCHER_FD + 1);
	if (image < 0 ||
		(command->socket == LAUNCHER_FD ? fcntl(LAUNCHER_FD, F_SETFD, 0)
						: dup2(command->socket, LAUNCHER_FD)) < 0 ||
		close_range(LAUNCHER_FD + 1, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
		return err_errno(err, "close inherited descriptors");
	syscall(SYS_execveat, image, "", argv, command->env, AT_EMPTY_PATH);
	err_errno(err, "execute the launcher");
	/*
	 * Mark the socket close-on-exec again, since the caller still uses it to report the
	 * failure.
	 */
	(void)fcntl(LAUNCHER_FD, F_SETFD, FD_CLOEXEC);
	return -(int)err->code;
}
