#include "ops/env.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/at.h"
#include "core/lock.h"
#include "core/mem.h"
#include "core/own.h"
#include "ops/switchuser.h"
#include "ops/tend.h"
#include "ops/wardens.h"

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

static void release_workspace(struct env *env)
{
	if (env->attached)
		sandbox_detach(&env->sandbox);
	env->attached = false;
	bool untidy = workspace_free(env->workspace) || env->untidy;
	env->workspace = NULL;
	env->untidy = false;
	for (size_t i = 0; i < 2; i++)
		close_fd(&env->locks[i]);
	if (untidy)
		tend_beside(env->rootfd);
}

void env_let_go(struct env *env)
{
	struct err kept = { 0 };

	/*
	 * Release the pack that the store writes to, because gc may remove the pack when the lock
	 * is free.  A failure is ignored here, because the next write to the store reports it.
	 */
	(void)store_rest(env->store, &kept);
	release_workspace(env);
}

void env_close(struct env *env)
{
	release_workspace(env);
	store_close(env->store);
	db_close(env->db);
	close_fd(&env->rootfd);
	free(env->root);
	arena_release(&env->arena);
	*env = ENV_INIT;
}

/* --------------------------------------------------- opening an environment */

static bool writes_live(enum env_access access)
{
	return access >= ENV_WRITE && access <= ENV_ABORT;
}

bool env_writes_live(const struct env *env)
{
	return writes_live(env->access);
}

static bool ends_programs(enum env_access access)
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

int env_lock(struct env *env, const char *workspace, enum env_access access, struct err *err)
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
	char *text, *ino = NULL;
	int r = history_meta(&env->history, "exclude", &env->arena, &text, err);

	if (r >= 0)
		r = history_meta(&env->history, "live_ino", &env->arena, &ino, err);
	env->live_ino = ino ? strtoull(ino, NULL, 10) : 0;
	env->n_exclude = 0;
	if (r < 0 || !text)
		return r;
	/* Each line of the text is one pattern that init has stored. */
	env->exclude = arena_alloc(&env->arena, ENV_EXCLUDE_MAX * sizeof(*env->exclude));
	while (text && env->n_exclude < ENV_EXCLUDE_MAX)
		env->exclude[env->n_exclude++] = strsep(&text, "\n");
	return 0;
}

struct workspace_setup env_setup(const struct env *env, const char *name, struct report *report)
{
	return (struct workspace_setup){
		.name = name,
		.rootfd = env->rootfd,
		.store = env->store,
		.squashed = env->user == SANDBOX_USER_SINGLE,
		.durable = true,
		.exclude = env->exclude,
		.n_exclude = env->n_exclude,
		.report = report,
	};
}

static const char *const user_names[] = {
	[SANDBOX_USER_SINGLE] = "single",
	[SANDBOX_USER_SUBIDS] = "subids",
	[SANDBOX_USER_ROOT] = "root",
};

/*
 * Load the kind of user.  If 'makes' is set, choose the kind and store it.  The kind decides which
 * ids the files have on disk.  The kind never changes.
 */
