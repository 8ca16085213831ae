#include "ops/env.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/at.h"
#include "core/lock.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/removal.h"
#include "core/when.h"
#include "ops/actas.h"
#include "ops/apart.h"
#include "ops/running.h"
#include "ops/tend.h"

#define FORMAT_VERSION "2"

static char *default_root(struct err *err)
{
	const char *data = getenv("XDG_DATA_HOME");
	const char *home = getenv("HOME");

	if (!geteuid())
		return mem_strdup("/var/lib/strata");
	if (data && *data == '/')
		return mem_printf("%s/strata", data);
	if (home && *home)
		return mem_printf("%s/.local/share/strata", home);
	err_set(err, ERR_NOT_FOUND, "no place for the environment: neither --root nor HOME is set");
	err_hint(err, "give one with --root DIR");
	return NULL;
}

char *env_locate(const char *given, struct err *err)
{
	const char *set = getenv("STRATA_ROOT");
	struct err none = { 0 };

	if (given || (set && *set))
		return mem_strdup(given ? given : set);
	owned_fd int near = at_find_upward(".strata", &none);
	if (near >= 0)
		return at_path_of(near, err);
	return default_root(err);
}

static void env_init(struct env *env)
{
	*env = (struct env)ENV_INIT;
}

static void release(struct env *env)
{
	if (env->attached)
		sandbox_detach(&env->sandbox);
	env->attached = false;
	bool untidy = env->workspace.untidy;
	workspace_close(&env->workspace);
	env->workspace = (struct workspace){ 0 };
	for (size_t i = 0; i < 2; i++)
		close_fd(&env->locks[i]);
	if (untidy)
		tend_beside(env->rootfd);
}

void env_let_go(struct env *env)
{
	struct err kept = { 0 };

	/* Without the lock the pack being written to may go; a failure shows with the next put. */
	(void)store_rest(env->store, &kept);
	release(env);
}

void env_close(struct env *env)
{
	release(env);
	store_close(env->store);
	db_close(env->db);
	close_fd(&env->rootfd);
	free(env->root);
	arena_release(&env->arena);
	env_init(env);
}

/* ------------------------------------------------------------------ opening */

static bool writes_live(enum env_access access)
{
	return access >= ENV_WRITE && access <= ENV_ABORT;
}

static bool replaces(enum env_access access)
{
	return access == ENV_REPLACE || access == ENV_ABORT;
}

int env_hold(struct env *env, enum lock_mode mode, struct err *err)
{
	owned_fd int run = at_open(env->rootfd, "run", O_RDONLY | O_DIRECTORY, err);

	if (run < 0)
		return run;
	close_fd(&env->locks[1]);
	env->locks[1] = lock_take(run, "store.lock", mode, ENV_WAIT_MS, env->what, err);
	return env->locks[1] < 0 ? err_context(err, "the store") : 0;
}

static int take_locks(
	struct env *env, const char *workspace, enum env_access access, struct err *err)
{
	char name[WORKSPACE_NAME_MAX + 8];
	enum lock_mode mode = access == ENV_MAINTAIN ? LOCK_EXCLUSIVE : LOCK_SHARED;
	owned_fd int run = at_open(env->rootfd, "run", O_RDONLY | O_DIRECTORY, err);

	if (run < 0)
		return run;
	if (access == ENV_MAINTAIN) {
		env->locks[0] =
			lock_take(run, ENV_GC_LOCK, LOCK_EXCLUSIVE, ENV_WAIT_MS, env->what, err);
		if (env->locks[0] < 0)
			return err_context(err, "the packs");
	}
	if (writes_live(access)) {
		snprintf(name, sizeof(name), "%s" ENV_LOCK, workspace);
		env->locks[0] = lock_take(run, name, LOCK_EXCLUSIVE, ENV_WAIT_MS, env->what, err);
		if (env->locks[0] < 0)
			return err_context(err, "workspace '%s'", workspace);
	}
	return env_hold(env, mode, err);
}

