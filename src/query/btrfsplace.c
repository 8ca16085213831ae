#include "query/btrfsplace.h"

#include "query/snapname.h"

#define DIGITS_MAX 18 /* digits of a number of snapper */

/* Remove the last name and the slash before it from a path.  Returns the name. */
static struct str take_last(struct str *path)
{
	size_t at = path->len;

	while (at && path->ptr[at - 1] != '/')
		at--;
	struct str name = { path->ptr + at, path->len - at };
	path->len = at ? at - 1 : 0;
	return name;
}

static bool is_number(struct str name)
{
	for (size_t i = 0; i < name.len; i++)
		if (name.ptr[i] < '0' || name.ptr[i] > '9')
			return false;
	return name.len && name.len <= DIGITS_MAX;
}

static const char *join_live(struct arena *arena, struct str dir, struct str name)
{
	if (name.len)
		return arena_printf(
			arena, "%.*s/%.*s", (int)dir.len, dir.ptr, (int)name.len, name.ptr);
	return dir.len ? arena_str(arena, dir).ptr : "/";
}

static bool as_snapper(struct str rest, struct arena *arena, struct btrfsplace *place)
{
	struct str last = take_last(&rest);
	struct str number = take_last(&rest);
	struct str above = rest;

	if (!str_eq(last, STR("snapshot")) || !is_number(number))
		return false;
	place->numbered = true;
	place->name = number;
	place->dir = rest;
	if (str_eq(take_last(&above), STR(".snapshots"))) {
		place->dir = above;
		place->live = join_live(arena, above, STR(""));
	}
	return true;
}

static bool as_timeshift(struct str rest, struct arena *arena, struct btrfsplace *place)
{
	struct str last = take_last(&rest);
	struct str date = take_last(&rest);
	struct str dir = rest;

	if (!str_eq(take_last(&rest), STR("snapshots")) ||
		!str_eq(take_last(&rest), STR("timeshift-btrfs")) || !date.len)
		return false;
	place->name = date;
	place->dir = dir;
	place->stem = last;
	place->dated = true;
	place->live = join_live(arena, rest, last);
	return true;
}

/* Find the start of the last date in a name.  Returns false if there is none. */
static bool find_date(struct str name, size_t *at)
{
	int64_t instant;
	bool found = false;

	for (size_t i = 0; i < name.len; i++) {
		struct str rest = { name.ptr + i, name.len - i };

		if (!snapname_time(rest, &instant))
			break;
		found = true;
		*at = i;
	}
	return found;
}

static void as_plain(struct str rest, struct btrfsplace *place)
{
	struct str last = take_last(&rest);
	struct str above = rest;
	struct str outer = take_last(&above);
	size_t at;

	place->name = last;
	place->dir = rest;
	if (find_date(last, &at)) {
		while (at && strchr("-._@: ", last.ptr[at - 1]))
			at--;
		place->stem = (struct str){ last.ptr, at };
		place->dated = true;
	} else if (find_date(outer, &at)) {
		place->name = outer;
		place->dir = above;
		place->stem = last;
		place->dated = true;
	}
}

void btrfsplace_of(const char *path, struct arena *arena, struct btrfsplace *place)
{
	struct str rest = str_of(path);

	*place = (struct btrfsplace){ 0 };
	while (rest.len && rest.ptr[rest.len - 1] == '/')
		rest.len--;
	if (!as_snapper(rest, arena, place) && !as_timeshift(rest, arena, place))
		as_plain(rest, place);
}
