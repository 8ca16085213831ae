/*
 * Repairs the index of a store: reads each pack from start to end, and makes the index agree with
 * the packs.
 *
 * The key of every intact record is noted in a temporary table.  After the last pack, each row
 * whose key is not in that table is checked once more.  Such a row is deleted if the place that it
 * refers to has no intact record.  All of this is one transaction.
 *
 * The packs themselves are not changed, except for a damaged start.  Damaged records lose their
 * rows, and are dropped when gc next rewrites the pack.  Before the transaction is committed, a
 * damaged pack gets a second name, or a copy, in quarantine/.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "store/store_priv.h"

#define QUARANTINE "quarantine"
#define SUSPECTS 256 /* number of rows that are checked at a time */

struct repair {
	struct store *store;
	struct store_packs packs;
	uint64_t rescued, dropped;
	struct store_record record; /* the record of a pack that was read last */
	struct store_record other;  /* the record at the place that a row refers to */
};

/* A row of the index. */
struct row {
	struct object_key key;
	struct store_place place;
};

/* The result of reading one pack from start to end. */
struct pack_scan {
	/* end of the pack in the pack table; only damage before this end counts */
	uint64_t known;
	uint64_t damage;  /* end of the last damage; 0: the pack has no damage */
	uint64_t end;     /* end of the last intact record */
	uint64_t records; /* number of intact records */
};

/* ------------------------------------------------------------- quarantine */

static int copy_file(int from, int to, const char *name, struct err *err)
{
	const size_t size = (size_t)1 << 20, page = 4096;
	owned_mem char *block = mem_alloc(size);
	size_t want = size;
	uint64_t offset = 0;
	ssize_t n;

	for (;; offset += (uint64_t)n) {
		n = at_pread_full(from, block, want, offset);
		if (n == -EIO) {
			/*
			 * Leave a hole in the copy in place of a page that cannot be read.  The
			 * other pages may be useful.
			 */
			n = want == page ? (ssize_t)page : 0;
			want = page;
			continue;
		}
		if (n == 0)
			return 0;
		if (n < 0)
			return err_number(err, (int)-n, "read '%s'", name);
		want = size;
		int r = at_pwrite_all(to, block, (size_t)n, offset);
		if (r < 0)
			return err_number(err, -r, "copy '%s' to " QUARANTINE, name);
	}
}

static int open_quarantine(struct store *store, struct err *err)
{
	int r = at_mkdirs(store->rootfd, QUARANTINE, 0700, err);

	if (r >= 0)
		r = at_fsync(store->rootfd, "the environment's directory", err);
	return r < 0 ? r : at_open(store->rootfd, QUARANTINE, O_RDONLY | O_DIRECTORY, err);
}

static bool has_same_bytes(int a, int b, uint64_t len)
{
	const size_t size = (size_t)1 << 18;
	owned_mem char *block = mem_alloc(2 * size);

	for (uint64_t offset = 0; offset < len; offset += size) {
		size_t want = len - offset < size ? (size_t)(len - offset) : size;

		if (at_pread_full(a, block, want, offset) != (ssize_t)want ||
			at_pread_full(b, block + size, want, offset) != (ssize_t)want ||
			memcmp(block, block + size, want))
			return false;
	}
	return true;
}

/* Whether an earlier repair has put the first len bytes of this pack into quarantine/. */
static bool is_quarantined(int dirfd, const char *name, int fd, uint64_t len)
{
	struct err ignored;
	owned(at_list_closep) DIR *list =
		at_list_take(at_open(dirfd, ".", O_RDONLY | O_DIRECTORY, &ignored));
	const struct dirent *entry;
	bool found = false;

	while (list && !found && (entry = at_list_next(list))) {
		if (!str_starts(str_of(entry->d_name), str_of(name)))
			continue;
		owned_fd int other = at_name_read(dirfd, entry->d_name);
		found = other >= 0 && has_same_bytes(fd, other, len);
	}
	return found;
}

