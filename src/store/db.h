/*
 * db - the SQLite database of an environment.  Only db.c calls SQLite.
 *
 * The database has a write-ahead log and synchronous=FULL, so a transaction is on disk when
 * db_commit returns.
 *
 * A query is prepared once, and later found by the address of its text.  So the text must be a
 * literal.
 *
 * Only one thread may use a database at a time.  store.c ensures this.
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
	DB_READ_ONLY = 1 << 1, /* for reading only; also works on a read-only file system */
	/*
	 * A private database without a name.  db_open ignores its parameter 'path'.  The database
	 * is written to a file only when it outgrows the cache, and it is gone after db_close or a
	 * crash.  It has no journal, so no transaction can be rolled back.
	 */
	DB_TEMP = 1 << 2,
};

struct db *db_open(const char *path, unsigned flags, struct err *err); /* returns NULL on error */
void db_close(struct db *db);

/* Run statements that have no parameters and return no rows. */
int db_exec(struct db *db, const char *sql, struct err *err);

/*
 * Bind the parameters of a query.  The query is prepared first if this is its first use.  The
 * string 'types' has one letter for each parameter:
 *
 *	i int64_t   t const char * (NULL binds null)   b const void *, size_t   n null
 *
 * Returns NULL on error.  The query is in use until db_step returns 0 or a negative error, or until
 * db_done is called.  A query that is in use cannot be started again.
 */
struct db_query *db_query(struct db *db, struct err *err, const char *sql, const char *types, ...);
/*
 * Get the next row.  Returns 1, 0 if there are no more rows, or a negative error.  If the query is
 * NULL because db_query failed, db_step returns the error that db_query has stored in *err.
 */
int db_step(struct db_query *query, struct err *err);
void db_done(struct db_query *query);
void db_donep(struct db_query **query); /* db_done, for owned() */
/* Run a query that returns no rows. */
int db_run(struct db *db, struct err *err, const char *sql, const char *types, ...);
/*
 * Run a query for one number, and set *number to the first column of its first row.  Returns 1, 0
 * if there is no row, or a negative error.
 */
int db_number(
	struct db *db, struct err *err, int64_t *number, const char *sql, const char *types, ...);

/* Return a column of the current row.  Texts and bytes are valid until the next db_step. */
int64_t db_int(struct db_query *query, int column);
struct str db_bytes(struct db_query *query, int column);
const char *db_text(struct db_query *query, int column); /* returns NULL if the column is null */
bool db_is_null(struct db_query *query, int column);

int64_t db_changed(struct db *db); /* number of rows that the last db_run has changed */

/*
 * Begin a transaction, and take the write lock.  The function waits for the lock up to half a
 * minute.
 */
int db_begin(struct db *db, struct err *err);
int db_commit(struct db *db, struct err *err);
void db_rollback(struct db *db); /* does nothing outside a transaction */
/*
 * End a transaction.  If r is at least 0, the transaction is committed, and the result of the
 * commit is returned.  If r is negative, the transaction is rolled back, and r is returned.
 */
int db_end(struct db *db, int r, struct err *err);
bool db_in_transaction(struct db *db);
/*
 * Copy the log into the main file.  The log is also emptied, unless another process is reading it.
 * Call this after many writes.  No other process has to wait.
 */
void db_checkpoint(struct db *db);
/*
 * If 'on' is true, the log is no longer copied into the main file when it gets long.  If 'on' is
 * false, long logs are copied as usual again, and a log that is long already is copied at once.  A
 * caller that keeps other processes from writing uses this function, so that they do not wait for
 * the copying.
 */
void db_defer_checkpoints(struct db *db, bool on);
/*
 * Return free pages to the file system in short transactions, if there are many free pages.  The
 * function 'pause' is called between two transactions, so that other processes can write.  A
 * failure is not reported, since it only wastes space.
 */
void db_shrink(struct db *db, void (*pause)(void *arg), void *arg);
/*
 * Run SQLite's own consistency check.  If the check finds problems, ERR_CORRUPT is returned, and
 * the message has the first problem.
 */
int db_check(struct db *db, struct err *err);
