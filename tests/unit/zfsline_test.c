/* zfsline, zfsstatus: what zfs and zpool print is read, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/own.h"
#include "query/zfsline.h"
#include "query/zfsstatus.h"

static void assert_str(struct str text, const char *wanted)
{
	assert_int_equal(text.len, strlen(wanted));
	assert_memory_equal(text.ptr ?: "", wanted, text.len);
}

static void reads_datasets(void **state)
{
	struct zfsline_dataset out;

	assert_true(zfsline_dataset(STR("tank/a b\tfilesystem\t/tank/a b\t98304\t113"), &out));
	assert_str(out.name, "tank/a b");
	assert_str(out.mountpoint, "/tank/a b");
	assert_int_equal(out.used, 98304);
	assert_int_equal(out.available, 113);
	/* A tab and a newline in a mountpoint. */
	assert_true(zfsline_dataset(STR("t/o\tfilesystem\t/a\tb\nc\t1\t2"), &out));
	assert_str(out.mountpoint, "/a\tb\nc");
	assert_true(zfsline_dataset(STR("t/v\tvolume\t-\t10485760\t-"), &out));
	assert_int_equal(out.available, -1);
	assert_true(zfsline_dataset(STR("t/l\tfilesystem\tlegacy\t1\t2"), &out));
}

static void refuses_what_is_no_dataset(void **state)
{
	static const char *const lines[] = { "", "tank", "\tfilesystem\t/a\t1\t2",
		"t\tfilesystem\t/a\t1", "t\tfilesystem\t1\t2", "t\tsnapshot\t/a\t1\t2",
		"t\tfilesystem\trelative\t1\t2", "t\tfilesystem\t/a\tx\t2",
		"t\tfilesystem\t/a\t1\t2\t", "t\tfilesystem\t/a\t-1\t2",
		"t\tfilesystem\t/a\t1\t12345678901234567890" };
	struct zfsline_dataset out;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_false(zfsline_dataset(str_of(lines[i]), &out));
}

static void reads_snapshots(void **state)
{
	static const char *const bad[] = { "", "t/a\t1\t0\t0", "t/a@\t1\t0\t0", "@s\t1\t0\t0",
		"t/a@s\t-\t0\t0", "t/a@s\t1\t0", "t/a@s\t1\t0\t0\t0", "t/a@s\t1.5\t0\t0",
		"t/a@s\t \t0\t0" };
	struct zfsline_snapshot out;

	assert_true(zfsline_snapshot(STR("tank/a@with space\t1794706766\t0\t139264"), &out));
	assert_str(out.dataset, "tank/a");
	assert_str(out.name, "with space");
	assert_int_equal(out.creation, 1794706766);
	assert_int_equal(out.used, 0);
	assert_int_equal(out.referenced, 139264);
	assert_true(zfsline_snapshot(STR("t@s\t0\t-\t9999999999999999999"), &out));
	assert_int_equal(out.used, -1);
	assert_true(out.referenced == INT64_MAX);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(zfsline_snapshot(str_of(bad[i]), &out));
}

static void knows_temporary_snapshots(void **state)
{
	static const char *const kept[] = { "zfs-diff", "zfs-diff-", "zfs-diff-1", "zfs-diff-1-",
		"zfs-diff-old", "zfs-diff-1-xyz", "zfs-diff-x-00", "zfs-diff-1-00 " };

	assert_true(zfsline_is_temporary(STR("zfs-diff-844-00000000fffefab0")));
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		assert_false(zfsline_is_temporary(str_of(kept[i])));
}

static void reads_properties(void **state)
{
	static const char *const bad[] = { "", "t/a\tname\tvalue", "t/b\tname\tvalue\t-",
		"t/a\t\tvalue\t-", "t/a\tname\tvalue\there", "t/a\tname\tvalue\tinherited" };
	struct zfsline_property out;

	assert_true(
		zfsline_property(STR("t/a\tatime\toff\tinherited from tank"), STR("t/a"), &out));
	assert_str(out.name, "atime");
	assert_str(out.value, "off");
	assert_str(out.source, "inherited from tank");
	assert_true(zfsline_property(STR("t/a\tuser:x\ta\tb\nc\tlocal"), STR("t/a"), &out));
	assert_str(out.value, "a\tb\nc");
	assert_true(zfsline_property(STR("t/a\tuser:x\t\t-"), STR("t/a"), &out));
	assert_str(out.value, "");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(zfsline_property(str_of(bad[i]), STR("t/a"), &out));
}

