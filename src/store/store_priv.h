/*
 * store_priv - the state of a store, and the functions that store.c and the maintenance files
 * share.
 */
#pragma once
#include <pthread.h>

#include "store/pack.h"
#include "store/store.h"

/* a pack of at least this many bytes gets no further objects */
#define STORE_PACK_TARGET ((uint64_t)256 << 20)
#define STORE_PACK_FDS 64
#define STORE_SCRATCH_PACK UINT32_MAX
/* a batch of at least this many rows is inserted into "object" and not into "fresh" */
#define STORE_FRESH_BATCH 8192
/* number of rows that maintenance moves out of "fresh" in one transaction */
#define STORE_FRESH_STEP 1024
/* if "fresh" has more rows, all of them are moved to "object" */
#define STORE_FRESH_MAX 16384
/* as soon as this many objects have no row yet, the store is flushed */
#define STORE_PENDING_MAX (64u << 10)

/* The place of an object. */
struct store_place {
	uint32_t pack;
	uint32_t stored; /* number of stored bytes, without the header */
	uint32_t raw;
	uint64_t offset; /* position of the record's header */
};

struct store_pending {
	struct object_key key;
	struct store_place place; /* the pack is 0 while a thread is still compressing the object */
};

/*
 * A small object, such as a tree.  It is kept in memory after it was read or written, because a
 * tree that was just written is often compared soon afterwards.
 */
struct store_cached {
	struct object_key key;
	size_t len;
	char bytes[];
};

#define STORE_CACHE_SLOTS 4096
#define STORE_CACHE_OBJECT_MAX ((size_t)8 << 10)
#define STORE_CACHE_MAX ((size_t)4 << 20)

/* A thread that syncs the bytes that have been appended so far. */
struct store_sync {
	pthread_t thread;
	bool running;
	int fd;
	uint64_t end;
	int error;
};

struct store {
	int rootfd;  /* the environment's directory, borrowed */
	int packsfd; /* the directory packs/, owned */
	struct db *db;
	bool read_only, scratch;
	bool reading;         /* see store_reading_begin */
	pthread_mutex_t lock; /* protects all members below, and db while threads run */
	struct err broken;    /* if its code is set, a write has failed, and all later puts fail */

	/* the pack that is being written to */
	int out_fd;
	uint32_t out_pack;
	bool out_is_new;     /* the directory that contains the pack has not been synced yet */
	uint64_t out_synced; /* end of the pack in the database */
	uint64_t out_end;    /* end of the pack, including the bytes in out_buf */
	struct buf out_buf;
	struct store_sync sync;

	/* the objects that were put and have no row yet, in a hash table with open addressing */
	struct store_pending *pending;
	size_t pending_cap, pending_count;

	struct store_stats added;
	/* the part of 'added' that is not in the totals of the database yet */
	struct store_stats unflushed;
	/* a flush only updates the place in each row, since its objects have rows already */
	bool moving;

	struct {
		uint32_t id;
		int fd;
	} packs[STORE_PACK_FDS];
	struct store_cached **cache; /* cache of small objects; made when it is first used */
	size_t cache_bytes;
};

/* The caller of the following functions must hold the lock of the store. */
int store_find(struct store *store, const struct object_key *key, struct store_place *place,
	struct err *err); /* returns 1 if the object is found, 0 if not */
/*
 * Returns the place of an object from a row of a query.  'column' must be the number of the column
 * with the pack.  The three columns after that one must be offset, stored and raw.
 */
struct store_place store_row_place(struct db_query *query, int column);
/* Returns the descriptor of a pack's file, which is borrowed. */
int store_pack_fd(struct store *store, uint32_t pack, struct err *err);
void store_forget_pack(struct store *store, uint32_t pack);
/* Append a record, which is a header and the stored bytes, and note the object as pending. */
int store_append(struct store *store, const uint8_t header[PACK_HEADER], const void *stored,
	const struct pack_record *record, struct err *err);
int store_flush_locked(struct store *store, struct err *err);
int store_seal_locked(struct store *store, struct err *err);
/* Write out_buf to the pack file. */
int store_write_out(struct store *store, struct err *err);
/*
 * store_sync_begin starts to sync the bytes that were appended so far.  store_sync_end waits until
 * all bytes are on disk.  store_sync_abandon only waits for the thread to end.
 */
int store_sync_begin(struct store *store, struct err *err);
int store_sync_end(struct store *store, struct err *err);
void store_sync_abandon(struct store *store);
/* Move all rows of the table "fresh" to the table "object". */
int store_settle(struct store *store, struct err *err);
/*
 * Move as many rows out of "fresh" as fit into a short transaction.  Returns 1 if "fresh" still has
 * rows.
 */
int store_settle_some(struct store *store, struct err *err);
/* Start a pack with a number greater than all others, instead of continuing the newest pack. */
int store_new_pack(struct store *store, struct err *err);
/* Flush, then release the pack that is being written to. */
int store_end_pack(struct store *store, struct err *err);

/* ---- for sweep, verify and repair ---- */

/* A pack, as the pack table, the directory packs/ and the rows of objects describe it. */
struct store_pack {
	uint32_t id;
	bool listed;   /* the pack table has a row for it */
	bool file;     /* the directory packs/ has a file for it */
	uint64_t size; /* the size in the pack table */
	uint64_t rows; /* number of rows of objects in the pack */
};

struct store_packs {
	struct store_pack *list; /* in the order of ids */
	size_t count, cap;
};

/*
 * List every pack that the pack table, the directory packs/ or a row of an object refers to.  The
 * function reads all rows of objects once.
 */
int store_packs_load(struct store *store, struct store_packs *packs, struct err *err);
struct store_pack *store_packs_find(struct store_packs *packs, uint32_t id);
void store_packs_release(struct store_packs *packs);

/*
 * The record that was read last.  'bytes' has its header and its stored bytes, and 'raw' has its
 * raw bytes.
 */
struct store_record {
	struct pack_record record;
	struct buf bytes, raw;
};

#define STORE_RECORD_INIT                                                                          \
	{                                                                                          \
		.bytes = BUF_INIT, .raw = BUF_INIT                                                 \
	}
void store_record_release(struct store_record *record);
/*
 * Whether a well-formed header is at the given offset, and its record does not extend beyond 'end'.
 */
bool store_record_header(int fd, uint64_t offset, uint64_t end, struct pack_record *record);
/*
 * Read the record at 'offset' into *record.  Returns NULL if the record is intact, else a text that
 * describes the damage.
 */
const char *store_record_read(int fd, uint64_t offset, uint64_t end, struct store_record *record);
/*
 * Returns the offset of the first well-formed header that is at the given offset or behind it.
 * Returns 'end' if there is none.
 */
uint64_t store_record_seek(int fd, uint64_t offset, uint64_t end);
