/*
 * capability - the rights of root that a command keeps in the user namespace of the sandbox.
 *
 * These are rights over that namespace only.  But they let a program reach much of the kernel's
 * code, and this code may have faults.  So a command that makes no sandboxes of its own keeps few
 * of these rights.  In a user namespace that a program makes, the program has all capabilities,
 * whichever it has in the sandbox.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

#define CAPABILITY_BIT(capability) (UINT64_C(1) << (capability))

/*
 * Returns the capabilities that programs such as apt, su and servers need.  If 'nested' is set, the
 * capabilities for making namespaces and mounts are added.
 */
uint64_t capability_set(bool nested);

/*
 * Limit the bounding set to the set 'kept', so that executed programs get no other capabilities.
 * Limit the ambient set, too.  Needs CAP_SETPCAP if the bounding set loses a capability.
 */
int capability_bound(uint64_t kept, struct err *err);
/* Limit the effective, permitted and inheritable sets to the set 'kept'. */
int capability_keep(uint64_t kept, struct err *err);
