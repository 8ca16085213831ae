/*
 * scope - a boundary for abstract sockets, which file systems and PID namespaces do not bound.
 *
 * An abstract socket has a name instead of a file, and belongs to a network namespace.  So with
 * the machine's network the machine's abstract sockets are there as well: those of X servers,
 * message buses and containers, which take a caller with our uid for ourselves.  Landlock can keep
 * a process from connecting to those made outside of its domain.  A domain comes to a process by
 * fork alone: whoever shall share one descends from the process that made it.
 *
 * The price: below any domain, whatever it is about, the kernel refuses one that restricts files
 * to move or link a file from one directory to another (LANDLOCK_ACCESS_FS_REFER).  A domain that
 * allows this has to restrict files itself, and then nobody inside could mount anything.
 */
#pragma once
#include <stdbool.h>

#include "core/err.h"

/* Whether the kernel has such boundaries: Linux 6.12 with Landlock. */
bool scope_probe(void);
/* Set one for this process and its descendants, for good.  Takes CAP_SYS_ADMIN here. */
int scope_enter(struct err *err);
