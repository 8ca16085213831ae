#include "sandbox/callfilter.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/at.h"
#include "core/buf.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/uapi.h"
#include "sandbox/callfilter_priv.h"
#include "sandbox/threadview.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

#define LISTENER_LINK "anon_inode:seccomp notify"
#define OPEN_CHANGES (O_ACCMODE | O_CREAT | O_TRUNC)

const struct sock_fprog *callfilter_bytes(unsigned variant)
{
	assert(variant < CALLFILTER_VARIANTS);
	return &callfilter_programs[variant];
}

int callfilter_load(const struct sock_fprog *program, bool want_listener, struct err *err)
{
	unsigned long flags = SECCOMP_FILTER_FLAG_SPEC_ALLOW;

	if (want_listener)
		flags |= SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
	long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, program);
	/*
	 * Linux before 5.19 does not know WAIT_KILLABLE_RECV.  There a signal interrupts a call
	 * that waits for its answer.
	 */
	if (r < 0 && errno == EINVAL && want_listener)
		r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			flags & ~SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, program);
	if (r < 0 && errno == EBUSY)
		return err_set(err, ERR_BUSY,
			"another process is notified of this process's system calls already");
	return r < 0 ? err_errno(err, "filter system calls") : (int)r;
}

/* ----------------------------------------------------------------- listeners */

struct callfilter_listener {
	int fd, proc;
	size_t request_size, response_size;
	struct seccomp_notif *request;
	struct seccomp_notif_resp *response;
};

/* Whether fd is a listener.  A process of a sandbox may have sent another descriptor instead. */
static bool is_listener(int fd, int proc)
{
	char name[32], target[PATH_MAX];

	snprintf(name, sizeof(name), "fd/%d", fd);
	ssize_t len = threadview_link_in(proc, getpid(), name, target);
	return len == (ssize_t)strlen(LISTENER_LINK) && !memcmp(target, LISTENER_LINK, (size_t)len);
}

static size_t max_size(size_t a, size_t b)
{
	return a > b ? a : b;
}

struct callfilter_listener *callfilter_listener_take(int fd, int proc, struct err *err)
{
	owned_fd int taken = fd;
	struct seccomp_notif_sizes sizes;

	if (!is_listener(fd, proc)) {
		err_set(err, ERR_INVALID, "the descriptor is no listener of a filter");
		return NULL;
	}
	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0) {
		err_errno(err, "ask for the size of notifications");
		return NULL;
	}
	/* Before Linux 6.6 this ioctl fails, and calls wait longer for their answers. */
	(void)ioctl(fd, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
	struct callfilter_listener *listener = mem_zalloc(sizeof(*listener));
	listener->fd = take_fd(&taken);
	listener->proc = proc;
	listener->request_size = max_size(sizes.seccomp_notif, sizeof(*listener->request));
	listener->response_size = max_size(sizes.seccomp_notif_resp, sizeof(*listener->response));
	listener->request = mem_zalloc(listener->request_size);
	listener->response = mem_zalloc(listener->response_size);
	return listener;
}

void callfilter_listener_free(struct callfilter_listener *listener)
{
	if (!listener)
		return;
	close_fd(&listener->fd);
	free(listener->request);
	free(listener->response);
	free(listener);
}

int callfilter_listener_fd(const struct callfilter_listener *listener)
{
	return listener->fd;
}

/* ---------------------------------------------------------------------- paths */

/* Append the names in 'path' to 'out'.  "." and ".." are resolved. */
static void add_names(struct buf *out, struct str path)
{
	for (struct str name; (name = str_take_name(&path)).len;) {
		if (str_eq(name, STR(".")))
			continue;
		if (!str_eq(name, STR(".."))) {
			buf_addc(out, '/');
			buf_add(out, name.ptr, name.len);
			continue;
		}
		const char *slash = out->len ? memrchr(out->data, '/', out->len) : NULL;
		buf_truncate(out, slash ? (size_t)(slash - out->data) : 0);
	}
}

/* A thread that waits for an answer, and the /proc that lists this thread. */
struct thread {
	pid_t tid;
	int proc;
};

/*
 * Add the path that a link in the thread's directory of /proc leads to.  Returns false if the link
 * leads to no path.
 */
static bool add_link(struct buf *out, const struct thread *thread, const char *name)
{
	char target[PATH_MAX];
	ssize_t len = threadview_link_in(thread->proc, thread->tid, name, target);

	if (len <= 0 || *target != '/')
		return false;
	add_names(out, (struct str){ target, (size_t)len });
	return true;
}

/*
 * Add the path of fd, the directory in which a relative path of the call begins.  If the call has
 * no path, fd is the file itself.
 */
