/*
 * statwalk - do the minimum of work for finding changes in a plain directory.
 *
 *	statwalk DIR [THREADS]
 *
 * Lists every directory below DIR and calls statx on every entry, with as many threads as there are
 * cores.  The threads share a stack of directories that are still to be read.  Prints the number of
 * entries.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_THREADS = 256 };

static struct {
	pthread_mutex_t lock;
	pthread_cond_t more;
	char **dirs;
	size_t count, room;
	int busy; /* threads that may still push directories */
} stack = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, 0, 0, 0 };

static atomic_long entries;

static void fail(const char *what)
{
	fprintf(stderr, "statwalk: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void push(char *dir)
{
	pthread_mutex_lock(&stack.lock);
	if (stack.count == stack.room) {
		stack.room = stack.room ? stack.room * 2 : 1024;
		stack.dirs = realloc(stack.dirs, stack.room * sizeof(*stack.dirs));
		if (!stack.dirs)
			fail("realloc");
	}
	stack.dirs[stack.count++] = dir;
	pthread_cond_signal(&stack.more);
	pthread_mutex_unlock(&stack.lock);
}

/* Returns the next directory, or NULL when no thread can push another one. */
static char *pop(void)
{
	char *dir = NULL;
	pthread_mutex_lock(&stack.lock);
	while (!stack.count && stack.busy)
		pthread_cond_wait(&stack.more, &stack.lock);
	if (stack.count) {
		dir = stack.dirs[--stack.count];
		stack.busy++;
	}
	pthread_mutex_unlock(&stack.lock);
	return dir;
}

static void finished(void)
{
	pthread_mutex_lock(&stack.lock);
	if (!--stack.busy && !stack.count)
		pthread_cond_broadcast(&stack.more);
	pthread_mutex_unlock(&stack.lock);
}

static void enter(const char *parent, const char *name)
{
	char *dir;
	if (asprintf(&dir, "%s/%s", parent, name) < 0)
		fail("asprintf");
	push(dir);
}

static void read_dir(const char *path)
{
	_Alignas(struct dirent64) char buf[32768];
	long found = 0;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		fail(path);
	for (;;) {
		long n = syscall(SYS_getdents64, fd, buf, sizeof(buf));
		if (n < 0)
			fail(path);
		if (n == 0)
			break;
		for (long at = 0; at < n;) {
			struct dirent64 *e = (struct dirent64 *)(buf + at);
			struct statx st;
			at += e->d_reclen;
			if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
				continue;
			if (statx(fd, e->d_name, AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC,
				    STATX_BASIC_STATS, &st) < 0)
				fail(e->d_name);
			found++;
			if (S_ISDIR(st.stx_mode))
				enter(path, e->d_name);
		}
	}
	close(fd);
	entries += found;
}

static void *work(void *unused)
{
	for (char *dir; (dir = pop());) {
		read_dir(dir);
		free(dir);
		finished();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[MAX_THREADS];
	long count = argc == 3 ? atol(argv[2]) : sysconf(_SC_NPROCESSORS_ONLN);
	if (argc < 2 || argc > 3 || count < 1) {
		fprintf(stderr, "usage: statwalk DIR [THREADS]\n");
		return 2;
	}
	if (count > MAX_THREADS)
		count = MAX_THREADS;
	char *top = strdup(argv[1]);
	if (!top)
		fail("strdup");
	push(top);
	for (long i = 1; i < count; i++) {
		errno = pthread_create(&threads[i], NULL, work, NULL);
		if (errno)
			fail("pthread_create");
	}
	work(NULL);
	for (long i = 1; i < count; i++)
		pthread_join(threads[i], NULL);
	printf("%ld\n", (long)entries);
	return 0;
}
