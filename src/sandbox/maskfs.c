/*
 * In the FUSE protocol, the number of a node is computed from its index in the list of nodes.  The
 * root has the first number.  Names and attributes never change, so the kernel may keep them for
 * ever.  So no request is made when a mount is attached to a node that a process holds open.
 */
#include "sandbox/maskfs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "core/at.h"
#include "core/child.h"
#include "core/mem.h"
#include "core/own.h"
#include "sandbox/mountcall.h"
#include "sandbox/process.h"

/* the kernel demands a buffer with room for a write request */
#define REQUEST_MAX (FUSE_MIN_READ_BUFFER + 4096)
#define WRITE_MAX 4096
#define ALWAYS (1U << 30) /* seconds that the kernel may keep an answer: in effect for ever */
#define MODE 0111         /* the x bits make the kernel ask this process about an execution, too */
#define OPTION_MAX 16

struct node {
	char *path, *name, *target;
	size_t parent, mask; /* indexes in the list of nodes; for a mask, both are its own index */
	mode_t type;
	bool leads; /* the node is a directory with entries */
	int fd;
};

struct maskfs {
	int device, mount;
	struct node *nodes;
	size_t n;
	maskfs_told *told;
	void *arg;
};

/* ------------------------------------------------------------------ answers */

static int answer(const struct maskfs *fs, uint64_t unique, int error, const void *bytes, size_t n)
{
	struct fuse_out_header header = {
		.len = (uint32_t)(sizeof(header) + n),
		.error = -error,
		.unique = unique,
	};
	const struct iovec parts[] = { { &header, sizeof(header) }, { (void *)bytes, n } };

	/* ENOENT: the program that made the request was killed. */
	return writev(fs->device, parts, n ? 2 : 1) < 0 && errno != ENOENT ? -1 : 0;
}

static void fill_attr(const struct maskfs *fs, uint64_t id, struct fuse_attr *out)
{
	const struct node *node = id == FUSE_ROOT_ID ? NULL : &fs->nodes[id - FUSE_ROOT_ID - 1];

	*out = (struct fuse_attr){
		.ino = id,
		.mode = (node ? node->type : S_IFDIR) | MODE,
		.nlink = 1,
		.size = node && node->target ? strlen(node->target) : 0,
		.blksize = WRITE_MAX,
	};
	if (node && node->target)
		out->mode |= 0777;
}

static int answer_attr(const struct maskfs *fs, const struct fuse_in_header *in)
{
	struct fuse_attr_out out = { .attr_valid = ALWAYS };

	fill_attr(fs, in->nodeid, &out.attr);
	return answer(fs, in->unique, 0, &out, sizeof(out));
}

static int answer_entry(const struct maskfs *fs, const struct fuse_in_header *in, size_t node)
{
	struct fuse_entry_out out = {
		.nodeid = FUSE_ROOT_ID + 1 + node,
		.entry_valid = ALWAYS,
		.attr_valid = ALWAYS,
	};

	fill_attr(fs, out.nodeid, &out.attr);
	return answer(fs, in->unique, 0, &out, sizeof(out));
}

static int answer_init(
	const struct maskfs *fs, const struct fuse_in_header *in, const struct fuse_init_in *init)
{
	struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION,
		.minor = init->minor < FUSE_KERNEL_MINOR_VERSION ? init->minor
								 : FUSE_KERNEL_MINOR_VERSION,
		.max_write = WRITE_MAX,
		.time_gran = 1,
	};

	return answer(fs, in->unique, 0, &out, sizeof(out));
}

static int answer_statfs(const struct maskfs *fs, const struct fuse_in_header *in)
{
	const struct fuse_statfs_out out = { .st = { .bsize = WRITE_MAX, .namelen = 255 } };

	return answer(fs, in->unique, 0, &out, sizeof(out));
}

/* ----------------------------------------------------------------- requests */

/*
 * Refuse and report an access to an entry of a node.  If 'name' is NULL, the access is to the node
 * itself.
 */
static int refuse(const struct maskfs *fs, const struct fuse_in_header *in, const char *name)
{
	if (in->nodeid != FUSE_ROOT_ID && fs->told) {
		size_t place = in->nodeid - FUSE_ROOT_ID - 1, mask = fs->nodes[place].mask;
		const char *below = fs->nodes[place].path + strlen(fs->nodes[mask].path);
		owned_mem char *path = mem_printf("%s%s%s", below + (*below == '/'),
			*below && name ? "/" : "", name ? name : "");

		fs->told(fs->arg, mask, path, (pid_t)in->pid);
	}
	return answer(fs, in->unique, EACCES, NULL, 0);
}

static bool is_entry(const struct maskfs *fs, size_t node, uint64_t parent, const char *name)
{
	const struct node *one = &fs->nodes[node];
	uint64_t its = one->parent == node ? FUSE_ROOT_ID : FUSE_ROOT_ID + 1 + one->parent;

	return its == parent && !strcmp(one->name, name);
}

