/*
 * store - the objects of an environment.  The bytes of the objects are in packs, and the database
 * records the place of each object.
 *
 * store_flush first writes and syncs the pack.  Then it inserts the rows that refer to the pack,
 * inside the caller's transaction if one is open.  So an object that has a row is always on disk.
 *
 * Several processes may write at the same time, since each of them appends to a pack that it has
 * locked (flock).  Several threads may call store_put and store_get.
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
	 * Objects are written to a temporary pack without a name, and are gone after store_close.
	 * Blobs are only hashed.  This flag is for reading a live tree without writing to the
	 * environment.
	 */
	STORE_SCRATCH = 1 << 1,
};

extern const char store_schema[]; /* SQL that makes the tables of a store */

/*
 * Open the store in the environment's directory rootfd.  rootfd and db are borrowed and must
 * outlive the store.  Returns NULL on error.
 */
struct store *store_open(int rootfd, struct db *db, unsigned flags, struct err *err);
/* Close a store, which may be NULL.  Objects that were put and not flushed are lost. */
void store_close(struct store *store);

/*
 * Store bytes as an object, and set *hash to its name.  Nothing is written if the store already has
 * the object.  After a failure all later puts fail, so no incomplete object ever gets a row.
 */
int store_put(struct store *store, enum object_type type, const void *bytes, size_t len,
	struct hash *hash, struct err *err);
/* Append the raw bytes of an object to *out, after checking them against the hash. */
int store_get(struct store *store, enum object_type type, const struct hash *hash, struct buf *out,
	struct err *err);
/* Returns 1 if the store has the object, 0 if not, or a negative error. */
int store_has(struct store *store, enum object_type type, const struct hash *hash, struct err *err);
/*
 * Between store_reading_begin and store_reading_end, the look-up of an object takes no file locks.
 * This is faster for many objects.  The database must not be used for another purpose in between.
 * A failure of store_reading_begin is not reported, since look-ups only stay slower.
 */
void store_reading_begin(struct store *store);
void store_reading_end(struct store *store);
/*
 * Look up an object, with the same result as store_has.  *stored is set to the number of bytes that
 * the object takes on disk, including its header.  *raw is set to the number of its raw bytes.
 */
int store_size(struct store *store, const struct object_key *key, uint64_t *stored, uint64_t *raw,
	struct err *err);

/* Sync the pack, and insert the rows of all objects put so far. */
int store_flush(struct store *store, struct err *err);
/*
 * Start to write to disk the bytes that a later store_flush has to sync.  The flush reports any
 * failure of this write.
 */
void store_flush_ahead(struct store *store);

/*
 * Make all later puts and flushes fail with the error *why.  The caller uses this after a
 * transaction with a flush was rolled back.  The rows of the flush are gone then, but the store
 * still assumes that it has their objects.
 */
void store_poison(struct store *store, const struct err *why);

struct store_stats {
	uint64_t bytes;     /* bytes on disk, including headers */
	uint64_t raw_bytes; /* bytes before compression */
	uint64_t objects, packs;
};
/* Get the totals of the store, which every flush updates. */
int store_stats(struct store *store, struct store_stats *stats, struct err *err);

/* Returns the bytes and objects that this process has added since store_open, flushed or not. */
struct store_stats store_added(const struct store *store);

/*
 * Flush, and unlock the pack that was written to.  Until the next put, other processes such as gc
 * may lock it.
 */
int store_rest(struct store *store, struct err *err);
/*
 * Make sure that no rows of a killed writer can appear in the database later.
 *
 * A writer that was killed during its commit may have left rows in the log.  No process that has
 * the database open sees these rows.  After the last of these processes has closed the database,
 * the log is read again, and the rows appear.  So a caller that removes files because the database
 * has no rows for them must call store_seal first.  No process may write to the store during the
 * call.
 */
int store_seal(struct store *store, struct err *err);

/* ---- maintenance: the caller must keep other writers out, or set 'begin' and 'end' ---- */

struct store_sweeper {
	/* Returns whether an object is needed.  This function must not use the store. */
	bool (*live)(void *arg, const struct object_key *key);
	/*
	 * The functions 'begin' and 'end' are called before and after each short piece of work
	 * during which no other process may write.  Other processes can write between two pieces.
	 * So after a call of 'begin', live() must also return true for the objects that those
	 * processes have stored.  Both functions are NULL if the caller keeps other writers out all
	 * the time.
	 */
	int (*begin)(void *arg, struct err *err);
	void (*end)(void *arg);
	void *arg;
};

/*
 * Remove every object for which live() returns false.  Packs that had many such objects are
 * rewritten.  *freed is set to the totals of the removed objects.
 */
int store_sweep(struct store *store, const struct store_sweeper *sweeper, struct store_stats *freed,
	struct err *err);

/* A fault that store_verify has found.  key.type is 0 if the fault is not about a single object. */
struct store_fault {
	struct object_key key;
	const char *what;
	uint32_t pack;
};

struct store_verify {
	void (*fault)(void *arg, const struct store_fault *fault);
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *arg;
	uint64_t objects; /* out: number of checked objects */
	uint64_t bytes;
};
/* Read and hash every object that has a row, and check that packs and rows agree. */
int store_verify(struct store *store, struct store_verify *verify, struct err *err);

/*
 * Insert rows for intact records that have none, and delete the rows of damaged records.  Damaged
 * packs are copied to quarantine/ first.  *rescued is set to the number of rows that were inserted
 * or corrected, and *dropped to the number of deleted rows.
 */
int store_repair(struct store *store, uint64_t *rescued, uint64_t *dropped, struct err *err);
