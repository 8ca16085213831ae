#include "ops/newenv.h"

#include <fcntl.h>
#include <string.h>

#include "core/at.h"
#include "core/child.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/removal.h"
#include "ops/reserve.h"
#include "ops/switchuser.h"

struct emptying {
	int rootfd;
	int first; /* -errno of the first name that could not be removed */
};

static int remove_name(void *arg, int dirfd, const char *name, struct err *err)
{
	struct emptying *emptying = arg;
	struct removal removal = { .whole = workspace_discard_whole };
	/* 'run' stays, because this process still holds the locks in it. */
	int r = strcmp(name, "run") ? removal_run(&removal, dirfd, name) : 0;

	emptying->first = emptying->first ? emptying->first : r;
	return 0;
}

static int empty_all(struct emptying *emptying, struct err *err)
{
	int r = at_each_name(emptying->rootfd, ".", remove_name, emptying, err);

	return r >= 0 && emptying->first
		       ? err_number(err, -emptying->first, "remove what an init has left")
		       : r;
}

static int empty_in_child(void *arg, struct err *err)
{
	int r = sandbox_user_enter(SANDBOX_USER_SUBIDS, err);

	return r < 0 ? r : empty_all(arg, err);
}

/*
 * Remove all files that an init made, except the locks.  The files may belong to any id that
 * programs in the sandbox can have.  A child removes the files in another user namespace.  This
 * process must stay in its own user namespace, in which the source of the new environment has its
 * real owners.
 */
static int empty_root(int rootfd, struct err *err)
{
	char why[SANDBOX_USER_WHY_MAX];
	struct emptying emptying = { .rootfd = rootfd };

	if (sandbox_user_choose(why) != SANDBOX_USER_SUBIDS)
		return empty_all(&emptying, err);
	return child_do(empty_in_child, &emptying, err);
}

/*
 * Remove the environment and the last 'levels' directories of its path.  The caller must hold the
 * locks.
 */
static void remove_unfinished(int rootfd, const char *root, unsigned levels)
{
	struct err ignored = { 0 };

	if (empty_root(rootfd, &ignored) < 0)
		return;
	(void)at_remove_tree(rootfd, "run", &ignored);
	at_rmdirs_given(root, levels);
}

/*
 * Returns 1 if there is a database, and 0 if the directory holds at most 'run'.  Anything else is
 * an error.
 */
static int refuse_foreign(struct env *env, struct err *err)
{
	if (at_exists(env->rootfd, ENV_DATABASE))
		return 1;
	int r = env_refuse_doomed(env, err);
	if (r < 0)
		return r;
	int empty = at_holds_only(env->rootfd, "run", err);
	if (empty != 0)
		return empty < 0 ? empty : 0;
	err_set(err, ERR_INVALID, "'%s' is not empty", env->root);
	return err_hint(err, "an environment needs a directory of its own: use another --root");
}

static int refuse_existing(struct env *env, const char *path, struct err *err)
{
	struct err ignored = { 0 };
	owned(arena_release) struct arena arena = { 0 };
	char *version = NULL;
	int r = refuse_foreign(env, err);

	if (r <= 0)
		return r;
	struct db *db = db_open(path, DB_READ_ONLY, &ignored);
	if (db)
		(void)env_format(&(struct history){ .db = db }, &arena, &version, &ignored);
	/* A database that cannot be read may still belong to a complete environment. */
	bool unreadable = !db || ignored.code;
	db_close(db);
	if (version || unreadable) {
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
	r = switchuser_to_owner(env->rootfd, env->root, err);
	if (r < 0)
		return r;
	env->what = "init";
	r = refuse_foreign(env, err); /* refuse_existing checks again, under the lock */
	if (r >= 0)
		r = at_mkdirs(env->rootfd, "run", 0700, err);
	if (r >= 0)
		r = env_lock(env, ENV_MAIN, ENV_WRITE, err);
	if (r < 0)
		return r;
	owned_mem char *path = mem_printf("%s/" ENV_DATABASE, env->root);
	r = refuse_existing(env, path, err);
	if (r < 0)
		return r;
	/*
	 * Only the owner of the environment may read the database, because it contains names and
	 * messages.
	 */
	owned_fd int made = at_create(env->rootfd, ENV_DATABASE, O_RDWR, 0600, err);
	struct statx stx;
	if (made < 0 || at_fd_stat(made, &stx) < 0)
		return made < 0 ? made : err_errno(err, "make the database");
	env->db_ino = stx.stx_ino;
	/*
	 * Make the database before anything else.  A database without a format shows the next init
	 * that this init was killed.
	 */
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
	reserve_make(env->rootfd);
	return 0;
}

static void close_files(struct env *env)
{
	(void)workspace_free(env->workspace);
	env->workspace = NULL;
	store_close(env->store);
	db_close(env->db);
	env->store = NULL;
	env->db = NULL;
}

void newenv_abandon(struct env *env, unsigned levels)
{
	close_files(env);
	remove_unfinished(env->rootfd, env->root, levels);
	env_close(env);
}

int newenv_create(struct env *env, const char *root, struct err *err)
{
	unsigned levels = at_missing_given(root);

	*env = ENV_INIT;
	int r = create_parts(env, root, err);
	if (r >= 0)
		return (int)levels;
	/*
	 * If this process has made the database, it has also made all other files in the directory,
	 * because it holds the locks.
	 */
	if (env->db_ino) {
		newenv_abandon(env, levels);
	} else {
		env_close(env);
		at_rmdirs_given(root, levels);
	}
	return r;
}

void newenv_clear(const char *root, unsigned levels)
{
	struct err ignored = { 0 };
	struct env env = ENV_INIT;

	env.what = "init";
	env.rootfd = at_open_given(root, O_RDONLY | O_DIRECTORY, 0, &ignored);
	env.root = env.rootfd < 0 ? NULL : at_path_of(env.rootfd, &ignored);
	owned_mem char *db = env.root ? mem_printf("%s/" ENV_DATABASE, env.root) : NULL;
	if (db && refuse_foreign(&env, &ignored) >= 0 &&
		env_lock(&env, ENV_MAIN, ENV_WRITE, &ignored) >= 0 &&
		refuse_existing(&env, db, &ignored) >= 0)
		remove_unfinished(env.rootfd, env.root, levels);
	env_close(&env);
}

int newenv_ready(struct env *env, struct err *err)
{
	int r = at_fsync(env->rootfd, env->root, err);

	if (r >= 0)
		r = history_meta_set(&env->history, "format", ENV_FORMAT, err);
	if (r >= 0)
		db_checkpoint(env->db);
	return r;
}
