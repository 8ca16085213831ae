/*
 * faultlib - make the n-th change of the file system fail, or be the last one.
 *
 *	gcc -shared -fPIC -o faultlib.so faultlib.c -ldl
 *	LD_PRELOAD=./faultlib.so FAULT_AT=7 FAULT_MODE=ENOSPC strata save
 *
 * Counts the calls that change a regular file or a directory.  Calls on descriptors 0 to 2, pipes,
 * sockets and terminals are not counted.
 *
 *	FAULT_AT=N       the N-th counted call, from 1; without it no call fails
 *	FAULT_MODE=      kill       SIGKILL before the call
 *	                 killafter  SIGKILL after the call, if it succeeded
 *	                 stop       SIGSTOP before the call, which is made after SIGCONT
 *	                 short      a write does half its bytes and the next write fails
 *	                            with ENOSPC; any other call fails with ENOSPC at once
 *	                 ENOSPC EIO EDQUOT EINTR ...  this error; the call is not made
 *	FAULT_STICKY=1   all counted calls from the N-th on fail, as on a full disk
 *	FAULT_CALLS=A,B  count only these: families or single functions of the list below
 *	FAULT_COUNT=FILE at exit (also _exit) write the number of counted calls to FILE.
 *	                 A larger number in FILE is kept, so that of several processes
 *	                 the one with most calls counts.  Remove FILE before.
 *	FAULT_STATE=FILE count over all processes together: FILE is a counter they share
 *	FAULT_PROGRAM=P  act only in processes of this name (program_invocation_short_name)
 *
 * Without FAULT_STATE each process counts for itself.  A forked child continues from its parent's
 * number.
 *
 * These changes are not noticed: writes by stdio (libc calls its internal write), changes through
 * mmap, and changes by statically linked programs.
 */
#undef _FORTIFY_SOURCE /* the inline open() cannot be redefined */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

enum action { PASS, FAIL, SHORTEN, KILL_AFTER };
enum mode { MODE_NONE, MODE_KILL, MODE_KILL_AFTER, MODE_STOP, MODE_SHORT, MODE_ERRNO };

static struct {
	uint64_t at;
	enum mode mode;
	int error;
	bool sticky;
	bool active;
	const char *calls;
	const char *count_file;
	_Atomic uint64_t *counter;
} config;

static _Atomic uint64_t own_counter;
static atomic_bool write_fails; /* mode short: the next write fails with ENOSPC */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* --- the functions of the C library --- */

/*
 * Find the function of the C library at its first use.  Constructors of other libraries may call a
 * wrapper before the constructor of this one runs.
 */
#define NEXT(name)                                                                                 \
	({                                                                                         \
		static _Atomic(void *) next_;                                                      \
		void *found_ = atomic_load_explicit(&next_, memory_order_relaxed);                 \
		if (!found_) {                                                                     \
			found_ = next_symbol(#name);                                               \
			atomic_store_explicit(&next_, found_, memory_order_relaxed);               \
		}                                                                                  \
		(__typeof__(&name))found_;                                                         \
	})

static void *next_symbol(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (!found)
		abort();
	return found;
}

/*
 * syscall(2) as a function with seven words.  On x86-64 and aarch64, the variadic form is called in
 * the same way.  So all arguments are passed on, however many the call uses.
 */
long faultlib_syscall(long number, long a, long b, long c, long d, long e, long f) __asm__(
	"syscall");

static long next_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	return NEXT(syscall)(number, a, b, c, d, e, f);
}

static long raw(long number, long a, long b, long c, long d)
{
	return next_syscall(number, a, b, c, d, 0, 0);
}

/* --- configuration --- */

static const struct {
	const char *name;
	int error;
} errors[] = {
	{ "ENOSPC", ENOSPC },
	{ "EIO", EIO },
	{ "EDQUOT", EDQUOT },
	{ "EINTR", EINTR },
	{ "EROFS", EROFS },
	{ "EACCES", EACCES },
	{ "EPERM", EPERM },
	{ "ENOMEM", ENOMEM },
	{ "EMFILE", EMFILE },
	{ "EFBIG", EFBIG },
	{ "EXDEV", EXDEV },
	{ "EOPNOTSUPP", EOPNOTSUPP },
};

