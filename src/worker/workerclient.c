#include "worker/workerclient.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/child.h"
#include "core/mem.h"
#include "core/own.h"

static void init(struct workerclient *client, int fd, pid_t pid)
{
	*client = (struct workerclient){ .pid = pid, .fd = fd, .out = FRAME_BUF_INIT };
	frame_reader_init(&client->reader, fd);
}

/* Execute the worker.  To be called in the child process. */
static void execute(char *const *argv, int fd)
{
	size_t n = 0;

	while (argv[n])
		n++;
	char **args = mem_zalloc((n + 3) * sizeof(*args));
	memcpy(args, argv, n * sizeof(*args));
	args[n] = (char *)"--fd";
	args[n + 1] = mem_printf("%d", fd);
	if (fcntl(fd, F_SETFD, 0) == 0)
		(void)execvp(args[0], args);
	_exit(127);
}

int workerclient_spawn(struct workerclient *client, char *const *argv, struct err *err)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return err_errno(err, "make a socket");
	owned_fd int ours = ends[0], theirs = ends[1];
	pid_t pid = child_fork();
	if (pid < 0)
		return err_errno(err, "start a worker");
	if (pid == 0)
		execute(argv, theirs);
	init(client, take_fd(&ours), pid);
	return 0;
}

int workerclient_connect(struct workerclient *client, const char *path, struct err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	owned_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(address.sun_path))
		return err_set(
			err, ERR_INVALID, "the path of the socket is too long: '%.100s'", path);
	memcpy(address.sun_path, path, strlen(path));
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return err_errno(err, "connect to '%s'", path);
	init(client, take_fd(&fd), 0);
	return 0;
}

int workerclient_send(
	struct workerclient *client, const struct wire_request *request, struct err *err)
{
	frame_begin(&client->out);
	wire_write_request(&client->out, request);
	return frame_send(client->fd, &client->out, err);
}

int workerclient_receive(struct workerclient *client, struct wire_reply *reply, struct err *err)
{
	struct str frame;
	int r = frame_read(&client->reader, &frame, err);

	if (r == 0)
		return err_number(err, ECONNRESET, "the worker has ended");
	arena_release(&client->arena);
	return r < 0 ? r : wire_read_reply(frame, &client->arena, reply, err);
}

int workerclient_call(struct workerclient *client, const struct wire_request *request,
	struct wire_reply *reply, struct err *err)
{
	int r = workerclient_send(client, request, err);

	if (r >= 0)
		r = workerclient_receive(client, reply, err);
	if (r < 0 || reply->kind != WIRE_ERROR)
		return r;
	enum err_code code = reply->code == WIRE_POLICY_DENIED ? ERR_DENIED
			     : reply->code == WIRE_IO          ? ERR_SYSTEM
							       : ERR_INVALID;
	return err_set(err, code, "%.500s", reply->message.ptr);
}

int workerclient_close(struct workerclient *client)
{
	close_fd(&client->fd);
	frame_reader_release(&client->reader);
	buf_release(&client->out);
	arena_release(&client->arena);
	return client->pid ? child_wait(client->pid) : 0;
}
