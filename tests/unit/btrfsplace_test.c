/* btrfsplace: finds names, times and live subvolumes in the paths of snapshots. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/own.h"
#include "query/btrfsplace.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool is_text(struct str text, const char *expected)
{
	return str_eq(text, str_of(expected));
}

static void knows_the_layouts(void **state)
{
	static const struct {
		const char *path, *name, *live, *dir, *stem;
		bool dated, numbered;
	} cases[] = {
		{ "/home/.snapshots/12/snapshot", "12", "/home", "/home", "", false, true },
		{ "/.snapshots/12/snapshot", "12", "/", "", "", false, true },
		{ "/bk/12/snapshot", "12", NULL, "/bk", "", false, true },
		{ "/home/.snapshots/x/snapshot", "snapshot", NULL, "/home/.snapshots/x", "", false,
			false },
		{ "/home/.snapshots/12/other", "other", NULL, "/home/.snapshots/12", "", false,
			false },
		{ "/t/timeshift-btrfs/snapshots/2025-01-01_10-00-01/@", "2025-01-01_10-00-01",
			"/t/@", "/t/timeshift-btrfs/snapshots", "@", true, false },
		{ "/timeshift-btrfs/snapshots/2025-01-01_10-00-01/@home", "2025-01-01_10-00-01",
			"/@home", "/timeshift-btrfs/snapshots", "@home", true, false },
		{ "/bk/home.20250101T0930", "home.20250101T0930", NULL, "/bk", "home", true,
			false },
		{ "/bk/2025-01-01", "2025-01-01", NULL, "/bk", "", true, false },
		{ "/bk/2025-01-01/home", "2025-01-01", NULL, "/bk", "home", true, false },
		{ "/2025-01-01/home", "2025-01-01", NULL, "", "home", true, false },
		{ "/bk/before", "before", NULL, "/bk", "", false, false },
		{ "/before", "before", NULL, "", "", false, false },
		{ "/", "", NULL, "", "", false, false },
		{ "/snapshot", "snapshot", NULL, "", "", false, false },
		{ "/1/snapshot", "1", NULL, "", "", false, true },
		{ "/timeshift-btrfs/snapshots/@", "@", NULL, "/timeshift-btrfs/snapshots", "",
			false, false },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		owned(arena_release) struct arena arena = { 0 };
		struct btrfsplace place;

		btrfsplace_of(cases[i].path, &arena, &place);
		if (!is_text(place.name, cases[i].name) || !is_text(place.dir, cases[i].dir) ||
			!is_text(place.stem, cases[i].stem) || place.dated != cases[i].dated ||
			place.numbered != cases[i].numbered || !place.live != !cases[i].live ||
			(place.live && strcmp(place.live, cases[i].live) != 0))
			fail_msg("%s: %.*s, live %s, dir %.*s, stem %.*s", cases[i].path,
				(int)place.name.len, place.name.ptr, place.live ?: "-",
				(int)place.dir.len, place.dir.ptr, (int)place.stem.len,
				place.stem.ptr);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_the_layouts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
