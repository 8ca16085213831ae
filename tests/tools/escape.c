/*
 * escape - try to get out of a sandbox with raw system calls.
 *
 *	escape vsock              make a socket of AF_VSOCK in every way that the kernel has
 *	escape abstract NAME      reach the abstract socket of that name in every way that the
 *	                          kernel has
 *	escape listen NAME        make such a socket, print "ready", and stay
 *	escape destroy ID [DIR]   remove the btrfs subvolume of that number
 *	escape readonly [DIR]     make the subvolume DIR read-only
 *	escape writable [DIR]     make the subvolume DIR writable again
 *
 * One line is printed for each attempt: its name, and "done" or the error.  The default of DIR is
 * "/".  The exit status is 1 if any attempt succeeded.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/io_uring.h>
#include <linux/net.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define X32_BIT 0x40000000
#define X32_IOCTL 514
#define I386_IOCTL 54
#define I386_SOCKETCALL 102
#define I386_SOCKET 359
#define IORING_OP_SOCKET_NR 45

static bool any_done;

/* Print the result of an attempt.  r is a result of the kernel, and negative for an error. */
static void say(const char *attempt, long r)
{
	printf("%s: %s\n", attempt, r >= 0 ? "done" : strerrorname_np((int)-r));
	any_done |= r >= 0;
}

static long result(long r)
{
	return r < 0 ? -errno : r;
}

/* Returns a page with an address that fits into 32 bits, for calls of 32-bit programs. */
static void *low_page(void)
{
#ifdef MAP_32BIT
	void *page = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	return page == MAP_FAILED ? NULL : page;
#else
	return NULL;
#endif
}

static long call_32(long nr, long a, long b, long c)
{
#ifdef __x86_64__
	int r;

	__asm__ volatile("int $0x80"
			 : "=a"(r)
			 : "a"(nr), "b"(a), "c"(b), "d"(c)
			 : "memory", "r8", "r9", "r10", "r11");
	return r;
#else
	return -ENOSYS;
#endif
}

/* ------------------------------------------------------------------- AF_VSOCK */

static long by_socketcall(void)
{
	uint32_t *args = low_page();

	if (!args)
		return -ENOSYS;
	args[0] = AF_VSOCK;
	args[1] = SOCK_STREAM;
	args[2] = 0;
	return call_32(I386_SOCKETCALL, SYS_SOCKET, (long)(uintptr_t)args, 0);
}

struct ring {
	int fd;
	char *sq, *cq;
	struct io_uring_sqe *sqes;
	struct io_uring_params params;
};

static bool map_ring(struct ring *ring)
{
	size_t sq = ring->params.sq_off.array + ring->params.sq_entries * sizeof(uint32_t);
	size_t cq =
		ring->params.cq_off.cqes + ring->params.cq_entries * sizeof(struct io_uring_cqe);
	int prot = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_POPULATE;

	ring->sq = mmap(NULL, sq, prot, flags, ring->fd, IORING_OFF_SQ_RING);
	ring->cq = mmap(NULL, cq, prot, flags, ring->fd, IORING_OFF_CQ_RING);
	ring->sqes = mmap(NULL, ring->params.sq_entries * sizeof(struct io_uring_sqe), prot, flags,
		ring->fd, IORING_OFF_SQES);
	return ring->sq != MAP_FAILED && ring->cq != MAP_FAILED && ring->sqes != MAP_FAILED;
}