static bool add_base(struct buf *out, const struct thread *thread, int fd)
{
	char name[32];

	if (fd == AT_FDCWD)
		return add_link(out, thread, "cwd");
	snprintf(name, sizeof(name), "fd/%d", fd);
	return fd >= 0 && add_link(out, thread, name);
}

static bool find_path(
	const struct callfilter_listener *listener, int8_t dirfd, int8_t path, struct buf *out)
{
	const struct seccomp_notif *request = listener->request;
	const uint64_t *args = (const uint64_t *)request->data.args;
	const struct thread thread = { (pid_t)request->pid, listener->proc };
	int fd = dirfd == CALLFILTER_NONE ? AT_FDCWD : (int)args[dirfd];
	char text[PATH_MAX];
	ssize_t len = 0;

	if (path != CALLFILTER_NONE && args[path])
		len = threadview_text(thread.tid, args[path], text);
	if (len < 0)
		return false;
	if (len && *text == '/') {
		owned(buf_release) struct buf below = BUF_INIT;

		/*
		 * The thread may have called chroot.  In that case ".." does not lead out of its
		 * root directory.
		 */
		add_names(&below, (struct str){ text, (size_t)len });
		if (!add_link(out, &thread, "root"))
			return false;
		buf_add(out, below.data, below.len);
	} else {
		if ((!len && dirfd == CALLFILTER_NONE) || !add_base(out, &thread, fd))
			return false;
		add_names(out, (struct str){ text, (size_t)len });
	}
	if (!out->len)
		buf_addc(out, '/');
	return true;
}

/* --------------------------------------------------------------- notifications */

static const struct callfilter_call *find_call(const struct seccomp_data *data)
{
	for (int i = 0; i < 2; i++) {
		const struct callfilter_calls *calls = &callfilter_calls[i];

		for (size_t j = 0; calls->arch == data->arch && j < calls->n; j++)
			if (calls->list[j].nr == (uint32_t)data->nr)
				return &calls->list[j];
	}
	return NULL;
}

/*
 * Whether the call is an openat2 that can change nothing.  The flags of openat2 are in memory, so
 * the filter cannot check them.
 */
static bool only_reads(const struct seccomp_notif *request, const struct callfilter_call *call)
{
	uint64_t flags;

	return !strcmp(call->name, "openat2") &&
	       threadview_bytes(
		       (pid_t)request->pid, request->data.args[2], &flags, sizeof(flags)) &&
	       !(flags & OPEN_CHANGES);
}

static bool is_waiting(const struct callfilter_listener *listener)
{
	return ioctl(listener->fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &listener->request->id) == 0;
}

static bool tell_of(const struct callfilter_listener *listener, const struct callfilter_call *call,
	callfilter_hear *hear, void *arg)
{
	const struct seccomp_notif *request = listener->request;
	owned(buf_release) struct buf path = BUF_INIT, path2 = BUF_INIT;
	struct callfilter_event event = {
		.call = call ? call->name : "unknown",
		.denied = !call || call->denied,
		.tid = (pid_t)request->pid,
	};

	if (call && !event.denied && only_reads(request, call))
		return true;
	if (!event.denied && find_path(listener, call->dirfd, call->path, &path))
		event.path = path.data;
	if (!event.denied && call->path2 != CALLFILTER_NONE &&
		find_path(listener, call->dirfd2, call->path2, &path2))
		event.path2 = path2.data;
	threadview_process(listener->proc, event.tid, &event.pid, &event.inside);
	for (int i = 0; i < 6; i++)
		event.args[i] = request->data.args[i];
	/* The thread may have been killed, and another thread may have its number by now. */
	if (!is_waiting(listener))
		return false;
	hear(arg, &event);
	return true;
}

/* Answer a notification.  A failure with ENOENT means that the thread was killed meanwhile. */
static void answer(const struct callfilter_listener *listener, bool denied)
{
	struct seccomp_notif_resp *response = listener->response;

	memset(response, 0, listener->response_size);
	response->id = listener->request->id;
	if (denied)
		response->error = -EPERM;
	else
		response->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	while (ioctl(listener->fd, SECCOMP_IOCTL_NOTIF_SEND, response) < 0 && errno == EINTR)
		;
}

int callfilter_notified(
	struct callfilter_listener *listener, callfilter_hear *hear, void *arg, struct err *err)
{
	memset(listener->request, 0, listener->request_size);
	if (ioctl(listener->fd, SECCOMP_IOCTL_NOTIF_RECV, listener->request) < 0)
		return errno == EINTR || errno == ENOENT
			       ? 0
			       : err_errno(err, "receive a notification of a call");
	const struct callfilter_call *call = find_call(&listener->request->data);
	if (!tell_of(listener, call, hear, arg))
		return 0;
	answer(listener, !call || call->denied);
	return 1;
}
