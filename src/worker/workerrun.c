#include "worker/workerrun.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "confine/denials.h"
#include "confine/selfconfine.h"
#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "worker/gate.h"
#include "worker/pool.h"
#include "worker/server.h"

const struct param workerrun_params[] = {
	PARAM(workerrun_request, policy, TEXT, 0, "file with the policy"),
	PARAM(workerrun_request, fd, COUNT, 0, "the descriptor of the connection"),
	PARAM(workerrun_request, socket, TEXT, 0, "the unix socket to listen on"),
	PARAM(workerrun_request, root, TEXT, 0, "the workspace, else the working directory"),
	PARAM(workerrun_request, pool, COUNT, 0, "how many workers to keep ready"),
	PARAM(workerrun_request, denials, TEXT, 0, "descriptor or file that gets each denial"),
	{ 0 },
};

/*
 * The policy that a worker has if none is given.  It allows reading and writing in the workspace.
 */
static const char default_policy[] =
	"{\"fs\":{\"allow_read\":[\"$WORKSPACE\"],\"allow_write\":[\"$WORKSPACE\"]}}";

int workerrun_check(const struct workerrun_request *request, struct err *err)
{
	if (request->fd && request->socket)
		return err_set(err, ERR_USAGE, "--fd and --socket exclude each other");
	if (request->pool && !request->socket)
		return err_set(err, ERR_USAGE, "--pool needs --socket");
	if (request->pool > POOL_MAX)
		return err_set(err, ERR_USAGE, "--pool keeps at most %d workers", POOL_MAX);
	return 0;
}

/* ------------------------------------------------------------------ the policy */

static int read_text(const char *path, struct buf *out, struct err *err)
{
	owned_fd int fd = at_open_given(path, O_RDONLY, 0, err);
	char *room = fd < 0 ? NULL : buf_reserve(out, POLICY_SIZE_MAX + 1);
	ssize_t n = room ? at_pread_full(fd, room, POLICY_SIZE_MAX + 1, 0) : 0;

	if (fd < 0)
		return fd;
	if (n < 0)
		return err_number(err, (int)-n, "read '%s'", path);
	if ((size_t)n > POLICY_SIZE_MAX)
		return err_set(err, ERR_LIMIT, "'%s' is larger than a policy may be", path);
	out->len += (size_t)n;
	return 0;
}

static int read_policy(const char *path, const char *workspace, struct arena *arena,
	struct policy *out, struct err *err)
{
	owned(buf_release) struct buf text = BUF_INIT;
	const char *home = getenv("HOME");
	struct policy_place place = { .home = home && *home == '/' ? home : "/",
		.workspace = workspace };
	struct policy policy = { 0 };
	int r = path ? read_text(path, &text, err) : 0;

	if (!path)
		buf_adds(&text, default_policy);
	if (r >= 0)
		r = policy_read((struct str){ text.data ?: "", text.len },
			path ?: "the policy of a worker", arena, &policy, err);
	return r < 0 ? r : policy_resolve(&policy, &place, arena, out, err);
}

/*
 * Find the true path of the workspace.  If the path that was given for the workspace is absolute,
 * *given becomes a copy of that path.
 */
static int find_workspace(const char *root, char **given, char **found, struct err *err)
{
	owned_fd int fd = at_open_given(root ?: ".", O_PATH | O_DIRECTORY, 0, err);

	if (fd < 0)
		return fd;
	*found = at_path_of(fd, err);
	if (*found && root && *root == '/') {
		size_t len = strlen(root);

		while (len > 1 && root[len - 1] == '/')
			len--;
		*given = mem_printf("%.*s", (int)len, root);
	}
	return *found ? 0 : -(int)err->code;
}

static int open_denials(const char *where, struct err *err)
{
	char *end;
	long fd = strtol(where, &end, 10);

	if (!*where || *end)
		return at_open_given(where, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK, 0600, err);
	fd = fcntl((int)fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	return fd < 0 ? err_errno(err, "--denials %s", where) : (int)fd;
}

/* -------------------------------------------------------------- the connection */

int workerrun_listen(const char *path, struct err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	owned_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return err_errno(err, "make a socket");
	if (strlen(path) >= sizeof(address.sun_path))
		return err_set(
			err, ERR_INVALID, "the path of the socket is too long: '%.100s'", path);
	memcpy(address.sun_path, path, strlen(path));
	mode_t before = umask(0177);
	int r = bind(fd, (struct sockaddr *)&address, sizeof(address));
	(void)umask(before);
	if (r < 0 || listen(fd, SOMAXCONN) < 0)
		return err_errno(err, "listen on '%s'", path);
	return take_fd(&fd);
}

static bool is_same_user(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == geteuid();
}

int workerrun_accept(int listener, struct err *err)
{
	for (;;) {
		/* cppcheck-suppress nullPointer */
		owned_fd int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd >= 0 && is_same_user(fd))
			return take_fd(&fd);
		if (fd < 0 && errno != EINTR && errno != ECONNABORTED)
			return err_errno(err, "accept a connection");
	}
}

