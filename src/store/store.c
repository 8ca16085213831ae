#include "store/store_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/zstd.h"

/* clang-format off */
#define OBJECT_COLUMNS                                                                             \
	" ("                                                                                       \
	"  hash BLOB NOT NULL, type INTEGER NOT NULL, pack INTEGER NOT NULL,"                      \
	"  offset INTEGER NOT NULL, stored INTEGER NOT NULL, raw INTEGER NOT NULL,"                \
	"  PRIMARY KEY (hash, type)) WITHOUT ROWID;"

/*
 * Rows that are added in small numbers go to the small table "fresh".  The keys are random, so in a
 * large table each of these rows would change a different page.  The rows are moved to the table
 * "object" when there are many.  An object has a row in only one of the two tables.
 */
const char store_schema[] =
	"CREATE TABLE object" OBJECT_COLUMNS
	"CREATE TABLE fresh" OBJECT_COLUMNS
	"CREATE VIEW every_object AS SELECT * FROM fresh UNION ALL SELECT * FROM object;"
	"CREATE TABLE pack ("
	"  id INTEGER PRIMARY KEY, size INTEGER NOT NULL);"
	"CREATE TABLE total ("
	"  id INTEGER PRIMARY KEY CHECK (id = 1),"
	"  bytes INTEGER NOT NULL, raw INTEGER NOT NULL, objects INTEGER NOT NULL,"
	"  fresh INTEGER NOT NULL);"
	"INSERT INTO total VALUES (1, 0, 0, 0, 0);";
/* clang-format on */

#define OUT_BUFFER ((size_t)1 << 20)

/*
 * Make a lock that spins for a moment before it sleeps.  Each thread holds the lock for a few
 * microseconds only, so sleeping would take longer than spinning.
 */
