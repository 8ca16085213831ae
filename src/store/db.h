/*
 * db - the SQLite database of an environment.  Only db.c uses sqlite3.
 *
 * The database has a write-ahead log and synchronous=FULL, so a transaction is on disk when
 * db_commit returns.  A query is prepared once and found again by the address of its text, so the
 * text must be a literal.  Only one thread may use a database at a time, which store.c ensures.
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
	 * A private database without a name, for which path is ignored.  It is written to a file
	 * only when it outgrows the cache, and it is gone after db_close or a crash.  It has no
	 * journal, so no transaction can be rolled back.
	 */
	DB_TEMP = 1 << 2,
};

struct db *db_open(const char *path, unsigned flags, struct err *err); /* returns NULL on error */
void db_close(struct db *db);

/* Run statements that have no parameters and return no rows. */
int db_exec(struct db *db, const char *sql, struct err *err);

/*
 * Prepare a query, unless it is prepared already, and bind its parameters.  types has one letter
 * for each parameter:
 *
 *	i int64_t   t const char * (NULL binds null)   b const void *, size_t   n null
 *
 * Returns NULL on error.  The query is in use until db_step returns 0 or negative, or until db_done
 * is called.  A query in use cannot be started again.
 */
struct db_query *db_query(struct db *db, struct err *err, const char *sql, const char *types, ...);
/*
 * Get the next row.  Returns 1, 0 if there are no more rows, or a negative error.  query may be
 * NULL, after a failure of db_query.  Then the error of db_query, which is in err, is returned.
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
const char *db_text(struct db_query *query, int column); /* returns NULL for null */
bool db_is_null(struct db_query *query, int column);

int64_t db_changed(struct db *db); /* number of rows that the last db_run has changed */

/* Begin a transaction and take the write lock, for which the function waits up to half a minute. */
int db_begin(struct db *db, struct err *err);
int db_commit(struct db *db, struct err *err);
void db_rollback(struct db *db); /* does nothing outside a transaction */
/*
 * End a transaction.  If r is at least 0, it is committed, and the result of the commit is
 * returned.  If r is negative, it is rolled back, and r is returned.
 */
int db_end(struct db *db, int r, struct err *err);
bool db_in_transaction(struct db *db);
/*
 * Copy the log into the main file.  The log is also emptied, unless another process is reading it.
 * Call this after writing much.  No other process has to wait.
 */
void db_checkpoint(struct db *db);
/*
 * A call with on set defers the copying of the log into the main file, even if the log gets long.
 * The next call without on ends this, and copies a long log.  This is for a caller that keeps other
 * processes from writing, so that they wait no longer than necessary.
 */
void db_defer_checkpoints(struct db *db, bool on);
/*
 * Return free pages to the file system in short transactions, if there are many free pages.  pause
 * is called between two transactions, so that other processes can write.  A failure only wastes
 * space, so it is not reported.
 */
void db_shrink(struct db *db, void (*pause)(void *arg), void *arg);
/*
 * Run SQLite's own consistency check.  Returns ERR_CORRUPT, with the first problem in its message,
 * if the check finds any.
 */
int db_check(struct db *db, struct err *err);
