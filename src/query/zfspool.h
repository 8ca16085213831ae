/*
 * zfspool - the functions 'pools' and 'pool_status' of struct family_ops for ZFS.  They call zpool.
 */
#pragma once
#include "query/family.h"

int zfspool_list(struct family *family, pool_visit visit, void *arg, struct err *err);
int zfspool_status(struct family *family, const char *pool, pool_status_visit visit, void *arg,
	struct err *err);
