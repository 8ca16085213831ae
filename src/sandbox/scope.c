#include "sandbox/scope.h"

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/own.h"

/* Debian 12's header is older than this part of the interface. */
#define CREATE_RULESET_VERSION 1U
#define SCOPE_ABSTRACT_UNIX_SOCKET 1U
#define ABI_WITH_SCOPES 6

struct ruleset {
	uint64_t files, net, scoped;
};

bool scope_probe(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION) >=
	       ABI_WITH_SCOPES;
}

int scope_enter(struct err *err)
{
	const struct ruleset only_sockets = { .scoped = SCOPE_ABSTRACT_UNIX_SOCKET };
	owned_fd int ruleset =
		(int)syscall(SYS_landlock_create_ruleset, &only_sockets, sizeof(only_sockets), 0);

	if (ruleset < 0 || syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return err_errno(err, "keep the machine's abstract sockets out");
	return 0;
}
