/* listeners - the TCP ports that programs listen on, in the network namespace of this process. */
#pragma once
#include <stdbool.h>

#include "sandbox/netspace.h"

/*
 * Whether a program accepts connections to a loopback address.  False if the kernel does not
 * tell.
 */
bool listeners_accept(const union netspace_address *address);
