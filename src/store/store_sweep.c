/*
 * Removes dead objects.  Each pack is swept by itself, in steps.  The store is consistent after
 * each step:
 *
 *	1. The rows of the pack's dead objects are deleted, a limited number in one transaction.
 *	2. If enough of the pack is dead, its live records are copied into a new pack and synced.
 *	   Their rows are then changed to the new place, a limited number in one transaction.
 *	3. The row of the pack is deleted in the last of these transactions.  Then the file of the
 *	   pack is removed.
 *
 * After a crash, some records may have no row, and the pack table may lack a file.  The next sweep
 * removes these records and files.
 *
 * Two rules protect live objects.  A row is moved only after its record was read and hashed.  A
 * pack is removed only after the record of every row that refers to the pack was found in it.  So a
 * pack stays if a damaged header hides a record that has a row.
 *
 * Pack numbers are never reused, since a reader may still have the old file with the number open.
 * So the pack with the greatest number stays, even if it is empty.
 *
 * Other processes must not write while the sweep deletes rows, or removes files that the pack table
 * lacks.  So the sweep does this work in short slices, between which other processes may write.
 * Before the next slice, the caller marks the objects that those processes refer to as live.
 *
 * Other processes may write while the sweep copies live records and moves their rows.  No process
 * appends to the pack, since the sweep has locked it, and no other process deletes or moves rows of
 * the pack.  So the numbers that were counted for the pack stay right.
 */
#include <fcntl.h>
#include <sys/file.h>

#include "core/at.h"
#include "core/own.h"
#include "core/when.h"
#include "store/store_priv.h"

#define DEAD_SHARE 8              /* a pack is rewritten if at least 1/DEAD_SHARE is dead */
#define SMALL ((uint64_t)8 << 20) /* bytes; a smaller pack counts as small */
/* if there are at least this many small packs, they are merged */
#define SMALL_PACKS 4
#define SLICE_NS (15 * WHEN_MS) /* duration of a slice in nanoseconds */
#define SLICE_RECORDS 512       /* maximum number of records that are checked in a slice */
/* maximum number of rows that are moved in one transaction */
#define MOVED_RECORDS 512
/* maximum number of bytes that are copied before they are synced and their rows are moved */
#define MOVED_BYTES ((uint64_t)8 << 20)

struct sweep {
	struct store *store;
	const struct store_sweeper *sweeper;
	bool held;        /* other processes cannot write at the moment */
	int64_t until;    /* time at which the slice should end */
	bool merge;       /* small packs are merged, because there are many */
	uint64_t unmoved; /* copied bytes whose rows have not been moved in a transaction yet */
	uint64_t damaged;
	uint64_t tails;   /* number of bytes cut off behind the recorded ends of packs */
	uint64_t removed; /* total size of the packs that were removed or emptied */
	uint64_t copied;  /* number of bytes copied out of such packs */
	struct store_stats dead;
	struct store_record record;
};

/*
 * Walks the records of one pack in order.  has_row is set if the row of the current record's object
 * refers to this record.
 */
struct walk {
	struct store *store;
	int fd;
	uint32_t pack;
	uint64_t end, next;
	bool lost; /* after damaged bytes, a record counts only if it has a row */
	uint64_t offset;
	struct pack_record record;
	bool has_row;
};

static int start_walk(
	struct walk *walk, struct store *store, const struct store_pack *pack, struct err *err)
{
	struct statx stx;

	*walk = (struct walk){ .store = store, .pack = pack->id, .next = PACK_START };
	walk->fd = store_pack_fd(store, pack->id, err);
	if (walk->fd < 0)
		return walk->fd;
	if (at_fd_stat(walk->fd, &stx) < 0)
		return err_errno(err, "pack %08x", pack->id);
	walk->end = stx.stx_size < pack->size ? stx.stx_size : pack->size;
	return 0;
}

static int row_points_here(const struct walk *walk, struct err *err)
{
	struct store_place place;
	int r = store_find(walk->store, &walk->record.key, &place, err);

	if (r == -ERR_CORRUPT)
		return 0; /* count the record as not found, so that the pack stays */
	if (r <= 0)
		return r;
	return place.pack == walk->pack && place.offset == walk->offset &&
	       place.stored == walk->record.stored && place.raw == walk->record.raw;
}

