/*
 * pqread - reading the tables that pqwrite writes.
 *
 * Opening reads the footer and all keys, not the contents.  Every length and offset is checked
 * against the file and a named limit before it is used: a damaged table gives ERR_CORRUPT or
 * ERR_LIMIT.  The row group read last is kept, so that reading rows in order expands each group
 * once.
 */
#pragma once
#include <stdint.h>

#include "core/err.h"
#include "core/str.h"

struct pqread;

/* fd is borrowed and must stay open. */
struct pqread *pqread_open(int fd, struct err *err);
/*
 * Large Snappy contents, which cannot be unpacked in pieces, go to a nameless file in this
 * directory (borrowed) instead of memory.
 */
void pqread_spool(struct pqread *table, int dirfd);
uint64_t pqread_rows(const struct pqread *table);
/* The key of a row; lives as long as the table. */
struct str pqread_key(const struct pqread *table, uint64_t row);
/* The row with this key: 1 and row, or 0.  Of repeated keys, the first row. */
int pqread_find(const struct pqread *table, struct str key, uint64_t *row);
/*
 * Pass a row's content to sink in pieces; an empty content in none.  A negative result of sink
 * stops and is returned.  Damage may be found after pieces have been passed on.
 */
int pqread_content(struct pqread *table, uint64_t row,
	int (*sink)(void *arg, const void *bytes, size_t len, struct err *err), void *arg,
	struct err *err);
void pqread_close(struct pqread *table);
void pqread_closep(struct pqread **table);