static void reads_pools(void **state)
{
	static const char *const bad[] = { "", "tank\t1\t2\t3", "tank\t1\t2\t3\t", "\t1\t2\t3\tX",
		"tank\t1\t2\t3\tONLINE\t-", "tank\t1M\t2\t3\tONLINE" };
	struct pool out;

	assert_true(zfsline_pool(STR("tank\t251658240\t1863680\t-\tONLINE"), &out));
	assert_str(out.name, "tank");
	assert_int_equal(out.size, 251658240);
	assert_int_equal(out.free, -1);
	assert_str(out.health, "ONLINE");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(zfsline_pool(str_of(bad[i]), &out));
}

/* The escapes are those that zfs diff of 2.1 and 2.3 has written for these names. */
static void reads_changes(void **state)
{
	static const struct {
		const char *line;
		char op;
		enum entry_type type;
		const char *path, *new_path;
	} cases[] = {
		{ "M\tF\t/a/name\\0040with\\0040space", 'M', ENTRY_FILE, "/a/name with space", "" },
		{ "M\tF\t/a/back\\0134slash", 'M', ENTRY_FILE, "/a/back\\slash", "" },
		{ "M\tF\t/a/bad\\0377\\0376utf8", 'M', ENTRY_FILE, "/a/bad\xff\xfeutf8", "" },
		{ "M\tF\t/a/ctl\\0001\\0033\\0177x", 'M', ENTRY_FILE, "/a/ctl\x01\x1b\x7fx", "" },
		{ "M\tF\t/a/hl\t(+1)", 'M', ENTRY_FILE, "/a/hl", "" },
		{ "M\t/\t/a/", 'M', ENTRY_DIR, "/a/", "" },
		{ "R\tF\t/a/x\t/a/y\\0011z", 'R', ENTRY_FILE, "/a/x", "/a/y\tz" },
		{ "R\tF\t/a/x\t/a/y\t(+1)", 'R', ENTRY_FILE, "/a/x", "/a/y" },
		{ "+\t@\t/a/l", '+', ENTRY_LINK, "/a/l", "" },
		{ "+\t|\t/a/p", '+', ENTRY_FIFO, "/a/p", "" },
		{ "-\tB\t/a/b", '-', ENTRY_BLOCK, "/a/b", "" },
		{ "-\tC\t/a/c", '-', ENTRY_CHAR, "/a/c", "" },
		{ "-\t=\t/a/s", '-', ENTRY_SOCKET, "/a/s", "" },
	};
	owned(buf_release) struct buf path = BUF_INIT, new_path = BUF_INIT;
	struct zfsline_change out;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(zfsline_change(str_of(cases[i].line), &path, &new_path, &out));
		assert_int_equal(out.op, cases[i].op);
		assert_int_equal(out.type, cases[i].type);
		assert_str(out.path, cases[i].path);
		assert_str(out.new_path, cases[i].new_path);
	}
}

static void refuses_what_is_no_change(void **state)
{
	static const char *const lines[] = { "", "M", "M\tF", "M\tF\t", "X\tF\t/a", "MM\tF\t/a",
		"\tF\t/a", "M\t\t/a", "M\tFF\t/a", "R\tF\t/a", "R\tF\t/a\t", "M\tF\t/a\\",
		"M\tF\t/a\\040", "M\tF\t/a\\1040", "M\tF\t/a\\0400", "M\tF\t/a\\0x40",
		"M\tF\t/a\\0000b", "1794706764.5\tM\tF\t/a" };
	owned(buf_release) struct buf path = BUF_INIT, new_path = BUF_INIT;
	struct zfsline_change out;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_false(zfsline_change(str_of(lines[i]), &path, &new_path, &out));
	assert_false(zfsline_change(STR("\0\tF\t/a"), &path, &new_path, &out));
}

/* ------------------------------------------------------------- zpool status */

/* Write a pool as one line a device. */
static int note_status(void *arg, const struct pool_status *status, struct err *err)
{
	struct buf *out = arg;

	buf_addf(out, "%.*s", (int)status->name.len, status->name.ptr);
	for (unsigned i = 0; i < POOL_FACTS; i++)
		if (status->facts[i].ptr)
			buf_addf(out, "|%u=%.*s", i, (int)status->facts[i].len,
				status->facts[i].ptr);
	buf_adds(out, "\n");
	for (size_t i = 0; i < status->n_devices; i++) {
		const struct pool_device *device = &status->devices[i];

		buf_addf(out, "%u|%.*s|%.*s|%lld|%lld|%lld|%.*s\n", device->depth,
			(int)device->name.len, device->name.ptr, (int)device->state.len,
			device->state.ptr, (long long)device->read, (long long)device->write,
			(long long)device->checksum, (int)device->note.len, device->note.ptr);
	}
	return 0;
}

