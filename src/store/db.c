#include "store/db.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <sqlite3.h>

#include "core/at.h"
#include "core/buf.h"
#include "core/mem.h"
#include "core/own.h"

#define CACHED_QUERIES 256
#define BUSY_MS 30000
/* a log of this many pages is copied into the main file while the database is in use */
#define LOG_PAGES_RUNNING 2000
#define LOG_PAGES_CLOSED 400 /* a log of this many pages is emptied on closing */
#define LOG_HEADER 32
/* An emptied log may keep this many bytes, which is more than LOG_PAGES_CLOSED pages. */
#define LOG_KEPT (1 << 20)
/*
 * SQLite truncates the index of its log (the -shm file) to this size to make the index invalid.  No
 * other file is truncated to this size.
 */
#define INDEX_CUT 3
#define INDEX_KEPT (64 << 10)
/*
 * The page size of a new database.  It is small, since even a commit of few bytes writes about ten
 * pages to the log.
 */
#define PAGE_SIZE "2048"
/*
 * Free pages are returned to the file system when at least SHRINK_MIN pages, and at least one page
 * in SHRINK_SHARE, are free.  Returning SHRINK_STEP pages takes about 10 ms.
 */
#define SHRINK_MIN 128
#define SHRINK_SHARE 8
#define SHRINK_STEP "512"
/*
 * A database of up to this many bytes may be rewritten as a whole with VACUUM.  That takes about 50
 * ms, during which no other process can write.
 */
#define REMADE_MAX ((int64_t)4 << 20)
#define AUTO_VACUUM_INCREMENTAL 2 /* value of PRAGMA auto_vacuum */
/* size of SQLite's page cache; it does not depend on the size of trees */
#define CACHE_KIB "6144"

struct db_query {
	struct db *db;
	const char *sql; /* a literal, whose address identifies the query */
	sqlite3_stmt *stmt;
	bool busy;
};

struct db {
	sqlite3 *handle;
	int log_pages; /* pages in the log after the last transaction of this process */
	bool deferred; /* see db_defer_checkpoints */
	int refused;   /* errno if the main file could not be opened for writing; else 0 */
	struct db_query queries[CACHED_QUERIES];
	size_t n_queries;
};

/*
 * The errno of the last failed attempt to open a file for writing.  Such an attempt fails, for
 * example, when the disk is full.  SQLite then opens the file for reading and forgets the errno.
 */
static _Thread_local int open_errno;
static _Thread_local bool made_file; /* a file was made since the last sync of a directory */

static int watched_open(const char *path, int flags, int mode)
{
	int known = flags & O_EXCL ? flags : flags & ~O_CREAT;
	int fd = open(path, known, mode); /* by-name: the call that SQLite itself would make */

	if (fd < 0 && errno == ENOENT && known != flags) {
		fd = open(path, flags, mode); /* by-name: the call that SQLite itself would make */
		made_file |= fd >= 0;
	}
	if (fd < 0 && (flags & O_ACCMODE) != O_RDONLY)
		open_errno = errno;
	return fd;
}

/*
 * Replaces SQLite's function that opens a directory to sync it.  After the first sync of a log,
 * SQLite also syncs the directory, in case the log is a new file.  Nearly always the log existed
 * already.  So if no file was made, this function returns SQLITE_CANTOPEN, and SQLite skips the
 * sync.  That saves a third of a commit's syncs.
 */
static int watched_directory(const char *path, int *fd)
{
	struct err ignored = { 0 };
	owned_mem char *parent = mem_strdup(path);
	char *slash = strrchr(parent, '/');

	if (!made_file || !slash)
		return SQLITE_CANTOPEN;
	*slash = '\0';
	*fd = at_open_given(*parent ? parent : "/", O_RDONLY | O_DIRECTORY, 0, &ignored);
	made_file = *fd < 0;
	return *fd < 0 ? SQLITE_CANTOPEN : SQLITE_OK;
}