/*
 * Find the next record of the pack.  Returns 1, 0 if there are no more records, or a negative
 * error.
 */
static int next_record(struct walk *walk, struct err *err)
{
	while (walk->next < walk->end) {
		walk->offset = walk->next;
		if (store_record_header(walk->fd, walk->offset, walk->end, &walk->record)) {
			int r = row_points_here(walk, err);

			if (r < 0)
				return r;
			walk->has_row = r > 0;
			if (walk->has_row || !walk->lost) {
				walk->lost = false;
				walk->next += PACK_HEADER + walk->record.stored;
				return 1;
			}
		}
		walk->lost = true;
		walk->next = store_record_seek(walk->fd, walk->offset + 1, walk->end);
	}
	return 0;
}

/* ------------------------------------------------------------- dead objects */

static int delete_row(struct sweep *sweep, const struct pack_record *record, struct err *err)
{
	sweep->dead.bytes += PACK_HEADER + record->stored;
	sweep->dead.raw_bytes += record->raw;
	sweep->dead.objects++;
	return db_run(sweep->store->db, err, "DELETE FROM object WHERE hash = ? AND type = ?", "bi",
		record->key.hash.bytes, (size_t)HASH_SIZE, (int64_t)record->key.type);
}

static int subtract_totals(struct sweep *sweep, const struct store_stats *before, struct err *err)
{
	return db_run(sweep->store->db, err,
		"UPDATE total SET bytes = bytes - ?, raw = raw - ?, objects = objects - ?", "iii",
		(int64_t)(sweep->dead.bytes - before->bytes),
		(int64_t)(sweep->dead.raw_bytes - before->raw_bytes),
		(int64_t)(sweep->dead.objects - before->objects));
}

/* Keep other processes from writing, and move all rows of the table "fresh" to "object". */
static int keep_writers_out(struct sweep *sweep, struct err *err)
{
	const struct store_sweeper *sweeper = sweep->sweeper;
	int r = 0;

	if (sweep->held)
		return 0;
	db_defer_checkpoints(sweep->store->db, true);
	/*
	 * Release the lock of the store while the caller's function 'begin' runs, because that
	 * function uses the store.
	 */
	pthread_mutex_unlock(&sweep->store->lock);
	if (sweeper->begin)
		r = sweeper->begin(sweeper->arg, err);
	pthread_mutex_lock(&sweep->store->lock);
	sweep->held = true;
	sweep->until = when_monotonic() + SLICE_NS;
	return r < 0 ? r : store_settle(sweep->store, err);
}

static void let_writers_in(struct sweep *sweep)
{
	if (!sweep->held)
		return;
	sweep->held = false;
	if (sweep->sweeper->end)
		sweep->sweeper->end(sweep->sweeper->arg);
	db_defer_checkpoints(sweep->store->db, false);
}

/* Totals of the rows of one pack. */
struct row_count {
	uint64_t kept; /* bytes of live objects */
	uint64_t met;  /* number of rows whose record was found in the pack */
};

/*
 * Delete as many rows of dead objects as a slice has time for.  Returns 1 if the pack may have more
 * dead objects.
 */
static int delete_some_dead_rows(
	struct sweep *sweep, struct walk *walk, struct row_count *row_count, struct err *err)
{
	struct store_stats before = sweep->dead;
	int r = 1;

	for (unsigned n = 0; n < SLICE_RECORDS; n++) {
		if (n % 64 == 63 && when_monotonic() > sweep->until)
			break;
		r = next_record(walk, err);
		if (r <= 0)
			break;
		if (!walk->has_row)
			continue;
		row_count->met++;
		if (sweep->sweeper->live(sweep->sweeper->arg, &walk->record.key)) {
			row_count->kept += PACK_HEADER + walk->record.stored;
			continue;
		}
		r = delete_row(sweep, &walk->record, err);
		if (r < 0)
			break;
		r = 1;
	}
	if (r >= 0 && sweep->dead.objects > before.objects) {
		int totals = subtract_totals(sweep, &before, err);

		r = totals < 0 ? totals : r;
	}
	return r;
}

/*
 * Delete all rows of dead objects in a pack, slice by slice.  Other processes are still kept from
 * writing when the function returns.
 */
static int delete_dead_rows(struct sweep *sweep, const struct store_pack *pack,
	struct row_count *row_count, struct err *err)
{
	struct db *db = sweep->store->db;
	struct walk walk;
	int r = start_walk(&walk, sweep->store, pack, err);

