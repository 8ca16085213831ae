#include "query/zfslist.h"

#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"
#include "query/snapname.h"
#include "query/zfsline.h"
#include "query/zfstool.h"

/* a list is used for this long if its stamp cannot show changes */
#define MOMENT (WHEN_SECOND / 5)
/* maximum age of a list, since its sizes may change without a change of the stamp */
#define AGE_MAX (20 * WHEN_SECOND)

/* ------------------------------------------------------------------- asking */

struct asking {
	struct tool_call call;
	const char *dataset;
	zfslist_take take;
	void *arg;
};

static void release_asking(struct asking *asking)
{
	tool_release(&asking->call);
}

static int take_line(void *arg, struct str line, struct err *err)
{
	struct asking *asking = arg;
	struct zfsline_snapshot snapshot;

	if (!zfsline_snapshot(line, &snapshot))
		return zfstool_garbage(&asking->call, line, "a snapshot", err);
	if (asking->dataset && !str_eq(snapshot.dataset, str_of(asking->dataset)))
		return 0;
	return asking->take(asking->arg, &snapshot, err);
}

int zfslist_ask(
	struct family *family, const char *dataset, zfslist_take take, void *arg, struct err *err)
{
	/* If 'dataset' is NULL, a NULL in the place of "-d" ends the arguments. */
	const char *const argv[] = { "zfs", "list", "-H", "-p", "-t", "snapshot", "-o",
		"name,creation,used,referenced", dataset ? "-d" : NULL, "1", dataset, NULL };
	owned(release_asking) struct asking asking = {
		.call = { .argv = argv, .visit = take_line },
		.dataset = dataset,
		.take = take,
		.arg = arg,
	};

	asking.call.arg = &asking;
	return zfstool_run(family, &asking.call, err);
}

/* ----------------------------------------------------------------- validity */

void zfslist_release(struct zfslist *list)
{
	buf_release(&list->names);
	free(list->rows);
	*list = (struct zfslist){ 0 };
}

void zfslist_forget(struct zfslist *list)
{
	list->made = 0;
}

static bool is_good(const struct zfslist *list, const struct dirstamp *stamp)
{
	int64_t age = when_monotonic() - list->made;

	if (!list->made || age > AGE_MAX || list->stamp.known != stamp->known)
		return false;
	if (stamp->known && !dirstamp_is_same(&list->stamp, stamp))
		return false;
	return age <= MOMENT || dirstamp_is_settled(&list->stamp);
}

/* ----------------------------------------------------------- filling a list */

int zfslist_add(struct zfslist *list, const struct zfsline_snapshot *snapshot, struct err *err)
{
	if (zfsline_is_temporary(snapshot->name))
		return 0;
	if (!snapname_is_snapshot(snapshot->name)) {
		list->left_out++;
		return 0;
	}
	mem_grow(&list->rows, &list->cap, list->n);
	list->rows[list->n++] = (struct zfslist_row){
		.creation = when_of(snapshot->creation, 0),
		.used = snapshot->used,
		.referenced = snapshot->referenced,
		.name = list->names.len,
	};
	list->names.max = ZFSLIST_BYTES_MAX;
	buf_add(&list->names, snapshot->name.ptr, snapshot->name.len);
	buf_addc(&list->names, '\0');
	if (list->n <= ZFSLIST_SNAPSHOTS_MAX && !list->names.overflowed)
		return 0;
	return err_set(err, ERR_UNSUPPORTED, "'%.*s' has more than %d snapshots",
		(int)snapshot->dataset.len, snapshot->dataset.ptr, ZFSLIST_SNAPSHOTS_MAX);
}

/*
 * Compare rows by their time.  Rows of the same second keep the order in which zfs lists them,
 * since zfs lists older snapshots first.  Their names are in the buffer in this order.
 */
static int compare_rows(const void *a, const void *b)
{
	const struct zfslist_row *x = a, *y = b;

	if (x->creation != y->creation)
		return x->creation < y->creation ? -1 : 1;
	return x->name < y->name ? -1 : 1;
}

void zfslist_sort(struct zfslist *list)
{
	if (list->n)
		qsort(list->rows, list->n, sizeof(*list->rows), compare_rows);
}

static int take_snapshot(void *arg, const struct zfsline_snapshot *snapshot, struct err *err)
{
	return zfslist_add(arg, snapshot, err);
}

int zfslist_update(struct zfslist *list, struct family *family, const char *dataset,
	const struct dirstamp *stamp, struct err *err)
{
	if (list->visitors || is_good(list, stamp))
		return 0;
	zfslist_release(list);
	int r = zfslist_ask(family, dataset, take_snapshot, list, err);
	if (r < 0) {
		zfslist_release(list);
		return r;
	}
	zfslist_sort(list);
	list->stamp = *stamp;
	list->made = when_monotonic();
	return 0;
}

/* ----------------------------------------------------------- reading a list */

static struct provider_snapshot snapshot_at(const struct zfslist *list, size_t i)
{
	const struct zfslist_row *row = &list->rows[i];

	return (struct provider_snapshot){
		.name = list->names.data + row->name,
		.creation = row->creation,
		.used = row->used,
		.refer = row->referenced,
	};
}

int zfslist_visit(struct zfslist *list, provider_snapshot_visit visit, void *arg, struct err *err)
{
	int r = 0;

	list->visitors++;
	for (size_t i = 0; r == 0 && i < list->n; i++) {
		struct provider_snapshot snapshot = snapshot_at(list, i);

		r = visit(arg, &snapshot, err);
	}
	list->visitors--;
	return r < 0 ? r : 0;
}

bool zfslist_find(const struct zfslist *list, const char *name, struct provider_snapshot *out)
{
	for (size_t i = 0; i < list->n; i++) {
		*out = snapshot_at(list, i);
		if (!strcmp(out->name, name))
			return true;
	}
	return false;
}
