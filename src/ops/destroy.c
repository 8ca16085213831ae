/*
 * destroy - remove a whole environment, with files of every owner.
 *
 * First the database is renamed.  A rename needs no room on the disk, and afterwards no other
 * command opens the environment.  The renamed database is removed last.  So if a destroy was killed
 * or could not remove everything, the next destroy continues the work.
 *
 * The files may belong to any id that programs in the sandbox can have.  So the process of an
 * ordinary user enters a user namespace with these ids.  All files in ROOT are removed, including
 * files that strata did not make.  No file outside ROOT is removed.
 */
#include "ops/destroy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "core/at.h"
#include "core/own.h"
#include "core/removal.h"
#include "ops/lockall.h"
#include "ops/requests.h"
#include "ops/shape.h"

#define RUN "run"
/* maximum number of attempts to empty a directory in which new files keep appearing */
#define PASSES_MAX 16

static const struct param params[] = {
	PARAM(destroy_request, yes, FLAG, 0, "do not ask"),
	PARAM(destroy_request, kill, FLAG, 0,
		"end owners and programs that run in the environment"),
	{ 0 },
};

struct destroying {
	struct op_context *ctx;
	int rootfd;
	struct removal removal;
	bool last; /* remove RUN, too */
};

/* ------------------------------------------------- finding the environment */

/*
 * Returns 0 if a directory is an environment or the remains of an environment, and otherwise
 * -ERR_NOT_FOUND.
 */
static int check_place(int rootfd, const char *root, struct err *err)
{
	struct statx stx;

	if (at_name_stat(rootfd, ENV_DATABASE, &stx) == 0 ||
		at_name_stat(rootfd, ENV_DOOMED, &stx) == 0)
		return 0;
	/*
	 * An init that was killed at its beginning, or a destroy that was killed at its end, leaves
	 * only RUN.
	 */
	int r = at_holds_only(rootfd, RUN, err);
	return r != 0 ? r : err_set(err, ERR_NOT_FOUND, "no environment at '%s'", root);
}

static int open_place(const char *root, struct err *err)
{
	owned_fd int rootfd = at_open_given(root, O_RDONLY | O_DIRECTORY, 0, err);

	if (rootfd == -ERR_NOT_FOUND)
		return err_set(err, ERR_NOT_FOUND, "no environment at '%s'", root);
	int r = rootfd < 0 ? rootfd : check_place(rootfd, root, err);
	return r < 0 ? r : take_fd(&rootfd);
}

int destroy_check(const char *root, struct err *err)
{
	owned_fd int rootfd = open_place(root, err);

	return rootfd < 0 ? rootfd : 0;
}

/* ------------------------------------------------------- stopping processes */

static int rename_database(int rootfd, struct err *err)
{
	struct statx stx;

	if (at_name_stat(rootfd, ENV_DATABASE, &stx) == -ENOENT)
		return 0;
	int r = at_rename(rootfd, ENV_DATABASE, ENV_DOOMED, err);
	return r < 0 ? r : at_fsync(rootfd, ".", err);
}

/*
 * Stop the processes of the environment.  Afterwards no process works in the environment, and no
 * process can begin to work in it.
 */
static int stop_all(int rootfd, struct lockall *all, struct err *err)
{
	/*
	 * The database is renamed before any process is ended.  Otherwise a tournament would start
	 * its next candidate.
	 */
	int r = all->kills ? rename_database(rootfd, err) : 0;

	if (r >= 0 && all->run >= 0)
		r = lockall_take(all, err);
	return r < 0 ? r : rename_database(rootfd, err);
}

/* ----------------------------------------------------------- removing files */

static void report_unremoved(void *arg, const char *path, int error)
{
	struct destroying *destroying = arg;

	report_add(destroying->ctx->report, REPORT_UNREMOVED, str_of(path), "%s", strerror(error));
}

static void show_progress(void *arg, uint64_t removed)
{
	op_progress(((struct destroying *)arg)->ctx, "removing", removed, 0);
}

static int remove_name(void *arg, int dirfd, const char *name, struct err *err)
{
	struct destroying *destroying = arg;

	if (strcmp(name, ENV_DOOMED) && (destroying->last || strcmp(name, RUN)))
		(void)removal_run(&destroying->removal, dirfd, name);
	return 0;
}

static uint64_t count_unremoved(const struct destroying *destroying)
{
	return destroying->ctx->report->count[REPORT_UNREMOVED];
}

static int remove_marker(int rootfd, struct err *err)
{
	int r = at_fsync(rootfd, ".", err);

	return r < 0 ? r : at_remove_tree(rootfd, ENV_DOOMED, err);
}