	while (r >= 0) {
		r = keep_writers_out(sweep, err);
		/*
		 * Open the pack again.  The caller's function 'begin' may have read objects, and so
		 * may have closed the pack's descriptor.
		 */
		if (r >= 0)
			r = walk.fd = store_pack_fd(sweep->store, pack->id, err);
		if (r >= 0)
			r = db_begin(db, err);
		if (r < 0)
			return r;
		int more = delete_some_dead_rows(sweep, &walk, row_count, err);
		r = db_end(db, more, err);
		if (r < 0 || !more)
			return r;
		let_writers_in(sweep);
	}
	return r;
}

/* ----------------------------------------------------------------- rewriting */

/*
 * Change the rows of the copied records to their new place.  If the parameter 'remove' is not 0, it
 * is the number of a pack whose row in the pack table is deleted, too.
 */
static int commit_moves(struct sweep *sweep, uint32_t remove, struct err *err)
{
	struct store *store = sweep->store;
	/*
	 * Sync before the transaction begins, so that other processes can use the database during
	 * the sync.
	 */
	int r = store_sync_begin(store, err);

	if (r >= 0 && store->out_fd >= 0)
		r = store_sync_end(store, err);
	sweep->unmoved = 0;
	if (r >= 0)
		r = db_begin(store->db, err);
	if (r >= 0)
		r = store_flush_locked(store, err);
	if (r >= 0 && remove)
		r = db_run(store->db, err, "DELETE FROM pack WHERE id = ?", "i", (int64_t)remove);
	return db_end(store->db, r, err);
}

static int copy_record(struct sweep *sweep, struct err *err)
{
	struct store *store = sweep->store;
	const uint8_t *bytes = (const uint8_t *)sweep->record.bytes.data;
	/* Copy to a new pack, since the pack that is being read may be the newest one. */
	int r = store->out_fd < 0 ? store_new_pack(store, err) : 0;

	sweep->copied += store->out_end == PACK_START ? PACK_START : 0;
	sweep->copied += PACK_HEADER + sweep->record.record.stored;
	if (r >= 0)
		r = store_append(store, bytes, bytes + PACK_HEADER, &sweep->record.record, err);
	sweep->unmoved += PACK_HEADER + sweep->record.record.stored;
	if (r >= 0 && (store->pending_count >= MOVED_RECORDS || sweep->unmoved >= MOVED_BYTES ||
			      store->out_end >= STORE_PACK_TARGET))
		r = commit_moves(sweep, 0, err);
	return r;
}

static int remove_file(struct store *store, uint32_t pack, struct err *err)
{
	char name[PACK_NAME_MAX];

	store_forget_pack(store, pack);
	return at_unlink(store->packsfd, pack_name(pack, name), 0, err);
}

/*
 * Copy the live records of a pack to a new pack, and remove the old pack.  The old pack stays if
 * one of its live records cannot be read.
 */
static int rewrite_pack(struct sweep *sweep, const struct store_pack *pack, struct err *err)
{
	bool intact = true;
	struct walk walk;
	int r = start_walk(&walk, sweep->store, pack, err);

	if (r < 0)
		return r;
	while ((r = next_record(&walk, err)) > 0) {
		if (!walk.has_row)
			continue;
		if (store_record_read(walk.fd, walk.offset, walk.end, &sweep->record)) {
			intact = false;
			continue;
		}
		r = copy_record(sweep, err);
		if (r < 0)
			return r;
	}
	if (r >= 0)
		r = commit_moves(sweep, intact ? pack->id : 0, err);
	if (r < 0)
		return r;
	sweep->damaged += !intact;
	sweep->removed += intact ? pack->size : 0;
	return intact ? remove_file(sweep->store, pack->id, err) : 0;
}

static int is_newest(struct store *store, uint32_t pack, struct err *err)
{
	int64_t one;
	int r = db_number(store->db, err, &one, "SELECT 1 FROM pack WHERE id > ? LIMIT 1", "i",
		(int64_t)pack);

	return r < 0 ? r : r == 0;
}