/* Make an unused name for a pack in quarantine/.  The name has the current time in it. */
static void make_aside_name(int dirfd, const char *name, char *out, size_t size)
{
	time_t now = time(NULL);
	struct statx stx;
	char stamp[32];
	struct tm tm;

	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", gmtime_r(&now, &tm));
	snprintf(out, size, "%s.%s", name, stamp);
	for (unsigned i = 1; at_name_stat(dirfd, out, &stx) == 0; i++)
		snprintf(out, size, "%s.%s.%u", name, stamp, i);
}

/*
 * Keep the first len bytes of a damaged pack in quarantine/.  If 'copy' is true, the bytes are
 * copied, because the pack may be written to later.  Otherwise the pack gets a second name in
 * quarantine/.
 */
static int quarantine_pack(
	struct store *store, uint32_t pack, int fd, uint64_t len, bool copy, struct err *err)
{
	owned_fd int dirfd = open_quarantine(store, err);
	char name[PACK_NAME_MAX], aside[64];
	owned_fd int to = -1;
	int r = 0;

	if (dirfd < 0)
		return dirfd;
	if (is_quarantined(dirfd, pack_name(pack, name), fd, len))
		return 0;
	make_aside_name(dirfd, name, aside, sizeof(aside));
	if (copy || linkat(store->packsfd, name, dirfd, aside, 0) < 0) {
		to = at_create(dirfd, aside, O_WRONLY | O_EXCL, 0600, err);
		r = to < 0 ? to : copy_file(fd, to, name, err);
	}
	if (r >= 0)
		r = at_fsync(to < 0 ? fd : to, aside, err);
	return r < 0 ? r : at_fsync(dirfd, QUARANTINE, err);
}

/* ------------------------------------------------------------------- rows */

static bool is_same_place(const struct store_place *a, const struct store_place *b)
{
	return a->pack == b->pack && a->offset == b->offset && a->stored == b->stored &&
	       a->raw == b->raw;
}

/* Whether an intact record of the object is at the place that its row refers to. */
static bool is_intact_at(
	struct repair *repair, const struct object_key *key, const struct store_place *place)
{
	struct store_record *record = &repair->other;
	struct err ignored;
	int fd = place->pack ? store_pack_fd(repair->store, place->pack, &ignored) : -1;

	return fd >= 0 && place->offset >= PACK_START &&
	       !store_record_read(fd, place->offset, UINT64_MAX, record) &&
	       record->record.key.type == key->type &&
	       hash_eq(&record->record.key.hash, &key->hash) &&
	       record->record.stored == place->stored && record->record.raw == place->raw;
}

static int set_row(struct repair *repair, const struct object_key *key,
	const struct store_place *place, struct err *err)
{
	repair->rescued++;
	return db_run(repair->store->db, err,
		"INSERT OR REPLACE INTO object VALUES (?, ?, ?, ?, ?, ?)", "biiiii",
		key->hash.bytes, (size_t)HASH_SIZE, (int64_t)key->type, (int64_t)place->pack,
		(int64_t)place->offset, (int64_t)place->stored, (int64_t)place->raw);
}

/* Note the key of an intact record.  Returns 1 if the key was not noted before. */
static int note_intact(struct repair *repair, const struct object_key *key, struct err *err)
{
	int r = db_run(repair->store->db, err, "INSERT OR IGNORE INTO temp.intact VALUES (?, ?)",
		"bi", key->hash.bytes, (size_t)HASH_SIZE, (int64_t)key->type);

	return r < 0 ? r : db_changed(repair->store->db) > 0;
}

/* Make sure that the key of an intact record has a row that refers to an intact record. */
static int index_record(struct repair *repair, uint32_t pack, uint64_t offset, struct err *err)
{
	const struct pack_record *record = &repair->record.record;
	const struct object_key *key = &record->key;
	struct store_place here = { pack, record->stored, record->raw, offset };
	struct store_place place;
	int r = note_intact(repair, key, err);

	if (r <= 0)
		return r; /* another intact copy of the object was read before */
	r = store_find(repair->store, key, &place, err);
	if (r < 0 && r != -ERR_CORRUPT)
		return r;
	if (r > 0 && (is_same_place(&place, &here) || is_intact_at(repair, key, &place)))
		return 0;
	return set_row(repair, key, &here, err);
}

