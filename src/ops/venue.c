#include "ops/venue.h"

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
#define LOCK_MS 1000 /* a sweep may look at a lock just when it is made */
#define NUMBER_MAX 999999999
#define TAKEN_TRIES 1000

/* -------------------------------------------------------------------- names */

/* "tournament-N" and what follows; false for anything else. */
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

static bool is_log(const char *text, unsigned *number)
{
	const char *rest;

	return parse_name(text, number, &rest) && !*rest;
}

static void alive_name(char out[VENUE_NAME_MAX + 8], unsigned number)
{
	snprintf(out, VENUE_NAME_MAX + 8, PREFIX "%u.alive", number);
}

const char *venue_workspace(const struct venue *venue, size_t i, struct arena *arena)
{
	return arena_printf(arena, "%s-%zu", venue->name, i);
}

const char *venue_log(const struct venue *venue, const struct env *env, const char *candidate,
	struct arena *arena)
{
	return arena_printf(
		arena, "%s/" VENUE_LOG_DIR "/%s/%s.log", env->root, venue->name, candidate);
}

/* Whether its lock is held.  It is there before the first workspace and goes after the last. */
static bool is_alive(int run, unsigned number)
{
	struct err busy = { 0 };
	char name[VENUE_NAME_MAX + 8];

	alive_name(name, number);
	if (!at_exists(run, name))
		return false;
	owned_fd int lock = lock_take(run, name, LOCK_EXCLUSIVE, 0, "tournament", &busy);
	return lock < 0;
}

/* ------------------------------------------------------------------ sweeping */

int venue_remove(struct op_context *ctx, const char *workspace, int wait_ms, struct err *err)
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

/* Of a tournament: a live tree that nobody knows is, too, when it has such a name. */
static int is_ours(struct env *env, const char *name, struct err *err)
{
	owned(arena_release) struct arena arena = { 0 };
	struct history_workspace row;
	int r = history_workspace(&env->history, name, &arena, &row, err);

	if (r <= 0)
		return r < 0 ? r : 1;
	return row.reason && !strncmp(row.reason, REASON, sizeof(REASON) - 1);
}

/* One that is in use after all, or cannot be removed, is left for the next time. */
static int sweep_one(void *arg, int dirfd, const char *name, struct err *err)
{
	(void)dirfd;
	struct sweep *sweep = arg;
	struct env *env = sweep->ctx->env;
	struct err ignored = { 0 };
	char alive[VENUE_NAME_MAX + 8];
	unsigned number;

	if (!is_workspace(name, &number) || is_alive(sweep->run, number))
		return 0;
	int r = is_ours(env, name, err);
	if (r <= 0)
		return r;
	if (venue_remove(sweep->ctx, name, 0, &ignored) < 0)
		return 0;
	alive_name(alive, number);
	(void)at_unlink(sweep->run, alive, 0, &ignored);
	return 0;
}

/* The lock or socket of a workspace that is gone: a sandbox may have come up after its end. */
static int sweep_file(void *arg, int dirfd, const char *name, struct err *err)
{
	(void)dirfd, (void)err;
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

int venue_sweep(struct op_context *ctx, struct err *err)
{
	struct sweep sweep = { .ctx = ctx };
	owned_fd int run = at_open(ctx->env->rootfd, "run", O_RDONLY | O_DIRECTORY, err);

	if (run < 0)
		return run;
	sweep.run = run;
	int r = at_each_name(ctx->env->rootfd, WORKSPACE_LIVE_DIR, sweep_one, &sweep, err);
	return r < 0 ? r : at_each_name(ctx->env->rootfd, "run", sweep_file, &sweep, err);
}

/* ------------------------------------------------------------------- opening */

struct numbers {
	unsigned *list;
	size_t n, cap;
	unsigned highest; /* of logs and workspaces */
};

static void numbers_release(struct numbers *numbers)
{
	free(numbers->list);
}

static int note_log(void *arg, int dirfd, const char *name, struct err *err)
{
	(void)dirfd, (void)err;
	struct numbers *numbers = arg;
	unsigned number;

	if (!is_log(name, &number))
		return 0;
	mem_grow(&numbers->list, &numbers->cap, numbers->n);
	numbers->list[numbers->n++] = number;
	if (number > numbers->highest)
		numbers->highest = number;
	return 0;
}

static int note_workspace(void *arg, int dirfd, const char *name, struct err *err)
{
	(void)dirfd, (void)err;
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

/* One log more is about to be made. */
static void drop_old_logs(int logs, int run, struct numbers *numbers)
{
	struct err ignored = { 0 };
	char name[VENUE_NAME_MAX + 8];

	if (numbers->n)
		qsort(numbers->list, numbers->n, sizeof(*numbers->list), newest_first);
	for (size_t i = VENUE_LOGS_MAX - 1; i < numbers->n; i++) {
		if (is_alive(run, numbers->list[i]))
			continue;
		snprintf(name, sizeof(name), PREFIX "%u", numbers->list[i]);
		(void)at_remove_tree(logs, name, &ignored);
		alive_name(name, numbers->list[i]);
		(void)at_unlink(run, name, 0, &ignored);
	}
}

/* The next number nobody has: who makes the directory of the logs has it. */
static int take_number(struct venue *venue, int logs, unsigned after, struct err *err)
{
	char alive[VENUE_NAME_MAX + 8];

	for (unsigned number = after + 1; number - after <= TAKEN_TRIES; number++) {
		snprintf(venue->name, sizeof(venue->name), PREFIX "%u", number);
		if (mkdirat(logs, venue->name, 0700) < 0) {
			if (errno == EEXIST)
				continue;
			return err_errno(err, "make a directory for the logs");
		}
		alive_name(alive, number);
		venue->lock =
			lock_take(venue->run, alive, LOCK_EXCLUSIVE, LOCK_MS, "tournament", err);
		if (venue->lock < 0)
			return venue->lock;
		venue->logs = at_open(logs, venue->name, O_RDONLY | O_DIRECTORY, err);
		return venue->logs < 0 ? venue->logs : 0;
	}
	return err_set(err, ERR_LIMIT, "no number is left for the tournament");
}

int venue_open(struct op_context *ctx, struct venue *venue, struct err *err)
{
	struct env *env = ctx->env;
	owned(numbers_release) struct numbers numbers = { 0 };
	owned_fd int logs = -1;
	int r = at_mkdirs(env->rootfd, VENUE_LOG_DIR, 0700, err);

	if (r >= 0)
		r = logs = at_open(env->rootfd, VENUE_LOG_DIR, O_RDONLY | O_DIRECTORY, err);
	if (r >= 0)
		r = venue->run = at_open(env->rootfd, "run", O_RDONLY | O_DIRECTORY, err);
	if (r >= 0)
		r = at_each_name(env->rootfd, VENUE_LOG_DIR, note_log, &numbers, err);
	if (r >= 0)
		r = at_each_name(env->rootfd, WORKSPACE_LIVE_DIR, note_workspace, &numbers, err);
	if (r < 0)
		return r;
	drop_old_logs(logs, venue->run, &numbers);
	venue->reason = arena_printf(ctx->arena, REASON "'%s'", env->row.name);
	return take_number(venue, logs, numbers.highest, err);
}

void venue_close(struct venue *venue)
{
	struct err ignored = { 0 };
	char alive[VENUE_NAME_MAX + 8];

	snprintf(alive, sizeof(alive), "%s.alive", venue->name);
	if (venue->lock >= 0)
		(void)at_unlink(venue->run, alive, 0, &ignored);
	close_fd(&venue->lock);
	close_fd(&venue->logs);
	close_fd(&venue->run);
}
