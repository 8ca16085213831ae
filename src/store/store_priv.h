/* store_priv - shared by store.c and the maintenance files of this folder. */
#pragma once
#include <pthread.h>

#include "store/pack.h"
#include "store/store.h"

#define STORE_PACK_TARGET ((uint64_t)256 << 20) /* a pack of this size gets no more objects */
#define STORE_PACK_FDS 64
#define STORE_SCRATCH_PACK UINT32_MAX
#define STORE_FRESH_BATCH 8192        /* so many rows at once bypass the table fresh */
#define STORE_FRESH_STEP 1024         /* rows that maintenance moves from fresh at a time */
#define STORE_FRESH_MAX 16384         /* if fresh has more rows, all are moved to object */
#define STORE_PENDING_MAX (64u << 10) /* rows held in memory before an automatic flush */

/* Where an object is. */
struct store_place {
	uint32_t pack;
	uint32_t stored; /* without the header */
	uint32_t raw;
	uint64_t offset; /* of the record header */
};

struct store_pending {
	struct object_key key;
	struct store_place place; /* pack is 0 while a thread is still compressing the object */
};

/*
 * A small object, such as a tree, that was read or written and is kept in memory.  A tree that was
 * written is often compared soon afterwards.
 */
struct store_cached {
	struct object_key key;
	size_t len;
	char bytes[];
};

#define STORE_CACHE_SLOTS 4096
#define STORE_CACHE_OBJECT_MAX ((size_t)8 << 10)
#define STORE_CACHE_MAX ((size_t)4 << 20)

/* A thread that syncs the bytes appended so far. */
struct store_sync {
	pthread_t thread;
	bool running;
	int fd;
	uint64_t end;
	int error;
};

struct store {
	int rootfd;  /* borrowed */
	int packsfd; /* owned: packs/ */
	struct db *db;
	bool read_only, scratch;
	bool reading;         /* see store_reading_begin */
	pthread_mutex_t lock; /* guards all members below, and db while threads run */
	struct err broken;    /* if code is set, a write has failed, and so will every put */

	/* the pack being written */
	int out_fd;
	uint32_t out_pack;
	bool out_is_new;     /* the directory entry of the pack is not yet synced */
	uint64_t out_synced; /* end of the pack that the database has recorded */
	uint64_t out_end;    /* end of the pack, with the bytes in out_buf */
	struct buf out_buf;
	struct store_sync sync;

	/* objects that were put and not flushed: open addressing, by hash prefix */
	struct store_pending *pending;
	size_t pending_cap, pending_count;

	struct store_stats added;
	/* the part of added that is not yet in the totals of the database */
	struct store_stats unflushed;
	bool moving; /* appended objects already have rows: a flush only updates their place */

	struct {
		uint32_t id;
		int fd;
	} packs[STORE_PACK_FDS];
	struct store_cached **cache; /* small objects by hash prefix; allocated when first used */
	size_t cache_bytes;
};

/* The caller of the functions in this part holds the lock of the store. */
int store_find(struct store *store, const struct object_key *key, struct store_place *place,
	struct err *err); /* 1 found, 0 not */
/*
 * Returns the place that a row of a query holds.  Four columns, beginning with the given one, are
 * pack, offset, stored and raw.
 */
struct store_place store_row_place(struct db_query *query, int column);
int store_pack_fd(struct store *store, uint32_t pack, struct err *err); /* borrowed */
void store_forget_pack(struct store *store, uint32_t pack);
/* Append an encoded record, its header and stored bytes, and note it as pending. */
int store_append(struct store *store, const uint8_t header[PACK_HEADER], const void *stored,
	const struct pack_record *record, struct err *err);
int store_flush_locked(struct store *store, struct err *err);
int store_seal_locked(struct store *store, struct err *err);
/* Write out_buf to the pack file. */
int store_write_out(struct store *store, struct err *err);
/*
 * store_sync_begin starts to sync the bytes appended so far.  store_sync_end waits until all bytes
 * are on disk.  store_sync_abandon only waits for the thread.
 */
int store_sync_begin(struct store *store, struct err *err);
int store_sync_end(struct store *store, struct err *err);
void store_sync_abandon(struct store *store);
/* Move all rows of the table fresh to the table object. */
int store_settle(struct store *store, struct err *err);
/* Move as many rows of fresh as a short transaction can.  Returns 1 if there are more. */
int store_settle_some(struct store *store, struct err *err);
/* Start a pack with a number above all others, instead of continuing the last one. */
int store_new_pack(struct store *store, struct err *err);
/* Flush, then release the pack being written. */
int store_end_pack(struct store *store, struct err *err);

/* ---- for sweep, verify and repair ---- */

/* One pack, as the pack table, the directory packs/ and the rows of objects show it. */
struct store_pack {
	uint32_t id;
	bool listed;   /* has a row in the pack table */
	bool file;     /* is in packs/ */
	uint64_t size; /* the size in the pack table */
	uint64_t rows; /* rows of objects that point into it */
};

struct store_packs {
	struct store_pack *list; /* sorted by id */
	size_t count, cap;
};

/*
 * Load every pack that the pack table, the directory or a row names.  Reads all rows of objects
 * once.
 */
int store_packs_load(struct store *store, struct store_packs *packs, struct err *err);
struct store_pack *store_packs_find(struct store_packs *packs, uint32_t id);
void store_packs_release(struct store_packs *packs);

/* The record that was read last: bytes has its header and stored bytes, raw has its raw bytes. */
struct store_record {
	struct pack_record record;
	struct buf bytes, raw;
};

#define STORE_RECORD_INIT                                                                          \
	{                                                                                          \
		.bytes = BUF_INIT, .raw = BUF_INIT                                                 \
	}
void store_record_release(struct store_record *record);
/* Whether a well-formed header is at offset and its record does not go beyond end. */
bool store_record_header(int fd, uint64_t offset, uint64_t end, struct pack_record *record);
/*
 * Read the record at offset into *record.  Returns NULL if it is intact, else what is wrong with
 * it.
 */
const char *store_record_read(int fd, uint64_t offset, uint64_t end, struct store_record *record);
/*
 * Returns the offset of the first well-formed header at offset or later, or end if there is none.
 */
uint64_t store_record_seek(int fd, uint64_t offset, uint64_t end);
