/*
 * Checks the row of every object against the pack that the row refers to.  Several threads do this.
 *
 * Rows are read in the order of packs and offsets, and gathered into batches.  The rows of a batch
 * refer to one pack.  Threads check the batches, and each thread opens the packs itself.  The
 * batches are in a ring buffer, and leave it in the order in which they were filled.  So the
 * calling thread reports faults in the order of packs and offsets.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/par.h"
#include "store/store_priv.h"

#define BATCH_ROWS 512
#define BATCH_BYTES ((uint64_t)4 << 20)
#define RING_SIZE (2 * PAR_MAX)

struct row {
	struct object_key key;
	struct store_place place;
	const char *fault; /* NULL: the record is intact */
};

struct batch {
	struct check *check;
	struct store_pack pack;
	size_t count;
	uint64_t bytes;
	atomic_bool done;
	struct row rows[BATCH_ROWS];
};

struct check {
	struct store *store;
	struct store_verify *verify;
	struct store_packs packs;
	struct par *par;
	struct batch *ring;
	/* position of the first batch that threads have, and the number of such batches */
	size_t head, count;
	uint64_t total;
	struct store_stats sums;
};

static void report_fault(
	struct check *check, const struct object_key *key, uint32_t pack, const char *what)
{
	struct store_fault fault = { .what = what, .pack = pack };

	if (key)
		fault.key = *key;
	if (check->verify->fault)
		check->verify->fault(check->verify->arg, &fault);
}

/* -------------------------------------------------------------- in the threads */

static const char *check_row(int fd, const struct store_pack *pack, uint64_t file_size,
	const struct row *row, struct store_record *record)
{
	uint64_t end = row->place.offset + PACK_HEADER + row->place.stored;

	if (row->place.raw > OBJECT_MAX || row->place.stored > row->place.raw)
		return "index row with impossible length";
	if (row->place.offset < PACK_START || row->place.offset > pack->size || end > pack->size)
		return "index row points outside its pack";
	if (end > file_size)
		return "pack is cut off";
	if (!store_record_header(fd, row->place.offset, pack->size, &record->record))
		return "record header is damaged";
	if (record->record.key.type != row->key.type ||
		!hash_eq(&record->record.key.hash, &row->key.hash) ||
		record->record.stored != row->place.stored || record->record.raw != row->place.raw)
		return "index row and record differ";
	return store_record_read(fd, row->place.offset, pack->size, record);
}

static const char *open_pack(
	struct store *store, const struct store_pack *pack, int *fd, uint64_t *size)
{
	char name[PACK_NAME_MAX];
	struct err ignored;
	struct statx stx;

	if (!pack->file)
		return "pack file is missing";
	*fd = at_open(store->packsfd, pack_name(pack->id, name), O_RDONLY, &ignored);
	if (*fd < 0 || at_fd_stat(*fd, &stx) < 0)
		return "pack cannot be opened";
	*size = stx.stx_size;
	return NULL;
}

static void check_batch(void *arg)
{
	owned(store_record_release) struct store_record record = STORE_RECORD_INIT;
	struct batch *batch = arg;
	uint64_t size = 0;
	owned_fd int fd = -1;
	const char *lost = batch->pack.listed
				   ? open_pack(batch->check->store, &batch->pack, &fd, &size)
				   : "index row points at a pack that is not listed";

	for (size_t i = 0; i < batch->count; i++) {
		struct row *row = &batch->rows[i];

		row->fault = lost ? lost : check_row(fd, &batch->pack, size, row, &record);
	}
	atomic_store(&batch->done, true);
}

/* ------------------------------------------------------- in the calling thread */

static void retire_batch(struct check *check)
{
	struct store_verify *verify = check->verify;
	struct batch *batch = &check->ring[check->head];

	while (!atomic_load(&batch->done))
		par_wait_some(check->par);
	for (size_t i = 0; i < batch->count; i++)
		if (batch->rows[i].fault)
			report_fault(
				check, &batch->rows[i].key, batch->pack.id, batch->rows[i].fault);
	verify->objects += batch->count;
	verify->bytes += batch->bytes;
	check->head = (check->head + 1) % RING_SIZE;
	check->count--;
	if (verify->progress)
		verify->progress(verify->arg, verify->objects, check->total);
}

/*
 * Returns the batch that is being filled.  In the ring, it is after the batches that threads have.
 */
static struct batch *current_batch(struct check *check)
{
	return &check->ring[(check->head + check->count) % RING_SIZE];
}

static void submit_batch(struct check *check)
{
	struct batch *batch = current_batch(check);

	if (!batch->count)
		return;
	batch->check = check;
	atomic_store(&batch->done, false);
	check->count++;
	par_submit(check->par, check_batch, batch);
	if (check->count == RING_SIZE)
		retire_batch(check);
	batch = current_batch(check);
	batch->count = 0;
	batch->bytes = 0;
}