static void complain(const char *what, const char *value)
{
	char text[256];
	int len = snprintf(text, sizeof(text), "faultlib: %s '%.100s'\n", what, value);

	raw(SYS_write, 2, (long)text, len, 0);
	raw(SYS_exit_group, 125, 0, 0, 0);
}

static void load_mode(const char *text)
{
	if (!strcmp(text, "kill")) {
		config.mode = MODE_KILL;
	} else if (!strcmp(text, "killafter")) {
		config.mode = MODE_KILL_AFTER;
	} else if (!strcmp(text, "stop")) {
		config.mode = MODE_STOP;
	} else if (!strcmp(text, "short")) {
		config.mode = MODE_SHORT;
		config.error = ENOSPC;
	} else {
		for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
			if (!strcmp(text, errors[i].name)) {
				config.mode = MODE_ERRNO;
				config.error = errors[i].error;
			}
	}
	if (config.mode == MODE_NONE)
		complain("unknown FAULT_MODE", text);
}

static void share_counter(const char *path)
{
	long fd = raw(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);

	if (fd < 0 || raw(SYS_ftruncate, fd, sizeof(uint64_t), 0, 0))
		complain("cannot use FAULT_STATE", path);
	void *page = mmap(NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0);
	if (page == MAP_FAILED)
		complain("cannot map FAULT_STATE", path);
	close((int)fd);
	config.counter = page;
}

static void load_config(void)
{
	const char *at = getenv("FAULT_AT");
	const char *mode = getenv("FAULT_MODE");
	const char *sticky = getenv("FAULT_STICKY");
	const char *state = getenv("FAULT_STATE");
	const char *program = getenv("FAULT_PROGRAM");

	config.counter = &own_counter;
	config.active = !program || !strcmp(program, program_invocation_short_name);
	if (!config.active)
		return;
	config.calls = getenv("FAULT_CALLS");
	config.count_file = getenv("FAULT_COUNT");
	config.sticky = sticky && !strcmp(sticky, "1");
	if (state)
		share_counter(state);
	if (at) {
		char *end;

		config.at = strtoull(at, &end, 10);
		if (*end || !config.at)
			complain("bad FAULT_AT", at);
		load_mode(mode ? mode : "EIO");
	}
}

/* Read the environment before the program can change it. */
__attribute__((constructor)) static void start(void)
{
	pthread_once(&once, load_config);
}

/* --- deciding --- */

static bool listed(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *item = list; item; item = strchr(item, ',')) {
		item += *item == ',';
		if (!strncmp(item, name, len) && (!item[len] || item[len] == ','))
			return true;
	}
	return false;
}

static _Noreturn void die(void)
{
	for (;;)
		raw(SYS_kill, raw(SYS_getpid, 0, 0, 0, 0), SIGKILL, 0, 0);
}

/*
 * Count one call, and decide whether it fails.  errno is set for FAIL, and otherwise does not
 * change.
 */
static enum action decide(const char *family, const char *function)
{
	bool writes = !strcmp(family, "write");

	if (!config.active ||
		(config.calls && !listed(config.calls, family) && !listed(config.calls, function)))
		return PASS;
	uint64_t n = atomic_fetch_add(config.counter, 1) + 1;
	if (writes && atomic_exchange(&write_fails, false)) {
		errno = config.error;
		return FAIL;
	}
	if (!config.at || n < config.at || (n > config.at && !config.sticky))
		return PASS;
	switch (config.mode) {
	case MODE_KILL:
		die();
	case MODE_KILL_AFTER:
		return KILL_AFTER;
	case MODE_STOP:
		raw(SYS_kill, raw(SYS_getpid, 0, 0, 0, 0), SIGSTOP, 0, 0);
		return PASS;
	case MODE_SHORT:
		if (writes && n == config.at) {
			atomic_store(&write_fails, true);
			return SHORTEN;
		}
		break;
	default:
		break;
	}
	errno = config.error;
	return FAIL;
}

/*
 * Whether changes through a descriptor are counted: it must be above 2, and stand for a regular
 * file or a directory.
 */