static int load_settings(struct env *env, struct err *err)
{
	char *text;
	int r = history_meta(&env->history, "exclude", &env->arena, &text, err);

	char *ino = NULL;
	if (r >= 0)
		r = history_meta(&env->history, "live_ino", &env->arena, &ino, err);
	env->live_ino = ino ? strtoull(ino, NULL, 10) : 0;
	env->n_exclude = 0;
	if (r < 0 || !text)
		return r;
	/* One pattern a line, as init stored them. */
	env->exclude = arena_alloc(&env->arena, ENV_EXCLUDE_MAX * sizeof(*env->exclude));
	while (text && env->n_exclude < ENV_EXCLUDE_MAX)
		env->exclude[env->n_exclude++] = strsep(&text, "\n");
	return 0;
}

void env_workspace(
	struct env *env, const char *name, struct workspace *workspace, struct report *report)
{
	*workspace = (struct workspace){
		.shown = -1,
		.squashed = env->user == SANDBOX_USER_SINGLE,
		.rootfd = env->rootfd,
		.store = env->store,
		.durable = true,
		.exclude = env->exclude,
		.n_exclude = env->n_exclude,
		.report = report,
		.live = -1,
		.index = -1,
	};
	snprintf(workspace->name, sizeof(workspace->name), "%s", name);
}

static const char *const user_names[] = {
	[SANDBOX_USER_SINGLE] = "single",
	[SANDBOX_USER_SUBIDS] = "subids",
	[SANDBOX_USER_ROOT] = "root",
};

/* Whose ids the files on disk have: chosen when the environment is made, kept since. */
static int find_user(struct env *env, bool makes, struct err *err)
{
	char why[SANDBOX_USER_WHY_MAX];
	char *name;
	int r;

	if (makes) {
		env->user = sandbox_user_choose(why);
		/* Root of a container with no other id cannot give files away either. */
		if (env->user == SANDBOX_USER_ROOT && sandbox_user_alone())
			env->user = SANDBOX_USER_SINGLE;
		return history_meta_set(&env->history, "user", user_names[env->user], err);
	}
	r = history_meta(&env->history, "user", &env->arena, &name, err);
	for (size_t i = 0; r >= 0 && name && i < sizeof(user_names) / sizeof(user_names[0]); i++)
		if (!strcmp(name, user_names[i])) {
			env->user = (enum sandbox_user)i;
			return 0;
		}
	return r < 0 ? r : err_set(err, ERR_CORRUPT, "whose the files are is not known");
}

/* Who has other ids than the files were given would take them for files of somebody else. */
static int check_ids(const struct env *env, enum sandbox_user can, const char *why, struct err *err)
{
	if (env->user == SANDBOX_USER_SINGLE)
		return 0;
	if (can == SANDBOX_USER_ROOT && sandbox_user_alone())
		err_set(err, ERR_UNSUPPORTED,
			"the files of this environment have several owners, and there is one id in "
			"this user namespace");
	else if (can == SANDBOX_USER_SINGLE)
		err_set(err, ERR_UNSUPPORTED,
			"the files of this environment have several owners, and this user has one "
			"id: %s",
			why);
	else
		return 0;
	return err_hint(err, "use it where it was made, or with the same subordinate ids");
}

int env_enter(struct env *env, struct workspace *workspace, bool makes, struct err *err)
{
	static bool entered; /* a process can do so once */
	char why[SANDBOX_USER_WHY_MAX];
	int r = find_user(env, makes, err);

	if (r < 0)
		return r;
	workspace->squashed = env->user == SANDBOX_USER_SINGLE;
	if (entered)
		return 0;
	enum sandbox_user can = sandbox_user_choose(why);
	r = makes ? 0 : check_ids(env, can, why, err);
	if (r < 0 || can == SANDBOX_USER_ROOT)
		return r;
	entered = true;
	if (env->attached && !env->sandbox.mute.code)
		return sandbox_join(&env->sandbox, err);
	/* Made by root of a user namespace, whose ids were those that this user has. */
	return sandbox_user_enter(
		env->user == SANDBOX_USER_ROOT ? SANDBOX_USER_SUBIDS : env->user, err);
}

/* Whatever runs in the workspace: to stop it while we look, or to end it. */
static int attach(struct env *env, enum env_access access, struct err *err)
{
	int wait_ms = access == ENV_LOOK ? SANDBOX_LOOK_MS : SANDBOX_ANSWER_MS;
	owned_fd int run = at_open(env->rootfd, "run", O_RDONLY | O_DIRECTORY, err);
	int r = run < 0 ? run : sandbox_reach(run, env->row.name, wait_ms, &env->sandbox, err);

	env->attached = r > 0;
	env->workspace.running_left = r == 0 && !sandbox_is_over(run, env->row.name);
	/* Who only looks does without it, and who ends it needs no answer. */
	if (r <= 0 || !env->sandbox.mute.code || access == ENV_LOOK || replaces(access))
		return r < 0 ? r : 0;
	*err = env->sandbox.mute;
	return -(int)err->code;
}