static int load_user(struct env *env, bool makes, struct err *err)
{
	char why[SANDBOX_USER_WHY_MAX];
	char *name;
	int r;

	if (makes) {
		env->user = sandbox_user_choose(why);
		/* Root of a container with one id cannot give files to other owners. */
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
	return r < 0 ? r : err_set(err, ERR_CORRUPT, "the owner of the files is not known");
}

/*
 * Refuse a process that does not have the ids of the files, because it would record wrong owners.
 */
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

int env_enter(struct env *env, bool makes, struct err *err)
{
	static bool entered; /* a process can enter only one user namespace */
	char why[SANDBOX_USER_WHY_MAX];
	int r = load_user(env, makes, err);

	if (r < 0)
		return r;
	if (env->workspace)
		workspace_squash(env->workspace, env->user == SANDBOX_USER_SINGLE);
	if (entered)
		return 0;
	enum sandbox_user can = sandbox_user_choose(why);
	r = makes ? 0 : check_ids(env, can, why, err);
	if (r < 0 || can == SANDBOX_USER_ROOT)
		return r;
	entered = true;
	if (env->attached && !env->sandbox.mute.code)
		return sandbox_join(&env->sandbox, err);
	/*
	 * Root made this environment, and this process is not root.  So the maker was root of a
	 * user namespace that had the subordinate ids of this user.
	 */
	return sandbox_user_enter(
		env->user == SANDBOX_USER_ROOT ? SANDBOX_USER_SUBIDS : env->user, err);
}

/*
 * Attach to the sandbox of the workspace, to freeze its programs during a capture, or to end them.
 */
static int attach_sandbox(struct env *env, enum env_access access, struct err *err)
{
	int wait_ms = access == ENV_LOOK ? SANDBOX_LOOK_MS : SANDBOX_ANSWER_MS;
	owned_fd int run = at_open(env->rootfd, "run", O_RDONLY | O_DIRECTORY, err);
	int r = run < 0 ? run : sandbox_reach(run, env->row.name, wait_ms, &env->sandbox, err);

	env->attached = r > 0;
	env->running_left = r == 0 && !sandbox_is_over(run, env->row.name);
	/*
	 * A sandbox that does not answer is no error if the live tree is only read or if programs
	 * are ended.
	 */
	if (r <= 0 || !env->sandbox.mute.code || access == ENV_LOOK || ends_programs(access))
		return r < 0 ? r : 0;
	*err = env->sandbox.mute;
	return -(int)err->code;
}

/*
 * Store the inode of a live tree outside ROOT, if the inode has changed.  The inode changes if the
 * live tree was removed and strata has made an empty directory in its place.
 */
static int store_live_ino(struct env *env, struct err *err)
{
	struct statx stx;

	if (!env->live_ino || at_fd_stat(workspace_live(env->workspace), &stx) < 0 ||
		stx.stx_ino == env->live_ino)
		return 0;
	env->live_ino = stx.stx_ino;
	return history_meta_set(&env->history, "live_ino",
		arena_printf(&env->arena, "%llu", (unsigned long long)stx.stx_ino), err);
}

static int open_workspace(
	struct env *env, enum env_access access, struct report *report, struct err *err)
{
	int r = attach_sandbox(env, access, err);

	if (r >= 0 && env->kind && env->kind->mounted)
		r = env_enter(env, false, err);
	if (r < 0)
		return r;
	struct workspace_setup setup = env_setup(env, env->row.name, report);
	setup.backend = env->row.backend;
	setup.path = env->row.path;
	setup.ino = env->live_ino;
	setup.remake = access == ENV_RESTORE || ends_programs(access);
	setup.scratch = access == ENV_LOOK;
	setup.drop_stubs = access != ENV_LOOK && !env->attached && wardens_wait(env);
	env->workspace = workspace_new(&setup, err);
	r = env->workspace ? workspace_open(env->workspace, err) : -(int)err->code;
	return r >= 0 && env_writes_live(env) ? store_live_ino(env, err) : r;
}

/*
 * Returns the root directory that programs see.  Returns NULL if there is no sandbox, or if the
 * sandbox does not answer.
 */
static const int *root_inside(const struct env *env)
{
	bool answers = env->attached && !env->sandbox.mute.code;

	return answers ? &env->sandbox.fds[SANDBOX_ROOT] : NULL;
}

int env_capture(struct env *env, struct hash *tree, struct err *err)
{
	return workspace_capture(env->workspace, root_inside(env), tree, err);
}

int env_apply(
	struct env *env, const struct workspace_change *change, struct hash *now, struct err *err)
{
	struct workspace_change how = *change;

	how.running_left = env->running_left;
	return workspace_apply(env->workspace, &how, now, err);
}

void env_mapped(struct env *env, struct mapped *mapped)
{
	workspace_mapped(env->workspace, root_inside(env), mapped);
}

int env_format(struct history *history, struct arena *arena, char **version, struct err *err)
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
	int r = env_format(&env->history, &env->arena, &version, err);

	if (r < 0)
		return r;
	if (!version) {
		err_set(err, ERR_NOT_FOUND, "the environment at '%s' was never completed",
			env->root);
		return err_hint(err, "run 'strata init' again");
	}
	if (strcmp(version, ENV_FORMAT)) {
		err_set(err, ERR_UNSUPPORTED,
			"the environment at '%s' has format %s, and this strata knows only "
			"format " ENV_FORMAT,
			env->root, version);
		return err_hint(err,
			atoi(version) > atoi(ENV_FORMAT)
				? "a newer strata made it: use that one"
				: "bring its nodes over: 'strata export' of the strata that made "
				  "it, then 'strata init' and 'strata import' of this one");
	}
	return 0;
}

static int read_row(struct env *env, const char *workspace, struct err *err)
{
	int r = history_workspace(&env->history, workspace, &env->arena, &env->row, err);

	if (r > 0)
		env->kind = workspace_kind(env->row.backend);
	return r == 0 ? err_set(err, ERR_NOT_FOUND, "no workspace '%s'", workspace) : r;
}

int env_refuse_doomed(const struct env *env, struct err *err)
{
	struct statx stx;

	if (at_name_stat(env->rootfd, ENV_DOOMED, &stx) < 0)
		return 0;
	err_set(err, ERR_NOT_FOUND, "the environment at '%s' is being destroyed", env->root);
	return err_hint(err, "'strata destroy' goes on with it");
}

