/* btrfslines: which subvolumes become snapshots of one dataset.  The test needs no file system. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/buf.h"
#include "core/own.h"
#include "core/when.h"
#include "query/btrfslines.h"

/*
 * Make a list of subvolumes from texts: "ID PATH rPARENT+RECEIVED".  The letter is w if the
 * subvolume is writable, or r if it is read-only.  PARENT is the ID of the subvolume from which it
 * was made, or 0.  There may be no subvolume with that ID.  RECEIVED is the ID of the subvolume
 * that was sent; "+RECEIVED" can be left out.
 */
static void make_vols(struct btrfsvols *vols, const char *const *texts, size_t n)
{
	*vols = (struct btrfsvols){ .n = n, .n_paths = n };
	vols->list = calloc(n + 1, sizeof(*vols->list));
	vols->paths = calloc(n + 1, sizeof(*vols->paths));
	for (size_t i = 0; i < n; i++) {
		unsigned id, parent = 0, received = 0;
		char path[200], access;

		assert_true(sscanf(texts[i], "%u %199s %c%u+%u", &id, path, &access, &parent,
				    &received) >= 4);
		struct btrfsvol *vol = &vols->list[i];
		*vol = (struct btrfsvol){
			.id = id,
			.read_only = access == 'r',
			.creation = id * WHEN_SECOND,
			.path = arena_strdup(&vols->arena, path),
		};
		memcpy(vol->uuid, &id, sizeof(id));
		memcpy(vol->parent, &parent, sizeof(parent));
		memcpy(vol->received, &received, sizeof(received));
		vols->paths[i] = (struct btrfsvol_path){ vol->path, i };
	}
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k && strcmp(vols->paths[k - 1].path, vols->paths[k].path) > 0;
			k--) {
			struct btrfsvol_path swap = vols->paths[k];

			vols->paths[k] = vols->paths[k - 1];
			vols->paths[k - 1] = swap;
		}
}

/*
 * Find the lines of these subvolumes, and compare them with a text: "NAME(SNAPSHOT SNAPSHOT)
 * NAME(…)".
 */
static void check(const char *const *texts, size_t n, const char *expected)
{
	owned(btrfsvols_release) struct btrfsvols vols;
	owned(btrfslines_release) struct btrfslines lines = { 0 };
	owned(buf_release) struct buf found = BUF_INIT;

	make_vols(&vols, texts, n);
	btrfslines_find(&lines, &vols);
	for (size_t i = 0; i < lines.n; i++) {
		const struct btrfsline *line = &lines.list[i];

		buf_addf(&found, "%s%s(", i ? " " : "", line->name);
		for (size_t k = 0; k < line->n; k++) {
			buf_addf(&found, "%s%s", k ? " " : "", line->points[k].name);
			assert_ptr_equal(
				btrfslines_point(line, line->points[k].name), &line->points[k]);
		}
		buf_adds(&found, ")");
		assert_ptr_equal(btrfslines_get(&lines, line->name), line);
	}
	assert_string_equal(found.data ?: "", expected);
}

#define CHECK(expected, ...)                                                                       \
	check((const char *const[]){ __VA_ARGS__ },                                                \
		sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *), expected)

static void snapshots_of_snapshots_belong_to_the_live_subvolume(void **state)
{
	CHECK("", "1 /a w0", "2 /b r0");
	CHECK("a(s1 s2 s3)", "1 /a w0", "2 /s1 r1", "3 /s2 r2", "4 /s3 r3");
	CHECK("a(s1) w(s2)", "1 /a w0", "2 /s1 r1", "3 /w w2", "4 /s2 r3");
	CHECK("rootfs(s)", "1 / w0", "2 /s r1");
}

static void received_snapshots_belong_to_what_was_sent(void **state)
{
	CHECK("a(x:s y:s)", "1 /a w0", "2 /x/s r1", "3 /y/s r0+2");
	CHECK("bk(s1 s2 s3)", "3 /bk/s1 r0+90", "4 /bk/s2 r3+91", "5 /bk/s3 r4+92");
}

static void a_restored_subvolume_adopts_the_line(void **state)
{
	CHECK("a(s1 s2)", "2 /s1 r1", "3 /s2 r1", "4 /a w2");
	/* With two copies of a snapshot, the live subvolume of the line is unknown. */
	CHECK("s(1 2)", "2 /s/1 r1", "3 /s/2 r1", "4 /a w2", "5 /b w2");
}

static void series_are_told_apart_by_their_stems(void **state)
{
	CHECK("bk/home(home.20250101 home.20250102) bk/root(root.20250101)",
		"11 /bk/home.20250101 r0+90", "12 /bk/home.20250102 r0+91",
		"13 /bk/root.20250101 r0+92");
	CHECK("bk(20250101 20250102)", "11 /bk/20250101 r0+90", "12 /bk/20250102 r0+91");
	CHECK("bk/home(2025-01-01 2025-01-02)", "11 /bk/2025-01-01/home r0+90",
		"12 /bk/2025-01-02/home r0+91");
	CHECK("bk(7 8)", "11 /bk/7/snapshot r0+90", "12 /bk/8/snapshot r0+91");
}

static void layouts_need_common_ancestors(void **state)
{
	CHECK("h(1 2)", "1 /h w0", "2 /h/.snapshots w0", "3 /h/.snapshots/1/snapshot r1",
		"4 /h/.snapshots/2/snapshot w1", "5 /h/.snapshots/3/snapshot w0",
		"6 /h/.snapshots/4/snapshot w99");
	/*
	 * A rollback has made the live subvolume from a snapshot.  The first live subvolume is
	 * gone.
	 */
	CHECK("h(1 2)", "3 /h/.snapshots/1/snapshot r1", "4 /h/.snapshots/2/snapshot r1",
		"5 /h w3");
	/*
	 * A snapshot in this directory that was made from another subvolume belongs to that
	 * subvolume.
	 */
	CHECK("h(1) o(9)", "1 /h w0", "2 /o w0", "3 /h/.snapshots/1/snapshot r1",
		"4 /h/.snapshots/9/snapshot r2");
	CHECK("t/_(2025-01-01_10-00-01) t/_home(2025-01-01_10-00-01)", "1 /t/@ w0", "2 /t/@home w0",
		"3 /t/timeshift-btrfs/snapshots/2025-01-01_10-00-01/@ w1",
		"4 /t/timeshift-btrfs/snapshots/2025-01-01_10-00-01/@home w2");
}

static void names_are_unique_and_have_a_form(void **state)
{
	CHECK("a(s:x t:x y)", "1 /a w0", "2 /s/x r1", "3 /t/x r1", "4 /y r1");
	CHECK("a(s:x:2 s:x:3)", "1 /a w0", "2 /1/s/x r1", "3 /2/s/x r1");
	CHECK("a_/b_(x_y)", "1 /a@/b+ w0", "2 /x@y r1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(snapshots_of_snapshots_belong_to_the_live_subvolume),
		cmocka_unit_test(received_snapshots_belong_to_what_was_sent),
		cmocka_unit_test(a_restored_subvolume_adopts_the_line),
		cmocka_unit_test(series_are_told_apart_by_their_stems),
		cmocka_unit_test(layouts_need_common_ancestors),
		cmocka_unit_test(names_are_unique_and_have_a_form),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
