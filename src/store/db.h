/*
 * db - the SQLite database of an environment.  The only file that knows sqlite3.
 *
 * WAL mode, synchronous=FULL: a transaction that returned is on disk.  Queries
 * are prepared once and kept by the address of their text, so that text must
 * be a literal.  One thread at a time; store.c serialises.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "core/str.h"

struct db;
struct db_query;

enum db_flags {
	DB_CREATE = 1 << 0,
	DB_READ_ONLY = 1 << 1, /* works on a read-only copy, too */
	/*
	 * Nameless (path is ignored), ours alone, in a file only once it outgrows the
	 * cache, and gone at close or crash.  No journal: nothing can be rolled back.
	 */
	DB_TEMP = 1 << 2,
};

struct db *db_open(const char *path, unsigned flags, struct err *err); /* NULL on error */
void db_close(struct db *db);

/* Several statements without parameters or results. */
int db_exec(struct db *db, const char *sql, struct err *err);

/*
 * Prepare (or reuse) and bind.  One letter of types per parameter:
 *	i int64_t   t const char * (NULL binds null)   b const void *, size_t   n null
 * NULL on error.  The query is busy until db_step returns 0 or negative, or db_done.
 */
struct db_query *db_query(struct db *db, struct err *err, const char *sql, const char *types, ...);
/* 1 a row, 0 no more rows, negative error. */
int db_step(struct db_query *query, struct err *err);
void db_done(struct db_query *query);
void db_donep(struct db_query **query); /* for owned() */
/* Query that returns no row: bind, step, done. */
int db_run(struct db *db, struct err *err, const char *sql, const char *types, ...);

/* Columns of the current row; views live until the next step. */
int64_t db_int(struct db_query *query, int column);
struct str db_bytes(struct db_query *query, int column);
const char *db_text(struct db_query *query, int column); /* NULL for null */
bool db_is_null(struct db_query *query, int column);

int64_t db_changed(struct db *db); /* rows changed by the last db_run */

/* Transactions.  begin takes the write lock at once and waits for it up to the busy time. */
int db_begin(struct db *db, struct err *err);
int db_commit(struct db *db, struct err *err);
void db_rollback(struct db *db); /* no-op outside a transaction */
bool db_in_transaction(struct db *db);
/*
 * Copy the log into the main file and empty it, as far as nobody reads it; after much was
 * written.  Nobody has to wait for it.
 */
void db_checkpoint(struct db *db);
/*
 * While others are kept from writing the log is not copied, however long it gets: that is
 * made up for afterwards.
 */
void db_defer_checkpoints(struct db *db, bool on);
/*
 * Give back pages that are free, if they are many, in short transactions: pause is called
 * between two of them, so that others get their turn.  A failure costs nothing but space.
 */
void db_shrink(struct db *db, void (*pause)(void *arg), void *arg);
/* SQLite's own consistency check; ERR_CORRUPT with its first complaint. */
int db_check(struct db *db, struct err *err);