/*
 * Read the next rows after 'last' in the order of keys.  Rows are left out if an intact record with
 * their key has been read.  Returns the number of rows, or a negative error.
 */
static int read_suspects(
	struct repair *repair, const struct object_key *last, struct row *list, struct err *err)
{
	owned(db_donep) struct db_query *query = db_query(repair->store->db, err,
		"SELECT hash, type, pack, offset, stored, raw FROM object"
		" WHERE (hash, type) > (?, ?) AND NOT EXISTS (SELECT 1 FROM temp.intact"
		"  WHERE intact.hash = object.hash AND intact.type = object.type)"
		" ORDER BY hash, type LIMIT ?",
		"bii", last->hash.bytes, (size_t)HASH_SIZE, (int64_t)last->type, (int64_t)SUSPECTS);
	int n = 0, r;

	while ((r = db_step(query, err)) > 0 && n < SUSPECTS) {
		struct row *row = &list[n++];

		memcpy(row->key.hash.bytes, db_bytes(query, 0).ptr, HASH_SIZE);
		row->key.type = (enum object_type)db_int(query, 1);
		row->place = store_row_place(query, 2);
	}
	return r < 0 ? r : n;
}

static int drop_rows(struct repair *repair, struct err *err)
{
	struct db *db = repair->store->db;
	struct row list[SUSPECTS];
	struct object_key last = { 0 };
	int n;
	int r = db_run(db, err,
		"DELETE FROM object WHERE typeof(hash) != 'blob' OR length(hash) != 32"
		" OR type NOT BETWEEN 1 AND 4 OR pack NOT BETWEEN 1 AND 0xffffffff"
		" OR stored NOT BETWEEN 0 AND raw OR raw > 0xffffffff OR offset < 0",
		"");

	if (r < 0)
		return r;
	repair->dropped += (uint64_t)db_changed(db);
	while ((n = read_suspects(repair, &last, list, err)) > 0) {
		for (int i = 0; i < n; i++) {
			if (is_intact_at(repair, &list[i].key, &list[i].place))
				continue;
			r = db_run(db, err, "DELETE FROM object WHERE hash = ? AND type = ?", "bi",
				list[i].key.hash.bytes, (size_t)HASH_SIZE,
				(int64_t)list[i].key.type);
			if (r < 0)
				return r;
			repair->dropped++;
		}
		last = list[n - 1].key;
	}
	return n;
}

/* ------------------------------------------------------------------ packs */

static int scan_records(struct repair *repair, uint32_t pack, int fd, uint64_t size,
	struct pack_scan *scan, struct err *err)
{
	uint64_t offset = PACK_START;

	while (offset < size) {
		if (store_record_read(fd, offset, size, &repair->record)) {
			/*
			 * The lengths in a damaged record cannot be trusted, so the next record may
			 * begin at any byte.
			 */
			uint64_t next = store_record_seek(fd, offset + 1, size);

			if (offset < scan->known)
				scan->damage = next;
			offset = next;
			continue;
		}
		int r = index_record(repair, pack, offset, err);
		if (r < 0)
			return r;
		offset += PACK_HEADER + repair->record.record.stored;
		scan->end = offset;
		scan->records++;
	}
	return 0;
}

static int write_start(int fd, uint32_t pack, struct err *err)
{
	int r = at_pwrite_all(fd, PACK_MAGIC, PACK_START, 0);

	if (r >= 0 && fdatasync(fd) < 0)
		r = -errno;
	return r < 0 ? err_number(err, -r, "write pack %08x", pack) : 0;
}

static int record_pack(struct store *store, uint32_t pack, uint64_t size, struct err *err)
{
	return db_run(store->db, err, "INSERT OR REPLACE INTO pack (id, size) VALUES (?, ?)", "ii",
		(int64_t)pack, (int64_t)size);
}

static int repair_pack(
	struct repair *repair, const struct store_pack *pack, bool newest, struct err *err)
{
	struct store *store = repair->store;
	struct pack_scan scan = { .end = PACK_START };
	char name[PACK_NAME_MAX], magic[PACK_START];
	struct statx stx;
	owned_fd int fd = at_open(store->packsfd, pack_name(pack->id, name), O_RDWR, err);

