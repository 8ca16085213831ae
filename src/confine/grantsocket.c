#include "confine/grantsocket.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "sandbox/message.h"

#define DIRECTORY ".grants"
#define NEW "." /* prefix of the name of a socket that does not listen yet */
#define NEW_SECONDS 60
#define BACKLOG 16
/* Time for an answer in ms.  A warden that changes mounts may have to wait for the disk. */
#define ANSWER_MS 20000

static int open_directory(int run, const char *workspace, bool makes, struct err *err)
{
	char name[NAME_MAX + 1];

	if ((size_t)snprintf(name, sizeof(name), "%s" DIRECTORY, workspace) >= sizeof(name))
		return err_set(err, ERR_LIMIT, "the name '%.40s...' is too long", workspace);
	if (makes && mkdirat(run, name, 0700) < 0 && errno != EEXIST)
		return err_errno(err, "make 'run/%s'", name);
	return at_open(run, name, O_RDONLY | O_DIRECTORY, err);
}

/*
 * Returns the address of a socket.  The address leads through /proc, since the path of an
 * environment may be too long for an address.
 */
static struct sockaddr_un address_of(int dir, const char *before, const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s%s", dir, before,
		name);
	return address;
}

/* ----------------------------------------------------------- making a socket */

static int make_name(char out[GRANTSOCKET_NAME], struct err *err)
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
		return err_errno(err, "make a name for a socket");
	snprintf(out, GRANTSOCKET_NAME, "%016llx", (unsigned long long)number);
	return 0;
}

/*
 * Make the socket.  It has a temporary name until it listens.  If it had its final name earlier,
 * another process could take it for the socket of a killed warden, and remove it.
 */
static int listen_at(struct grantsocket *out, struct err *err)
{
	struct sockaddr_un address = address_of(out->dir, NEW, out->name);
	char temporary[GRANTSOCKET_NAME + sizeof(NEW)];

	snprintf(temporary, sizeof(temporary), NEW "%s", out->name);
	out->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (out->fd < 0)
		return err_errno(err, "make a socket for grants");
	/* bind gives the file the mode of the socket. */
	if (fchmod(out->fd, 0600) < 0 ||
		bind(out->fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return err_errno(err, "make a socket for grants");
	if (listen(out->fd, BACKLOG) == 0 &&
		renameat(out->dir, temporary, out->dir, out->name) == 0)
		return 0;
	err_errno(err, "make a socket for grants");
	(void)unlinkat(out->dir, temporary, 0);
	return -(int)err->code;
}

int grantsocket_make(int run, const char *workspace, struct grantsocket *out, struct err *err)
{
	*out = GRANTSOCKET_INIT;
	out->dir = open_directory(run, workspace, true, err);
	if (out->dir >= 0 && make_name(out->name, err) == 0 && listen_at(out, err) == 0)
		return 0;
	close_fd(&out->dir);
	close_fd(&out->fd);
	return -(int)err->code;
}

void grantsocket_remove(const struct grantsocket *socket)
{
	if (socket->dir >= 0)
		(void)unlinkat(socket->dir, socket->name, 0);
}

/* ---------------------------------------------------------- sending requests */

/*
 * Connect to a warden.  Returns 1, or 0 if the warden has ended.  In that case its socket is
 * removed.
 */
static int dial(int dir, const char *name, int *out, struct err *err)
{
	struct sockaddr_un address = address_of(dir, "", name);
	owned_fd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return err_errno(err, "make a socket");
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0) {
		*out = take_fd(&fd);
		return 1;
	}
	if (errno == ECONNREFUSED)
		(void)unlinkat(dir, name, 0);
	else if (errno != ENOENT)
		return err_errno(err, "connect to the warden of a command");
	return 0;
}

void grantsocket_release(struct grantsocket *socket)
{
	struct err ignored = { 0 };
	owned_fd int ours = -1;

	close_fd(&socket->fd);
	if (socket->dir >= 0)
		(void)dial(socket->dir, socket->name, &ours, &ignored);
	close_fd(&socket->dir);
}

static int sweep_one(void *arg, int dir, const char *name, struct err *err)
{
	int *n = arg;

	/* A socket without its final name may be that of a warden that is just starting. */
	*n += strncmp(name, NEW, strlen(NEW)) != 0 && unlinkat(dir, name, 0) == 0;
	return 0;
}

int grantsocket_sweep(int run, const char *workspace)
{
	struct err ignored = { 0 };
	owned_fd int dir = open_directory(run, workspace, false, &ignored);
	int n = 0;

	if (dir >= 0)
		(void)at_each_name(dir, ".", sweep_one, &n, &ignored);
	return n;
}

/* Send a request and receive the answer.  Returns 1, or 0 if the warden has ended meanwhile. */
static int exchange(int fd, struct str request, struct arena *arena, struct grantwire_answer *out,
	struct err *err)
{
	owned_mem char *bytes = mem_alloc(GRANTWIRE_MAX + 1);

	if (send(fd, request.ptr, request.len, MSG_NOSIGNAL) < 0)
		return errno == EPIPE || errno == ECONNRESET ? 0 : err_errno(err, "ask a warden");
	if (message_wait(fd, ANSWER_MS) < 0)
		return err_set(err, ERR_BUSY, "the warden of a command does not answer");
	ssize_t n = recv(fd, bytes, GRANTWIRE_MAX + 1, 0);
	if (n < 0 && errno != ECONNRESET)
		return err_errno(err, "ask a warden");
	if (n <= 0)
		return 0;
	int r = grantwire_read_answer((struct str){ bytes, (size_t)n }, arena, out, err);
	return r < 0 ? err_context(err, "the answer of a warden") : 1;
}

static void remove_if_old(int dir, const char *name)
{
	struct timespec now;
	struct statx stx;

	if (clock_gettime(CLOCK_REALTIME, &now) == 0 && at_name_stat(dir, name, &stx) == 0 &&
		now.tv_sec - stx.stx_ctime.tv_sec > NEW_SECONDS)
		(void)unlinkat(dir, name, 0);
}

struct asking {
	struct str request;
	struct arena *arena;
	int (*told)(void *arg, const struct grantwire_answer *, struct err *);
	void *arg;
};

static int ask_one(void *arg, int dir, const char *name, struct err *err)
{
	const struct asking *asking = arg;
	struct grantwire_answer answer = { 0 };
	owned_fd int fd = -1;

	if (!strncmp(name, NEW, strlen(NEW))) {
		remove_if_old(dir, name);
		return 0;
	}
	int r = dial(dir, name, &fd, err);
	if (r > 0)
		r = exchange(fd, asking->request, asking->arena, &answer, err);
	return r > 0 && answer.selected ? asking->told(asking->arg, &answer, err) : r;
}

int grantsocket_ask(int run, const char *workspace, const struct grantwire_request *request,
	struct arena *arena, int (*told)(void *arg, const struct grantwire_answer *, struct err *),
	void *arg, struct err *err)
{
	owned(json_release) struct json out = JSON_INIT;
	struct err missing = { 0 };
	owned_fd int dir = open_directory(run, workspace, false, &missing);

	if (dir < 0 && missing.code == ERR_NOT_FOUND)
		return 0;
	if (dir < 0) {
		*err = missing;
		return dir;
	}
	grantwire_write_request(&out, request);
	struct asking asking = { json_written(&out), arena, told, arg };
	int r = at_each_name(dir, ".", ask_one, &asking, err);
	return r < 0 ? r : 0;
}
