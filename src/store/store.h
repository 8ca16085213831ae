/*
 * store - the objects of an environment: packs hold the bytes, the database their places.
 *
 * Durability: store_flush writes and syncs the pack before it inserts the rows that point into it,
 * inside the caller's transaction if there is one.  So an object that has a row is always on disk.
 *
 * Several processes may write: each appends to a pack of which it holds the flock.  Several threads
 * may call store_put and store_get.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"
#include "store/db.h"
#include "store/object.h"

struct store;

enum store_flags {
	STORE_READ_ONLY = 1 << 0,
	/*
	 * Objects go to a nameless temporary pack and are gone at close; blobs are only hashed.
	 * For looking at a live tree without writing to the environment.
	 */
	STORE_SCRATCH = 1 << 1,
};

extern const char store_schema[]; /* SQL that makes the tables */

/* db and the environment's directory are borrowed and must outlive the store. */
struct store *store_open(int rootfd, struct db *db, unsigned flags, struct err *err);
/* Objects that were put and not flushed are lost. */
void store_close(struct store *store);

/*
 * Store bytes; *hash gets their name.  For an object that is already stored this is only a look-up.
 * After a failure every later put fails, too: nothing half-written is ever indexed.
 */
int store_put(struct store *store, enum object_type type, const void *bytes, size_t len,
	struct hash *hash, struct err *err);
/* Append the raw bytes to out; they are checked against the hash. */
int store_get(struct store *store, enum object_type type, const struct hash *hash, struct buf *out,
	struct err *err);
/* 1: the store has it.  0: not.  Negative: error. */
int store_has(struct store *store, enum object_type type, const struct hash *hash, struct err *err);
/*
 * Between these calls many objects are looked up, which then takes no file locks.  The database
 * must not be used for anything else.  A failure only makes it slower.
 */
void store_reading_begin(struct store *store);
void store_reading_end(struct store *store);
/* As store_has, with the bytes an object takes on disk, its header included, and its raw bytes. */
int store_size(struct store *store, const struct object_key *key, uint64_t *stored, uint64_t *raw,
	struct err *err);

/* Sync the pack and insert the rows of everything put so far. */
int store_flush(struct store *store, struct err *err);
/* Start writing to disk what a later store_flush has to sync.  The flush reports any failure. */
void store_flush_ahead(struct store *store);

/*
 * Called when the transaction of a flush was rolled back: its rows are gone, although the store
 * believes they are there.  Every later put and flush fails with why.
 */
void store_poison(struct store *store, const struct err *why);

struct store_stats {
	uint64_t bytes;     /* stored, headers included */
	uint64_t raw_bytes; /* before compression */
	uint64_t objects, packs;
};
/* Read from totals that every flush updates. */
int store_stats(struct store *store, struct store_stats *stats, struct err *err);

/* Bytes and objects added by this process since open, flushed or not. */
struct store_stats store_added(const struct store *store);

/*
 * Flush, and release the pack that was written to: until the next put, other processes such as gc
 * may work on it.
 */
int store_rest(struct store *store, struct err *err);
/*
 * Make sure that the database stays as it is now.
 *
 * A writer that was killed while it committed may have left its rows in the log, where no process
 * that has the database open sees them.  When the last of these processes is gone and the log is
 * read anew, the rows come to life.  So this is called, with no writer at work, before a file is
 * removed because the database does not know it.
 */
int store_seal(struct store *store, struct err *err);

/* ---- maintenance: the caller holds the store exclusively, or uses begin ---- */

struct store_sweeper {
	/* Whether an object is needed; must not use the store. */
	bool (*live)(void *arg, const struct object_key *key);
	/*
	 * Called around each short piece of work during which no other process may write; between
	 * two of them writers get their turn.  After begin, live() also knows the objects that came
	 * meanwhile.  NULL: the caller keeps writers out anyway.
	 */
	int (*begin)(void *arg, struct err *err);
	void (*end)(void *arg);
	void *arg;
};

/*
 * Remove every object for which live() is false, and rewrite packs that had many of them.  freed
 * gets what was freed.
 */
int store_sweep(struct store *store, const struct store_sweeper *sweeper, struct store_stats *freed,
	struct err *err);

/* A fault found by store_verify; key.type is 0 when it is about no single object. */
struct store_fault {
	struct object_key key;
	const char *what;
	uint32_t pack;
};

struct store_verify {
	void (*fault)(void *arg, const struct store_fault *fault);
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *arg;
	uint64_t objects; /* out: checked */
	uint64_t bytes;
};
/* Read and hash every object that has a row, and check the packs against the rows. */
int store_verify(struct store *store, struct store_verify *verify, struct err *err);

/*
 * Insert rows for intact records that have none, and delete the rows of damaged ones.  Damaged
 * packs are copied to quarantine/ first.  *rescued and *dropped count objects.
 */
int store_repair(struct store *store, uint64_t *rescued, uint64_t *dropped, struct err *err);