/* An empty directory has taken the place of a live tree outside: from now on it is the one. */
static int know_live(struct env *env, struct err *err)
{
	struct statx stx;

	if (!env->live_ino || at_fd_stat(env->workspace.live, &stx) < 0 ||
		stx.stx_ino == env->live_ino)
		return 0;
	env->live_ino = stx.stx_ino;
	return history_meta_set(&env->history, "live_ino",
		arena_printf(&env->arena, "%llu", (unsigned long long)stx.stx_ino), err);
}

static int open_workspace(
	struct env *env, enum env_access access, struct report *report, struct err *err)
{
	const struct workspace_backend *backend = workspace_backend(env->row.backend);

	if (!backend)
		return err_set(err, ERR_UNSUPPORTED, "workspace '%s' needs the backend '%s'",
			env->row.name, env->row.backend);
	env_workspace(env, env->row.name, &env->workspace, report);
	env->workspace.path = env->row.path;
	env->workspace.ino = env->live_ino;
	env->workspace.remake = access == ENV_RESTORE || replaces(access);
	env->workspace.scratch = access == ENV_LOOK;
	env->workspace.backend = backend;
	int r = attach(env, access, err);
	if (r >= 0 && backend->mounted)
		r = env_enter(env, &env->workspace, false, err);
	if (r >= 0)
		r = workspace_open(&env->workspace, err);
	if (r < 0)
		env->workspace.backend = NULL;
	else if (writes_live(access))
		r = know_live(env, err);
	return r;
}

/* New live trees are of the same kind as this one. */
static int enter_for_forks(struct env *env, struct err *err)
{
	const struct workspace_backend *backend = workspace_backend(env->row.backend);

	if (!backend)
		return err_set(err, ERR_UNSUPPORTED, "workspace '%s' needs the backend '%s'",
			env->row.name, env->row.backend);
	return backend->mounted ? env_enter(env, &env->workspace, false, err) : 0;
}

/* Somebody may have worked in a half-done checkout: keep what is found, without moving HEAD. */
static int keep_found(struct env *env, const struct hash *now, char found[NODE_ID], struct err *err)
{
	struct node node = {
		.tree = *now,
		.time = when_now(),
		.kind = NODE_CHECKOUT,
		.message = STR("as found after an interrupted checkout"),
	};

	memcpy(node.made_from, env->row.head, sizeof(node.made_from));
	int r = history_add(&env->history, &node, NULL, NULL, err);
	memcpy(found, node.id, NODE_ID);
	return r;
}

/* found "": nothing was. */
static void say_ended(struct report *report, const char *target, const char *found, bool aborted)
{
	const char *what = aborted ? "undone" : "completed";

	if (*found)
		report_add(report, REPORT_COMPLETED, STR(""),
			"the interrupted checkout was %s: the live tree is that of %s; what was "
			"found there is in %s",
			what, target, found);
	else
		report_add(report, REPORT_COMPLETED, STR(""),
			"the interrupted checkout was %s: the live tree is that of %s", what,
			target);
}

/* Asked each time: what is attached comes and goes. */
static const int *root_inside(const struct env *env)
{
	bool answers = env->attached && !env->sandbox.mute.code;

	return answers ? &env->sandbox.fds[SANDBOX_ROOT] : NULL;
}

int env_capture(struct env *env, struct hash *tree, struct err *err)
{
	env->workspace.inside = root_inside(env);
	return env->workspace.backend->capture(&env->workspace, tree, err);
}

void env_mapped(struct env *env, struct mapped *mapped)
{
	env->workspace.inside = root_inside(env);
	if (workspace_may_be_mapped(&env->workspace))
		workspace_mapped(&env->workspace, mapped);
}

/* HEAD is what it was when the checkout began; one of a restore leads back to that as well. */
static int become_pending(
	struct env *env, const char *target, bool aborted, struct report *report, struct err *err)
{
	char found[NODE_ID] = "";
	struct node node;
	struct hash now, became;
	int r = history_get(&env->history, target, &env->arena, &node, err);

