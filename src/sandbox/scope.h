/*
 * scope - keeps a sandbox from connecting to abstract sockets of the machine.
 *
 * An abstract socket has a name instead of a file, and belongs to a network namespace.  So a
 * sandbox with the machine's network also has the machine's abstract sockets: those of X servers,
 * message buses and containers.  The owners of these sockets trust any caller with the same uid.
 * Landlock can keep a process from connecting to abstract sockets that were made outside of its
 * domain.  A process gets into an existing domain only by fork, so all processes of a domain
 * descend from the process that made it.
 *
 * Such a boundary has a price.  The domain of a sandbox does not restrict files.  A program of the
 * sandbox may enter a further Landlock domain, which restricts files.  Then the kernel does not let
 * that program move or link files between directories (LANDLOCK_ACCESS_FS_REFER), whatever its own
 * domain allows.  If the sandbox's domain restricted files, too, the kernel would allow this, but
 * then no program of the sandbox could mount anything.
 */
#pragma once
#include <stdbool.h>

#include "core/err.h"

/* Whether the kernel supports such boundaries.  This needs Linux 6.12 with Landlock. */
bool scope_probe(void);
/*
 * Set a boundary for this process and its descendants, for good.  Needs CAP_SYS_ADMIN in the user
 * namespace of this process.
 */
int scope_enter(struct err *err);
