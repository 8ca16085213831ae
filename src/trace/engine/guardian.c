#include "trace/engine/guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/child.h"
#include "core/own.h"
#include "trace/engine/launch.h"

#define ROOM 256 /* additional bytes for members that newer kernels add to the structs */
enum { PIPE = 0, LISTENER = 1 };

static void answer_call(uint64_t id)
{
	struct {
		struct seccomp_notif_resp response;
		char room[ROOM];
	} out;

	memset(&out, 0, sizeof(out));
	out.response.id = id;
	out.response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	while (ioctl(LISTENER, SECCOMP_IOCTL_NOTIF_SEND, &out) < 0 && errno == EINTR)
		;
}

/*
 * Answer the calls that strata had taken from the kernel.  Strata may have been killed just before
 * it recorded the newest of these calls, so the call after taken->newest is answered, too.
 */
static void answer_taken(const struct guardian_taken *taken)
{
	for (uint64_t id = taken->oldest; id != taken->newest + 2; id++)
		answer_call(id);
}

_Noreturn static void guard_processes(const struct guardian_taken *taken)
{
	struct {
		struct seccomp_notif request;
		char room[ROOM];
	} in;
	char done;

	(void)setsid();
	launch_forward_end();
	while (read(PIPE, &done, 1) < 0 && errno == EINTR)
		;
	answer_taken(taken);
	for (;;) {
		struct pollfd fd = { .fd = LISTENER, .events = POLLIN };

		if (poll(&fd, 1, -1) > 0 && !(fd.revents & POLLIN))
			_exit(0);
		memset(&in, 0, sizeof(in));
		if (ioctl(LISTENER, SECCOMP_IOCTL_NOTIF_RECV, &in) == 0)
			answer_call(in.request.id);
	}
}

int guardian_start(struct guardian *guardian, int listener, size_t request_size,
	size_t response_size, struct err *err)
{
	int ends[2];

	if (request_size > sizeof(struct seccomp_notif) + ROOM ||
		response_size > sizeof(struct seccomp_notif_resp) + ROOM)
		return err_set(err, ERR_UNSUPPORTED, "notifications of this kernel are too large");
	void *shared = mmap(NULL, sizeof(*guardian->taken), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return err_errno(err, "share memory");
	guardian->taken = shared;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(err, "make a pipe");
	guardian->pipe = ends[1];
	guardian->pid = fork();
	if (!guardian->pid) {
		/* Close all other descriptors that the guardian has inherited from strata. */
		if (dup2(ends[0], PIPE) < 0 || dup2(listener, LISTENER) < 0)
			_exit(1);
		(void)close_range(LISTENER + 1, ~0U, 0);
		guard_processes(guardian->taken);
	}
	close_fd(&ends[0]);
	return guardian->pid < 0 ? err_errno(err, "fork") : 0;
}

void guardian_end(struct guardian *guardian, bool leave)
{
	if (guardian->pid > 0 && !leave) {
		(void)kill(guardian->pid, SIGKILL);
		(void)child_wait(guardian->pid);
	}
	close_fd(&guardian->pipe);
	if (guardian->taken)
		(void)munmap(guardian->taken, sizeof(*guardian->taken));
}
