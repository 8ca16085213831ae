/*
 * scope - a boundary for abstract sockets, which mount and PID namespaces do not limit.
 *
 * An abstract socket has a name instead of a file, and belongs to a network namespace.  So a
 * sandbox with the machine's network also has the machine's abstract sockets: those of X servers,
 * message buses and containers, which trust any caller with our uid.  Landlock can keep a process
 * from connecting to sockets made outside of its domain.  A domain is inherited by fork alone, so
 * all processes that share one descend from the process that made it.
 *
 * The price: if a program inside makes a Landlock domain that restricts files, the kernel refuses
 * it to move or link files between directories (LANDLOCK_ACCESS_FS_REFER), below any other domain.
 * Our domain would have to restrict files to allow that, and then nothing inside could mount.
 */
#pragma once
#include <stdbool.h>

#include "core/err.h"

/* Whether the kernel has such boundaries: Linux 6.12 with Landlock. */
bool scope_probe(void);
/* Set a boundary for this process and its descendants, for good.  Needs CAP_SYS_ADMIN here. */
int scope_enter(struct err *err);
