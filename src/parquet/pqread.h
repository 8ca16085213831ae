/*
 * pqread - reading the tables that pqwrite writes.
 *
 * Opening reads the footer and all keys, not the contents.  Every length and
 * offset in the file is checked against the file and a named limit before it is
 * believed: a damaged table gives ERR_CORRUPT or ERR_LIMIT, never more.  The row
 * group read last is kept, so that reading rows in order expands each group once.
 */
#pragma once
#include <stdint.h>

#include "core/err.h"
#include "core/str.h"

struct pqread;

/* fd is borrowed and must stay open. */
struct pqread *pqread_open(int fd, struct err *err);
/*
 * Where a large content is unpacked that cannot be in pieces (Snappy): an unnamed
 * file in this directory, borrowed.  In memory otherwise.
 */
void pqread_spool(struct pqread *table, int dirfd);
uint64_t pqread_rows(const struct pqread *table);
/* The key of a row; lives as long as the table. */
struct str pqread_key(const struct pqread *table, uint64_t row);
/* The row with this key: 1 and row, or 0.  Of a key there twice, the first. */
int pqread_find(const struct pqread *table, struct str key, uint64_t *row);
/*
 * Hand a row's content to sink, in pieces, an empty one in none; sink's negative result
 * stops and is returned.  Damage may be found after pieces have been handed out.
 */
int pqread_content(struct pqread *table, uint64_t row,
	int (*sink)(void *arg, const void *bytes, size_t len, struct err *err), void *arg,
	struct err *err);
void pqread_close(struct pqread *table);
void pqread_closep(struct pqread **table);
