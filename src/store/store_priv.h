/*
 * store_priv - what store.c shares with the maintenance files of this folder.
 */
#pragma once
#include <pthread.h>

#include "store/pack.h"
#include "store/store.h"

#define STORE_PACK_TARGET ((uint64_t)256 << 20) /* a pack this large gets no more objects */
#define STORE_PACK_FDS 64
#define STORE_SCRATCH_PACK UINT32_MAX
#define STORE_FRESH_BATCH 8192        /* so many new rows are worth the large table at once */
#define STORE_FRESH_STEP 1024         /* moved there at a time by who has time */
#define STORE_FRESH_MAX 16384         /* more than this are moved there */
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
	struct store_place place; /* pack 0 while another thread is still compressing it */
};

/* A tree that was read or written, since who writes one has it compared soon. */
struct store_cached {
	struct object_key key;
	size_t len;
	char bytes[];
};

#define STORE_CACHE_SLOTS 4096
#define STORE_CACHE_OBJECT_MAX ((size_t)8 << 10)
#define STORE_CACHE_MAX ((size_t)4 << 20)

/* The disk at work on what was appended so far. */
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
	bool read_only;
	bool scratch;
	bool reading;         /* see store_reading_begin */
	pthread_mutex_t lock; /* guards everything below, and db while threads run */
	struct err broken;    /* code set: the first write failure; all puts fail with it */

	/* the pack being written */
	int out_fd;
	uint32_t out_pack;
	bool out_is_new;     /* its directory entry is not yet synced */
	uint64_t out_synced; /* end known to the database */
	uint64_t out_end;    /* end including what is in out_buf */
	struct buf out_buf;
	struct store_sync sync;

	/* objects put and not flushed: open addressing, by hash prefix */
	struct store_pending *pending;
	size_t pending_cap;
	size_t pending_count;

	struct store_stats added;
	struct store_stats unflushed; /* part of added not yet in the database's totals */
	bool moving; /* what is appended has rows already: a flush gives them the new place */

	struct {
		uint32_t id;
		int fd;
	} packs[STORE_PACK_FDS];
	struct store_cached **cache; /* by hash prefix; made when it is first filled */
	size_t cache_bytes;
};

/* All of these expect the lock to be held. */
int store_find(struct store *store, const struct object_key *key, struct store_place *place,
	struct err *err);                                               /* 1 / 0 / negative */
int store_pack_fd(struct store *store, uint32_t pack, struct err *err); /* borrowed */
void store_forget_pack(struct store *store, uint32_t pack);
/* Append an encoded record (header + stored bytes) and remember it as pending. */
int store_append(struct store *store, const uint8_t header[PACK_HEADER], const void *stored,
	const struct pack_record *record, struct err *err);
int store_flush_locked(struct store *store, struct err *err);
int store_seal_locked(struct store *store, struct err *err);
/* Hand over to the kernel what is in out_buf. */
int store_write_out(struct store *store, struct err *err);
/* Have the disk begin with what was appended; then wait until all of it is there. */
int store_sync_begin(struct store *store, struct err *err);
int store_sync_end(struct store *store, struct err *err);
void store_sync_abandon(struct store *store);
/* Move the rows that came lately to all others. */
int store_settle(struct store *store, struct err *err);
/* Only so many as a short transaction has room for.  1: there are more. */
int store_settle_some(struct store *store, struct err *err);
/* Start a pack with a number above all others, instead of going on with the last one. */
int store_new_pack(struct store *store, struct err *err);
/* Flush, then let go of the pack being written. */
int store_end_pack(struct store *store, struct err *err);

/* ---- for sweep, verify and repair ---- */

/* What the pack table, the directory and the rows of objects know about one pack. */
struct store_pack {
	uint32_t id;
	bool listed;   /* has a row in the pack table */
	bool file;     /* is in packs/ */
	uint64_t size; /* by the pack table */
	uint64_t rows; /* objects that are said to be in it */
};

struct store_packs {
	struct store_pack *list; /* by id */
	size_t count;
	size_t cap;
};

/* Of every pack any of the three knows.  Reads the whole index once. */
int store_packs_load(struct store *store, struct store_packs *packs, struct err *err);
struct store_pack *store_packs_find(struct store_packs *packs, uint32_t id);
void store_packs_release(struct store_packs *packs);

/* The parts of a record read last: header and stored bytes, and raw bytes. */
struct store_record {
	struct pack_record record;
	struct buf bytes;
	struct buf raw;
};

#define STORE_RECORD_INIT                                                                          \
	{                                                                                          \
		.bytes = BUF_INIT, .raw = BUF_INIT                                                 \
	}
void store_record_release(struct store_record *record);
/* Whether a well-formed header is at offset and its record ends before end. */
bool store_record_header(int fd, uint64_t offset, uint64_t end, struct pack_record *record);
/* NULL when there is an intact record, read into *record; else what is wrong with it. */
const char *store_record_read(int fd, uint64_t offset, uint64_t end, struct store_record *record);
/* Offset of the first well-formed header at offset or later; end when there is none. */
uint64_t store_record_seek(int fd, uint64_t offset, uint64_t end);
