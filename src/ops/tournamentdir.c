#include "ops/tournamentdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/at.h"
#include "core/lock.h"
#include "core/mem.h"
#include "core/own.h"
#include "ops/workspaces.h"
#include "sandbox/holder.h"

#define PREFIX "tournament-"
#define REASON "of a tournament, as "
#define LOCK_MS 1000 /* time to wait for a lock, since a sweep holds the lock only for a moment */
#define NUMBER_MAX 999999999
#define NUMBER_TRIES 1000

/* -------------------------------------------------------------------- names */

/* Split "tournament-N..." into N and the rest.  Returns false for any other text. */
static bool parse_name(const char *text, unsigned *number, const char **rest)
{
	const size_t len = sizeof(PREFIX) - 1;
	char *end;

	if (strncmp(text, PREFIX, len) || text[len] < '1' || text[len] > '9')
		return false;
	unsigned long value = strtoul(text + len, &end, 10);
	*number = (unsigned)value;
	*rest = end;
	return value <= NUMBER_MAX;
}

static bool is_workspace(const char *text, unsigned *number)
{
	const char *rest;

	return parse_name(text, number, &rest) && rest[0] == '-' && rest[1] &&
	       rest[1 + strspn(rest + 1, "0123456789")] == '\0';
}

static void alive_name(char out[TOURNAMENTDIR_NAME_MAX + 8], unsigned number)
{
	snprintf(out, TOURNAMENTDIR_NAME_MAX + 8, PREFIX "%u.alive", number);
}

const char *tournamentdir_workspace(const struct tournamentdir *dir, size_t i, struct arena *arena)
{
	return arena_printf(arena, "%s-%zu", dir->name, i);
}

const char *tournamentdir_log(const struct tournamentdir *dir, const struct env *env,
	const char *candidate, struct arena *arena)
{
	return arena_printf(
		arena, "%s/" TOURNAMENTDIR_LOGS "/%s/%s.log", env->root, dir->name, candidate);
}

/*
 * Whether the lock of a tournament is held.  The tournament takes the lock before it makes its
 * first workspace.  It releases the lock after its last workspace has been removed.
 */
static bool is_alive(int run, unsigned number)
{
	struct err busy = { 0 };
	char name[TOURNAMENTDIR_NAME_MAX + 8];

	alive_name(name, number);
	if (!at_exists(run, name))
		return false;
	owned_fd int lock = lock_take(run, name, LOCK_EXCLUSIVE, 0, "tournament", &busy);
	return lock < 0;
}

/* -------------------------------------------------------- removing leftovers */

int tournamentdir_remove(
	struct op_context *ctx, const char *workspace, int wait_ms, struct err *err)
{
	static const char *const suffixes[] = { ".lock", HOLDER_SUFFIX, HOLDER_OVER_SUFFIX };
	struct env *env = ctx->env;
	struct err ignored = { 0 };
	owned_fd int run = at_open(env->rootfd, "run", O_RDONLY | O_DIRECTORY, err);
	int r = run < 0 ? run : workspaces_remove(env, workspace, wait_ms, ctx->report, err);

	for (size_t i = 0; r >= 0 && i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		char file[WORKSPACE_NAME_MAX + 16];

		snprintf(file, sizeof(file), "%s%s", workspace, suffixes[i]);
		(void)at_unlink(run, file, 0, &ignored);
	}
	return r;
}

struct sweep {
	struct op_context *ctx;
	int run;
};

/*
 * Whether the reason that the database has for a workspace is that of a tournament.  A live tree
 * without a workspace in the database counts as the workspace of a tournament, too.
 */
static int is_of_tournament(struct env *env, const char *name, struct err *err)
{
	owned(arena_release) struct arena arena = { 0 };
	struct history_workspace row;
	int r = history_workspace(&env->history, name, &arena, &row, err);

	if (r <= 0)
		return r < 0 ? r : 1;
	return row.reason && !strncmp(row.reason, REASON, sizeof(REASON) - 1);
}

/*
 * Remove a workspace that a killed tournament has left.  A workspace that is in use or cannot be
 * removed stays until the next sweep.
 */
static int sweep_workspace(void *arg, int dirfd, const char *name, struct err *err)
{
	struct sweep *sweep = arg;
	struct env *env = sweep->ctx->env;
	struct err ignored = { 0 };
	char alive[TOURNAMENTDIR_NAME_MAX + 8];
	unsigned number;

	if (!is_workspace(name, &number) || is_alive(sweep->run, number))
		return 0;
	int r = is_of_tournament(env, name, err);
	if (r <= 0)
		return r;
	if (tournamentdir_remove(sweep->ctx, name, 0, &ignored) < 0)
		return 0;
	alive_name(alive, number);
	(void)at_unlink(sweep->run, alive, 0, &ignored);
	return 0;
}

/*
 * Remove the lock or socket of a workspace that does not exist any more.  A sandbox that starts
 * after the removal of its workspace leaves such files.
 */
static int sweep_file(void *arg, int dirfd, const char *name, struct err *err)
{
	struct sweep *sweep = arg;
	struct err ignored = { 0 };
	const char *suffix = strrchr(name, '.');
	char workspace[WORKSPACE_NAME_MAX + 1], tree[WORKSPACE_NAME_MAX + 16];
	unsigned number;

	if (!suffix || suffix - name > WORKSPACE_NAME_MAX)
		return 0;
	snprintf(workspace, sizeof(workspace), "%.*s", (int)(suffix - name), name);
	snprintf(tree, sizeof(tree), WORKSPACE_LIVE_DIR "/%s", workspace);
	if (is_workspace(workspace, &number) && !is_alive(sweep->run, number) &&
		!at_exists(sweep->ctx->env->rootfd, tree))
		(void)at_unlink(sweep->run, name, 0, &ignored);
	return 0;
}

