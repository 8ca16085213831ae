/*
 * filework - use files in unusual ways, in the working directory.
 *
 *	filework WAY...
 *
 * A tracer must not miss these ways.  Each way makes, changes or reads files by system calls that
 * ordinary programs seldom make.  The names of its files begin with the name of the way.  The exit
 * status is 0 if all calls succeeded.
 */
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

extern char **environ;

#define THREADS 8
#define PER_THREAD 50
#define FORKS 200
#define LOOKS 60

#define MUST(call)                                                                                 \
	do {                                                                                       \
		if ((call) < 0)                                                                    \
			err(1, "%s", #call);                                                       \
	} while (0)

static void put(int dirfd, const char *name, const char *text)
{
	int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	MUST(fd);
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		err(1, "write %s", name);
	close(fd);
}

static void wait_for(pid_t pid)
{
	int status;

	MUST(pid);
	MUST(waitpid(pid, &status, 0));
	if (status)
		errx(1, "child: status %d", status);
}

static void do_vfork(void)
{
	char *const argv[] = { "touch", "vfork", NULL };
	pid_t pid = vfork();

	if (!pid) {
		execvp(argv[0], argv);
		_exit(1);
	}
	wait_for(pid);
}

static void do_spawn(void)
{
	char *const argv[] = { "touch", "spawn", NULL };
	pid_t pid;

	if (posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ))
		errx(1, "posix_spawnp");
	wait_for(pid);
}

static void do_clone3(void)
{
	struct clone_args args = { .exit_signal = SIGCHLD };
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	if (!pid) {
		put(AT_FDCWD, "clone3", "by the child\n");
		_exit(0);
	}
	wait_for(pid);
}

static void do_tmpfile(void)
{
	char path[64];
	int fd = open(".", O_TMPFILE | O_RDWR, 0640);

	MUST(fd);
	MUST(write(fd, "unnamed\n", 8));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	MUST(linkat(AT_FDCWD, path, AT_FDCWD, "tmpfile", AT_SYMLINK_FOLLOW));
	close(fd);
}

static void do_exchange(void)
{
	put(AT_FDCWD, "exchange-a", "a\n");
	MUST(syscall(SYS_renameat2, AT_FDCWD, "exchange-a", AT_FDCWD, "exchange", 2));
	MUST(mkdir("exchange-d", 0755));
	put(AT_FDCWD, "exchange-d/in", "in\n");
	MUST(syscall(SYS_renameat2, AT_FDCWD, "exchange-d", AT_FDCWD, "exchange-dir", 2));
}

static void do_mmap(void)
{
	int fd = open("mmap", O_RDWR);

	MUST(fd);
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		err(1, "mmap");
	close(fd);
	page[0] ^= 1;
	munmap(page, 4096);
}

static void do_openat2(void)
{
	struct open_how how = { .flags = O_WRONLY | O_CREAT, .mode = 0600 };
	int dir = open(".", O_PATH);

	how.resolve = RESOLVE_BENEATH;
	int fd = (int)syscall(SYS_openat2, dir, "openat2", &how, sizeof(how));
	if (fd < 0 && errno == ENOSYS)
		fd = openat(dir, "openat2", O_WRONLY | O_CREAT, 0600);
	MUST(fd);
	MUST(write(fd, "x", 1));
	close(fd);
	close(dir);
}

static void do_fchdir(void)
{
	int back = open(".", O_RDONLY | O_DIRECTORY), dir;

	MUST(mkdir("fchdir", 0755));
	dir = open("fchdir", O_RDONLY | O_DIRECTORY);
	MUST(fchdir(dir));
	put(AT_FDCWD, "inside", "relative\n");
	MUST(mkdirat(AT_FDCWD, "sub", 0700));
	MUST(chdir("sub"));
	put(AT_FDCWD, "../beside", "dots\n");
	MUST(fchdir(back));
	put(dir, "by-fd", "dirfd\n");
	close(dir);
	close(back);
}

static void *open_many(void *arg)
{
	char name[64];

	for (int i = 0; i < PER_THREAD; i++) {
		snprintf(name, sizeof(name), "threads-%d-%d", (int)(intptr_t)arg, i);
		put(AT_FDCWD, name, name);
	}
	return NULL;
}

static void do_threads(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, open_many, (void *)(intptr_t)i))
			errx(1, "pthread_create");
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void *exec_now(void *arg)
{
	execlp("touch", "touch", "exec-from-thread", (char *)NULL);
	err(1, "exec");
}

static void do_exec_from_thread(void)
{
	pid_t pid = fork();
	pthread_t thread;

	if (!pid) {
		pthread_create(&thread, NULL, exec_now, NULL);
		pause();
	}
	wait_for(pid);
}

