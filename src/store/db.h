/*
 * db - the SQLite database of an environment.  Only db.c uses sqlite3.
 *
 * The database has a write-ahead log and synchronous=FULL, so a transaction is on disk when
 * db_commit returns.  A query is prepared once and found again by the address of its text, so the
 * text must be a literal.  Only one thread may use a database at a time; store.c ensures that.
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
	DB_READ_ONLY = 1 << 1, /* works on a read-only file system, too */
	/*
	 * A private database without a name; path is ignored.  It is written to a file only when it
	 * outgrows the cache, and is gone after db_close or a crash.  It has no journal, so nothing
	 * can be rolled back.
	 */
	DB_TEMP = 1 << 2,
};

struct db *db_open(const char *path, unsigned flags, struct err *err); /* NULL on error */
void db_close(struct db *db);

/* Run several statements without parameters or results. */
int db_exec(struct db *db, const char *sql, struct err *err);

/*
 * Prepare a query, unless that was done before, and bind its parameters.  types has one letter for
 * each of them:
 *	i int64_t   t const char * (NULL binds null)   b const void *, size_t   n null
 * Returns NULL on error.  The query is in use, and cannot be started again, until db_step returns 0
 * or negative, or until db_done.
 */
struct db_query *db_query(struct db *db, struct err *err, const char *sql, const char *types, ...);
/*
 * Get the next row.  Returns 1, 0 when there are no more rows, or a negative error.  If query is
 * NULL, db_query has failed, and its error, which is in err, is returned.
 */
int db_step(struct db_query *query, struct err *err);
void db_done(struct db_query *query);
void db_donep(struct db_query **query); /* for owned() */
/* Run a query that returns no rows. */
int db_run(struct db *db, struct err *err, const char *sql, const char *types, ...);
/*
 * Run a query for one number, the first column of its first row.  Returns 1, 0 if there is no row,
 * or a negative error.
 */
int db_number(
	struct db *db, struct err *err, int64_t *number, const char *sql, const char *types, ...);

/* Return a column of the current row.  Texts and bytes are valid until the next db_step. */
int64_t db_int(struct db_query *query, int column);
struct str db_bytes(struct db_query *query, int column);
const char *db_text(struct db_query *query, int column); /* NULL for null */
bool db_is_null(struct db_query *query, int column);

int64_t db_changed(struct db *db); /* rows changed by the last db_run */

/* Transactions.  db_begin takes the write lock, for which it waits up to half a minute. */
int db_begin(struct db *db, struct err *err);
int db_commit(struct db *db, struct err *err);
void db_rollback(struct db *db); /* no-op outside a transaction */
/*
 * End a transaction.  If r is 0 or more, commit and return the result of the commit; else roll back
 * and return r.
 */
int db_end(struct db *db, int r, struct err *err);
bool db_in_transaction(struct db *db);
/*
 * Copy the log into the main file, and empty the log unless another process is reading it.  Call
 * this after much was written.  No other process has to wait.
 */
void db_checkpoint(struct db *db);
/*
 * Between a call with on set and a call without it, the log is not copied into the main file,
 * however long it gets.  This is for a caller that keeps other processes from writing, so that they
 * wait no longer than necessary.  The second call copies a long log.
 */
void db_defer_checkpoints(struct db *db, bool on);
/*
 * Give free pages back to the file system, if there are many, in short transactions.  The function
 * pause is called between two transactions, so that other processes can write.  A failure costs
 * nothing but space.
 */
void db_shrink(struct db *db, void (*pause)(void *arg), void *arg);
/* Run SQLite's own consistency check.  ERR_CORRUPT has the first problem in its message. */
int db_check(struct db *db, struct err *err);
