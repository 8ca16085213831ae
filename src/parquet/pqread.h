/*
 * pqread - reads the tables that pqwrite writes.
 *
 * pqread_open reads the footer and all keys, but not the contents.  Every length and offset is
 * checked against the file and a named limit before it is used.  For a damaged table, functions
 * return ERR_CORRUPT or ERR_LIMIT.  The row group that was read last is kept, so that each group is
 * expanded only once when rows are read in order.
 */
#pragma once
#include <stdint.h>

#include "core/err.h"
#include "core/str.h"

struct pqread;

/* Open the table in fd, which is borrowed and must stay open.  Returns NULL on error. */
struct pqread *pqread_open(int fd, struct err *err);
/*
 * Set the directory for temporary files, which is borrowed.  Snappy cannot expand large contents in
 * pieces, so they are expanded as a whole.  This is done in an unnamed file in the directory, or in
 * memory if no directory is set.
 */
void pqread_spool(struct pqread *table, int dirfd);
uint64_t pqread_rows(const struct pqread *table);
/* Returns the key of a row.  The key is valid as long as the table is open. */
struct str pqread_key(const struct pqread *table, uint64_t row);
/* Find the first row with this key.  Returns 1 and sets *row, or returns 0 if there is none. */
int pqread_find(const struct pqread *table, struct str key, uint64_t *row);
/*
 * Pass the content of a row to the callback 'sink' in pieces.  For an empty content, the sink is
 * not called.  A negative result of the sink ends the call and is returned.  Damage may be found
 * after some pieces have been passed on.
 */
int pqread_content(struct pqread *table, uint64_t row,
	int (*sink)(void *arg, const void *bytes, size_t len, struct err *err), void *arg,
	struct err *err);
void pqread_close(struct pqread *table);
void pqread_closep(struct pqread **table);