static bool is_log(int fd)
{
	uint8_t magic[4];

	/*
	 * The last bit of the magic number is the byte order of the checksums, so both of its
	 * values are valid.
	 */
	return at_pread_full(fd, magic, sizeof(magic), 0) == sizeof(magic) && magic[0] == 0x37 &&
	       magic[1] == 0x7f && magic[2] == 0x06 && (magic[3] & ~1) == 0x82;
}

/*
 * Empty the log after it has been copied into the main file.  SQLite would truncate the log.  This
 * function overwrites the header of the log instead, because a log without a header counts as
 * empty, too.  A sync of a file that was overwritten costs half as much as a sync of a file that
 * has grown.
 *
 * SQLite syncs the next header before it writes frames behind that header.  If a crash comes before
 * the sync, the log on disk either still has its old header, and is complete, or is empty.
 */
static int empty_log(int fd)
{
	static const char nothing[LOG_HEADER];
	struct statx stx;

	if (at_fd_stat(fd, &stx) < 0 || stx.stx_size > LOG_KEPT || !is_log(fd))
		return ftruncate(fd, 0);
	errno = -at_pwrite_all(fd, nothing, sizeof(nothing), 0);
	return errno ? -1 : 0;
}

/*
 * Make the index of the log invalid.  The index is shared memory.  SQLite would truncate the index
 * to INDEX_CUT bytes in the first process that opens the database.  This function fills the index
 * with zeros instead.  Zeros make the index invalid, too, and need no new blocks on a full disk.
 */
static int empty_index(int fd)
{
	static const char nothing[INDEX_KEPT];
	struct statx stx;

	if (at_fd_stat(fd, &stx) < 0 || stx.stx_size < INDEX_CUT || stx.stx_size > INDEX_KEPT)
		return ftruncate(fd, INDEX_CUT);
	errno = -at_pwrite_all(fd, nothing, stx.stx_size, 0);
	return errno ? -1 : 0;
}

static int watched_truncate(int fd, off_t size)
{
	return size == 0           ? empty_log(fd)
	       : size == INDEX_CUT ? empty_index(fd)
				   : ftruncate(fd, size);
}

/*
 * Map a file of shared memory and reserve its blocks now.  SQLite reserves the blocks of an index
 * by writing one byte in each page.  If blocks are smaller than pages, the rest of a page has no
 * block yet.  On a full disk, an access to that rest would kill the process by a signal.  So all
 * pages are written here, where a full disk is an error.
 */
static void *watched_mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	void *memory = mmap(at, len, prot, flags, fd, offset);

	if (memory == MAP_FAILED || !(prot & PROT_WRITE) || !(flags & MAP_SHARED))
		return memory;
	if (madvise(memory, len, MADV_POPULATE_WRITE) == 0 || errno != EFAULT)
		return memory;
	(void)munmap(memory, len);
	errno = ENOSPC;
	return MAP_FAILED;
}

static void watch_calls(void)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

	if (!vfs || vfs->iVersion < 3 || !vfs->xSetSystemCall)
		return;
	(void)vfs->xSetSystemCall(vfs, "open", (sqlite3_syscall_ptr)watched_open);
	(void)vfs->xSetSystemCall(vfs, "openDirectory", (sqlite3_syscall_ptr)watched_directory);
	(void)vfs->xSetSystemCall(vfs, "ftruncate", (sqlite3_syscall_ptr)watched_truncate);
	(void)vfs->xSetSystemCall(vfs, "mmap", (sqlite3_syscall_ptr)watched_mmap);
}

/*
 * Returns the errno of the system call that failed inside SQLite.  SQLite does not always return
 * the errno, but it keeps the last errno of each file that it has open.  The parameter 'last' must
 * be the value of errno right after the call of SQLite.
 */
