/*
 * env - an open environment: the directory, its database, store and history,
 * and the workspace a command works on.
 *
 *	ROOT/strata.db    metadata            ROOT/packs/     objects
 *	ROOT/work/NAME    live trees          ROOT/index/     workspace indexes
 *	ROOT/base/, layers/  below overlays   ROOT/quarantine/ damaged packs
 *	ROOT/run/         locks, sockets      ROOT/log/       what tournaments said
 *
 * Writers hold run/NAME.lock (the workspace) and share run/store.lock;
 * maintenance holds run/store.lock alone, gc for a pack at a time, and both run/.gc.lock.
 * Readers hold nothing.
 */
#pragma once
#include "core/arena.h"
#include "core/lock.h"
#include "history/history.h"
#include "history/ref.h"
#include "sandbox/sandbox.h"
#include "workspace/workspace.h"

#define ENV_LOCK ".lock"         /* behind the name of a workspace, in ROOT/run */
#define ENV_WAIT_MS 10000        /* how long a command waits for another before it gives up */
#define ENV_DATABASE "strata.db" /* in the environment's directory */
#define ENV_MAIN "main"
#define ENV_GC_LOCK ".gc.lock" /* in run: of who removes packs; no workspace can be called so */
#define ENV_EXCLUDE_MAX 256
#define ENV_DOOMED "strata.db.doomed" /* its name in one that is being destroyed */

enum env_access {
	ENV_READ,     /* history only */
	ENV_LOOK,     /* also the live tree, without writing anything */
	ENV_WRITE,    /* the workspace */
	ENV_RESTORE,  /* the workspace, and its live tree may be gone */
	ENV_REPLACE,  /* the same, and what runs in it is ended */
	ENV_ABORT,    /* the same, and a checkout that was interrupted is undone */
	ENV_STORE,    /* history and store, no workspace (tag, import) */
	ENV_FORK,     /* the same, and live trees, layers and the like are made or removed */
	ENV_MAINTAIN, /* the store alone: repair */
};

struct env {
	int rootfd;
	char *root; /* absolute path */
	struct db *db;
	uint64_t db_ino;
	struct store *store;
	struct history history;
	int locks[2];
	struct arena arena;           /* of everything read at opening */
	struct history_workspace row; /* the workspace, as the database has it */
	struct workspace workspace;   /* open with ENV_LOOK and ENV_WRITE */
	const char **exclude;
	size_t n_exclude;
	uint64_t live_ino; /* of a live tree outside; 0: not known */
	enum sandbox_user user;
	struct sandbox sandbox; /* of the workspace, where something runs in it */
	bool attached;          /* with ENV_LOOK and ENV_REPLACE it may be mute */
	bool interrupted;       /* when it was opened, a checkout was */
	const char *what;       /* the command, for others who wonder */
};

#define ENV_INIT                                                                                   \
	{                                                                                          \
		.rootfd = -1, .locks = { -1, -1 }                                                  \
	}

/* Where the environment is or would be: given, $STRATA_ROOT, nearest .strata, the default; owned.
 */
char *env_locate(const char *given, struct err *err);

/*
 * Open an existing environment.  With ENV_WRITE a checkout that was
 * interrupted is completed first, which goes to report, and so does what it could not restore.
 */
int env_open(struct env *env, const char *root, const char *workspace, enum env_access access,
	const char *what, struct report *report, struct err *err);
void env_close(struct env *env);
/*
 * While a command runs others work on: let go of the workspace and the locks, and take
 * them again afterwards, when all may have changed.  On failure it is closed.
 */
void env_let_go(struct env *env);
int env_take_again(struct env *env, enum env_access access, struct report *report, struct err *err);
/* Share the store, or have it alone, from now on; with ENV_STORE. */
int env_hold(struct env *env, enum lock_mode mode, struct err *err);

/* A workspace of this environment by name, not yet open: all but its backend. */
void env_workspace(
	struct env *env, const char *name, struct workspace *workspace, struct report *report);
/*
 * Where an ordinary user's files need it, put this process into a user
 * namespace; makes: the environment is new, and what is chosen now is kept.
 */
int env_enter(struct env *env, struct workspace *workspace, bool makes, struct err *err);

/*
 * Make the directories and the database at root; refuses an existing environment.  Returns how
 * many directories of the path it made.  A failure leaves nothing behind.
 */
int env_create(struct env *env, const char *root, struct err *err);
/* Instead of env_ready and env_close: remove all of it, and so many directories of its path. */
void env_abandon(struct env *env, unsigned levels);
/* Remove what an init that died has left at root, in the same way; else nothing happens. */
void env_clear(const char *root, unsigned levels);
/* The environment is complete: from now on env_open accepts it. */
int env_ready(struct env *env, struct err *err);

/* Bring the store up to the live tree; *tree names what is there. */
int env_capture(struct env *env, struct hash *tree, struct err *err);
/* The files of the live tree that programs have mapped; the caller releases them. */
void env_mapped(struct env *env, struct mapped *mapped);

/* A reference as typed, in this environment's workspace. */
int env_resolve(struct env *env, const char *text, struct ref *ref, struct err *err);
/* The tree of a reference; for 'work' the live tree is captured (needs ENV_LOOK or ENV_WRITE). */
int env_tree(struct env *env, const struct ref *ref, struct hash *tree, struct err *err);
