/*
 * namepool - gives each name an address of its own, by which the name is recognised later.
 *
 * A program that asks for a name gets an address of 198.18.0.0/15, which is reserved for tests of
 * network devices and leads nowhere.  When the program connects to that address, the pool returns
 * the name.  A name keeps its address until NAMEPOOL_MAX other names have been added.
 */
#pragma once
#include "confine/hostname.h"

#define NAMEPOOL_MAX 16384
#define NAMEPOOL_FIRST 0xc6120001u /* 198.18.0.1 */

struct namepool;

struct namepool *namepool_new(void);
void namepool_free(struct namepool *pool);
/*
 * Set *out to the address of a name.  The name must have the form that hostname_read makes.  A new
 * name gets a new address.
 */
void namepool_give(struct namepool *pool, const char *name, union netspace_address *out);
/* Returns the name that an address stands for, or NULL.  The name belongs to the pool. */
const char *namepool_find(const struct namepool *pool, const union netspace_address *address);