static bool counted_fd(int fd)
{
	int saved = errno;
	struct stat st;

	pthread_once(&once, load_config);
	if (fd <= 2)
		return false;
	bool counted = !fstat(fd, &st) && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
	errno = saved;
	return counted;
}

static bool counted_name(void)
{
	pthread_once(&once, load_config);
	return true;
}

static bool creates(int flags)
{
	return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

/* --- wrappers: all are alike, except those of writes and variadic functions --- */

#define WRAP(type, family, name, counted, parameters, arguments)                                   \
	type name parameters                                                                       \
	{                                                                                          \
		enum action action_ = (counted) ? decide(#family, #name) : PASS;                   \
		if (action_ == FAIL)                                                               \
			return (type)-1;                                                           \
		type result_ = NEXT(name) arguments;                                               \
		if (action_ == KILL_AFTER && result_ != (type)-1)                                  \
			die();                                                                     \
		return result_;                                                                    \
	}

#define WRAP_FD(family, name, parameters, arguments)                                               \
	WRAP(int, family, name, counted_fd(fd), parameters, arguments)
#define WRAP_NAME(family, name, parameters, arguments)                                             \
	WRAP(int, family, name, counted_name(), parameters, arguments)

WRAP_FD(fsync, fsync, (int fd), (fd))
WRAP_FD(fsync, fdatasync, (int fd), (fd))
WRAP_FD(fsync, syncfs, (int fd), (fd))
WRAP_FD(fsync, sync_file_range, (int fd, off64_t offset, off64_t len, unsigned flags),
	(fd, offset, len, flags))

WRAP_FD(ftruncate, ftruncate, (int fd, off_t len), (fd, len))
WRAP_FD(ftruncate, ftruncate64, (int fd, off64_t len), (fd, len))
WRAP_NAME(ftruncate, truncate, (const char *path, off_t len), (path, len))
WRAP_NAME(ftruncate, truncate64, (const char *path, off64_t len), (path, len))
WRAP_FD(fallocate, fallocate, (int fd, int how, off_t offset, off_t len), (fd, how, offset, len))
WRAP_FD(fallocate, fallocate64, (int fd, int how, off64_t offset, off64_t len),
	(fd, how, offset, len))

WRAP_NAME(rename, rename, (const char *from, const char *to), (from, to))
WRAP_NAME(rename, renameat, (int from_fd, const char *from, int to_fd, const char *to),
	(from_fd, from, to_fd, to))
WRAP_NAME(rename, renameat2,
	(int from_fd, const char *from, int to_fd, const char *to, unsigned flags),
	(from_fd, from, to_fd, to, flags))
WRAP_NAME(link, link, (const char *from, const char *to), (from, to))
WRAP_NAME(link, linkat, (int from_fd, const char *from, int to_fd, const char *to, int flags),
	(from_fd, from, to_fd, to, flags))
WRAP_NAME(unlink, unlink, (const char *path), (path))
WRAP_NAME(unlink, unlinkat, (int fd, const char *path, int flags), (fd, path, flags))
WRAP_NAME(unlink, rmdir, (const char *path), (path))
WRAP_NAME(unlink, remove, (const char *path), (path))
WRAP_NAME(mkdir, mkdir, (const char *path, mode_t mode), (path, mode))
WRAP_NAME(mkdir, mkdirat, (int fd, const char *path, mode_t mode), (fd, path, mode))
WRAP_NAME(symlink, symlink, (const char *target, const char *path), (target, path))
WRAP_NAME(symlink, symlinkat, (const char *target, int fd, const char *path), (target, fd, path))
WRAP_NAME(mknod, mknod, (const char *path, mode_t mode, dev_t dev), (path, mode, dev))
WRAP_NAME(mknod, mknodat, (int fd, const char *path, mode_t mode, dev_t dev), (fd, path, mode, dev))
WRAP_NAME(mknod, mkfifo, (const char *path, mode_t mode), (path, mode))
WRAP_NAME(mknod, mkfifoat, (int fd, const char *path, mode_t mode), (fd, path, mode))

WRAP_FD(chmod, fchmod, (int fd, mode_t mode), (fd, mode))
WRAP_NAME(chmod, chmod, (const char *path, mode_t mode), (path, mode))
WRAP_NAME(chmod, fchmodat, (int fd, const char *path, mode_t mode, int flags),
	(fd, path, mode, flags))
WRAP_FD(chown, fchown, (int fd, uid_t uid, gid_t gid), (fd, uid, gid))
WRAP_NAME(chown, chown, (const char *path, uid_t uid, gid_t gid), (path, uid, gid))
WRAP_NAME(chown, lchown, (const char *path, uid_t uid, gid_t gid), (path, uid, gid))
WRAP_NAME(chown, fchownat, (int fd, const char *path, uid_t uid, gid_t gid, int flags),
	(fd, path, uid, gid, flags))
WRAP_FD(utimensat, futimens, (int fd, const struct timespec times[2]), (fd, times))
WRAP_NAME(utimensat, utimensat,
	(int fd, const char *path, const struct timespec times[2], int flags),
	(fd, path, times, flags))

WRAP_FD(xattr, fsetxattr, (int fd, const char *name, const void *value, size_t len, int flags),
	(fd, name, value, len, flags))
WRAP_NAME(xattr, setxattr,
	(const char *path, const char *name, const void *value, size_t len, int flags),
	(path, name, value, len, flags))
WRAP_NAME(xattr, lsetxattr,
	(const char *path, const char *name, const void *value, size_t len, int flags),
	(path, name, value, len, flags))
WRAP_FD(xattr, fremovexattr, (int fd, const char *name), (fd, name))
WRAP_NAME(xattr, removexattr, (const char *path, const char *name), (path, name))
WRAP_NAME(xattr, lremovexattr, (const char *path, const char *name), (path, name))

WRAP_NAME(open, creat, (const char *path, mode_t mode), (path, mode))
WRAP_NAME(open, creat64, (const char *path, mode_t mode), (path, mode))
WRAP_NAME(open, mkstemp, (char *path), (path))
WRAP_NAME(open, mkstemp64, (char *path), (path))
WRAP_NAME(open, mkostemp, (char *path, int flags), (path, flags))
WRAP_NAME(open, mkostemp64, (char *path, int flags), (path, flags))

/* These functions return the error and do not set errno. */
#define WRAP_POSIX_FALLOCATE(name, offset_type)                                                    \
	int name(int fd, offset_type offset, offset_type len)                                      \
	{                                                                                          \
		int saved_ = errno;                                                                \
		enum action action_ = counted_fd(fd) ? decide("fallocate", #name) : PASS;          \
		errno = saved_;                                                                    \
		if (action_ == FAIL)                                                               \
			return config.error;                                                       \
		int result_ = NEXT(name)(fd, offset, len);                                         \
		if (action_ == KILL_AFTER && !result_)                                             \
			die();                                                                     \
		return result_;                                                                    \
	}

WRAP_POSIX_FALLOCATE(posix_fallocate, off_t)
WRAP_POSIX_FALLOCATE(posix_fallocate64, off64_t)

/* --- open: the argument mode exists only if a file may be created --- */

#define OPEN_BODY(name, ...)                                                                       \
	mode_t mode = 0;                                                                           \
	enum action action = PASS;                                                                 \
	if (creates(flags)) {                                                                      \
		va_list ap;                                                                        \
		va_start(ap, flags);                                                               \
		mode = va_arg(ap, mode_t);                                                         \
		va_end(ap);                                                                        \
		if (counted_name())                                                                \
			action = decide("open", #name);                                            \
	}                                                                                          \
	if (action == FAIL)                                                                        \
		return -1;                                                                         \
	int fd = NEXT(name)(__VA_ARGS__, flags, mode);                                             \
	if (action == KILL_AFTER && fd >= 0)                                                       \
		die();                                                                             \
	return fd

int open(const char *path, int flags, ...)
{
	OPEN_BODY(open, path);
}

int open64(const char *path, int flags, ...)
{
	OPEN_BODY(open64, path);
}

int openat(int dirfd, const char *path, int flags, ...)
{
	OPEN_BODY(openat, dirfd, path);
}

int openat64(int dirfd, const char *path, int flags, ...)
{
	OPEN_BODY(openat64, dirfd, path);
}

/* --- writes, which can also be short --- */

/*
 * Returns the number of bytes that a call may write.  If this would be 0, the call becomes a
 * failure.
 */
static size_t shortened(enum action *action, size_t len)
{
	if (*action != SHORTEN)
		return len;
	if (len < 2) {
		atomic_store(&write_fails, false);
		*action = FAIL;
		errno = config.error;
	}
	return len / 2;
}

#define WRAP_WRITE(type, name, counted, len, parameters, arguments)                                \
	type name parameters                                                                       \
	{                                                                                          \
		enum action action_ = (counted) ? decide("write", #name) : PASS;                   \
		len = shortened(&action_, len);                                                    \
		if (action_ == FAIL)                                                               \
			return -1;                                                                 \
		type result_ = NEXT(name) arguments;                                               \
		if (action_ == KILL_AFTER && result_ >= 0)                                         \
			die();                                                                     \
		return result_;                                                                    \
	}

WRAP_WRITE(ssize_t, write, counted_fd(fd), len, (int fd, const void *bytes, size_t len),
	(fd, bytes, len))
WRAP_WRITE(ssize_t, pwrite, counted_fd(fd), len,
	(int fd, const void *bytes, size_t len, off_t offset), (fd, bytes, len, offset))
WRAP_WRITE(ssize_t, pwrite64, counted_fd(fd), len,
	(int fd, const void *bytes, size_t len, off64_t offset), (fd, bytes, len, offset))
WRAP_WRITE(ssize_t, copy_file_range, counted_fd(to), len,
	(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t len, unsigned flags),
	(from, from_offset, to, to_offset, len, flags))
WRAP_WRITE(ssize_t, sendfile, counted_fd(to), len, (int to, int from, off_t *offset, size_t len),
	(to, from, offset, len))
WRAP_WRITE(ssize_t, sendfile64, counted_fd(to), len,
	(int to, int from, off64_t *offset, size_t len), (to, from, offset, len))

/* The first half of the bytes of a vector, as a vector. */
struct half {
	struct iovec list[IOV_MAX];
	int count;
};

static int halve(struct half *half, const struct iovec *list, int count)
{
	size_t total = 0;

	for (int i = 0; i < count; i++)
		total += list[i].iov_len;
	total /= 2;
	for (half->count = 0; half->count < count && half->count < IOV_MAX && total;) {
		struct iovec part = list[half->count];

		if (part.iov_len > total)
			part.iov_len = total;
		total -= part.iov_len;
		half->list[half->count++] = part;
	}
	return half->count;
}

#define WRAP_VECTOR(name, parameters, ...)                                                         \
	ssize_t name parameters                                                                    \
	{                                                                                          \
		struct half half_;                                                                 \
		enum action action_ = counted_fd(fd) ? decide("write", #name) : PASS;              \
		if (action_ == SHORTEN && halve(&half_, list, count)) {                            \
			list = half_.list;                                                         \
			count = half_.count;                                                       \
		}                                                                                  \
		if (action_ == FAIL)                                                               \
			return -1;                                                                 \
		ssize_t result_ = NEXT(name)(__VA_ARGS__);                                         \
		if (action_ == KILL_AFTER && result_ >= 0)                                         \
			die();                                                                     \
		return result_;                                                                    \
	}

WRAP_VECTOR(writev, (int fd, const struct iovec *list, int count), fd, list, count)
WRAP_VECTOR(pwritev, (int fd, const struct iovec *list, int count, off_t offset), fd, list, count,
	offset)
WRAP_VECTOR(pwritev64, (int fd, const struct iovec *list, int count, off64_t offset), fd, list,
	count, offset)
WRAP_VECTOR(pwritev2, (int fd, const struct iovec *list, int count, off_t offset, int flags), fd,
	list, count, offset, flags)
WRAP_VECTOR(pwritev64v2, (int fd, const struct iovec *list, int count, off64_t offset, int flags),
	fd, list, count, offset, flags)

/* Only the clone requests of ioctl change a file. */
int ioctl(int fd, unsigned long request, ...)
{
	enum action action = PASS;
	va_list ap;

	va_start(ap, request);
	void *argument = va_arg(ap, void *);
	va_end(ap);
	if ((request == FICLONE || request == FICLONERANGE) && counted_fd(fd))
		action = decide("clone", "ioctl");
	if (action == FAIL)
		return -1;
	int result = NEXT(ioctl)(fd, request, argument);
	if (action == KILL_AFTER && result >= 0)
		die();
	return result;
}

/* --- system calls made by number; they are counted like calls by name --- */

static const struct {
	long number;
	const char *family;
	const char *name;
	bool on_fd; /* the first argument must be a descriptor that is counted */
} numbered[] = {
	{ SYS_write, "write", "write", true },
	{ SYS_pwrite64, "write", "pwrite64", true },
	{ SYS_fsync, "fsync", "fsync", true },
	{ SYS_fdatasync, "fsync", "fdatasync", true },
	{ SYS_ftruncate, "ftruncate", "ftruncate", true },
	{ SYS_fallocate, "fallocate", "fallocate", true },
	{ SYS_renameat2, "rename", "renameat2", false },
	{ SYS_linkat, "link", "linkat", false },
	{ SYS_unlinkat, "unlink", "unlinkat", false },
	{ SYS_mkdirat, "mkdir", "mkdirat", false },
	{ SYS_symlinkat, "symlink", "symlinkat", false },
	{ SYS_mknodat, "mknod", "mknodat", false },
	{ SYS_fchmodat, "chmod", "fchmodat", false },
	{ 452 /* SYS_fchmodat2 */, "chmod", "fchmodat2", false },
	{ SYS_fchownat, "chown", "fchownat", false },
	{ SYS_utimensat, "utimensat", "utimensat", false },
	{ SYS_fsetxattr, "xattr", "fsetxattr", true },
	{ 463 /* SYS_setxattrat */, "xattr", "setxattrat", false },
	{ 466 /* SYS_removexattrat */, "xattr", "removexattrat", false },
};

static enum action decide_numbered(long number, long a, long c)
{
	const struct open_how *how = (const struct open_how *)c;

	if (number == SYS_openat2)
		return how && creates((int)how->flags) && counted_name() ? decide("open", "openat2")
									 : PASS;
	if (number == SYS_openat)
		return creates((int)c) && counted_name() ? decide("open", "openat") : PASS;
	if (number == SYS_copy_file_range)
		return counted_fd((int)c) ? decide("write", "copy_file_range") : PASS;
	for (size_t i = 0; i < sizeof(numbered) / sizeof(numbered[0]); i++)
		if (numbered[i].number == number)
			return (numbered[i].on_fd ? counted_fd((int)a) : counted_name())
				       ? decide(numbered[i].family, numbered[i].name)
				       : PASS;
	return PASS;
}

long faultlib_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	enum action action = decide_numbered(number, a, c);

	if (action == SHORTEN && (number == SYS_write || number == SYS_pwrite64)) {
		size_t len = shortened(&action, (size_t)c);

		c = (long)len;
	}
	if (action == FAIL)
		return -1;
	long result = next_syscall(number, a, b, c, d, e, f);
	if (action == KILL_AFTER && result != -1)
		die();
	return result;
}

/* --- the count --- */

static void write_count(void)
{
	char text[32] = "";

	pthread_once(&once, load_config);
	if (!config.count_file)
		return;
	uint64_t count = atomic_load(config.counter);
	long fd = raw(
		SYS_openat, AT_FDCWD, (long)config.count_file, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return;
	if (raw(SYS_read, fd, (long)text, sizeof(text) - 1, 0) <= 0 ||
		strtoull(text, NULL, 10) < count) {
		int len = snprintf(text, sizeof(text), "%ju\n", (uintmax_t)count);

		raw(SYS_pwrite64, fd, (long)text, len, 0);
	}
	raw(SYS_close, fd, 0, 0, 0);
}

__attribute__((destructor)) static void stop(void)
{
	write_count();
}

void _exit(int status)
{
	write_count();
	for (;;)
		raw(SYS_exit_group, status, 0, 0, 0);
}

void _Exit(int status)
{
	_exit(status);
}