static void add_row(struct check *check, const struct row *row)
{
	struct batch *batch = current_batch(check);

	if (batch->count && (batch->pack.id != row->place.pack || batch->count == BATCH_ROWS ||
				    batch->bytes >= BATCH_BYTES)) {
		submit_batch(check);
		batch = current_batch(check);
	}
	if (!batch->count) {
		const struct store_pack *pack = store_packs_find(&check->packs, row->place.pack);

		batch->pack = pack ? *pack : (struct store_pack){ .id = row->place.pack };
	}
	batch->rows[batch->count++] = *row;
	batch->bytes += PACK_HEADER + row->place.stored;
}

static bool fits32(int64_t value)
{
	return value >= 0 && value <= UINT32_MAX;
}

/* Read a row of the index.  Returns false if the row is malformed. */
static bool read_row(struct db_query *query, struct row *row)
{
	struct str hash = db_bytes(query, 0);
	int64_t type = db_int(query, 1);

	if (hash.len != HASH_SIZE || type < OBJECT_BLOB || type >= OBJECT_TYPE_END ||
		!fits32(db_int(query, 2)) || db_int(query, 3) < 0 || !fits32(db_int(query, 4)) ||
		!fits32(db_int(query, 5)))
		return false;
	*row = (struct row){
		.key.type = (enum object_type)type,
		.place = store_row_place(query, 2),
	};
	memcpy(row->key.hash.bytes, hash.ptr, HASH_SIZE);
	return true;
}

static int check_rows(struct check *check, struct err *err)
{
	owned(db_donep) struct db_query *query = db_query(check->store->db, err,
		"SELECT hash, type, pack, offset, stored, raw FROM every_object"
		" ORDER BY pack, offset",
		"");
	struct row row;
	int r;

	while ((r = db_step(query, err)) > 0) {
		if (!read_row(query, &row)) {
			check->sums.objects++;
			report_fault(check, NULL, 0, "malformed index row");
			continue;
		}
		check->sums.objects++;
		check->sums.bytes += PACK_HEADER + row.place.stored;
		check->sums.raw_bytes += row.place.raw;
		add_row(check, &row);
	}
	submit_batch(check);
	while (check->count)
		retire_batch(check);
	return r;
}

static const char *check_pack(struct store *store, const struct store_pack *pack)
{
	char magic[PACK_START];
	owned_fd int fd = -1;
	uint64_t size;

	if (!pack->listed)
		return NULL; /* every row that refers to the pack is a fault */
	const char *lost = open_pack(store, pack, &fd, &size);
	if (lost)
		return lost;
	if (at_pread_full(fd, magic, PACK_START, 0) != PACK_START ||
		memcmp(magic, PACK_MAGIC, PACK_START))
		return "pack has no valid start";
	return size < pack->size ? "pack is cut off" : NULL;
}

static int check_totals(struct check *check, struct err *err)
{
	struct store_stats stats;
	int r = store_stats(check->store, &stats, err);

	if (r < 0)
		return r;
	if (stats.bytes != check->sums.bytes || stats.raw_bytes != check->sums.raw_bytes ||
		stats.objects != check->sums.objects)
		report_fault(check, NULL, 0, "totals are wrong");
	return 0;
}

static int check_all(struct check *check, struct err *err)
{
	int64_t total = 0;
	int r = db_number(check->store->db, err, &total, "SELECT count(*) FROM every_object", "");

	check->total = (uint64_t)total;
	if (r >= 0)
		r = store_packs_load(check->store, &check->packs, err);
	for (size_t i = 0; i < check->packs.count && r >= 0; i++) {
		const char *fault = check_pack(check->store, &check->packs.list[i]);

		if (fault)
			report_fault(check, NULL, check->packs.list[i].id, fault);
	}
	if (r >= 0)
		r = check_rows(check, err);
	if (r >= 0)
		r = check_totals(check, err);
	return r;
}

static int run_checks(struct check *check, struct err *err)
{
	check->ring = mem_zalloc(RING_SIZE * sizeof(*check->ring));
	check->par = par_new(par_cpus());
	int r = check_all(check, err);
	par_free(check->par);
	free(check->ring);
	store_packs_release(&check->packs);
	return r;
}

int store_verify(struct store *store, struct store_verify *verify, struct err *err)
{
	struct check check = { .store = store, .verify = verify };
	struct err why = { 0 };

	verify->objects = verify->bytes = 0;
	int r = db_check(store->db, &why);
	bool reported = r == -ERR_CORRUPT;
	if (reported)
		report_fault(&check, NULL, 0, why.text);
	if (r >= 0 || reported)
		r = run_checks(&check, &why);
	/* A database may be too damaged to be read to its end.  Report that as a fault, too. */
	if (r == -ERR_CORRUPT) {
		if (!reported)
			report_fault(&check, NULL, 0, why.text);
		return 0;
	}
	if (r < 0)
		*err = why;
	return r < 0 ? r : 0;
}
