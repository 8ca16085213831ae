/*
 * greedy - use more resources than allowed, within bounds that a machine can stand; for tests of
 * limits.
 *
 *	greedy bomb N          processes fork as fast as they can, up to N of them
 *	greedy children N      N children that wait
 *	greedy threads N       N threads that wait
 *	greedy memory MIB N    N children that together write to MIB of memory, and wait
 *	greedy files           open files until one is refused; print their number
 *	greedy spin N          N children that use all the time they get
 *	greedy print BYTES N   print BYTES in all, in turns to standard output and error, N at a
 *	                       time (0: without end)
 *	greedy daemon COMMAND...   run a daemon: forked twice, in a session of its own, without
 *	                       any open descriptor of this process
 *	greedy deaf COMMAND... run a command that ignores all signals that can be ignored
 *
 * Processes that wait always end after 40 seconds.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECONDS 40
#define MIB (1UL << 20)
#define PIECE 4096

static unsigned *left; /* processes that all processes together may still make */

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "greedy: %s: %s\n", what, strerror(errno));
	exit(1);
}

static _Noreturn void idle(void)
{
	for (;;)
		pause();
}

/* Fork.  A child has a time limit of its own.  A fork that was refused is not tried again. */
static pid_t start(void)
{
	pid_t pid = fork();

	if (pid == 0)
		alarm(SECONDS);
	return pid;
}

static int take_one(void)
{
	unsigned now = __atomic_load_n(left, __ATOMIC_RELAXED);

	while (now)
		if (__atomic_compare_exchange_n(
			    left, &now, now - 1, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return 1;
	return 0;
}

static _Noreturn void bomb(unsigned n)
{
	left = mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (left == MAP_FAILED)
		die("mmap");
	*left = n;
	while (take_one())
		(void)start(); /* the child continues this loop; a refused fork counts, too */
	idle();
}

static void use_memory(size_t bytes)
{
	char *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		die("mmap");
	for (size_t at = 0; at < bytes; at += PIECE)
		memory[at] = 1;
}

static _Noreturn void spin(void)
{
	for (volatile unsigned long i = 0;; i++)
		;
}

static _Noreturn void children(unsigned n, size_t bytes, int busy)
{
	for (unsigned i = 0; i < n; i++) {
		pid_t pid = start();

		if (pid < 0)
			fprintf(stderr, "greedy: fork: %s\n", strerror(errno));
		if (pid)
			continue;
		if (bytes)
			use_memory(bytes / n);
		if (busy)
			spin();
		idle();
	}
	idle();
}

static void *wait_in_thread(void *arg)
{
	(void)arg;
	idle();
}

static _Noreturn void threads(unsigned n)
{
	pthread_attr_t small;
	pthread_t thread;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (unsigned i = 0; i < n; i++) {
		errno = pthread_create(&thread, &small, wait_in_thread, NULL);
		if (errno)
			fprintf(stderr, "greedy: pthread_create: %s\n", strerror(errno));
	}
	idle();
}

static void files(void)
{
	int last = 2, fd;

	while ((fd = open("/dev/null", O_RDONLY)) >= 0)
		last = fd;
	printf("%d and %s\n", last + 1, strerror(errno));
}

static void print(unsigned long bytes, size_t at_a_time)
{
	char text[65536];
	const int endless = bytes == 0;

	memset(text, 'X', sizeof(text));
	for (int fd = 1; endless || bytes; fd = 3 - fd) {
		size_t n = endless || bytes > at_a_time ? at_a_time : bytes;

		if (n > sizeof(text))
			n = sizeof(text);
		ssize_t done = write(fd, text, n);
		if (done < 0)
			_exit(3);
		bytes -= endless ? 0 : (unsigned long)done;
	}
}

static _Noreturn void execute(char **argv)
{
	execvp(argv[0], argv);
	die(argv[0]);
}

static void become_daemon(char **argv)
{
	if (fork())
		return;
	(void)setsid();
	if (fork())
		_exit(0);
	alarm(SECONDS);
	int null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	execute(argv);
}

static _Noreturn void be_deaf(char **argv)
{
	for (int sig = 1; sig < NSIG; sig++)
		if (sig != SIGALRM && sig != SIGCHLD)
			(void)signal(sig, SIG_IGN);
	execute(argv);
}

static int is(const char *a, const char *b)
{
	return !strcmp(a, b);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	unsigned long one = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	unsigned long two = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;

	alarm(SECONDS);
	if (is(what, "bomb"))
		bomb((unsigned)one);
	if (is(what, "children"))
		children((unsigned)one, 0, 0);
	if (is(what, "threads"))
		threads((unsigned)one);
	if (is(what, "memory"))
		children((unsigned)two, one * MIB, 0);
	if (is(what, "spin"))
		children((unsigned)one, 0, 1);
	if (is(what, "files"))
		files();
	else if (is(what, "print"))
		print(one, two);
	else if (is(what, "daemon") && argc > 2)
		become_daemon(argv + 2);
	else if (is(what, "deaf") && argc > 2)
		be_deaf(argv + 2);
	else
		return 2;
	return 0;
}