static long by_io_uring(void)
{
	struct ring ring = { 0 };

	ring.fd = (int)syscall(SYS_io_uring_setup, 1, &ring.params);
	if (ring.fd < 0 || !map_ring(&ring))
		return -errno;
	ring.sqes[0] = (struct io_uring_sqe){
		.opcode = IORING_OP_SOCKET_NR,
		.fd = AF_VSOCK,
		.off = SOCK_STREAM,
	};
	*(uint32_t *)(void *)(ring.sq + ring.params.sq_off.array) = 0;
	__atomic_fetch_add(
		(uint32_t *)(void *)(ring.sq + ring.params.sq_off.tail), 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring.fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		return -errno;
	const struct io_uring_cqe *cqe = (const void *)(ring.cq + ring.params.cq_off.cqes);
	return cqe->res;
}

static void try_vsock(void)
{
	say("socket", result(syscall(SYS_socket, AF_VSOCK, SOCK_STREAM, 0)));
	/* The kernel uses only 32 bits of the family. */
	say("socket with a long family",
		result(syscall(SYS_socket, INT64_C(1) << 32 | AF_VSOCK, SOCK_STREAM, 0)));
	say("x32 socket", result(syscall(X32_BIT | SYS_socket, AF_VSOCK, SOCK_STREAM, 0)));
	say("32-bit socket", call_32(I386_SOCKET, AF_VSOCK, SOCK_STREAM, 0));
	say("32-bit socketcall", by_socketcall());
	say("io_uring", by_io_uring());
}

/* ---------------------------------------------------------------------- btrfs */

static void try_ioctl(int fd, unsigned long request, const void *argument, size_t size)
{
	void *low = low_page();

	say("ioctl", result(syscall(SYS_ioctl, fd, request, argument)));
	say("x32 ioctl", result(syscall(X32_BIT | X32_IOCTL, fd, request, argument)));
	if (low)
		memcpy(low, argument, size);
	say("32-bit ioctl",
		low ? call_32(I386_IOCTL, fd, (long)request, (long)(uintptr_t)low) : -ENOSYS);
}

static void try_destroy(int fd, const char *id)
{
	static struct btrfs_ioctl_vol_args_v2 args;

	args.flags = BTRFS_SUBVOL_SPEC_BY_ID;
	args.subvolid = strtoull(id, NULL, 10);
	try_ioctl(fd, BTRFS_IOC_SNAP_DESTROY_V2, &args, sizeof(args));
}

static void try_flags(int fd, uint64_t flags)
{
	try_ioctl(fd, BTRFS_IOC_SUBVOL_SETFLAGS, &flags, sizeof(flags));
}

static socklen_t abstract_address(const char *name, struct sockaddr_un *out)
{
	size_t len = strlen(name);

	*out = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (len >= sizeof(out->sun_path))
		exit(2);
	memcpy(out->sun_path + 1, name, len);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
}

static void try_abstract(const char *name)
{
	struct sockaddr_un address;
	socklen_t len = abstract_address(name, &address);
	int stream = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int datagram = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct iovec part = { .iov_base = "x", .iov_len = 1 };
	struct msghdr message = {
		.msg_name = &address, .msg_namelen = len, .msg_iov = &part, .msg_iovlen = 1
	};

	say("connect", result(connect(stream, (struct sockaddr *)&address, len)));
	/* The name of the datagram socket has one more letter. */
	address.sun_path[len++ - offsetof(struct sockaddr_un, sun_path)] = 'd';
	message.msg_namelen = len;
	say("sendto", result(sendto(datagram, "x", 1, 0, (struct sockaddr *)&address, len)));
	say("sendmsg", result(sendmsg(datagram, &message, 0)));
	say("connect of datagrams", result(connect(datagram, (struct sockaddr *)&address, len)));
}

static void stay_listening(const char *name)
{
	struct sockaddr_un address;
	socklen_t len = abstract_address(name, &address);
	int stream = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int datagram = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int r = bind(stream, (struct sockaddr *)&address, len);

	address.sun_path[len++ - offsetof(struct sockaddr_un, sun_path)] = 'd';
	if (r < 0 || listen(stream, 64) < 0 ||
		bind(datagram, (struct sockaddr *)&address, len) < 0) {
		perror("listen");
		exit(2);
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}

static int open_dir(const char *dir)
{
	int fd = open(dir ? dir : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0) {
		perror(dir);
		exit(2);
	}
	return fd;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "vsock"))
		try_vsock();
	else if (!strcmp(what, "abstract") && argc > 2)
		try_abstract(argv[2]);
	else if (!strcmp(what, "listen") && argc > 2)
		stay_listening(argv[2]);
	else if (!strcmp(what, "destroy") && argc > 2)
		try_destroy(open_dir(argv[3]), argv[2]);
	else if (!strcmp(what, "readonly"))
		try_flags(open_dir(argv[2]), BTRFS_SUBVOL_RDONLY);
	else if (!strcmp(what, "writable"))
		try_flags(open_dir(argv[2]), 0);
	else
		return 2;
	return any_done;
}
