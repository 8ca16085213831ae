/*
 * capability - which rights of root a command keeps in the user namespace of the sandbox.
 *
 * These are rights over that namespace only.  But they let a program reach much of the kernel's
 * code, which may have faults, so a command that makes no sandboxes of its own keeps few of them.
 * In a user namespace that a program makes, it has all capabilities again, whatever is kept here.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

#define CAPABILITY_BIT(capability) (UINT64_C(1) << (capability))

/*
 * Returns the capabilities that programs such as apt, su and servers need.  With nested, adds those
 * for making namespaces and mounts.
 */
uint64_t capability_set(bool nested);

/*
 * Take all capabilities but kept out of the bounding set, so that no executed program gets them,
 * and out of the ambient set.  Needs CAP_SETPCAP if there is one to take out.
 */
int capability_bound(uint64_t kept, struct err *err);
/* Take all capabilities but kept out of the effective, permitted and inheritable sets. */
int capability_keep(uint64_t kept, struct err *err);
