/* mounts: writes the options of an overlay as one string. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/buf.h"
#include "core/own.h"
#include "sandbox/mounts.h"

#define FIXED "userxattr,index=off,metacopy=off,redirect_dir=nofollow,"

static void escapes_names(void **state)
{
	static const char *const lower[] = { "a", "b:c", "/d,e\\f" };
	struct sandbox_root root = { .lower = lower, .n_lower = 3, .upper = "u,", .work = "w:" };
	owned(buf_release) struct buf options = BUF_INIT;

	mounts_overlay_options(&root, &options);
	assert_string_equal(
		options.data, FIXED "lowerdir=a:b\\:c:/d\\,e\\\\f,upperdir=u\\,,workdir=w\\:");
	root.upper = root.work = NULL;
	root.n_lower = 1;
	buf_clear(&options);
	mounts_overlay_options(&root, &options);
	assert_string_equal(options.data, FIXED "lowerdir=a");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(escapes_names),
	};

	return cmocka_run_group_tests_name("mounts", tests, NULL, NULL);
}
