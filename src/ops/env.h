/*
 * env - an open environment: its directory, database, store and history, and the workspace that a
 * command works on.
 *
 *	ROOT/strata.db    metadata            ROOT/packs/     objects
 *	ROOT/work/NAME    live trees          ROOT/index/     workspace indexes
 *	ROOT/base/, layers/  below overlays   ROOT/quarantine/ damaged packs
 *	ROOT/run/         locks, sockets      ROOT/log/       output of tournaments
 *	ROOT/reserve      room for gc
 *
 * Writers hold run/NAME.lock (the workspace) and share run/store.lock.  Repair holds run/store.lock
 * exclusively until the repair ends.  gc holds run/store.lock exclusively for one slice of its work
 * at a time.  Repair and gc also hold run/.gc.lock.  Readers hold no lock.
 */
#pragma once
#include "core/arena.h"
#include "core/lock.h"
#include "history/history.h"
#include "history/ref.h"
#include "sandbox/sandbox.h"
#include "workspace/workspace.h"

#define ENV_LOCK ".lock"  /* suffix of the lock of a workspace, ROOT/run/NAME.lock */
#define ENV_WAIT_MS 10000 /* how long a command waits for a lock */
#define ENV_DATABASE "strata.db"
#define ENV_FORMAT "2"
#define ENV_MAIN "main"
#define ENV_GC_LOCK ".gc.lock" /* in ROOT/run, held to remove packs; no workspace has this name */
#define ENV_EXCLUDE_MAX 256
#define ENV_DOOMED "strata.db.doomed" /* name of the database while 'destroy' is under way */

enum env_access {
	ENV_READ,    /* the history is read */
	ENV_LOOK,    /* the history and the live tree are read */
	ENV_WRITE,   /* the workspace is written to */
	ENV_RESTORE, /* as ENV_WRITE; the live tree may be missing */
	ENV_REPLACE, /* as ENV_RESTORE; running programs are ended */
	ENV_ABORT,   /* as ENV_REPLACE; an interrupted checkout is undone */
	ENV_STORE,   /* the history and the store are written to, but no workspace (tag, import) */
	ENV_FORK,    /* as ENV_STORE; live trees and layers are made or removed */
	/* the store is written to, and no other command uses the store meanwhile (repair) */
	ENV_MAINTAIN,
};

struct env {
	int rootfd;
	char *root; /* absolute path */
	struct db *db;
	uint64_t db_ino;
	struct store *store;
	struct history history;
	int locks[2];
	struct arena arena;                /* memory for everything that is read at opening */
	struct history_workspace row;      /* the workspace in the database */
	const struct workspace_kind *kind; /* kind of the workspace's backend; NULL: unknown */
	struct workspace *workspace; /* open if access is ENV_LOOK to ENV_ABORT, or else NULL */
	const char **exclude;
	size_t n_exclude;
	uint64_t live_ino; /* inode of a live tree outside ROOT; 0: not known */
	enum sandbox_user user;
	struct sandbox sandbox; /* sandbox of the workspace; valid if 'attached' is set */
	/*
	 * env is attached to the sandbox.  If access is ENV_LOOK, ENV_REPLACE or ENV_ABORT,
	 * sandbox.mute may be set.
	 */
	bool attached;
	bool running_left; /* killed programs may still write for a moment */
	bool interrupted;  /* there was an interrupted checkout at opening */
	bool untidy;       /* there is work for workspace_tend */
	enum env_access access;
	/* name of the command, written into the locks; other processes show it in messages */
	const char *what;
};

#define ENV_INIT ((struct env){ .rootfd = -1, .locks = { -1, -1 } })

/*
 * Returns the path of the environment, which the caller frees.  The path is 'given' if 'given' is
 * not NULL.  Otherwise it is $STRATA_ROOT, or else the nearest .strata in the working directory or
 * above, or else the default.
 */
char *env_locate(const char *given, struct err *err);
/* Whether there is an environment at 'root', which may be NULL.  It may be one that cannot be
 * opened. */
bool env_exists(const char *root);

/*
 * Open an existing environment.  Call recovery_run before the live tree is written to.  While the
 * environment is open, files that cannot be read or restored are noted in 'report'.
 */
int env_open(struct env *env, const char *root, const char *workspace, enum env_access access,
	const char *what, struct report *report, struct err *err);
void env_close(struct env *env);
/*
 * env_let_go releases the workspace and the locks while a command runs, so that other processes can
 * work.  env_take_again takes them back.  Other processes may have changed everything meanwhile.
 * If env_take_again fails, env is closed.
 */
void env_let_go(struct env *env);
int env_take_again(struct env *env, enum env_access access, struct report *report, struct err *err);
/*
 * Whether the path still leads to the open environment.  Another environment may have replaced the
 * open one.
 */
bool env_is_current(const struct env *env);
/*
 * Change the lock on the store.  With LOCK_EXCLUSIVE, no other process can use the store.  With
 * LOCK_SHARED, other processes can use the store, too.  This function waits for the lock.
 */
int env_hold(struct env *env, enum lock_mode mode, struct err *err);

/* Whether the environment is open for writing to the live tree. */
bool env_writes_live(const struct env *env);
/*
 * Returns the setup of a workspace of this environment, except its backend.  Call env_enter first.
 */
struct workspace_setup env_setup(const struct env *env, const char *name, struct report *report);
/*
 * An ordinary user may need a user namespace in which the files have their owners.  Enter this
 * namespace if it is needed.  If 'makes' is set, the environment is new, and the kind of namespace
 * is chosen and stored.
 */
int env_enter(struct env *env, bool makes, struct err *err);

/* Capture the live tree into the store. */
int env_capture(struct env *env, struct hash *tree, struct err *err);
/*
 * Turn the live tree into another tree.  The caller must have captured the live tree just before.
 * *now becomes the tree that the live tree has afterwards.
 */
int env_apply(
	struct env *env, const struct workspace_change *change, struct hash *now, struct err *err);
/* Find the files of the live tree that programs have mapped.  The caller releases *mapped. */
void env_mapped(struct env *env, struct mapped *mapped);

/* Read HEAD's node, whose texts are in arena. */
int env_head(struct env *env, struct arena *arena, struct node *node, struct err *err);
/* Resolve a reference, as a user types it, for the workspace of env. */
int env_resolve(struct env *env, const char *text, struct ref *ref, struct err *err);
/*
 * Set *tree to the tree of a reference.  For 'work' the live tree is captured, which needs ENV_LOOK
 * or ENV_WRITE.
 */
int env_tree(struct env *env, const struct ref *ref, struct hash *tree, struct err *err);

/* For newenv.c: take the locks that 'access' needs. */
int env_lock(struct env *env, const char *workspace, enum env_access access, struct err *err);
/*
 * For newenv.c: read the format of the environment into *version.  *version becomes NULL if the
 * init of the environment was not completed.
 */
int env_format(struct history *history, struct arena *arena, char **version, struct err *err);
/* For newenv.c: fail if the environment is being destroyed. */
int env_refuse_doomed(const struct env *env, struct err *err);
