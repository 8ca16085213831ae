/*
 * store - the objects of an environment: packs for the bytes, the database for
 * where they are.
 *
 * Durability: store_flush writes and syncs the pack before it inserts the rows
 * that point into it, inside the transaction the caller has open (or one of its
 * own).  An object that has a row is therefore always on disk.
 *
 * Many processes may write: each appends to a pack it holds the flock of.
 * store_put and store_get may be called from several threads.
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
	 * Puts go to a nameless temporary pack and are gone at close; blobs are
	 * only hashed.  For looking at a live tree without writing anywhere.
	 */
	STORE_SCRATCH = 1 << 1,
};

extern const char store_schema[]; /* SQL that makes the tables */

/* db and the environment's directory are borrowed and must outlive the store. */
struct store *store_open(int rootfd, struct db *db, unsigned flags, struct err *err);
/* What was put and not flushed is forgotten. */
void store_close(struct store *store);

/*
 * Keep bytes; *hash gets their name.  Already kept is success at the price of
 * a look-up.  After a failure every later put fails too: nothing half-written
 * is ever indexed.
 */
int store_put(struct store *store, enum object_type type, const void *bytes, size_t len,
	struct hash *hash, struct err *err);
/* The raw bytes, appended to out, checked against the hash. */
int store_get(struct store *store, enum object_type type, const struct hash *hash, struct buf *out,
	struct err *err);
/* 1 kept, 0 not, negative error. */
int store_has(struct store *store, enum object_type type, const struct hash *hash, struct err *err);
/*
 * Between these many objects are looked up, which then costs no locks of files.  The
 * database is used for nothing else meanwhile.  A failure only makes it slower.
 */
void store_reading_begin(struct store *store);
void store_reading_end(struct store *store);
/* As store_has, with the bytes an object takes on disk, its header included. */
int store_stored_size(struct store *store, enum object_type type, const struct hash *hash,
	uint64_t *bytes, struct err *err);
/* As store_has, with the length store_get would give. */
int store_raw_size(struct store *store, enum object_type type, const struct hash *hash,
	uint64_t *bytes, struct err *err);

/* Sync the pack and insert the rows of everything put so far. */
int store_flush(struct store *store, struct err *err);
/* A flush will follow soon: let the disk begin.  A failure shows then. */
void store_flush_ahead(struct store *store);

/*
 * The transaction a flush took part in was rolled back: its rows are gone, and
 * what the store believes to be indexed is not.  Every later put and flush fails with why.
 */
void store_poison(struct store *store, const struct err *why);

struct store_stats {
	uint64_t bytes;     /* stored, headers included */
	uint64_t raw_bytes; /* before compression */
	uint64_t objects;
	uint64_t packs;
};
/* Kept up to date with every flush: never walks anything. */
int store_stats(struct store *store, struct store_stats *stats, struct err *err);

/* Bytes and objects added by this process since open, flushed or not. */
struct store_stats store_added(const struct store *store);

/*
 * Flush, and let go of the pack that was written to: others, gc among them, may do with it
 * what they like until the next put.
 */
int store_rest(struct store *store, struct err *err);
/*
 * What the database says now is how it stays.  A writer that was killed while it committed may
 * have left its rows in the log, where nobody who has the database open sees them; when the last
 * of them is gone and the log is read anew, they come to life.  To be called, with no writer at
 * work, before anything outside the database is removed because it does not know of it.
 */
int store_seal(struct store *store, struct err *err);

/* ---- maintenance; the caller holds the store exclusively, or see begin ---- */

struct store_sweeper {
	/* Must not use the store. */
	bool (*live)(void *arg, const struct object_key *key);
	/*
	 * Around each short piece of work that nobody may write beside, so that writers get their
	 * turn between them: after begin nobody else writes, and live() knows what came
	 * meanwhile.  NULL: it is so anyway.
	 */
	int (*begin)(void *arg, struct err *err);
	void (*end)(void *arg);
	void *arg;
};

/*
 * Remove every object live() says no to and rewrite the packs that held
 * enough of them.  freed gets what was won.
 */
int store_sweep(struct store *store, const struct store_sweeper *sweeper, struct store_stats *freed,
	struct err *err);

/* One thing store_verify found; key.type is 0 when no single object is meant. */
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
/* Read and re-hash every object that has a row; check packs against rows. */
int store_verify(struct store *store, struct store_verify *verify, struct err *err);

/*
 * Give rows to intact records that have none, and take damaged records out of
 * the index; packs that held damage are copied to quarantine/ first.
 * *rescued and *dropped count objects.
 */
int store_repair(struct store *store, uint64_t *rescued, uint64_t *dropped, struct err *err);
