/*
 * scope - keeps a sandbox from connecting to abstract sockets of the machine.
 *
 * An abstract socket has a name instead of a file, and belongs to a network namespace.  So a
 * sandbox with the machine's network also has the machine's abstract sockets: those of X servers,
 * message buses and containers, which trust any caller with our uid.  Landlock can keep a process
 * from connecting to abstract sockets made outside of its domain.  A process gets into an existing
 * domain only by fork, so all processes of a domain descend from the one that made it.
 *
 * The price: our domain does not restrict files.  If a program inside makes a Landlock domain below
 * ours that does, the kernel does not let that program move or link files between directories
 * (LANDLOCK_ACCESS_FS_REFER), whatever its own domain allows.  It would if our domain restricted
 * files, too, but then no program inside could mount anything.
 */
#pragma once
#include <stdbool.h>

#include "core/err.h"

/* Whether the kernel has such boundaries: Linux 6.12 with Landlock. */
bool scope_probe(void);
/*
 * Set a boundary for this process and its descendants, for good.  Needs CAP_SYS_ADMIN in our user
 * namespace.
 */
int scope_enter(struct err *err);
