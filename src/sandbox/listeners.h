/* listeners - the TCP ports that programs listen on, in the network namespace of this process. */
#pragma once
#include <stdbool.h>

#include "sandbox/netspace.h"

/*
 * Whether a program accepts connections to a loopback address.  Returns false if the kernel does
 * not answer.
 */
bool listeners_accept(const union netspace_address *address);