/* Wait for the first peer.  No other peer is accepted. */
static int meet_peer(
	const struct workerrun_request *request, const struct workerrun_face *face, struct err *err)
{
	owned_fd int listener = workerrun_listen(request->socket, err);

	if (listener < 0)
		return listener;
	face->ready(face->arg);
	int fd = workerrun_accept(listener, err);
	(void)unlink(request->socket); /* by-name: the socket that was made for --socket */
	return fd;
}

/*
 * Move descriptors 0 and 1 to other numbers, so that code that prints by mistake cannot damage a
 * frame.  Returns the descriptor of the input. *out becomes the descriptor of the output.
 */
static int take_standard(int *out, struct err *err)
{
	owned_fd int null = at_open_given("/dev/null", O_RDONLY, 0, err);
	owned_fd int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	owned_fd int copy = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	if (null < 0)
		return null;
	if (in < 0 || copy < 0 || dup2(null, STDIN_FILENO) < 0 ||
		dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return err_errno(err, "standard input and output");
	*out = take_fd(&copy);
	return take_fd(&in);
}

static int find_connection(const struct workerrun_request *request,
	const struct workerrun_face *face, int *out, struct err *err)
{
	if (!request->fd && !request->socket)
		return take_standard(out, err);
	int fd = request->socket ? meet_peer(request, face, err)
				 : fcntl((int)request->fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (fd < 0)
		return request->socket ? fd : err_errno(err, "--fd %d", (int)request->fd);
	*out = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return fd;
}

/* ------------------------------------------------------------------- the work */

static int confine(const struct workerrun *worker, const int *keep, size_t n, struct err *err)
{
	owned(buf_release) struct buf lacks = { .max = 4096 };
	struct selfconfine_options options = { .keep = keep, .n_keep = n };
	int r = selfconfine_enter(worker->policy, &options, &lacks, err);

	if (r == -ERR_UNSUPPORTED)
		return WORKERRUN_UNCONFINED;
	for (char *line = lacks.data, *end; r >= 0 && line && *line; line = end) {
		end = strchrnul(line, '\n');
		if (*end)
			*end++ = '\0';
		owned_mem char *text = mem_printf("not enforced by the kernel: %s", line);
		worker->face->tell(worker->face->arg, text);
	}
	return r;
}

int workerrun_confine(const struct workerrun *worker, int keep, struct err *err)
{
	return confine(worker, (int[]){ keep, worker->denials }, 2, err);
}

static void note_denial(
	void *arg, const char *what, const char *path, const struct verdict *verdict)
{
	denials_add(arg, what, path, verdict, getpid());
}

int workerrun_serve(const struct workerrun *worker, int in, int out, struct err *err)
{
	owned(gate_freep) struct gate *gate = NULL;
	struct denials *denials = worker->denials < 0 ? NULL : denials_new(worker->denials);
	int r = gate_new(worker->policy, worker->given, worker->workspace, &gate, err);

	if (denials && gate)
		gate_on_denial(gate, note_denial, denials);
	if (r >= 0)
		r = server_run(gate, in, out);
	denials_free(denials);
	return r;
}

static int serve_one(
	const struct workerrun *worker, const struct workerrun_request *request, struct err *err)
{
	owned_fd int out = -1;
	owned_fd int in = find_connection(request, worker->face, &out, err);

	if (in < 0)
		return in;
	int r = confine(worker, (int[]){ in, out, worker->denials }, 3, err);
	if (r != 0)
		server_refuse(out, err);
	return r ? r : workerrun_serve(worker, in, out, err);
}

int workerrun_main(
	const struct workerrun_request *request, const struct workerrun_face *face, struct err *err)
{
	owned(arena_release) struct arena arena = { 0 };
	owned_mem char *given = NULL, *workspace = NULL;
	struct policy policy = { 0 };
	owned_fd int denials = -1;
	int r = find_workspace(request->root, &given, &workspace, err);

	if (r >= 0)
		r = read_policy(request->policy, workspace, &arena, &policy, err);
	if (r >= 0 && request->denials)
		r = denials = open_denials(request->denials, err);
	if (r < 0)
		return r;
	struct workerrun worker = {
		.policy = &policy,
		.given = given,
		.workspace = workspace,
		.denials = denials,
		.face = face,
	};
	(void)signal(SIGPIPE, SIG_IGN);
	return request->pool ? pool_run(&worker, request->socket, (unsigned)request->pool, err)
			     : serve_one(&worker, request, err);
}
