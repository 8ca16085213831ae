/* capability: the rights that a process keeps, and those of the programs that it executes. */
#include <errno.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/buf.h"
#include "core/own.h"
#include "core/procfile.h"
#include "sandbox/capability.h"
#include "userns_fixture.h"

static unsigned long long own_set(const char *name)
{
	owned(buf_release) struct buf status = BUF_INIT;
	struct err err = { 0 };

	if (procfile_read("/proc/self/status", 1 << 16, &status, &err) < 0)
		return ~0ULL;
	const char *line = strstr(status.data, name);
	return line ? strtoull(line + strlen(name), NULL, 16) : ~0ULL;
}

static int check_kept(void *arg, struct err *err)
{
	static const char *const sets[] = { "CapInh:\t", "CapPrm:\t", "CapEff:\t", "CapBnd:\t",
		"CapAmb:\t" };
	const uint64_t kept = *(const uint64_t *)arg;

	if (unshare(CLONE_NEWUSER) < 0)
		return err_errno(err, "unshare");
	if (capability_bound(kept, err) < 0 || capability_keep(kept, err) < 0)
		return -(int)err->code;
	for (int i = 0; i < 5; i++)
		if (own_set(sets[i]) & ~kept)
			return err_set(err, ERR_INVALID, "%s%llx", sets[i], own_set(sets[i]));
	if (own_set("CapPrm:\t") != kept || own_set("CapEff:\t") != kept)
		return err_set(err, ERR_INVALID, "too few are left");
	/* No capability is left to be removed, so the right to remove them is not needed. */
	return capability_bound(kept, err);
}

static void skip_unless_possible(void)
{
	char why[SANDBOX_USER_WHY_MAX];

	if (is_userns_possible(why))
		return;
	printf("# skip: %s\n", why);
	skip();
}

static void keeps_only_these(void **state)
{
	const uint64_t sets[] = { 0, CAPABILITY_BIT(CAP_KILL), capability_set(false),
		capability_set(true) };

	skip_unless_possible();
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		struct err err = { 0 };
		uint64_t kept = sets[i];

		if (child_do(check_kept, &kept, &err) < 0)
			fail_msg("%llx: %s", (unsigned long long)kept, err.text);
	}
}

static void keeps_rights_over_mounts_for_sandboxes_only(void **state)
{
	assert_false(capability_set(false) & CAPABILITY_BIT(CAP_SYS_ADMIN));
	assert_true(capability_set(true) & CAPABILITY_BIT(CAP_SYS_ADMIN));
	assert_int_equal(capability_set(false) & ~capability_set(true), 0);
	assert_false(capability_set(true) & CAPABILITY_BIT(CAP_SYS_MODULE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_only_these),
		cmocka_unit_test(keeps_rights_over_mounts_for_sandboxes_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