static int system_errno(struct db *db, int last)
{
	int error = sqlite3_system_errno(db->handle);
	sqlite3_file *log = NULL;

	if (!error)
		(void)sqlite3_file_control(db->handle, NULL, SQLITE_FCNTL_JOURNAL_POINTER, &log);
	if (log && log->pMethods)
		(void)log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &error);
	if (!error)
		(void)sqlite3_file_control(db->handle, NULL, SQLITE_FCNTL_LAST_ERRNO, &error);
	/*
	 * SQLite has no errno of a journal that is closed already.  So 'last' is used if it means
	 * that the disk is full.
	 */
	if (!error && (last == ENOSPC || last == EDQUOT))
		error = last;
	return error ? error : EIO;
}

/*
 * Whether an errno means that a resource such as disk space is missing, or that the disk failed.
 * Other values of errno mean that the permissions of the file forbid the access.
 */
static bool is_resource_error(int error)
{
	return error == ENOSPC || error == EDQUOT || error == EIO || error == EMFILE ||
	       error == ENFILE || error == ENOMEM;
}

static int set_error(struct db *db, const char *what, struct err *err)
{
	int last = errno;
	int code = sqlite3_errcode(db->handle) & 0xff;
	const char *text = sqlite3_errmsg(db->handle);

	switch (code) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		err_set(err, ERR_BUSY, "%s: the database is in use by another process", what);
		return err_hint(err, "try again when the other command has ended");
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		err_set(err, ERR_CORRUPT, "%s: %s", what, text);
		return err_hint(err, "run 'strata fsck'");
	case SQLITE_FULL:
		return err_number(err, ENOSPC, "%s", what);
	case SQLITE_READONLY:
		if (is_resource_error(db->refused ? db->refused : open_errno))
			return err_number(err, db->refused ? db->refused : open_errno, "%s", what);
		return err_set(err, ERR_DENIED, "%s: the environment is read-only here", what);
	case SQLITE_CANTOPEN:
		if (open_errno)
			return err_number(err, open_errno, "%s: %s", what, text);
		return err_set(err, ERR_SYSTEM, "%s: %s", what, text);
	case SQLITE_IOERR:
		return err_number(err, system_errno(db, last), "%s", what);
	default:
		return err_set(err, ERR_SYSTEM, "%s: %s", what, text);
	}
}