int tournamentdir_sweep(struct op_context *ctx, struct err *err)
{
	struct sweep sweep = { .ctx = ctx };
	owned_fd int run = at_open(ctx->env->rootfd, "run", O_RDONLY | O_DIRECTORY, err);

	if (run < 0)
		return run;
	sweep.run = run;
	int r = at_each_name(ctx->env->rootfd, WORKSPACE_LIVE_DIR, sweep_workspace, &sweep, err);
	return r < 0 ? r : at_each_name(ctx->env->rootfd, "run", sweep_file, &sweep, err);
}

/* ------------------------------------------------------ opening a tournament */

struct numbers {
	unsigned *list;
	size_t n, cap;
	unsigned highest; /* the highest number of a log or workspace */
};

static void numbers_release(struct numbers *numbers)
{
	free(numbers->list);
}

static int note_log(void *arg, int dirfd, const char *name, struct err *err)
{
	struct numbers *numbers = arg;
	const char *rest;
	unsigned number;

	if (!parse_name(name, &number, &rest) || *rest)
		return 0;
	mem_grow(&numbers->list, &numbers->cap, numbers->n);
	numbers->list[numbers->n++] = number;
	if (number > numbers->highest)
		numbers->highest = number;
	return 0;
}

static int note_workspace(void *arg, int dirfd, const char *name, struct err *err)
{
	struct numbers *numbers = arg;
	unsigned number;

	if (is_workspace(name, &number) && number > numbers->highest)
		numbers->highest = number;
	return 0;
}

static int newest_first(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return (x < y) - (x > y);
}

/* Remove all but the newest TOURNAMENTDIR_LOGS_MAX - 1 logs, because the caller makes one more. */
static void drop_old_logs(int logs, int run, struct numbers *numbers)
{
	struct err ignored = { 0 };
	char name[TOURNAMENTDIR_NAME_MAX + 8];

	if (numbers->n)
		qsort(numbers->list, numbers->n, sizeof(*numbers->list), newest_first);
	for (size_t i = TOURNAMENTDIR_LOGS_MAX - 1; i < numbers->n; i++) {
		if (is_alive(run, numbers->list[i]))
			continue;
		snprintf(name, sizeof(name), PREFIX "%u", numbers->list[i]);
		(void)at_remove_tree(logs, name, &ignored);
		alive_name(name, numbers->list[i]);
		(void)at_unlink(run, name, 0, &ignored);
	}
}

/* Take the next free number.  The process that makes the directory of the logs owns the number. */
static int take_number(struct tournamentdir *dir, int logs, unsigned after, struct err *err)
{
	char alive[TOURNAMENTDIR_NAME_MAX + 8];

	for (unsigned number = after + 1; number - after <= NUMBER_TRIES; number++) {
		snprintf(dir->name, sizeof(dir->name), PREFIX "%u", number);
		if (mkdirat(logs, dir->name, 0700) < 0) {
			if (errno == EEXIST)
				continue;
			return err_errno(err, "make a directory for the logs");
		}
		alive_name(alive, number);
		dir->lock = lock_take(dir->run, alive, LOCK_EXCLUSIVE, LOCK_MS, "tournament", err);
		if (dir->lock < 0)
			return dir->lock;
		dir->logs = at_open(logs, dir->name, O_RDONLY | O_DIRECTORY, err);
		return dir->logs < 0 ? dir->logs : 0;
	}
	return err_set(err, ERR_LIMIT, "no number is left for the tournament");
}

int tournamentdir_open(struct op_context *ctx, struct tournamentdir *dir, struct err *err)
{
	struct env *env = ctx->env;
	owned(numbers_release) struct numbers numbers = { 0 };
	owned_fd int logs = -1;
	int r = at_mkdirs(env->rootfd, TOURNAMENTDIR_LOGS, 0700, err);

	if (r >= 0)
		r = logs = at_open(env->rootfd, TOURNAMENTDIR_LOGS, O_RDONLY | O_DIRECTORY, err);
	if (r >= 0)
		r = dir->run = at_open(env->rootfd, "run", O_RDONLY | O_DIRECTORY, err);
	if (r >= 0)
		r = at_each_name(env->rootfd, TOURNAMENTDIR_LOGS, note_log, &numbers, err);
	if (r >= 0)
		r = at_each_name(env->rootfd, WORKSPACE_LIVE_DIR, note_workspace, &numbers, err);
	if (r < 0)
		return r;
	drop_old_logs(logs, dir->run, &numbers);
	dir->reason = arena_printf(ctx->arena, REASON "'%s'", env->row.name);
	return take_number(dir, logs, numbers.highest, err);
}

void tournamentdir_close(struct tournamentdir *dir)
{
	struct err ignored = { 0 };
	char alive[TOURNAMENTDIR_NAME_MAX + 8];

	snprintf(alive, sizeof(alive), "%s.alive", dir->name);
	if (dir->lock >= 0)
		(void)at_unlink(dir->run, alive, 0, &ignored);
	close_fd(&dir->lock);
	close_fd(&dir->logs);
	close_fd(&dir->run);
}
