/*
 * db - the SQLite database of an environment.  The only file that knows sqlite3.
 *
 * WAL mode, synchronous=FULL: a transaction that has returned is on disk.  Queries are prepared
 * once and kept by the address of their text, so the text must be a literal.  Only one thread may
 * use it at a time; store.c sees to that.
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
	 * A private database without a name (path is ignored).  It goes to a file only when it
	 * outgrows the cache, and is gone at close or crash.  Without a journal, nothing can be
	 * rolled back.
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
/* 1 a row, 0 no more rows, negative error; that of db_query, when query is NULL. */
int db_step(struct db_query *query, struct err *err);
void db_done(struct db_query *query);
void db_donep(struct db_query **query); /* for owned() */
/* Run a query that returns no rows. */
int db_run(struct db *db, struct err *err, const char *sql, const char *types, ...);
/* Query one number: 1 with the first column of the first row, 0 without a row, negative error. */
int db_number(
	struct db *db, struct err *err, int64_t *number, const char *sql, const char *types, ...);

/* Columns of the current row; views live until the next step. */
int64_t db_int(struct db_query *query, int column);
struct str db_bytes(struct db_query *query, int column);
const char *db_text(struct db_query *query, int column); /* NULL for null */
bool db_is_null(struct db_query *query, int column);

int64_t db_changed(struct db *db); /* rows changed by the last db_run */

/* Transactions.  db_begin takes the write lock at once, and waits for it up to the busy time. */
int db_begin(struct db *db, struct err *err);
int db_commit(struct db *db, struct err *err);
void db_rollback(struct db *db); /* no-op outside a transaction */
/* Commit when r is success, else roll back; r, or the failure of the commit. */
int db_end(struct db *db, int r, struct err *err);
bool db_in_transaction(struct db *db);
/*
 * Copy the log into the main file and empty it, as far as no other process reads it.  Called after
 * much was written.  No other process has to wait.
 */
void db_checkpoint(struct db *db);
/*
 * While on, the log is not copied, however long it gets, because others are kept from writing.  The
 * copy is made when it is switched off.
 */
void db_defer_checkpoints(struct db *db, bool on);
/*
 * Give back free pages, if there are many, in short transactions.  pause is called between two of
 * them, so that other processes get their turn.  A failure costs nothing but space.
 */
void db_shrink(struct db *db, void (*pause)(void *arg), void *arg);
/* SQLite's own consistency check; ERR_CORRUPT with the first problem it found. */
int db_check(struct db *db, struct err *err);
