/*
 * zfspool - lists pools and their status by calls of zpool, with the functions of struct
 * family_ops.
 */
#pragma once
#include "query/family.h"

int zfspool_list(struct family *family, pool_visit visit, void *arg, struct err *err);
int zfspool_status(struct family *family, const char *pool, pool_status_visit visit, void *arg,
	struct err *err);