/*
 * Remove everything.  RUN contains the locks, so it is removed after all names but the renamed
 * database.  The renamed database is removed at the very end.
 */
static int remove_all(struct destroying *destroying, struct err *err)
{
	int rootfd = destroying->rootfd;
	int r = at_each_name(rootfd, ".", remove_name, destroying, err);

	destroying->last = true;
	for (int passes = 0; r >= 0 && !count_unremoved(destroying); passes++) {
		r = at_holds_only(rootfd, ENV_DOOMED, err);
		if (r > 0)
			return remove_marker(rootfd, err);
		if (r == 0 && passes == PASSES_MAX)
			r = err_set(err, ERR_BUSY, "new files keep appearing in the environment");
		if (r >= 0)
			r = at_each_name(rootfd, ".", remove_name, destroying, err);
	}
	return r;
}

/*
 * Remove the empty directory itself, if 'root' is still its path.  The directory stays if it is a
 * mount point, or if this user may not write to the directory above it.
 */
static void remove_place(int rootfd, const char *root, struct destroy_result *result)
{
	struct err ignored = { 0 };
	struct statx here, there;
	const char *name = strrchr(root, '/');
	owned_fd int above = at_open_above(rootfd, 1, &ignored);

	if (above < 0 || !name || at_fd_stat(rootfd, &here) < 0 ||
		at_name_stat(above, name + 1, &there) < 0 || here.stx_ino != there.stx_ino ||
		here.stx_mnt_id != there.stx_mnt_id ||
		at_unlink(above, name + 1, AT_REMOVEDIR, &ignored) < 0)
		result->stays = true;
}

/*
 * Enter a user namespace with the user's subordinate ids.  If that fails, files of these ids stay
 * and are reported.
 */
static void enter_userns(struct destroy_result *result, struct arena *arena)
{
	char why[SANDBOX_USER_WHY_MAX];
	struct err err = { 0 };

	if (sandbox_user_choose(why) == SANDBOX_USER_SUBIDS &&
		sandbox_user_enter(SANDBOX_USER_SUBIDS, &err) < 0)
		snprintf(why, sizeof(why), "%.*s", SANDBOX_USER_WHY_MAX - 1, err.text);
	result->why_alone = why[0] ? arena_strdup(arena, why) : NULL;
}

static int remove_env(
	struct op_context *ctx, int rootfd, struct destroy_result *result, struct err *err)
{
	struct destroying destroying = {
		.ctx = ctx,
		.rootfd = rootfd,
		.removal = { report_unremoved, ctx->progress ? show_progress : NULL,
			workspace_discard_whole, NULL, 0 },
	};

	destroying.removal.arg = &destroying;
	enter_userns(result, ctx->arena);
	int r = remove_all(&destroying, err);
	op_progress(ctx, NULL, 0, 0);
	result->removed = destroying.removal.removed;
	result->destroyed = r >= 0 && !count_unremoved(&destroying);
	if (result->destroyed)
		remove_place(rootfd, result->root, result);
	return r;
}

static int do_destroy(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct destroy_request *req = request;
	struct destroy_result *result = out;
	struct err none = { 0 };
	owned_fd int rootfd = open_place(ctx->root, err);

	if (rootfd < 0)
		return rootfd;
	owned_mem char *root = at_path_of(rootfd, err);
	if (!root)
		return -(int)err->code;
	result->root = arena_strdup(ctx->arena, root);
	result->report = ctx->report;
	owned_fd int run = at_open(rootfd, RUN, O_RDONLY | O_DIRECTORY, &none);
	if (run < 0 && run != -ERR_NOT_FOUND) {
		*err = none;
		return run;
	}
	owned(lockall_release) struct lockall all = { .run = run, .kills = req->kill };
	int r = stop_all(rootfd, &all, err);
	return r < 0 ? r : remove_env(ctx, rootfd, result, err);
}

static void result_json(struct json *out, const void *result)
{
	const struct destroy_result *res = result;

	json_text(out, "root", res->root);
	json_bool(out, "destroyed", res->destroyed);
	json_uint(out, "removed", res->removed);
	json_bool(out, "directory_stays", res->stays || !res->destroyed);
	shape_report(out, res->report);
}

const struct op op_destroy = {
	.name = "destroy",
	.summary = "remove the whole environment",
	.flags = OP_LOCAL | OP_NO_ENV | OP_WRITES | OP_DESTROYS | OP_ALONE,
	.params = params,
	.request_size = sizeof(struct destroy_request),
	.result_size = sizeof(struct destroy_result),
	.result = "root:text destroyed:bool removed:int directory_stays:bool " SHAPE_REPORT,
	.run = do_destroy,
	.result_json = result_json,
};
