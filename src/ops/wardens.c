#include "ops/wardens.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "confine/denials.h"
#include "confine/grantsocket.h"
#include "core/at.h"
#include "core/lock.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/stub.h"
#include "ops/denied.h"

#define LOCK_FILE ".wardens"
#define STUBS_FILE ".stubs"
#define RECORD_MAX ((size_t)1 << 20) /* maximum size of a record that is read */
#define JOIN_MS 5000
#define WAIT_MS 5000 /* time limit; a warden usually ends within milliseconds of its sandbox */

#define NAME_SIZE (WORKSPACE_NAME_MAX + sizeof(LOCK_FILE))

static int open_run(const struct env *env, char name[NAME_SIZE], struct err *err)
{
	snprintf(name, NAME_SIZE, "%s" LOCK_FILE, env->row.name);
	return at_open(env->rootfd, "run", O_RDONLY | O_DIRECTORY, err);
}

/* ------------------------------------------------ what killed wardens leave */

/*
 * If the entry at the path 'below' in the directory 'host' is a stub, remove the entry.  'host' is
 * a directory of the host that was bound.
 */
static void remove_stub(const char *host, const char *below)
{
	struct err gone = { 0 };
	const char *slash = strrchr(below, '/');
	owned_mem char *way = slash ? mem_printf("%.*s", (int)(slash - below), below) : NULL;
	owned_fd int bound =
		*host != '/' ? -1 : at_open_given(host, O_RDONLY | O_DIRECTORY, 0, &gone);
	owned_fd int dir =
		bound < 0 ? -1 : at_open(bound, way ?: ".", O_RDONLY | O_DIRECTORY, &gone);

	if (dir >= 0)
		stub_remove(dir, slash ? slash + 1 : below);
}

/*
 * Remove the stubs that 'record' names.  The record consists of pairs of texts.  Begin with the
 * last pair, because a directory was recorded before its entries.
 */
static void remove_recorded(const char *record, size_t end)
{
	const char *texts[2];

	/* The last text was cut off if its zero byte is missing. */
	while (end && record[end - 1])
		end--;
	for (int n = 0; end; n++) {
		size_t begin = end - 1;

		while (begin && record[begin - 1])
			begin--;
		texts[n % 2] = record + begin;
		if (n % 2)
			remove_stub(texts[1], texts[0]);
		end = begin;
	}
}

static void sweep_stubs(struct env *env, int run)
{
	owned_mem char *text = NULL;
	char name[NAME_SIZE];
	struct statx stx;

	snprintf(name, NAME_SIZE, "%s" STUBS_FILE, env->row.name);
	owned_fd int fd = at_name_open(run, name, O_RDWR);
	if (fd < 0 || at_fd_stat(fd, &stx) < 0 || !stx.stx_size)
		return;
	if (stx.stx_size <= RECORD_MAX) {
		text = mem_zalloc(stx.stx_size + 1);
		ssize_t n = at_pread_full(fd, text, stx.stx_size, 0);
		remove_recorded(text, n > 0 ? (size_t)n : 0);
	}
	(void)!ftruncate(fd, 0);
}

static void note_killed(struct env *env)
{
	struct verdict verdict = { .allowed = false };
	struct err ignored = { 0 };
	owned_fd int collected = denied_open(env, &ignored);
	struct denials *denials = denials_new(-1);

	denials_add_sink(denials, collected, DENIALS_OWN);
	snprintf(verdict.rule, sizeof(verdict.rule), DENIALS_WARDEN_RULE);
	denials_add(denials, DENIALS_WARDEN, "killed", &verdict, 0);
	denials_free(denials);
}

/*
 * Remove the sockets and stubs that killed wardens have left.  The caller must hold the lock
 * exclusively.
 */
static void sweep(struct env *env, int run)
{
	if (grantsocket_sweep(run, env->row.name))
		note_killed(env);
	sweep_stubs(env, run);
}

/* -------------------------------------------------------------------- the lock */

int wardens_join(struct env *env, struct err *err)
{
	char name[NAME_SIZE];
	struct err others = { 0 };
	owned_fd int run = open_run(env, name, err);
	owned_fd int alone =
		run < 0 ? -1 : lock_take(run, name, LOCK_EXCLUSIVE, 0, "policy", &others);

	if (alone >= 0)
		sweep(env, run);
	close_fd(&alone);
	return run < 0 ? run : lock_take(run, name, LOCK_SHARED, JOIN_MS, "policy", err);
}

int wardens_record(struct env *env, struct err *err)
{
	char path[sizeof("run/") + NAME_SIZE];

	snprintf(path, sizeof(path), "run/%s" STUBS_FILE, env->row.name);
	return at_create(env->rootfd, path, O_WRONLY | O_APPEND, 0600, err);
}

bool wardens_wait(struct env *env)
{
	char name[NAME_SIZE];
	struct err ignored = { 0 };
	owned_fd int run = open_run(env, name, &ignored);

	if (run < 0 || !at_exists(run, name))
		return true;
	owned_fd int lock = lock_take(run, name, LOCK_EXCLUSIVE, WAIT_MS, "policy", &ignored);
	if (lock >= 0)
		sweep(env, run);
	return lock >= 0;
}