	if (r <= 0)
		return r < 0 ? r : err_set(err, ERR_CORRUPT, "node %s is missing", target);
	r = env_capture(env, &now, err);
	if (r >= 0 && !hash_eq(&now, &node.tree))
		r = keep_found(env, &now, found, err);
	if (r >= 0)
		r = env->workspace.backend->become(&env->workspace, &now, &node.tree, &became, err);
	/* No movement where HEAD is there already. */
	if (r >= 0 && !strcmp(target, env->row.head))
		r = history_set_pending(&env->history, env->row.name, NULL, err);
	else if (r >= 0)
		r = history_move(&env->history, env->row.name, target, "checkout", err);
	if (r >= 0)
		say_ended(report, target, found, aborted);
	return r;
}

/*
 * A checkout or restore was cut off: the live tree is part old, part new.  What was
 * there before is in a node, so neither finishing nor undoing it loses anything.
 */
static int end_checkout(
	struct env *env, enum env_access access, struct report *report, struct err *err)
{
	char target[NODE_ID];
	bool abort = access == ENV_ABORT;

	snprintf(target, sizeof(target), "%s", abort ? env->row.head : env->row.pending);
	/* What runs was to go on: its tree must not be taken from under it now either. */
	int r = abort ? running_kill(env, err) : running_show(env, err);
	if (r >= 0)
		r = become_pending(env, target, abort, report, err);
	if (r < 0)
		return err_context(err, "%s the interrupted checkout of %s",
			abort ? "undo" : "complete", env->row.pending);
	memcpy(env->row.head, target, sizeof(env->row.head));
	env->row.pending = NULL;
	return 0;
}

/* The version of a complete environment; NULL where an init was cut off, however early. */
static int read_format(
	struct history *history, struct arena *arena, char **version, struct err *err)
{
	owned(db_donep) struct db_query *query = db_query(history->db, err,
		"SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'meta'", "");
	int r = query ? db_step(query, err) : -(int)err->code;

	*version = NULL;
	return r <= 0 ? r : history_meta(history, "format", arena, version, err);
}

static int check_format(struct env *env, struct err *err)
{
	char *version;
	int r = read_format(&env->history, &env->arena, &version, err);

	if (r < 0)
		return r;
	if (!version) {
		err_set(err, ERR_NOT_FOUND, "the environment at '%s' was never completed",
			env->root);
		return err_hint(err, "run 'strata init' again");
	}
	if (strcmp(version, FORMAT_VERSION))
		return err_set(err, ERR_UNSUPPORTED,
			"the environment has format %s, this strata knows " FORMAT_VERSION,
			version);
	return 0;
}

static int read_row(struct env *env, const char *workspace, struct err *err)
{
	int r = history_workspace(&env->history, workspace, &env->arena, &env->row, err);

	return r == 0 ? err_set(err, ERR_NOT_FOUND, "no workspace '%s'", workspace) : r;
}

static int refuse_doomed(const struct env *env, struct err *err)
{
	struct statx stx;

	if (at_name_stat(env->rootfd, ENV_DOOMED, &stx) < 0)
		return 0;
	err_set(err, ERR_NOT_FOUND, "the environment at '%s' is being destroyed", env->root);
	return err_hint(err, "'strata destroy' goes on with it");
}

/* Whoever waited for a lock may find that the environment is no more. */
static int check_still_there(const struct env *env, struct err *err)
{
	struct statx stx;

	if (at_name_stat(env->rootfd, ENV_DATABASE, &stx) == 0 && stx.stx_ino == env->db_ino)
		return 0;
	int r = refuse_doomed(env, err);
	return r < 0 ? r
		     : err_set(err, ERR_NOT_FOUND, "the environment at '%s' was destroyed",
			       env->root);
}