static int look_up(const struct maskfs *fs, const struct fuse_in_header *in, const char *name)
{
	for (size_t i = 0; i < fs->n; i++)
		if (is_entry(fs, i, in->nodeid, name))
			return answer_entry(fs, in, i);
	return in->nodeid == FUSE_ROOT_ID ? answer(fs, in->unique, ENOENT, NULL, 0)
					  : refuse(fs, in, name);
}

static int read_link(const struct maskfs *fs, const struct fuse_in_header *in)
{
	const char *target =
		in->nodeid == FUSE_ROOT_ID ? NULL : fs->nodes[in->nodeid - FUSE_ROOT_ID - 1].target;

	return target ? answer(fs, in->unique, 0, target, strlen(target))
		      : answer(fs, in->unique, EINVAL, NULL, 0);
}

/*
 * Check an access(2).  The only access that is allowed is X_OK for a directory on the way to a
 * hole, since entering the directory shows no masked files.
 */
static int check_access(const struct maskfs *fs, const struct fuse_in_header *in,
	const struct fuse_access_in *access)
{
	bool leads = in->nodeid != FUSE_ROOT_ID && fs->nodes[in->nodeid - FUSE_ROOT_ID - 1].leads;

	return leads && access->mask == X_OK ? answer(fs, in->unique, 0, NULL, 0)
					     : refuse(fs, in, NULL);
}

/* Answer one request.  Returns -1 if the answer cannot be sent. */
static int handle(const struct maskfs *fs, const struct fuse_in_header *in, const void *body)
{
	switch (in->opcode) {
	case FUSE_INIT:
		return answer_init(fs, in, body);
	case FUSE_LOOKUP:
		return look_up(fs, in, body);
	case FUSE_GETATTR:
		return answer_attr(fs, in);
	case FUSE_READLINK:
		return read_link(fs, in);
	case FUSE_ACCESS:
		return check_access(fs, in, body);
	case FUSE_STATFS:
		return answer_statfs(fs, in);
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return 0;
	case FUSE_DESTROY:
		return answer(fs, in->unique, 0, NULL, 0);
	case FUSE_OPEN:
	case FUSE_OPENDIR:
	case FUSE_SETATTR:
		return refuse(fs, in, NULL);
	default:
		return answer(fs, in->unique, ENOSYS, NULL, 0);
	}
}

int maskfs_serve(struct maskfs *fs)
{
	_Alignas(8) char request[REQUEST_MAX + 1];
	struct fuse_in_header in;

	for (;;) {
		ssize_t n = read(fs->device, request, REQUEST_MAX);

		if (n < 0 && errno == EAGAIN)
			return 0;
		/* ENOENT: the program was killed before its request was read. */
		if (n < 0 && (errno == EINTR || errno == ENOENT))
			continue;
		if (n < (ssize_t)sizeof(in))
			return -1;
		request[n] = '\0';
		memcpy(&in, request, sizeof(in));
		if (in.nodeid > FUSE_ROOT_ID + fs->n || handle(fs, &in, request + sizeof(in)) < 0)
			return -1;
	}
}

/* ------------------------------------------------------------------ making */

static void add_node(struct maskfs *fs, const struct maskfs_node *given)
{
	struct node *node = &fs->nodes[fs->n];
	char *slash;

	*node = (struct node){
		.path = mem_strdup(given->path),
		.target = given->target ? mem_strdup(given->target) : NULL,
		.parent = fs->n,
		.mask = fs->n,
		.type = given->type,
		.fd = -1,
	};
	slash = strrchr(node->path, '/');
	node->name = slash ? slash + 1 : node->path;
	for (size_t i = 0; slash && i < fs->n; i++) {
		struct node *one = &fs->nodes[i];

		if (strncmp(one->path, node->path, (size_t)(slash - node->path)) ||
			one->path[slash - node->path])
			continue;
		one->leads = true;
		node->parent = i;
		node->mask = one->mask;
	}
	fs->n++;
}

int maskfs_open(struct err *err)
{
	int fd = at_open_given("/dev/fuse", O_RDWR | O_NONBLOCK, 0, err);

	return fd < 0 ? err_context(err, "offer a file system") : fd;
}

/*
 * Mount the file system with allow_other.  Without this option, users other than the one who mounts
 * would get EACCES, and no request would be made for them.
 */
static int mount_fs(struct maskfs *fs, struct err *err)
{
	char device[OPTION_MAX], uid[OPTION_MAX], gid[OPTION_MAX];
	const struct mountcall_option options[] = {
		{ "fd", device },
		{ "rootmode", "40000" },
		{ "user_id", uid },
		{ "group_id", gid },
		{ "allow_other", NULL },
		{ NULL, NULL },
	};

	snprintf(device, sizeof(device), "%d", fs->device);
	snprintf(uid, sizeof(uid), "%u", geteuid());
	snprintf(gid, sizeof(gid), "%u", getegid());
	/*
	 * MOUNT_ATTR_NOEXEC is not set.  With it, the kernel itself would refuse to execute a mask,
	 * and would not ask this process.
	 */
	fs->mount = mountcall_new(
		"fuse", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_RDONLY, err);
	return fs->mount < 0 ? fs->mount : 0;
}

