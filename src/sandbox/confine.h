/*
 * confine - refuses system calls that reach past the namespaces of a sandbox.
 *
 * Namespaces limit the names that programs in the sandbox can use.  A few calls reach outside
 * without such a name: a socket of AF_VSOCK reaches the hypervisor from any network namespace, and
 * an ioctl of btrfs removes a subvolume by its number.  A seccomp filter refuses these calls and no
 * others.  Nested user, mount and PID namespaces work with the filter as they do without it.
 */
#pragma once
#include <stdbool.h>

#include "core/err.h"

/*
 * From now on, this process and its children cannot make the calls that reach past namespaces.  If
 * no_net is set, they also cannot make the calls that can reach another machine even from an empty
 * network namespace.  Needs CAP_SYS_ADMIN in the caller's user namespace.
 */
int confine_calls(bool no_net, struct err *err);