static int open_files(struct env *env, const char *root, enum env_access access, struct err *err)
{
	unsigned store_flags = access == ENV_READ   ? STORE_READ_ONLY
			       : access == ENV_LOOK ? STORE_SCRATCH
						    : 0;
	int r;

	env->rootfd = at_open_given(root, O_RDONLY | O_DIRECTORY, 0, err);
	if (env->rootfd < 0) {
		if (err->code != ERR_NOT_FOUND)
			return env->rootfd;
		err_set(err, ERR_NOT_FOUND, "no environment at '%s'", root);
		return err_hint(
			err, "make one with 'strata init --from DIR', or name one with --root");
	}
	env->root = at_path_of(env->rootfd, err);
	if (!env->root)
		return -(int)err->code;
	struct statx database;
	if (at_name_stat(env->rootfd, ENV_DATABASE, &database) < 0) {
		if (refuse_doomed(env, err) < 0)
			return -(int)err->code;
		err_set(err, ERR_NOT_FOUND, "no environment at '%s'", root);
		return err_hint(
			err, "make one with 'strata init --from DIR', or name one with --root");
	}
	env->db_ino = database.stx_ino;
	r = access == ENV_READ ? 0 : actas_owner(env->rootfd, env->root, err);
	if (r < 0)
		return r;
	owned_mem char *db = mem_printf("%s/" ENV_DATABASE, env->root);
	env->db = db_open(db, access >= ENV_WRITE ? 0 : DB_READ_ONLY, err);
	if (!env->db)
		return -(int)err->code;
	/* First of all: an init that died may have left the database and nothing else. */
	env->history = (struct history){ .db = env->db };
	r = check_format(env, err);
	if (r < 0)
		return r;
	env->store = store_open(env->rootfd, env->db, store_flags, err);
	if (!env->store)
		return -(int)err->code;
	env->history.store = env->store;
	return 0;
}

static int take(struct env *env, const char *workspace, enum env_access access,
	struct report *report, struct err *err)
{
	bool writes = access >= ENV_WRITE;
	int r = read_row(env, workspace, err);

	/* Locked only where there is something to lock, and read again under the lock. */
	if (r >= 0 && writes)
		r = take_locks(env, workspace, access, err);
	if ((r >= 0 || r == -ERR_NOT_FOUND) && writes && check_still_there(env, err) < 0)
		r = -(int)err->code;
	if (r >= 0 && writes)
		r = read_row(env, workspace, err);
	if (r >= 0)
		r = load_settings(env, err);
	if (r >= 0 && (access == ENV_LOOK || writes_live(access)))
		r = open_workspace(env, access, report, err);
	if (r >= 0 && access == ENV_FORK)
		r = enter_for_forks(env, err);
	env->interrupted = r >= 0 && env->row.pending;
	if (env->interrupted && writes_live(access))
		r = end_checkout(env, access, report, err);
	return r;
}

int env_open(struct env *env, const char *root, const char *workspace, enum env_access access,
	const char *what, struct report *report, struct err *err)
{
	env_init(env);
	if (!workspace_name_ok(workspace))
		return err_set(
			err, ERR_USAGE, "'%.80s' cannot be the name of a workspace", workspace);
	env->what = what;
	int r = open_files(env, root, access, err);
	if (r >= 0)
		r = take(env, workspace, access, report, err);
	if (r < 0)
		env_close(env);
	return r;
}

/* Whether what we have open is what is there: it may have been removed, or made anew. */
static bool is_current(const struct env *env)
{
	struct statx now;
	struct err gone = { 0 };
	owned_fd int there = at_open_given(env->root, O_RDONLY | O_DIRECTORY, 0, &gone);

	return there >= 0 && at_name_stat(there, ENV_DATABASE, &now) == 0 &&
	       now.stx_ino == env->db_ino;
}

int env_take_again(struct env *env, enum env_access access, struct report *report, struct err *err)
{
	char workspace[WORKSPACE_NAME_MAX + 1];
	int r;

	snprintf(workspace, sizeof(workspace), "%s", env->row.name);
	if (is_current(env)) {
		r = take(env, workspace, access, report, err);
		if (r < 0)
			env_close(env);
		return r;
	}
	owned_mem char *root = mem_strdup(env->root);
	const char *what = env->what;
	env_close(env);
	return env_open(env, root, workspace, access, what, report, err);
}

/* ------------------------------------------------------------------ creating */

static bool remove_whole(void *arg, int dirfd, const char *name, const struct statx *stx)
{
	(void)arg;
	return workspace_discard_whole(dirfd, name, stx);
}

struct emptying {
	int rootfd;
	int first; /* -errno of the first name that stays */
};

