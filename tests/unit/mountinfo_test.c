/* mountinfo: reads lines in the form of the kernel, and skips malformed ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/mountinfo.h"

static void reads_lines_with_any_number_of_tags(void **state)
{
	char text[] = "1 0 8:1 / / rw,relatime - ext4 /dev/root rw\n"
		      "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 shared:7 - fuse.sshfs host: rw\n";
	struct mountinfo mount;
	char *rest = text;

	assert_true(mountinfo_next(&rest, &mount));
	assert_string_equal(mount.root, "/");
	assert_string_equal(mount.point, "/");
	assert_string_equal(mount.type, "ext4");
	assert_string_equal(mount.source, "/dev/root");
	assert_true(mountinfo_next(&rest, &mount));
	assert_string_equal(mount.device, "98:0");
	assert_string_equal(mount.root, "/mnt1");
	assert_string_equal(mount.point, "/mnt2");
	assert_string_equal(mount.type, "fuse.sshfs");
	assert_false(mountinfo_next(&rest, &mount));
}

static void takes_escapes_out(void **state)
{
	char text[] = "1 0 0:1 /a\\134b /with\\040space\\011tab\\012line\\ rw - zfs "
		      "tank/with\\040space rw";
	struct mountinfo mount;
	char *rest = text;

	assert_true(mountinfo_next(&rest, &mount));
	assert_string_equal(mount.root, "/a\\b");
	assert_string_equal(mount.point, "/with space\ttab\nline\\");
	assert_string_equal(mount.source, "tank/with space");
}

static void passes_over_what_it_does_not_understand(void **state)
{
	char text[] = "\n1 2 3\n1 0 0:1 / /x rw no dash\n1 0 0:1 / /y rw -\n"
		      "1 0 0:1 / /here rw - proc proc rw\n";
	struct mountinfo mount;
	char *rest = text, *none = NULL;

	assert_true(mountinfo_next(&rest, &mount));
	assert_string_equal(mount.point, "/here");
	assert_false(mountinfo_next(&rest, &mount));
	assert_false(mountinfo_next(&none, &mount));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_lines_with_any_number_of_tags),
		cmocka_unit_test(takes_escapes_out),
		cmocka_unit_test(passes_over_what_it_does_not_understand),
	};

	return cmocka_run_group_tests_name("mountinfo", tests, NULL, NULL);
}