/* Remove a pack without live objects.  If it is the newest pack, it is emptied instead. */
static int discard_pack(struct sweep *sweep, const struct store_pack *pack, struct err *err)
{
	struct store *store = sweep->store;
	char name[PACK_NAME_MAX];
	int newest = is_newest(store, pack->id, err);
	int r;

	if (newest < 0)
		return newest;
	if (!newest) {
		r = db_run(store->db, err, "DELETE FROM pack WHERE id = ?", "i", (int64_t)pack->id);
		sweep->removed += pack->size;
		return r < 0 ? r : remove_file(store, pack->id, err);
	}
	if (pack->size <= PACK_START)
		return 0;
	sweep->removed += pack->size - PACK_START;
	r = db_run(store->db, err, "UPDATE pack SET size = ? WHERE id = ?", "ii",
		(int64_t)PACK_START, (int64_t)pack->id);
	if (r < 0)
		return r;
	owned_fd int fd = at_open(store->packsfd, pack_name(pack->id, name), O_RDWR, err);
	if (fd < 0)
		return fd;
	if (ftruncate(fd, PACK_START) < 0)
		return err_errno(err, "empty '%s'", name);
	return 0;
}

/* Cut off bytes that a killed writer has appended to a pack and that have no rows. */
static void cut_tail(struct sweep *sweep, const struct store_pack *pack, int fd)
{
	struct err ignored = { 0 };
	struct statx stx;

	if (at_fd_stat(fd, &stx) < 0)
		return;
	if (stx.stx_size > pack->size && store_seal_locked(sweep->store, &ignored) >= 0 &&
		ftruncate(fd, (off_t)pack->size) == 0)
		sweep->tails += stx.stx_size - pack->size;
}

/* Sweep one pack.  fd is its file, which this process has locked. */
static int sweep_pack(struct sweep *sweep, const struct store_pack *pack, int fd, struct err *err)
{
	struct row_count row_count = { 0 };
	int r = delete_dead_rows(sweep, pack, &row_count, err);

	if (r < 0)
		return r;
	if (row_count.met != pack->rows) {
		sweep->damaged++;
		return 0;
	}
	cut_tail(sweep, pack, fd);
	if (!row_count.kept)
		return discard_pack(sweep, pack, err);
	uint64_t dead = pack->size - PACK_START - row_count.kept;
	if (dead < pack->size / DEAD_SHARE && !(sweep->merge && pack->size < SMALL))
		return 0;
	let_writers_in(sweep);
	return rewrite_pack(sweep, pack, err);
}

/* ------------------------------------------------------------------ the store */

/*
 * Remove a pack that is not in the pack table.  Its lock was free, so a killed writer has left the
 * pack.
 */
static int remove_orphan(
	struct store *store, uint32_t pack, int fd, uint64_t *freed, struct err *err)
{
	struct statx stx;

	if (fd < 0 || at_fd_stat(fd, &stx) < 0)
		return 0;
	int r = store_seal_locked(store, err);
	if (r < 0)
		return r;
	*freed += stx.stx_size;
	return remove_file(store, pack, err);
}

/*
 * Count the rows of a pack again if the pack has changed since the first count.  Another process
 * may have appended to the pack or added it to the pack table.
 */
static int recount_pack(struct sweep *sweep, struct store_pack *pack, struct err *err)
{
	owned(store_packs_release) struct store_packs now = { 0 };
	int64_t size;
	int r = db_number(sweep->store->db, err, &size, "SELECT size FROM pack WHERE id = ?", "i",
		(int64_t)pack->id);

	if (r <= 0 || (pack->listed && (uint64_t)size == pack->size))
		return r;
	/*
	 * Let other processes write while the rows are counted, because counting takes long.  Those
	 * processes cannot append to this pack, since this process has locked it.
	 */
	let_writers_in(sweep);
	r = store_packs_load(sweep->store, &now, err);
	if (r < 0)
		return r;
	struct store_pack *found = store_packs_find(&now, pack->id);
	if (found)
		*pack = *found;
	return keep_writers_out(sweep, err);
}

/*
 * Lock a pack, so that no process appends to it.  Returns -1 if the file does not exist, or if
 * another process has locked the pack.  In the second case *in_use is set to true.
 */
static int lock_pack(struct store *store, uint32_t pack, bool *in_use)
{
	struct err ignored = { 0 };
	char name[PACK_NAME_MAX];
	owned_fd int fd = at_open(store->packsfd, pack_name(pack, name), O_RDWR, &ignored);

	*in_use = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0;
	return *in_use ? -1 : take_fd(&fd);
}