/* The child that opens the nodes.  It shares the descriptors of this process. */
static _Noreturn void opener_main(const struct maskfs *fs, int socket)
{
	for (size_t i = 0; i < fs->n; i++) {
		const struct node *node = &fs->nodes[i];
		const int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
		int fd = openat(fs->mount, node->path, flags); /* by-name: served by its parent */

		fd = fd < 0 ? -errno : fd;
		if (send(socket, &fd, sizeof(fd), MSG_NOSIGNAL) != (ssize_t)sizeof(fd) || fd < 0)
			_exit(1);
	}
	_exit(0);
}

/*
 * Receive the descriptors that the child opens.  Meanwhile, answer the requests that the kernel
 * makes for the child's calls.
 */
static int serve_opener(struct maskfs *fs, int socket, int process, struct err *err)
{
	struct pollfd ready[] = { { fs->device, POLLIN, 0 }, { socket, POLLIN, 0 },
		{ process, POLLIN, 0 } };

	for (size_t i = 0; i < fs->n;) {
		if (poll(ready, 3, -1) < 0)
			continue; /* a signal has come */
		if (ready[0].revents && maskfs_serve(fs) < 0)
			return err_errno(err, "serve a file system");
		if (!ready[1].revents && !ready[2].revents)
			continue;
		int fd = -1;
		if (recv(socket, &fd, sizeof(fd), MSG_DONTWAIT) != (ssize_t)sizeof(fd))
			return err_set(err, ERR_SYSTEM, "the process that opens masks was killed");
		if (fd < 0)
			return err_number(err, -fd, "open '%s' in a mask", fs->nodes[i].path);
		fs->nodes[i++].fd = fd;
	}
	return 0;
}

/*
 * Open all nodes, so that the kernel has their names and attributes.  A child opens the nodes,
 * because each call waits for an answer of this process.
 */
static int open_nodes(struct maskfs *fs, struct err *err)
{
	owned_fd int process = -1;
	struct clone_args args = {
		.flags = CLONE_FILES | CLONE_PIDFD,
		.exit_signal = SIGCHLD,
		.pidfd = (uint64_t)(uintptr_t)&process,
	};
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_errno(err, "make a socket pair");
	pid_t pid = process_clone(&args);
	if (pid == 0)
		opener_main(fs, ends[1]);
	int r = pid < 0 ? err_errno(err, "start a process")
			: serve_opener(fs, ends[0], process, err);
	if (r < 0 && pid > 0)
		(void)kill(pid, SIGKILL);
	if (pid > 0)
		(void)child_wait(pid);
	close_fd(&ends[0]);
	close_fd(&ends[1]);
	return r;
}

struct maskfs *maskfs_new(int device, const struct maskfs_node *nodes, size_t n, maskfs_told *told,
	void *arg, struct err *err)
{
	struct maskfs *fs = mem_zalloc(sizeof(*fs));

	*fs = (struct maskfs){ .device = device, .mount = -1, .told = told, .arg = arg };
	fs->nodes = mem_zalloc((n + 1) * sizeof(*fs->nodes));
	for (size_t i = 0; i < n; i++)
		add_node(fs, &nodes[i]);
	if (mount_fs(fs, err) == 0 && open_nodes(fs, err) == 0)
		return fs;
	maskfs_free(fs);
	return NULL;
}

void maskfs_settle(struct maskfs *fs)
{
	for (size_t i = 0; i < fs->n; i++)
		close_fd(&fs->nodes[i].fd);
	close_fd(&fs->mount);
}

void maskfs_free(struct maskfs *fs)
{
	if (!fs)
		return;
	/*
	 * Close the device first.  Otherwise closing the other descriptors would wait for answers
	 * of this process.
	 */
	close_fd(&fs->device);
	maskfs_settle(fs);
	for (size_t i = 0; i < fs->n; i++) {
		free(fs->nodes[i].path);
		free(fs->nodes[i].target);
	}
	free(fs->nodes);
	free(fs);
}

/*
 * Make a mask.  Call this in a child, since the function moves its process to a new mount
 * namespace: a process can make mounts only in a mount namespace that belongs to the user namespace
 * of the process.
 */
static int try_mask(void *arg, struct err *err)
{
	const struct maskfs_node one = { "mask", S_IFDIR, NULL };
	int device = maskfs_open(err);

	if (device < 0)
		return device;
	if (unshare(CLONE_NEWNS) < 0) {
		err_errno(err, "make a mount namespace");
		close_fd(&device);
		return -(int)err->code;
	}
	struct maskfs *fs = maskfs_new(device, &one, 1, NULL, NULL, err);
	maskfs_free(fs);
	return fs ? 0 : -(int)err->code;
}

bool maskfs_probe(struct err *err)
{
	return child_do(try_mask, NULL, err) >= 0;
}

int maskfs_mount(const struct maskfs *fs)
{
	return fs->mount;
}

int maskfs_node(const struct maskfs *fs, size_t node)
{
	return fs->nodes[node].fd;
}

int maskfs_fd(const struct maskfs *fs)
{
	return fs->device;
}
