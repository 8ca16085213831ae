/*
 * confine - system calls that reach past the namespaces of a sandbox.
 *
 * Namespaces decide what the inside can name.  A few calls need no name of the inside: a socket of
 * AF_VSOCK reaches the hypervisor from any network namespace, and an ioctl of btrfs
 * removes a subvolume by its number.  A seccomp filter refuses these calls and no
 * others: nested user, mount and PID namespaces work as without it.
 */
#pragma once
#include <stdbool.h>

#include "core/err.h"

/*
 * From now on this process and its children are refused these calls; with no_net also those that
 * reach another machine from an empty network namespace.  Takes CAP_SYS_ADMIN in
 * the caller's user namespace.
 */
int confine_calls(bool no_net, struct err *err);