static int sweep_any_pack(
	struct sweep *sweep, struct store_pack *pack, uint64_t *freed, struct err *err)
{
	bool in_use;
	int r = keep_writers_out(sweep, err);

	if (r < 0)
		return r;
	/*
	 * No other process should have locked a pack now.  If one has locked this pack
	 * nevertheless, skip the pack.
	 */
	owned_fd int fd = lock_pack(sweep->store, pack->id, &in_use);
	if (in_use)
		return 0;
	r = recount_pack(sweep, pack, err);
	if (r < 0)
		return r;
	if (pack->listed && pack->file)
		return fd < 0 ? 0 : sweep_pack(sweep, pack, fd, err);
	if (!pack->listed && !pack->rows)
		return remove_orphan(sweep->store, pack->id, fd, freed, err);
	sweep->damaged++;
	return 0;
}

static int sweep_packs(
	struct sweep *sweep, struct store_packs *packs, uint64_t *freed, struct err *err)
{
	size_t small = 0;
	int r = 0;

	for (size_t i = 0; i < packs->count; i++)
		small += packs->list[i].listed && packs->list[i].size < SMALL;
	sweep->merge = small >= SMALL_PACKS;
	for (size_t i = 0; i < packs->count && r >= 0; i++) {
		r = sweep_any_pack(sweep, &packs->list[i], freed, err);
		let_writers_in(sweep);
	}
	return r;
}

static int count_packs(struct store *store, int64_t *packs, struct err *err)
{
	return db_number(store->db, err, packs, "SELECT count(*) FROM pack", "");
}

static uint64_t difference(uint64_t before, uint64_t after)
{
	return before > after ? before - after : 0;
}

static int sweep_locked(struct sweep *sweep, struct store_stats *freed, struct err *err)
{
	owned(store_packs_release) struct store_packs packs = { 0 };
	struct store *store = sweep->store;
	int64_t before = 0, after = 0;
	uint64_t orphans = 0;
	int r = store_end_pack(store, err);

	/*
	 * Move the rows of the table "fresh" to "object" before the sweep begins, in many short
	 * transactions.  Otherwise the first slice of the sweep would move all of them at once, and
	 * other processes would have to wait.
	 */
	while (r >= 0 && (r = store_settle_some(store, err)) > 0)
		;
	if (r >= 0)
		r = count_packs(store, &before, err);
	if (r >= 0)
		r = store_packs_load(store, &packs, err);
	if (r < 0)
		return r;
	struct store_stats added = store->added;
	store->moving = true;
	r = sweep_packs(sweep, &packs, &orphans, err);
	if (r >= 0)
		r = store_end_pack(store, err);
	store->moving = false;
	store->added = added;
	if (r < 0) {
		/*
		 * Refuse further work on this store.  The pending copies have rows already, and a
		 * later flush must not insert them again.
		 */
		store->broken = *err;
		return r;
	}
	r = count_packs(store, &after, err);
	if (r < 0)
		return r;
	*freed = (struct store_stats){
		.bytes = difference(sweep->removed, sweep->copied) + orphans + sweep->tails,
		.raw_bytes = sweep->dead.raw_bytes,
		.objects = sweep->dead.objects,
		.packs = difference((uint64_t)before, (uint64_t)after),
	};
	return 0;
}

int store_sweep(struct store *store, const struct store_sweeper *sweeper, struct store_stats *freed,
	struct err *err)
{
	struct sweep sweep = {
		.store = store,
		.sweeper = sweeper,
		.record = STORE_RECORD_INIT,
	};
	int r;

	if (store->read_only)
		return err_set(err, ERR_DENIED, "the environment is read-only here");
	pthread_mutex_lock(&store->lock);
	if (store->broken.code) {
		*err = store->broken;
		r = -(int)err->code;
	} else {
		r = sweep_locked(&sweep, freed, err);
		let_writers_in(&sweep);
	}
	pthread_mutex_unlock(&store->lock);
	store_record_release(&sweep.record);
	if (r < 0 || !sweep.damaged)
		return r;
	err_set(err, ERR_CORRUPT, "%llu packs are damaged and were kept: run 'strata fsck'",
		(unsigned long long)sweep.damaged);
	return err_hint(
		err, "'strata fsck' says what is damaged, 'strata fsck --repair' cleans up");
}