static int empty_one(void *arg, int dirfd, const char *name, struct err *err)
{
	(void)err;
	struct emptying *emptying = arg;
	struct removal removal = { .whole = remove_whole };
	/* The locks are ours still. */
	int r = strcmp(name, "run") ? removal_run(&removal, dirfd, name) : 0;

	emptying->first = emptying->first ? emptying->first : r;
	return 0;
}

static int empty_all(struct emptying *emptying, struct err *err)
{
	int r = at_each_name(emptying->rootfd, ".", empty_one, emptying, err);

	errno = -emptying->first;
	return r >= 0 && emptying->first ? err_errno(err, "remove what an init has left") : r;
}

static int empty_apart(void *arg, struct apart *apart, void *result, struct err *err)
{
	(void)apart, (void)result;
	int r = sandbox_user_enter(SANDBOX_USER_SUBIDS, err);

	return r < 0 ? r : empty_all(arg, err);
}

static void not_needed(void *arg)
{
	(void)arg;
}

/*
 * All that an init made, but the locks.  It may be of every id the inside has; who makes a
 * new environment must stay where its source has the owners it has, so a child does it.
 */
static int empty_root(int rootfd, struct err *err)
{
	char why[SANDBOX_USER_WHY_MAX];
	struct emptying emptying = { .rootfd = rootfd };
	char nothing;
	struct apart_work work = {
		.run = empty_apart,
		.ready = not_needed,
		.arg = &emptying,
		.size = sizeof(nothing),
	};

	if (sandbox_user_choose(why) != SANDBOX_USER_SUBIDS)
		return empty_all(&emptying, err);
	return apart_run(&work, &nothing, err);
}

/* With the locks held: nothing is left of it, nor of the directories on the way to it. */
static void remove_unfinished(int rootfd, const char *root, unsigned levels)
{
	struct err ignored = { 0 };

	if (empty_root(rootfd, &ignored) < 0)
		return;
	(void)at_remove_tree(rootfd, "run", &ignored);
	at_rmdirs_given(root, levels);
}

/* 1 there is a database, 0 nothing of anybody. */
static int refuse_foreign(struct env *env, struct err *err)
{
	if (at_exists(env->rootfd, ENV_DATABASE))
		return 1;
	int r = refuse_doomed(env, err);
	if (r < 0)
		return r;
	int empty = at_holds_only(env->rootfd, "run", err);
	if (empty != 0)
		return empty < 0 ? empty : 0;
	err_set(err, ERR_INVALID, "'%s' holds other things", env->root);
	return err_hint(err, "an environment needs a directory of its own: use another --root");
}

static int refuse_existing(struct env *env, const char *path, struct err *err)
{
	struct err ignored = { 0 };
	struct arena arena = { 0 };
	char *version = NULL;
	int r = refuse_foreign(env, err);

	if (r <= 0)
		return r;
	struct db *db = db_open(path, DB_READ_ONLY, &ignored);
	if (db) {
		struct history history = { .db = db };

		(void)read_format(&history, &arena, &version, &ignored);
	}
	bool complete = version != NULL;
	/* A database that cannot be read, whatever the reason, is not ours to throw away. */
	bool unreadable = !db || ignored.code;
	db_close(db);
	arena_release(&arena);
	if (complete || unreadable) {
		err_set(err, ERR_INVALID, "there is an environment at '%s' already", env->root);
		return err_hint(err, "use another --root, or 'strata destroy' first");
	}
	return empty_root(env->rootfd, err);
}