static void do_links(void)
{
	put(AT_FDCWD, "links-file", "1\n");
	MUST(link("links-file", "links-hard"));
	MUST(symlink("links-dir/../links-file", "links-soft"));
	MUST(mkdir("links-dir", 0755));
	put(AT_FDCWD, "links-soft", "through a link\n");
	MUST(symlink("links-new", "links-dangling"));
	put(AT_FDCWD, "links-dangling", "made through a dangling link\n");
	MUST(unlink("links-hard"));
}

static void do_metadata(void)
{
	struct timespec times[2] = { { 1000, 5 }, { 2000, 7 } };
	int fd = open("metadata", O_RDONLY);

	MUST(fd);
	MUST(fchmod(fd, 0604));
	MUST(futimens(fd, times));
	close(fd);
	MUST(chmod("metadata-dir", 0711));
}

static void do_truncate(void)
{
	int fd;

	MUST(truncate("truncate", 2));
	fd = open("truncate-fd", O_WRONLY);
	MUST(fd);
	MUST(ftruncate(fd, 100));
	close(fd);
}

static void do_socket(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "socket" };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	MUST(bind(fd, (struct sockaddr *)&address, sizeof(address)));
	MUST(listen(fd, 1));
	int other = socket(AF_UNIX, SOCK_STREAM, 0);
	MUST(connect(other, (struct sockaddr *)&address, sizeof(address)));
	close(other);
	close(fd);
}

static void do_proc_fd(void)
{
	char path[64];
	int fd = open("proc-fd", O_RDONLY);

	MUST(fd);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int again = open(path, O_WRONLY | O_APPEND);
	MUST(again);
	MUST(write(again, "more\n", 5));
	close(again);
	close(fd);
}

static void do_forks(void)
{
	char name[64];

	for (int i = 0; i < FORKS; i++) {
		pid_t pid = fork();

		if (!pid) {
			snprintf(name, sizeof(name), "forks-%d", i);
			put(AT_FDCWD, name, "");
			_exit(0);
		}
		MUST(pid);
	}
	while (wait(NULL) > 0)
		;
}

/* The daemon ends after the command's own process. */
static void do_daemon(void)
{
	pid_t pid = fork();

	if (!pid) {
		setsid();
		if (fork())
			_exit(0);
		usleep(300000);
		put(AT_FDCWD, "daemon", "late\n");
		_exit(0);
	}
	wait_for(pid);
}

static void count_alarm(int sig)
{
}

/* Signals come all the time.  No call may fail or be lost because of this. */
static void do_signals(void)
{
	struct sigaction action = { .sa_handler = count_alarm, .sa_flags = SA_RESTART };
	struct itimerval often = { { 0, 200 }, { 0, 200 } };
	struct itimerval never = { { 0, 0 }, { 0, 0 } };
	char name[64];

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "signals-%d", i);
		put(AT_FDCWD, name, "s\n");
	}
	setitimer(ITIMER_REAL, &never, NULL);
}

static void do_rename_over(void)
{
	put(AT_FDCWD, "rename-over.new", "new\n");
	MUST(rename("rename-over.new", "rename-over"));
	MUST(rename("rename-dir", "rename-dir2"));
	put(AT_FDCWD, "rename-dir2/a", "changed at once\n");
}

/*
 * The file is opened, removed and then written.  No file must be left, and the trace must not
 * mention it.
 */
static void do_unlinked(void)
{
	int fd = open("unlinked", O_RDWR | O_CREAT | O_EXCL, 0600);

	MUST(fd);
	MUST(unlink("unlinked"));
	MUST(write(fd, "gone", 4));
	close(fd);
	fd = open("unlinked-old", O_RDWR);
	MUST(fd);
	MUST(unlink("unlinked-old"));
	MUST(write(fd, "changed after its name went", 27));
	close(fd);
}

/* Between opening and writing, the file is looked up by its other name. */
static void do_alias(void)
{
	int fd = open("alias-one", O_WRONLY);
	struct stat st;

	MUST(fd);
	MUST(lstat("alias-two", &st));
	MUST(write(fd, "through the other name", 22));
	close(fd);
}

/* Many files are looked up one after the other, and then all of them change at once. */
static void do_looks(void)
{
	char name[32];
	struct stat st;

	for (int i = 0; i < LOOKS; i++) {
		snprintf(name, sizeof(name), "looks/%d", i);
		MUST(lstat(name, &st));
	}
	MUST(rename("looks", "looked"));
	for (int i = 0; i < LOOKS; i++) {
		snprintf(name, sizeof(name), "looked/%d", i);
		if (i % 3 == 0)
			put(AT_FDCWD, name, "changed\n");
		else if (i % 3 == 1)
			MUST(unlink(name));
	}
}

static void *go_up(void *arg)
{
	MUST(chdir(".."));
	return NULL;
}