/* Called after a commit.  Copies a long log into the main file, as SQLite does by default. */
static int after_commit(void *arg, sqlite3 *handle, const char *name, int pages)
{
	struct db *db = arg;

	db->log_pages = pages;
	if (pages >= LOG_PAGES_RUNNING && !db->deferred)
		(void)sqlite3_wal_checkpoint_v2(
			handle, name, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	return SQLITE_OK;
}

/*
 * Keep the log when the last connection closes.  Otherwise a process with one small commit would
 * make, copy and remove the log, which would take four of its six syncs.
 *
 * A long log has a disadvantage.  The first process that opens the database reads all of the log,
 * even the part that has been copied.  So db_close empties a long log.  Emptying costs two syncs in
 * this commit and two in the next one, so it is done only for a long log.
 */
static void keep_log(struct db *db)
{
	int yes = 1;

	(void)sqlite3_wal_hook(db->handle, after_commit, db);
	(void)sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	(void)sqlite3_file_control(db->handle, NULL, SQLITE_FCNTL_PERSIST_WAL, &yes);
}

/*
 * Call SQLite's checkpoint twice.  The first call copies nearly all of the log while other
 * processes read and write.  The second call takes the write lock and empties the log.  It does not
 * wait for readers, because a reader may take minutes, and writers would have to wait as long.
 */
void db_checkpoint(struct db *db)
{
	(void)sqlite3_wal_checkpoint_v2(db->handle, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	sqlite3_busy_timeout(db->handle, 0);
	(void)sqlite3_wal_checkpoint_v2(db->handle, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	sqlite3_busy_timeout(db->handle, BUSY_MS);
}

void db_defer_checkpoints(struct db *db, bool on)
{
	db->deferred = on;
	if (!on && db->log_pages >= LOG_PAGES_RUNNING)
		(void)sqlite3_wal_checkpoint_v2(
			db->handle, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
}

static int64_t read_pragma(struct db *db, const char *sql)
{
	struct err ignored = { 0 };
	int64_t number = 0;

	(void)db_number(db, &ignored, &number, sql, "");
	return number;
}

/*
 * Rewrite a database that was made without auto_vacuum, if it is small.  The free pages of such a
 * database can be returned only by rewriting all of it.
 */
static void vacuum_if_small(struct db *db, int64_t used)
{
	struct err ignored = { 0 };

	if (used * read_pragma(db, "PRAGMA page_size") <= REMADE_MAX)
		(void)db_exec(db, "PRAGMA auto_vacuum=INCREMENTAL; VACUUM;", &ignored);
}

void db_shrink(struct db *db, void (*pause)(void *arg), void *arg)
{
	struct err ignored = { 0 };
	int64_t pages = read_pragma(db, "PRAGMA page_count");
	int64_t unused = read_pragma(db, "PRAGMA freelist_count"), before = INT64_MAX;

	if (unused < SHRINK_MIN || unused < pages / SHRINK_SHARE || db_in_transaction(db))
		return;
	if (read_pragma(db, "PRAGMA auto_vacuum") == AUTO_VACUUM_INCREMENTAL) {
		/*
		 * Stop when the number of free pages no longer falls, because other processes may
		 * use and free pages meanwhile.  The remaining free pages are left to the next call
		 * of db_shrink.
		 */
		for (; unused && unused < before;
			unused = read_pragma(db, "PRAGMA freelist_count")) {
			if (db_exec(db, "PRAGMA incremental_vacuum(" SHRINK_STEP ");", &ignored) <
				0)
				break;
			before = unused;
			pause(arg);
		}
	} else {
		vacuum_if_small(db, pages - unused);
	}
	db_checkpoint(db);
}

static int configure(struct db *db, bool writer, struct err *err)
{
	sqlite3_busy_timeout(db->handle, BUSY_MS);
	if (writer)
		keep_log(db);
	return db_exec(db, "PRAGMA cache_size=-" CACHE_KIB "; PRAGMA synchronous=FULL;", err);
}

static int open_handle(struct db *db, const char *name, int flags, struct err *err)
{
	int rc = sqlite3_open_v2(name, &db->handle, flags | SQLITE_OPEN_URI, NULL);

	if (rc != SQLITE_OK) {
		int r = db->handle ? set_error(db, "open the database", err)
				   : err_set(err, ERR_SYSTEM, "open the database");
		sqlite3_close_v2(db->handle);
		db->handle = NULL;
		return r;
	}
	return 0;
}

/*
 * Make a URI from a path.  The characters '?', '#' and '%' of the path are escaped, because they
 * have a meaning in a URI.
 */
static char *make_uri(const char *path, const char *suffix)
{
	struct buf uri = BUF_INIT;

	buf_adds(&uri, "file:");
	for (; *path; path++) {
		if (*path == '?' || *path == '#' || *path == '%')
			buf_addf(&uri, "%%%02x", (unsigned char)*path);
		else
			buf_addc(&uri, *path);
	}
	buf_adds(&uri, suffix);
	return uri.data;
}

/* Whether the log has transactions that have not been copied into the main file. */
static bool has_log(const char *path)
{
	owned_mem char *name = mem_printf("%s-wal", path);
	struct err why = { 0 };
	owned_fd int fd = at_open_given(name, O_RDONLY, 0, &why);
	uint32_t magic = 0;

	if (fd < 0)
		return why.code != ERR_NOT_FOUND;
	return at_pread_full(fd, &magic, sizeof(magic), 0) < 0 || magic;
}

/*
 * Open a database for reading.  The write-ahead log needs a file of shared memory.  This process
 * may be unable to make that file, since the database may be a read-only copy, or belong to another
 * user.  In that case the database is opened with the option 'immutable', so that SQLite reads only
 * the main file.  This is correct only if every transaction of the log has been copied into the
 * main file.
 */
static int open_read_only(struct db *db, const char *path, struct err *err)
{
	owned_mem char *plain = make_uri(path, "?mode=ro");
	owned_mem char *frozen = make_uri(path, "?mode=ro&immutable=1");
	struct err first = { 0 };

	int r = open_handle(db, plain, SQLITE_OPEN_READONLY, &first);
	if (r >= 0) {
		r = configure(db, false, &first);
		if (r >= 0 && db_exec(db, "SELECT count(*) FROM sqlite_master;", &first) >= 0)
			return 0;
		sqlite3_close_v2(db->handle);
		db->handle = NULL;
	}
	if (first.code == ERR_CORRUPT || has_log(path)) {
		*err = first;
		return -(int)first.code;
	}
	r = open_handle(db, frozen, SQLITE_OPEN_READONLY, err);
	return r < 0 ? r : configure(db, false, err);
}

/*
 * Open a database with an empty name.  SQLite keeps this database in memory, and makes a file
 * without a name when the database outgrows the cache.
 */
static int open_temporary(struct db *db, struct err *err)
{
	int r = open_handle(db, "", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, err);

	if (r >= 0)
		r = configure(db, false, err);
	if (r >= 0)
		r = db_exec(db, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;", err);
	return r;
}

struct db *db_open(const char *path, unsigned flags, struct err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct db *db = mem_zalloc(sizeof(*db));
	int r;

	(void)pthread_once(&once, watch_calls);
	open_errno = 0;
	if (flags & DB_TEMP) {
		r = open_temporary(db, err);
	} else if (flags & DB_READ_ONLY) {
		r = open_read_only(db, path, err);
	} else {
		owned_mem char *uri = make_uri(path, "");

		r = open_handle(db, uri,
			SQLITE_OPEN_READWRITE | (flags & DB_CREATE ? SQLITE_OPEN_CREATE : 0), err);
		if (r >= 0)
			r = configure(db, true, err);
		/* Make settings that SQLite stores in the database file. */
		if (r >= 0 && flags & DB_CREATE)
			r = db_exec(db,
				"PRAGMA page_size=" PAGE_SIZE "; PRAGMA auto_vacuum=INCREMENTAL;"
				" PRAGMA journal_mode=WAL;",
				err);
	}
	db->refused = open_errno;
	if (r < 0) {
		db_close(db);
		return NULL;
	}
	return db;
}

void db_close(struct db *db)
{
	if (!db)
		return;
	for (size_t i = 0; i < db->n_queries; i++)
		sqlite3_finalize(db->queries[i].stmt);
	if (db->log_pages >= LOG_PAGES_CLOSED) {
		/*
		 * If another process is reading now, the log is not emptied.  The next process that
		 * closes the database empties it.
		 */
		db_checkpoint(db);
	}
	sqlite3_close_v2(db->handle);
	free(db);
}

int db_exec(struct db *db, const char *sql, struct err *err)
{
	if (sqlite3_exec(db->handle, sql, NULL, NULL, NULL) != SQLITE_OK)
		return set_error(db, "database", err);
	return 0;
}

static struct db_query *prepare_query(struct db *db, const char *sql, struct err *err)
{
	struct db_query *query = NULL;

	for (size_t i = 0; i < db->n_queries; i++)
		if (db->queries[i].sql == sql)
			query = &db->queries[i];
	if (!query) {
		assert(db->n_queries < CACHED_QUERIES);
		query = &db->queries[db->n_queries];
		if (sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &query->stmt,
			    NULL) != SQLITE_OK) {
			set_error(db, "database", err);
			return NULL;
		}
		query->db = db;
		query->sql = sql;
		db->n_queries++;
	}
	assert(!query->busy);
	return query;
}

static struct db_query *bind_query(
	struct db *db, struct err *err, const char *sql, const char *types, va_list ap)
{
	struct db_query *query = prepare_query(db, sql, err);

	if (!query)
		return NULL;
	for (int i = 1; types[i - 1]; i++) {
		switch (types[i - 1]) {
		case 'i':
			sqlite3_bind_int64(query->stmt, i, va_arg(ap, int64_t));
			break;
		case 't':
			sqlite3_bind_text(
				query->stmt, i, va_arg(ap, const char *), -1, SQLITE_TRANSIENT);
			break;
		case 'b': {
			const void *bytes = va_arg(ap, const void *);
			size_t len = va_arg(ap, size_t);

			sqlite3_bind_blob64(query->stmt, i, bytes, len, SQLITE_TRANSIENT);
			break;
		}
		default:
			sqlite3_bind_null(query->stmt, i);
			break;
		}
	}
	query->busy = true;
	return query;
}

struct db_query *db_query(struct db *db, struct err *err, const char *sql, const char *types, ...)
{
	va_list ap;

	va_start(ap, types);
	struct db_query *query = bind_query(db, err, sql, types, ap);
	va_end(ap);
	return query;
}

int db_step(struct db_query *query, struct err *err)
{
	if (!query)
		return -(int)err->code;
	switch (sqlite3_step(query->stmt)) {
	case SQLITE_ROW:
		return 1;
	case SQLITE_DONE:
		db_done(query);
		return 0;
	default: {
		int r = set_error(query->db, "database", err);

		db_done(query);
		return r;
	}
	}
}

void db_done(struct db_query *query)
{
	if (query && query->busy) {
		sqlite3_reset(query->stmt);
		sqlite3_clear_bindings(query->stmt);
		query->busy = false;
	}
}

void db_donep(struct db_query **query)
{
	db_done(*query);
}

int db_run(struct db *db, struct err *err, const char *sql, const char *types, ...)
{
	va_list ap;

	va_start(ap, types);
	struct db_query *query = bind_query(db, err, sql, types, ap);
	va_end(ap);
	int r;
	do {
		r = db_step(query, err);
	} while (r > 0);
	return r;
}

int db_number(
	struct db *db, struct err *err, int64_t *number, const char *sql, const char *types, ...)
{
	va_list ap;

	va_start(ap, types);
	owned(db_donep) struct db_query *query = bind_query(db, err, sql, types, ap);
	va_end(ap);
	int r = db_step(query, err);
	if (r > 0)
		*number = db_int(query, 0);
	return r;
}

int64_t db_int(struct db_query *query, int column)
{
	return sqlite3_column_int64(query->stmt, column);
}

struct str db_bytes(struct db_query *query, int column)
{
	const void *bytes = sqlite3_column_blob(query->stmt, column);

	return (struct str){ bytes ? bytes : "",
		(size_t)sqlite3_column_bytes(query->stmt, column) };
}

const char *db_text(struct db_query *query, int column)
{
	return (const char *)sqlite3_column_text(query->stmt, column);
}

bool db_is_null(struct db_query *query, int column)
{
	return sqlite3_column_type(query->stmt, column) == SQLITE_NULL;
}

int64_t db_changed(struct db *db)
{
	return sqlite3_changes64(db->handle);
}

int db_begin(struct db *db, struct err *err)
{
	return db_exec(db, "BEGIN IMMEDIATE", err);
}

int db_commit(struct db *db, struct err *err)
{
	int r = db_exec(db, "COMMIT", err);

	if (r < 0)
		db_rollback(db);
	return r;
}

void db_rollback(struct db *db)
{
	if (db_in_transaction(db))
		(void)sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
}

int db_end(struct db *db, int r, struct err *err)
{
	if (r >= 0)
		return db_commit(db, err);
	db_rollback(db);
	return r;
}

bool db_in_transaction(struct db *db)
{
	return !sqlite3_get_autocommit(db->handle);
}

int db_check(struct db *db, struct err *err)
{
	owned(db_donep) struct db_query *query = db_query(db, err, "PRAGMA integrity_check(1)", "");
	int r = db_step(query, err);

	if (r <= 0)
		return r;
	const char *verdict = db_text(query, 0);
	if (verdict && strcmp(verdict, "ok"))
		return err_set(err, ERR_CORRUPT, "database: %s", verdict);
	return 0;
}