static void reads_the_status_of_pools(void **state)
{
	static const char text[] =
		"  pool: tank\n"
		" state: DEGRADED\n"
		"status: One or more devices could not be used because the label is missing or\n"
		"\tinvalid.\n"
		"action: Replace the device using 'zpool replace'.\n"
		"   see: https://openzfs.github.io/openzfs-docs/msg/ZFS-8000-4J\n"
		"  scan: resilvered 1.5M in 00:00:01 with 0 errors on Sun Nov 15 01:39:35 2026\n"
		"remove: Removal of vdev 1 copied 40K in 0h0m, completed on Sun Nov 15 2026\n"
		"\t2.32K memory used for removed device mappings\n"
		"config:\n"
		"\n"
		"\tNAME             STATE     READ WRITE CKSUM\n"
		"\ttank             DEGRADED     0     0     0\n"
		"\t  mirror-0       DEGRADED     0     0     0\n"
		"\t    /my disk/a   ONLINE       0     2  1.5K\n"
		"\t    99999999     UNAVAIL      0     0     0  was /dev/sdb1\n"
		"\tlogs\t\n"
		"\t  sdc            ONLINE       3     0     0\n"
		"\tspares\n"
		"\t  sdd            AVAIL   \n"
		"\t  sde            INUSE     currently in use\n"
		"\n"
		"errors: No known data errors\n"
		"\n"
		"  pool: two\n"
		" state: ONLINE\n"
		"config:\n"
		"\n"
		"\tNAME  STATE  READ WRITE CKSUM\n"
		"\ttwo   ONLINE    0     0     0\n"
		"\n"
		"errors: 2 data errors, use '-v' for a list\n";
	owned(buf_release) struct buf out = BUF_INIT;
	owned(arena_release) struct arena arena = { 0 };
	struct err err = { 0 };

	assert_int_equal(zfsstatus_read(str_of(text), &arena, note_status, &out, &err), 0);
	assert_string_equal(out.data,
		"tank|0=DEGRADED|1=One or more devices could not be used because the label is "
		"missing or invalid.|2=Replace the device using 'zpool replace'."
		"|3=https://openzfs.github.io/openzfs-docs/msg/ZFS-8000-4J"
		"|4=resilvered 1.5M in 00:00:01 with 0 errors on Sun Nov 15 01:39:35 2026"
		"|5=No known data errors\n"
		"0|tank|DEGRADED|0|0|0|\n"
		"1|mirror-0|DEGRADED|0|0|0|\n"
		"2|/my disk/a|ONLINE|0|2|1536|\n"
		"2|99999999|UNAVAIL|0|0|0|was /dev/sdb1\n"
		"0|logs||-1|-1|-1|\n"
		"1|sdc|ONLINE|3|0|0|\n"
		"0|spares||-1|-1|-1|\n"
		"1|sdd|AVAIL|-1|-1|-1|\n"
		"1|sde|INUSE|-1|-1|-1|currently in use\n"
		"two|0=ONLINE|5=2 data errors, use '-v' for a list\n"
		"0|two|ONLINE|0|0|0|\n");
}

static void tells_no_pools_from_no_status(void **state)
{
	owned(buf_release) struct buf out = BUF_INIT;
	owned(arena_release) struct arena arena = { 0 };
	struct err err = { 0 };

	assert_int_equal(zfsstatus_read(STR("\n"), &arena, note_status, &out, &err), 0);
	assert_int_equal(out.len, 0);
	assert_int_equal(
		zfsstatus_read(STR("all pools are healthy\n"), &arena, note_status, &out, &err),
		-ERR_CORRUPT);
	assert_string_equal(err.text, "'zpool status' printed no status of a pool");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_datasets),
		cmocka_unit_test(refuses_what_is_no_dataset),
		cmocka_unit_test(reads_snapshots),
		cmocka_unit_test(knows_temporary_snapshots),
		cmocka_unit_test(reads_properties),
		cmocka_unit_test(reads_pools),
		cmocka_unit_test(reads_changes),
		cmocka_unit_test(refuses_what_is_no_change),
		cmocka_unit_test(reads_the_status_of_pools),
		cmocka_unit_test(tells_no_pools_from_no_status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