static int create_parts(struct env *env, const char *root, struct err *err)
{
	static const char *const dirs[] = { "packs", WORKSPACE_LIVE_DIR, WORKSPACE_INDEX_DIR };
	int r;

	env->rootfd = at_open_given(root, O_RDONLY | O_DIRECTORY, 0, err);
	if (env->rootfd == -ERR_NOT_FOUND) {
		r = at_mkdirs_given(root, 0700, err);
		if (r < 0)
			return err_context(err, "make '%s'", root);
		env->rootfd = at_open_given(root, O_RDONLY | O_DIRECTORY, 0, err);
	}
	if (env->rootfd < 0)
		return env->rootfd;
	env->root = at_path_of(env->rootfd, err);
	if (!env->root)
		return -(int)err->code;
	r = actas_owner(env->rootfd, env->root, err);
	if (r < 0)
		return r;
	/* Asked again under the lock. */
	env->what = "init";
	r = refuse_foreign(env, err);
	if (r >= 0)
		r = at_mkdirs(env->rootfd, "run", 0700, err);
	if (r >= 0)
		r = take_locks(env, ENV_MAIN, ENV_WRITE, err);
	if (r < 0)
		return r;
	owned_mem char *path = mem_printf("%s/" ENV_DATABASE, env->root);
	r = refuse_existing(env, path, err);
	if (r < 0)
		return r;
	/* It holds names and messages: like all else here, for the owner only. */
	owned_fd int made = at_create(env->rootfd, ENV_DATABASE, O_RDWR, 0600, err);
	struct statx stx;
	if (made < 0 || at_fd_stat(made, &stx) < 0)
		return made < 0 ? made : err_errno(err, "make the database");
	env->db_ino = stx.stx_ino;
	/* The rest comes behind it: what an init that dies leaves is known by the database. */
	for (size_t i = 0; r >= 0 && i < sizeof(dirs) / sizeof(dirs[0]); i++)
		r = at_mkdirs(env->rootfd, dirs[i], 0700, err);
	if (r < 0)
		return r;
	env->db = db_open(path, DB_CREATE, err);
	if (!env->db)
		return -(int)err->code;
	r = db_begin(env->db, err);
	if (r >= 0)
		r = db_exec(env->db, store_schema, err);
	if (r >= 0)
		r = db_exec(env->db, history_schema, err);
	if (r >= 0)
		r = db_commit(env->db, err);
	if (r < 0)
		return r;
	env->store = store_open(env->rootfd, env->db, 0, err);
	if (!env->store)
		return -(int)err->code;
	env->history = (struct history){ env->db, env->store };
	return 0;
}

static void close_files(struct env *env)
{
	workspace_close(&env->workspace);
	env->workspace = (struct workspace){ 0 };
	store_close(env->store);
	db_close(env->db);
	env->store = NULL;
	env->db = NULL;
}

void env_abandon(struct env *env, unsigned levels)
{
	close_files(env);
	remove_unfinished(env->rootfd, env->root, levels);
	env_close(env);
}

int env_create(struct env *env, const char *root, struct err *err)
{
	unsigned levels = at_missing_given(root);

	env_init(env);
	int r = create_parts(env, root, err);
	if (r >= 0)
		return (int)levels;
	/* Once we have the locks and no environment was found, all that is there is ours. */
	if (env->db_ino) {
		env_abandon(env, levels);
	} else {
		env_close(env);
		at_rmdirs_given(root, levels);
	}
	return r;
}

void env_clear(const char *root, unsigned levels)
{
	struct err ignored = { 0 };
	struct env env = ENV_INIT;

	env.what = "init";
	env.rootfd = at_open_given(root, O_RDONLY | O_DIRECTORY, 0, &ignored);
	env.root = env.rootfd < 0 ? NULL : at_path_of(env.rootfd, &ignored);
	owned_mem char *db = env.root ? mem_printf("%s/" ENV_DATABASE, env.root) : NULL;
	if (db && refuse_foreign(&env, &ignored) >= 0 &&
		take_locks(&env, ENV_MAIN, ENV_WRITE, &ignored) >= 0 &&
		refuse_existing(&env, db, &ignored) >= 0)
		remove_unfinished(env.rootfd, env.root, levels);
	env_close(&env);
}

int env_ready(struct env *env, struct err *err)
{
	int r = at_fsync(env->rootfd, env->root, err);

	if (r >= 0)
		r = history_meta_set(&env->history, "format", FORMAT_VERSION, err);
	if (r >= 0)
		db_checkpoint(env->db);
	return r;
}

/* --------------------------------------------------------------- references */

int env_resolve(struct env *env, const char *text, struct ref *ref, struct err *err)
{
	return ref_resolve(&env->history, env->row.name, text, ref, err);
}

int env_tree(struct env *env, const struct ref *ref, struct hash *tree, struct err *err)
{
	owned(arena_release) struct arena arena = { 0 };
	struct node node;
	int r;

	if (ref->work)
		return env_capture(env, tree, err);
	r = history_get(&env->history, ref->id, &arena, &node, err);
	if (r > 0)
		*tree = node.tree;
	return r == 0 ? err_set(err, ERR_CORRUPT, "node %s is missing", ref->id) : r;
}