/* Check that the environment was not destroyed while this process waited for a lock. */
static int check_still_there(const struct env *env, struct err *err)
{
	struct statx stx;

	if (at_name_stat(env->rootfd, ENV_DATABASE, &stx) == 0 && stx.stx_ino == env->db_ino)
		return 0;
	int r = env_refuse_doomed(env, err);
	return r < 0 ? r
		     : err_set(err, ERR_NOT_FOUND, "the environment at '%s' was destroyed",
			       env->root);
}

bool env_exists(const char *root)
{
	struct err none = { 0 };
	owned_fd int fd = root ? at_open_given(root, O_PATH | O_DIRECTORY, 0, &none) : -1;

	return fd >= 0 && at_exists(fd, ENV_DATABASE);
}

static int refuse_missing(const char *root, struct err *err)
{
	err_set(err, ERR_NOT_FOUND, "no environment at '%s'", root);
	return err_hint(err, "make one with 'strata init --from DIR', or name one with --root");
}

static int open_files(struct env *env, const char *root, enum env_access access, struct err *err)
{
	unsigned store_flags = access == ENV_READ   ? STORE_READ_ONLY
			       : access == ENV_LOOK ? STORE_SCRATCH
						    : 0;
	int r;

	env->rootfd = at_open_given(root, O_RDONLY | O_DIRECTORY, 0, err);
	if (env->rootfd < 0)
		return err->code == ERR_NOT_FOUND ? refuse_missing(root, err) : env->rootfd;
	env->root = at_path_of(env->rootfd, err);
	if (!env->root)
		return -(int)err->code;
	struct statx database;
	if (at_name_stat(env->rootfd, ENV_DATABASE, &database) < 0)
		return env_refuse_doomed(env, err) < 0 ? -(int)err->code
						       : refuse_missing(root, err);
	env->db_ino = database.stx_ino;
	r = access == ENV_READ ? 0 : switchuser_to_owner(env->rootfd, env->root, err);
	if (r < 0)
		return r;
	owned_mem char *db = mem_printf("%s/" ENV_DATABASE, env->root);
	env->db = db_open(db, access >= ENV_WRITE ? 0 : DB_READ_ONLY, err);
	if (!env->db)
		return -(int)err->code;
	/*
	 * Check the format before the store is opened, because a killed init may have made only the
	 * database.
	 */
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

static int lock_and_load(struct env *env, const char *workspace, enum env_access access,
	struct report *report, struct err *err)
{
	bool writes = access >= ENV_WRITE;
	int r = read_row(env, workspace, err);

	env->access = access;
	/*
	 * Lock the workspace only if it exists.  Then read the row of the workspace again, because
	 * another command may have changed the row before this process got the lock.
	 */
	if (r >= 0 && writes)
		r = env_lock(env, workspace, access, err);
	if ((r >= 0 || r == -ERR_NOT_FOUND) && writes && check_still_there(env, err) < 0)
		r = -(int)err->code;
	if (r >= 0 && writes)
		r = read_row(env, workspace, err);
	if (r >= 0)
		r = load_settings(env, err);
	if (r >= 0 && (access == ENV_LOOK || writes_live(access)))
		r = open_workspace(env, access, report, err);
	/*
	 * A fork gets the backend of this workspace.  If the backend uses overlays, live trees are
	 * made in the user namespace.
	 */
	if (r >= 0 && access == ENV_FORK && env->kind && env->kind->mounted)
		r = env_enter(env, false, err);
	env->interrupted = r >= 0 && env->row.pending;
	return r;
}

int env_open(struct env *env, const char *root, const char *workspace, enum env_access access,
	const char *what, struct report *report, struct err *err)
{
	*env = ENV_INIT;
	if (!workspace_name_ok(workspace))
		return err_set(
			err, ERR_USAGE, "'%.80s' cannot be the name of a workspace", workspace);
	env->what = what;
	int r = open_files(env, root, access, err);
	if (r >= 0)
		r = lock_and_load(env, workspace, access, report, err);
	if (r < 0)
		env_close(env);
	return r;
}

bool env_is_current(const struct env *env)
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
	if (env_is_current(env)) {
		r = lock_and_load(env, workspace, access, report, err);
		if (r < 0)
			env_close(env);
		return r;
	}
	owned_mem char *root = mem_strdup(env->root);
	const char *what = env->what;
	env_close(env);
	return env_open(env, root, workspace, access, what, report, err);
}

/* --------------------------------------------------------------- references */

int env_head(struct env *env, struct arena *arena, struct node *node, struct err *err)
{
	int r = history_get(&env->history, env->row.head, arena, node, err);

	return r == 0 ? err_set(err, ERR_CORRUPT, "HEAD %s is missing", env->row.head) : r;
}

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