/* Names are relative to a working directory that is changed, renamed, or left by another thread. */
static void do_chdir(void)
{
	pthread_t thread;

	MUST(mkdir("chdir", 0755));
	put(AT_FDCWD, "chdir-before", "1\n");
	MUST(chdir("chdir"));
	put(AT_FDCWD, "in", "2\n");
	MUST(rename("../chdir", "../chdir-renamed"));
	put(AT_FDCWD, "renamed", "3\n");
	if (pthread_create(&thread, NULL, go_up, NULL) || pthread_join(thread, NULL))
		errx(1, "thread");
	put(AT_FDCWD, "chdir-after", "4\n");
}

static void do_io_uring(void)
{
	static char parameters[256];

	bool there = syscall(SYS_io_uring_setup, 4, parameters) >= 0;

	puts(there ? "there" : errno == ENOSYS ? "refused" : strerror(errno));
}

/* Make a system call as a 32-bit program does. */
#ifdef __x86_64__
static long int80(long call, const char *low)
{
	__asm__ volatile("int $0x80"
			 : "+a"(call)
			 : "b"((unsigned)(uintptr_t)low)
			 : "memory", "r8", "r9", "r10", "r11");
	return call;
}
#endif

/*
 * Remove files and change the working directory with 32-bit calls, which a tracer does not
 * understand.  What the tracer recorded before these calls must still be right.
 */
static void do_int80(void)
{
#ifdef __x86_64__
	const int unlink_nr = 10, chdir_nr = 12;
	char *low = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	struct stat st;

	if (low == MAP_FAILED)
		err(1, "mmap");
	for (int i = 0; i < LOOKS; i++) {
		snprintf(low, 32, "looks/%d", i);
		MUST(lstat(low, &st));
		MUST((int)int80(unlink_nr, low));
	}
	put(AT_FDCWD, "here", "1\n");
	strcpy(low, "looks");
	MUST((int)int80(chdir_nr, low));
	put(AT_FDCWD, "there", "2\n");
#endif
}

static const struct way {
	const char *name;
	void (*work)(void);
	bool apart; /* left out by 'filework list' */
} ways[] = {
	{ "vfork", do_vfork, false },
	{ "spawn", do_spawn, false },
	{ "clone3", do_clone3, false },
	{ "tmpfile", do_tmpfile, false },
	{ "exchange", do_exchange, false },
	{ "mmap", do_mmap, false },
	{ "openat2", do_openat2, false },
	{ "fchdir", do_fchdir, false },
	{ "threads", do_threads, false },
	{ "exec-from-thread", do_exec_from_thread, false },
	{ "links", do_links, false },
	{ "metadata", do_metadata, false },
	{ "truncate", do_truncate, false },
	{ "socket", do_socket, false },
	{ "proc-fd", do_proc_fd, false },
	{ "forks", do_forks, false },
	{ "daemon", do_daemon, false },
	{ "signals", do_signals, false },
	{ "rename-over", do_rename_over, false },
	{ "unlinked", do_unlinked, false },
	{ "alias", do_alias, false },
	{ "looks", do_looks, false },
	{ "chdir", do_chdir, false },
	{ "io-uring", do_io_uring, true },
	{ "int80", do_int80, true },
};

/* Make the files that the ways expect. */
static void prepare(void)
{
	static char page[4096];

	memset(page, 'm', sizeof(page) - 1);
	put(AT_FDCWD, "mmap", page);
	put(AT_FDCWD, "exchange", "b\n");
	MUST(mkdir("exchange-dir", 0755));
	put(AT_FDCWD, "exchange-dir/was", "was\n");
	put(AT_FDCWD, "metadata", "m\n");
	MUST(mkdir("metadata-dir", 0755));
	put(AT_FDCWD, "truncate", "longer\n");
	put(AT_FDCWD, "truncate-fd", "short\n");
	put(AT_FDCWD, "proc-fd", "some\n");
	put(AT_FDCWD, "rename-over", "old\n");
	MUST(mkdir("rename-dir", 0755));
	put(AT_FDCWD, "rename-dir/a", "a\n");
	put(AT_FDCWD, "rename-dir/b", "b\n");
	put(AT_FDCWD, "unlinked-old", "old\n");
	put(AT_FDCWD, "alias-one", "old\n");
	MUST(link("alias-one", "alias-two"));
	MUST(mkdir("looks", 0755));
	for (int i = 0; i < LOOKS; i++) {
		char name[32];

		snprintf(name, sizeof(name), "looks/%d", i);
		put(AT_FDCWD, name, "old\n");
	}
}

static void work(const char *name)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(ways[i].name, name)) {
			ways[i].work();
			return;
		}
	errx(2, "no way '%s'", name);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "prepare")) {
		prepare();
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "list")) {
		for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
			if (!ways[i].apart)
				puts(ways[i].name);
		return 0;
	}
	for (int i = 1; i < argc; i++)
		work(argv[i]);
	return 0;
}
