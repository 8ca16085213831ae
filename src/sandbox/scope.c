#include "sandbox/scope.h"

#include "core/own.h"
#include "sandbox/landlock.h"

static const struct landlock_rules only_sockets = { .scopes = LANDLOCK_SCOPE_ABSTRACT };

bool scope_probe(void)
{
	owned(buf_release) struct buf lacks = BUF_INIT;

	landlock_lacks(&only_sockets, &lacks);
	return !lacks.len;
}

int scope_enter(struct err *err)
{
	owned_fd int ruleset = -1;

	if (landlock_make(&only_sockets, &ruleset, err) < 0 || landlock_enter(ruleset, err) < 0)
		return err_context(err, "keep the machine's abstract sockets out");
	return 0;
}