static void init_lock(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
	pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

struct store *store_open(int rootfd, struct db *db, unsigned flags, struct err *err)
{
	struct store *store = mem_zalloc(sizeof(*store));

	store->rootfd = rootfd;
	store->db = db;
	store->read_only = flags & STORE_READ_ONLY;
	store->out_fd = -1;
	store->out_buf = (struct buf)BUF_INIT;
	init_lock(&store->lock);
	for (size_t i = 0; i < STORE_PACK_FDS; i++)
		store->packs[i].fd = -1;
	store->packsfd = at_open(rootfd, "packs", O_RDONLY | O_DIRECTORY, err);
	if (store->packsfd >= 0 && flags & STORE_SCRATCH) {
		store->scratch = true;
		store->out_pack = STORE_SCRATCH_PACK;
		store->out_fd = at_tmpfile(-1, err);
	}
	if (store->packsfd < 0 || (store->scratch && store->out_fd < 0)) {
		store_close(store);
		return NULL;
	}
	return store;
}

void store_close(struct store *store)
{
	if (!store)
		return;
	for (size_t i = 0; i < STORE_PACK_FDS; i++)
		close_fd(&store->packs[i].fd);
	for (size_t i = 0; store->cache && i < STORE_CACHE_SLOTS; i++)
		free(store->cache[i]);
	free(store->cache);
	store_sync_abandon(store);
	close_fd(&store->out_fd);
	close_fd(&store->packsfd);
	buf_release(&store->out_buf);
	free(store->pending);
	pthread_mutex_destroy(&store->lock);
	free(store);
}

struct store_stats store_added(const struct store *store)
{
	return store->added;
}

/* ----------------------------------------------------------- pending objects */

static bool key_eq(const struct object_key *a, const struct object_key *b)
{
	return a->type == b->type && hash_eq(&a->hash, &b->hash);
}

/* Returns the slot that has the key, or the free slot for a key that is in no slot yet. */
static struct store_pending *pending_slot(struct store *store, const struct object_key *key)
{
	size_t mask = store->pending_cap - 1;
	size_t i = (hash_prefix(&key->hash) + key->type) & mask;

	while (store->pending[i].key.type && !key_eq(&store->pending[i].key, key))
		i = (i + 1) & mask;
	return &store->pending[i];
}

static void pending_grow(struct store *store)
{
	struct store_pending *old = store->pending;
	size_t old_cap = store->pending_cap;

	store->pending_cap = old_cap ? 2 * old_cap : 64;
	store->pending = mem_zalloc(store->pending_cap * sizeof(*store->pending));
	for (size_t i = 0; i < old_cap; i++)
		if (old[i].key.type)
			*pending_slot(store, &old[i].key) = old[i];
	free(old);
}

static struct store_pending *pending_add(struct store *store, const struct object_key *key)
{
	if (store->pending_count + store->pending_count / 2 >= store->pending_cap)
		pending_grow(store);
	struct store_pending *slot = pending_slot(store, key);
	if (!slot->key.type) {
		slot->key = *key;
		store->pending_count++;
	}
	return slot;
}

static struct store_pending *pending_find(struct store *store, const struct object_key *key)
{
	if (!store->pending_count)
		return NULL;
	struct store_pending *slot = pending_slot(store, key);
	return slot->key.type ? slot : NULL;
}

static void pending_clear(struct store *store)
{
	/* Free a large table, because the next commit is probably small. */
	free(store->pending);
	store->pending = NULL;
	store->pending_cap = store->pending_count = 0;
}

/* --------------------------------------------------------------- look-ups */

struct store_place store_row_place(struct db_query *query, int column)
{
	return (struct store_place){
		.pack = (uint32_t)db_int(query, column),
		.offset = (uint64_t)db_int(query, column + 1),
		.stored = (uint32_t)db_int(query, column + 2),
		.raw = (uint32_t)db_int(query, column + 3),
	};
}

int store_find(struct store *store, const struct object_key *key, struct store_place *place,
	struct err *err)
{
	struct store_pending *pending = pending_find(store, key);

	if (pending) {
		*place = pending->place;
		return 1;
	}
	owned(db_donep) struct db_query *query = db_query(store->db, err,
		"SELECT pack, offset, stored, raw FROM fresh WHERE hash = ?1 AND type = ?2"
		" UNION ALL"
		" SELECT pack, offset, stored, raw FROM object WHERE hash = ?1 AND type = ?2",
		"bi", key->hash.bytes, (size_t)HASH_SIZE, (int64_t)key->type);
	int r = db_step(query, err);
	if (r <= 0)
		return r;
	*place = store_row_place(query, 0);
	if (place->raw > OBJECT_MAX || place->stored > place->raw)
		return err_set(err, ERR_CORRUPT, "index row with impossible length");
	return 1;
}

static int find_place(struct store *store, enum object_type type, const struct hash *hash,
	struct store_place *place, struct err *err)
{
	struct object_key key = { *hash, type };

	pthread_mutex_lock(&store->lock);
	int r = store_find(store, &key, place, err);
	pthread_mutex_unlock(&store->lock);
	return r;
}

void store_reading_begin(struct store *store)
{
	struct err ignored = { 0 };

	/*
	 * Begin no long transaction in a process that opened the store only to read.  Such a
	 * process does not keep gc out.  gc may move objects, and an old transaction would not show
	 * their new places.
	 */
	if (store->read_only || store->scratch || db_in_transaction(store->db))
		return;
	store->reading = db_exec(store->db, "BEGIN", &ignored) >= 0;
}

void store_reading_end(struct store *store)
{
	if (store->reading)
		db_rollback(store->db);
	store->reading = false;
}

int store_has(struct store *store, enum object_type type, const struct hash *hash, struct err *err)
{
	struct store_place place;

	return find_place(store, type, hash, &place, err);
}

int store_size(struct store *store, const struct object_key *key, uint64_t *stored, uint64_t *raw,
	struct err *err)
{
	struct store_place place = { 0 };
	int r = find_place(store, key->type, &key->hash, &place, err);

	*stored = PACK_HEADER + (uint64_t)place.stored;
	*raw = place.raw;
	return r;
}

void store_forget_pack(struct store *store, uint32_t pack)
{
	if (store->packs[pack % STORE_PACK_FDS].id == pack)
		close_fd(&store->packs[pack % STORE_PACK_FDS].fd);
}

int store_pack_fd(struct store *store, uint32_t pack, struct err *err)
{
	char name[PACK_NAME_MAX];
	int fd;

	if (store->scratch && pack == STORE_SCRATCH_PACK)
		return store->out_fd;
	if (store->packs[pack % STORE_PACK_FDS].id == pack &&
		store->packs[pack % STORE_PACK_FDS].fd >= 0)
		return store->packs[pack % STORE_PACK_FDS].fd;
	fd = at_open(store->packsfd, pack_name(pack, name), O_RDONLY, err);
	if (fd < 0)
		return err_context(err, "pack %08x", pack);
	close_fd(&store->packs[pack % STORE_PACK_FDS].fd);
	store->packs[pack % STORE_PACK_FDS].id = pack;
	store->packs[pack % STORE_PACK_FDS].fd = fd;
	return fd;
}

static size_t cache_slot(const struct object_key *key)
{
	return (hash_prefix(&key->hash) >> 7) % STORE_CACHE_SLOTS;
}

static void cache_add(
	struct store *store, const struct object_key *key, const char *bytes, size_t len)
{
	struct store_cached **slot;

	if (len > STORE_CACHE_OBJECT_MAX || key->type == OBJECT_BLOB)
		return;
	if (!store->cache)
		store->cache = mem_zalloc(STORE_CACHE_SLOTS * sizeof(struct store_cached *));
	slot = &store->cache[cache_slot(key)];
	store->cache_bytes -= *slot ? (*slot)->len : 0;
	free(*slot);
	*slot = NULL;
	if (store->cache_bytes + len > STORE_CACHE_MAX)
		return;
	*slot = mem_alloc(sizeof(**slot) + len);
	**slot = (struct store_cached){ .key = *key, .len = len };
	memcpy((*slot)->bytes, bytes, len);
	store->cache_bytes += len;
}

/*
 * Read the header and the stored bytes of an object, and append both to *out.  *place is set to the
 * place of the record.
 */
static int read_record(struct store *store, const struct object_key *key, struct buf *out,
	struct store_place *place, struct err *err)
{
	int r = store_find(store, key, place, err);

	if (r < 0)
		return r;
	if (r == 0) {
		char hex[HASH_HEX];

		return err_set(err, ERR_CORRUPT, "%s %.12s is missing from the store",
			object_type_name(key->type), hash_hex(&key->hash, hex));
	}
	if (!place->pack)
		return err_set(err, ERR_BUSY, "the object is still being written");
	size_t need = PACK_HEADER + place->stored;
	char *room = buf_reserve(out, need);
	if (!room)
		return err_set(err, ERR_LIMIT, "object too large");
	if (place->pack == store->out_pack &&
		place->offset + need > store->out_end - store->out_buf.len) {
		memcpy(room,
			store->out_buf.data +
				(place->offset - (store->out_end - store->out_buf.len)),
			need);
		out->len += need;
		return 0;
	}
	int fd = store_pack_fd(store, place->pack, err);
	if (fd < 0)
		return fd;
	ssize_t n = at_pread_full(fd, room, need, place->offset);
	if (n < 0)
		return err_number(err, (int)-n, "read pack %08x", place->pack);
	if ((size_t)n < need)
		return err_set(err, ERR_CORRUPT, "pack %08x is cut off", place->pack);
	out->len += need;
	return 0;
}

int store_get(struct store *store, enum object_type type, const struct hash *hash, struct buf *out,
	struct err *err)
{
	struct object_key key = { *hash, type };
	owned(buf_release) struct buf record_bytes = BUF_INIT;
	struct pack_record record;
	struct store_place place = { 0 };

	pthread_mutex_lock(&store->lock);
	const struct store_cached *cached = store->cache ? store->cache[cache_slot(&key)] : NULL;
	if (cached && key_eq(&cached->key, &key)) {
		buf_add(out, cached->bytes, cached->len);
		pthread_mutex_unlock(&store->lock);
		return 0;
	}
	int r = read_record(store, &key, &record_bytes, &place, err);
	/* Try again, since gc may have moved the object between the look-up and the open. */
	if (r == -ERR_NOT_FOUND)
		r = read_record(store, &key, &record_bytes, &place, err);
	pthread_mutex_unlock(&store->lock);

	size_t start = out->len;
	if (r >= 0)
		r = pack_unpack(record_bytes.data, record_bytes.len, &record, out, err);
	if (r >= 0 && !key_eq(&record.key, &key))
		r = err_set(err, ERR_CORRUPT, "the index points at another object");
	if (r < 0) {
		char hex[HASH_HEX];

		buf_truncate(out, start);
		return err_context(err, "%s %.12s", object_type_name(type), hash_hex(hash, hex));
	}
	pthread_mutex_lock(&store->lock);
	cache_add(store, &key, out->data + start, out->len - start);
	pthread_mutex_unlock(&store->lock);
	return 0;
}

/* ---------------------------------------------------------------- writing */

/* Get the number of the newest pack.  Returns 1, or 0 if there is no pack. */
static int last_pack(struct store *store, uint32_t *last, struct err *err)
{
	int64_t id = 0;
	int r = db_number(store->db, err, &id, "SELECT id FROM pack ORDER BY id DESC LIMIT 1", "");

	*last = (uint32_t)id;
	return r;
}

/*
 * Lock the newest pack for writing, if it has room and no other process has locked it.  Returns 1
 * if this process has the pack now, 0 if not, or a negative error.
 */
static int take_last_pack(struct store *store, uint32_t *last, struct err *err)
{
	char name[PACK_NAME_MAX];
	int64_t known;
	int r = last_pack(store, last, err);

	if (r <= 0)
		return r;
	struct err ignored = { 0 };
	owned_fd int fd = at_open(store->packsfd, pack_name(*last, name), O_RDWR, &ignored);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return 0;
	/*
	 * Read the size after the pack is locked, since the last writer may have appended to the
	 * pack until then.
	 */
	r = db_number(
		store->db, err, &known, "SELECT size FROM pack WHERE id = ?", "i", (int64_t)*last);
	if (r <= 0)
		return r;
	uint64_t size = (uint64_t)known;
	struct statx stx;
	if (size >= STORE_PACK_TARGET || at_fd_stat(fd, &stx) < 0 || stx.stx_size < size)
		return 0; /* the pack is full, or it is damaged and needs fsck */
	if (stx.stx_size > size) {
		/*
		 * Bytes behind the recorded end of the pack come from a killed writer.  Before they
		 * are cut off, store_seal_locked makes sure that the killed writer's rows for them
		 * cannot appear in the database.  Inside a transaction this cannot be done.
		 */
		if (db_in_transaction(store->db))
			return 0;
		r = store_seal_locked(store, err);
		if (r < 0)
			return r;
		if (ftruncate(fd, (off_t)size) < 0)
			return err_errno(err, "cut off the rest of a dead writer in '%s'", name);
	}
	store->out_fd = take_fd(&fd);
	store->out_pack = *last;
	store->out_is_new = false;
	store->out_synced = store->out_end = size;
	return 1;
}

static int make_pack(struct store *store, uint32_t after, struct err *err)
{
	char name[PACK_NAME_MAX];

	for (uint32_t id = after + 1; id; id++) {
		struct err why = { 0 };
		owned_fd int fd =
			at_create(store->packsfd, pack_name(id, name), O_RDWR | O_EXCL, 0600, &why);

		if (fd < 0 && why.errno_value == EEXIST)
			/* a writer that was killed before its first flush has left this pack */
			continue;
		if (fd < 0) {
			*err = why;
			return fd;
		}
		if (flock(fd, LOCK_EX | LOCK_NB) < 0)
			return err_errno(err, "lock '%s'", name);
		store->out_fd = take_fd(&fd);
		store->out_pack = id;
		store->out_is_new = true;
		store->out_synced = 0;
		store->out_end = PACK_START;
		buf_add(&store->out_buf, PACK_MAGIC, PACK_START);
		return 0;
	}
	return err_set(err, ERR_LIMIT, "no more pack numbers");
}

int store_new_pack(struct store *store, struct err *err)
{
	uint32_t last;
	int r = last_pack(store, &last, err);

	return r < 0 ? r : make_pack(store, last, err);
}

static void close_pack(struct store *store)
{
	close_fd(&store->out_fd);
	store->out_pack = 0;
}

int store_end_pack(struct store *store, struct err *err)
{
	int r = store_flush_locked(store, err);

	if (r >= 0)
		close_pack(store);
	return r;
}

static int need_pack(struct store *store, struct err *err)
{
	uint32_t last;

	/*
	 * Release a full pack only when its rows have been committed.  Before the commit, another
	 * writer would mistake the bytes at the pack's end for bytes of a killed writer, and cut
	 * them off.
	 */
	if (store->out_end >= STORE_PACK_TARGET && !store->unflushed.objects &&
		(store->reading || !db_in_transaction(store->db)))
		close_pack(store);
	if (store->out_fd >= 0)
		return 0;
	/*
	 * End the read transaction before the size of the newest pack is read.  The transaction may
	 * show the database as it was before another process last wrote to that pack.
	 */
	bool reading = store->reading;
	store_reading_end(store);
	int r = take_last_pack(store, &last, err);
	if (r == 0)
		r = make_pack(store, last, err);
	if (reading)
		store_reading_begin(store);
	return r < 0 ? r : 0;
}

int store_write_out(struct store *store, struct err *err)
{
	if (!store->out_buf.len)
		return 0;
	int r = at_pwrite_all(store->out_fd, store->out_buf.data, store->out_buf.len,
		store->out_end - store->out_buf.len);
	if (r < 0)
		return err_number(err, -r, "write pack %08x", store->out_pack);
	buf_clear(&store->out_buf);
	return 0;
}

int store_append(struct store *store, const uint8_t header[PACK_HEADER], const void *stored,
	const struct pack_record *record, struct err *err)
{
	int r = need_pack(store, err);

	if (r < 0)
		return r;
	struct store_pending *slot = pending_add(store, &record->key);
	slot->place = (struct store_place){
		.pack = store->out_pack,
		.stored = record->stored,
		.raw = record->raw,
		.offset = store->out_end,
	};
	buf_add(&store->out_buf, header, PACK_HEADER);
	buf_add(&store->out_buf, stored, record->stored);
	store->out_end += PACK_HEADER + record->stored;
	store->unflushed.bytes += PACK_HEADER + record->stored;
	store->unflushed.raw_bytes += record->raw;
	store->unflushed.objects++;
	store->added.bytes += PACK_HEADER + record->stored;
	store->added.raw_bytes += record->raw;
	store->added.objects++;
	if (store->out_buf.len >= OUT_BUFFER) {
		size_t len = store->out_buf.len;

		r = store_write_out(store, err);
		/*
		 * Start the disk write now.  Otherwise the flush would have to wait until the whole
		 * pack is written.
		 */
		if (r >= 0 && !store->scratch)
			at_sync_soon(store->out_fd, store->out_end - len, len);
	}
	return r;
}

static int fail_broken(struct store *store, struct err *err)
{
	*err = store->broken;
	return -(int)err->code;
}

int store_put(struct store *store, enum object_type type, const void *bytes, size_t len,
	struct hash *hash, struct err *err)
{
	struct object_key key = { .type = type };
	struct store_place place;

	if (store->read_only)
		return err_set(err, ERR_DENIED, "the environment is read-only here");
	if (len > OBJECT_MAX)
		return err_set(err, ERR_LIMIT, "object of %zu bytes is too large", len);
	hash_of(bytes, len, &key.hash);
	*hash = key.hash;
	if (store->scratch && type == OBJECT_BLOB)
		return 0;

	pthread_mutex_lock(&store->lock);
	int r = store->broken.code ? fail_broken(store, err) : store_find(store, &key, &place, err);
	/*
	 * Claim the key before the object is written.  A second thread with the same content then
	 * neither waits nor stores the content again.
	 */
	if (r == 0)
		pending_add(store, &key);
	pthread_mutex_unlock(&store->lock);
	if (r != 0)
		return r < 0 ? r : 0;

	struct pack_record record = { .key = key, .stored = (uint32_t)len, .raw = (uint32_t)len };
	owned_mem void *squeezed = NULL;
	const void *stored = bytes;
	if (len > 64) {
		size_t room = zstd_bound(len);

		squeezed = mem_alloc(room);
		size_t n = zstd_compress(squeezed, room, bytes, len);
		if (n) {
			record.codec = PACK_ZSTD;
			record.stored = (uint32_t)n;
			stored = squeezed;
		}
	}
	uint8_t header[PACK_HEADER];
	pack_encode(&record, header);

	pthread_mutex_lock(&store->lock);
	r = store->broken.code ? fail_broken(store, err)
			       : store_append(store, header, stored, &record, err);
	if (r >= 0)
		cache_add(store, &key, bytes, len);
	if (r >= 0 && !store->scratch &&
		(store->pending_count >= STORE_PENDING_MAX ||
			(store->out_end >= STORE_PACK_TARGET &&
				store->out_synced < STORE_PACK_TARGET)))
		r = store_flush_locked(store, err);
	if (r < 0 && !store->broken.code)
		store->broken = *err;
	pthread_mutex_unlock(&store->lock);
	return r;
}

static int compare_pending(const void *a, const void *b)
{
	const struct store_pending *x = a, *y = b;
	int order = memcmp(x->key.hash.bytes, y->key.hash.bytes, HASH_SIZE);

	return order ? order : (int)x->key.type - (int)y->key.type;
}

/*
 * Returns the SQL that inserts the row of an object.  While a sweep moves objects, the SQL changes
 * the place in the row instead.  The insertion does nothing if another process has inserted a row
 * for the object.
 */
static const char *row_statement(const struct store *store, size_t batch)
{
	if (store->moving)
		return "UPDATE object SET pack = ?3, offset = ?4, stored = ?5, raw = ?6"
		       " WHERE hash = ?1 AND type = ?2";
	if (batch >= STORE_FRESH_BATCH)
		return "INSERT OR IGNORE INTO object SELECT ?1, ?2, ?3, ?4, ?5, ?6"
		       " WHERE NOT EXISTS (SELECT 1 FROM fresh WHERE hash = ?1 AND type = ?2)";
	return "INSERT OR IGNORE INTO fresh SELECT ?1, ?2, ?3, ?4, ?5, ?6"
	       " WHERE NOT EXISTS (SELECT 1 FROM object WHERE hash = ?1 AND type = ?2)";
}

/*
 * Insert the rows of pending objects.  The rows are inserted in the order of keys, so that a large
 * batch touches each page of the table only once.  An object that a thread has claimed and is still
 * compressing stays pending.
 */
static int insert_rows(struct store *store, struct err *err)
{
	struct store_pending *rows = store->pending;
	size_t n = 0, claimed = 0;

	for (size_t i = 0; i < store->pending_cap; i++)
		if (rows[i].key.type)
			rows[n++] = rows[i];
	qsort(rows, n, sizeof(*rows), compare_pending);
	struct object_key *left = mem_alloc((n + 1) * sizeof(*left));
	const char *sql = row_statement(store, n);
	int r = 0;
	for (size_t i = 0; i < n && r >= 0; i++) {
		const struct store_pending *row = &rows[i];

		if (!row->place.pack) {
			left[claimed++] = row->key;
			continue;
		}
		r = db_run(store->db, err, sql, "biiiii", row->key.hash.bytes, (size_t)HASH_SIZE,
			(int64_t)row->key.type, (int64_t)row->place.pack,
			(int64_t)row->place.offset, (int64_t)row->place.stored,
			(int64_t)row->place.raw);
		/*
		 * If another process has already inserted a row for the same object, the copy that
		 * this process has stored gets no row, and gc will remove that copy.
		 */
		if (r >= 0 && !db_changed(store->db)) {
			store->unflushed.objects--;
			store->unflushed.bytes -= PACK_HEADER + row->place.stored;
			store->unflushed.raw_bytes -= row->place.raw;
		}
	}
	pending_clear(store);
	for (size_t i = 0; i < claimed; i++)
		pending_add(store, &left[i]);
	free(left);
	return r;
}

static int record_totals(struct store *store, size_t batch, struct err *err)
{
	int r = db_run(store->db, err,
		"INSERT INTO pack (id, size) VALUES (?, ?)"
		" ON CONFLICT (id) DO UPDATE SET size = excluded.size",
		"ii", (int64_t)store->out_pack, (int64_t)store->out_end);

	if (r >= 0 && !store->moving)
		r = db_run(store->db, err,
			"UPDATE total SET bytes = bytes + ?, raw = raw + ?, objects = objects + ?,"
			" fresh = fresh + ?",
			"iiii", (int64_t)store->unflushed.bytes,
			(int64_t)store->unflushed.raw_bytes, (int64_t)store->unflushed.objects,
			(int64_t)(batch < STORE_FRESH_BATCH ? batch : 0));
	return r;
}

static int has_fresh(struct store *store, struct err *err)
{
	int64_t one;

	return db_number(store->db, err, &one, "SELECT 1 FROM fresh LIMIT 1", "");
}

static int move_fresh_rows(struct store *store, int64_t limit, struct err *err)
{
	bool own = !db_in_transaction(store->db);
	int r = has_fresh(store, err);

	if (r <= 0)
		return r;
	r = own ? db_begin(store->db, err) : 0;
	if (r >= 0)
		r = db_run(store->db, err,
			"INSERT OR REPLACE INTO object"
			" SELECT * FROM fresh ORDER BY hash, type LIMIT ?",
			"i", limit);
	if (r >= 0)
		r = db_run(store->db, err,
			"DELETE FROM fresh WHERE (hash, type) IN"
			" (SELECT hash, type FROM fresh ORDER BY hash, type LIMIT ?)",
			"i", limit);
	if (r >= 0)
		r = db_run(store->db, err, "UPDATE total SET fresh = (SELECT count(*) FROM fresh)",
			"");
	return own ? db_end(store->db, r, err) : r;
}

int store_settle(struct store *store, struct err *err)
{
	return move_fresh_rows(store, INT64_MAX, err);
}

int store_settle_some(struct store *store, struct err *err)
{
	int r = move_fresh_rows(store, STORE_FRESH_STEP, err);

	return r < 0 ? r : has_fresh(store, err);
}

static int move_fresh_if_many(struct store *store, struct err *err)
{
	int64_t fresh = 0;
	int r = db_number(store->db, err, &fresh, "SELECT fresh FROM total", "");

	return r < 0 || fresh <= STORE_FRESH_MAX ? r : store_settle(store, err);
}

static int write_rows(struct store *store, struct err *err)
{
	bool own = !db_in_transaction(store->db);
	int r = store_sync_begin(store, err);

	if (r >= 0 && own)
		r = db_begin(store->db, err);
	if (r < 0)
		return r;
	size_t batch = store->pending_count;
	r = insert_rows(store, err);
	if (r >= 0)
		r = record_totals(store, batch, err);
	if (r >= 0 && !store->moving)
		r = move_fresh_if_many(store, err);
	if (r >= 0)
		r = store_sync_end(store, err);
	if (own)
		r = db_end(store->db, r, err);
	if (r < 0)
		return r;
	store->out_synced = store->out_end;
	store->unflushed = (struct store_stats){ 0 };
	return 0;
}

int store_flush_locked(struct store *store, struct err *err)
{
	bool reading = store->reading;

	if (!store->unflushed.objects || store->scratch)
		return 0;
	store_reading_end(store);
	int r = write_rows(store, err);
	if (reading)
		store_reading_begin(store);
	return r;
}

/*
 * Call a function while holding the lock.  If the function fails, the store is broken, and all
 * later calls of do_locked fail.
 */
static int do_locked(
	struct store *store, int (*work)(struct store *store, struct err *err), struct err *err)
{
	pthread_mutex_lock(&store->lock);
	int r = store->broken.code ? fail_broken(store, err) : work(store, err);
	if (r < 0 && !store->broken.code)
		store->broken = *err;
	pthread_mutex_unlock(&store->lock);
	return r;
}

/* Commit a transaction.  Its rows overwrite the rows that a killed writer has left in the log. */
int store_seal_locked(struct store *store, struct err *err)
{
	int r = db_begin(store->db, err);

	if (r < 0)
		return r;
	/*
	 * Insert and delete a row, because the transaction has to change something.  The row has no
	 * effect on other processes, since no pack has the number 0.
	 */
	r = db_run(store->db, err, "INSERT INTO pack VALUES (0, 0)", "");
	if (r >= 0)
		r = db_run(store->db, err, "DELETE FROM pack WHERE id = 0", "");
	return db_end(store->db, r, err);
}

int store_seal(struct store *store, struct err *err)
{
	return do_locked(store, store_seal_locked, err);
}

int store_flush(struct store *store, struct err *err)
{
	return do_locked(store, store_flush_locked, err);
}

int store_rest(struct store *store, struct err *err)
{
	return do_locked(store, store_end_pack, err);
}

void store_flush_ahead(struct store *store)
{
	struct err shown_later = { 0 };

	(void)do_locked(store, store_sync_begin, &shown_later);
}

void store_poison(struct store *store, const struct err *why)
{
	pthread_mutex_lock(&store->lock);
	if (!store->broken.code)
		store->broken = *why;
	pthread_mutex_unlock(&store->lock);
}

int store_stats(struct store *store, struct store_stats *stats, struct err *err)
{
	owned(db_donep) struct db_query *query = db_query(store->db, err,
		"SELECT bytes, raw, objects, (SELECT count(*) FROM pack) FROM total", "");
	int r = db_step(query, err);

	if (r <= 0)
		return r < 0 ? r : err_set(err, ERR_CORRUPT, "the store has no totals row");
	*stats = (struct store_stats){
		.bytes = (uint64_t)db_int(query, 0),
		.raw_bytes = (uint64_t)db_int(query, 1),
		.objects = (uint64_t)db_int(query, 2),
		.packs = (uint64_t)db_int(query, 3),
	};
	return 0;
}
