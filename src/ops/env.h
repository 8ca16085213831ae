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
#define ENV_FORMAT "2"
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
	struct arena arena;                /* of everything read at opening */
	struct history_workspace row;      /* the workspace, as the database has it */
	const struct workspace_kind *kind; /* of its backend; NULL: unknown */
	struct workspace *workspace;       /* open with ENV_LOOK to ENV_ABORT, else NULL */
	const char **exclude;
	size_t n_exclude;
	uint64_t live_ino; /* of a live tree outside; 0: not known */
	enum sandbox_user user;
	struct sandbox sandbox; /* of the workspace, where something runs in it */
	bool attached;          /* with ENV_LOOK and ENV_REPLACE it may be mute */
	bool running_left;      /* what ran was killed and may still write for a moment */
	bool interrupted;       /* when it was opened, a checkout was */
	bool untidy;            /* workspace_tend would find something to do */
	enum env_access access;
	const char *what; /* the command, for others who wonder */
};

#define ENV_INIT                                                                                   \
	{                                                                                          \
		.rootfd = -1, .locks = { -1, -1 }                                                  \
	}

/* Where the environment is or would be: given, $STRATA_ROOT, nearest .strata, the default; owned.
 */
char *env_locate(const char *given, struct err *err);

/*
 * Open an existing environment.  Before its live tree is written to, recovery_run ends a checkout
 * that was interrupted.  What the workspace cannot read or restore later goes to report.
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

/* Whether the environment is open for writing to the live tree. */
bool env_writes_live(const struct env *env);
/* A workspace of this environment by name: all but its backend.  After env_enter. */
struct workspace_setup env_setup(const struct env *env, const char *name, struct report *report);
/*
 * Where an ordinary user's files need it, put this process into a user
 * namespace; makes: the environment is new, and what is chosen now is kept.
 */
int env_enter(struct env *env, bool makes, struct err *err);

/* Bring the store up to the live tree; *tree names what is there. */
int env_capture(struct env *env, struct hash *tree, struct err *err);
/* Turn the live tree, just captured, into another; *now is what it became. */
int env_apply(
	struct env *env, const struct workspace_change *change, struct hash *now, struct err *err);
/* The files of the live tree that programs have mapped; the caller releases them. */
void env_mapped(struct env *env, struct mapped *mapped);

/* HEAD's node, in arena. */
int env_head(struct env *env, struct arena *arena, struct node *node, struct err *err);
/* A reference as typed, in this environment's workspace. */
int env_resolve(struct env *env, const char *text, struct ref *ref, struct err *err);
/* The tree of a reference; for 'work' the live tree is captured (needs ENV_LOOK or ENV_WRITE). */
int env_tree(struct env *env, const struct ref *ref, struct hash *tree, struct err *err);

/* For newenv.c: the locks that access needs; the version of a complete environment, NULL where an
 * init was cut off, however early; an error where the environment is being destroyed.
 */
int env_lock(struct env *env, const char *workspace, enum env_access access, struct err *err);
int env_format(struct history *history, struct arena *arena, char **version, struct err *err);
int env_refuse_doomed(const struct env *env, struct err *err);