	if (fd < 0)
		return fd;
	if (at_fd_stat(fd, &stx) < 0)
		return err_errno(err, "read '%s'", name);
	if (pack->listed)
		scan.known = pack->size;
	else if (pack->rows)
		scan.known = stx.stx_size;
	bool bad_start = at_pread_full(fd, magic, PACK_START, 0) != PACK_START ||
			 memcmp(magic, PACK_MAGIC, PACK_START);
	int r = scan_records(repair, pack->id, fd, stx.stx_size, &scan, err);
	if (r < 0)
		return r;
	/*
	 * A pack that is not in the database and has no intact record was left by a writer that was
	 * killed before its first flush.  gc will remove the pack.
	 */
	if (!scan.known && !scan.records)
		return 0;
	if (bad_start || stx.stx_size < scan.known)
		scan.damage = stx.stx_size;
	if (scan.damage)
		r = quarantine_pack(store, pack->id, fd, scan.damage, newest || bad_start, err);
	if (r >= 0 && bad_start)
		r = write_start(fd, pack->id, err);
	return r < 0 ? r : record_pack(store, pack->id, scan.end, err);
}

static int repair_packs(struct repair *repair, struct err *err)
{
	struct store_packs *packs = &repair->packs;
	uint32_t newest = 0;
	int r = store_packs_load(repair->store, packs, err);

	for (size_t i = 0; i < packs->count; i++)
		if (packs->list[i].file && packs->list[i].listed)
			newest = packs->list[i].id;
	for (size_t i = 0; i < packs->count && r >= 0; i++) {
		const struct store_pack *pack = &packs->list[i];

		if (pack->file)
			r = repair_pack(repair, pack, pack->id >= newest, err);
		else if (pack->listed)
			r = db_run(repair->store->db, err, "DELETE FROM pack WHERE id = ?", "i",
				(int64_t)pack->id);
	}
	return r;
}

static int repair_index(struct repair *repair, struct err *err)
{
	struct db *db = repair->store->db;
	int r = db_exec(db,
		"CREATE TEMP TABLE IF NOT EXISTS intact"
		" (hash BLOB, type INTEGER, PRIMARY KEY (hash, type)) WITHOUT ROWID;"
		"DELETE FROM temp.intact;",
		err);

	if (r >= 0)
		r = repair_packs(repair, err);
	if (r >= 0)
		r = drop_rows(repair, err);
	if (r >= 0)
		r = db_run(db, err,
			"INSERT OR REPLACE INTO total SELECT 1, coalesce(sum(stored), 0) + "
			"count(*) * ?,"
			" coalesce(sum(raw), 0), count(*), 0 FROM object",
			"i", (int64_t)PACK_HEADER);
	if (r >= 0)
		r = db_exec(db, "DELETE FROM temp.intact;", err);
	return r;
}

static int repair_locked(struct repair *repair, struct err *err)
{
	struct store *store = repair->store;

	if (store->broken.code) {
		*err = store->broken;
		return -(int)err->code;
	}
	int r = store_end_pack(store, err);
	/*
	 * Close all packs.  They are opened again by name, so that a removed pack counts as
	 * missing.
	 */
	for (size_t i = 0; i < STORE_PACK_FDS; i++)
		close_fd(&store->packs[i].fd);
	if (r >= 0)
		r = db_begin(store->db, err);
	if (r < 0)
		return r;
	r = store_settle(store, err);
	if (r >= 0)
		r = repair_index(repair, err);
	return db_end(store->db, r, err);
}

int store_repair(struct store *store, uint64_t *rescued, uint64_t *dropped, struct err *err)
{
	struct repair repair = {
		.store = store,
		.record = STORE_RECORD_INIT,
		.other = STORE_RECORD_INIT,
	};

	if (store->read_only)
		return err_set(err, ERR_DENIED, "the environment is read-only here");
	pthread_mutex_lock(&store->lock);
	int r = repair_locked(&repair, err);
	pthread_mutex_unlock(&store->lock);
	store_record_release(&repair.record);
	store_record_release(&repair.other);
	store_packs_release(&repair.packs);
	if (r >= 0) {
		*rescued = repair.rescued;
		*dropped = repair.dropped;
	}
	return r;
}
