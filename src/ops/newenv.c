#include "ops/newenv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "core/at.h"
#include "core/child.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/removal.h"
#include "ops/switchuser.h"

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

static int empty_in_child(void *arg, struct err *err)
{
	int r = sandbox_user_enter(SANDBOX_USER_SUBIDS, err);

	return r < 0 ? r : empty_all(arg, err);
}

/*
 * All that an init made, but the locks.  It may be of every id the inside has; who makes a
 * new environment must stay where its source has the owners it has, so a child does it.
 */
static int empty_root(int rootfd, struct err *err)
{
	char why[SANDBOX_USER_WHY_MAX];
	struct emptying emptying = { .rootfd = rootfd };

	if (sandbox_user_choose(why) != SANDBOX_USER_SUBIDS)
		return empty_all(&emptying, err);
	return child_do(empty_in_child, &emptying, err);
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
	int r = env_refuse_doomed(env, err);
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

		(void)env_format(&history, &arena, &version, &ignored);
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
	r = switchuser_to_owner(env->rootfd, env->root, err);
	if (r < 0)
		return r;
	/* Asked again under the lock. */
	env->what = "init";
	r = refuse_foreign(env, err);
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

	*env = (struct env)ENV_INIT;
	int r = create_parts(env, root, err);
	if (r >= 0)
		return (int)levels;
	/* Once we have the locks and no environment was found, all that is there is ours. */
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
