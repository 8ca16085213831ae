/*
 * capability - which rights of root a command keeps in the user namespace of the sandbox.
 *
 * These are rights over that namespace only.  They still open much of the kernel to a program that
 * looks for faults in it, so a program that makes no sandboxes of its own keeps few of them.  A
 * user namespace that a program makes has all capabilities again, whatever is kept here.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

#define CAPABILITY_BIT(capability) (UINT64_C(1) << (capability))

/* What programs as apt, su and servers need; with nested, also what makes namespaces and mounts. */
uint64_t capability_set(bool nested);

/*
 * Take all others out of the bounding set, so that no program that is executed gets them, and out
 * of the ambient set.  Needs CAP_SETPCAP, if any has to be taken out.
 */
int capability_bound(uint64_t kept, struct err *err);
/* Give up all others: effective, permitted and inheritable ones. */
int capability_keep(uint64_t kept, struct err *err);
