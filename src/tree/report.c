#include "tree/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

#define LOGICAL_EXAMPLES 10

void report_release(struct report *report)
{
	for (size_t i = 0; i < report->n_items; i++) {
		free((char *)report->items[i].path.ptr);
		free(report->items[i].what);
	}
	free(report->items);
	*report = (struct report)REPORT_INIT;
}

/*
 * Whether the report has an item of this kind about this path.  One command may read a tree more
 * than once, but must report and count each file only once.
 */
static bool is_listed(const struct report *report, enum report_kind kind, struct str path)
{
	for (size_t i = report->n_items; i-- > 0;)
		if (report->items[i].kind == kind && str_eq(report->items[i].path, path))
			return true;
	return false;
}

void report_add(struct report *report, enum report_kind kind, struct str path, const char *fmt, ...)
{
	char what[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	pthread_mutex_lock(&report->lock);
	if (kind == REPORT_UNREADABLE && report->n_items < REPORT_LIST_MAX &&
		is_listed(report, kind, path)) {
		pthread_mutex_unlock(&report->lock);
		return;
	}
	report->count[kind]++;
	/*
	 * List only a few examples, since a user without privileges may have very many files whose
	 * owners or devices are only in the history.
	 */
	if (report->n_items < REPORT_LIST_MAX &&
		(kind != REPORT_LOGICAL || report->count[kind] <= LOGICAL_EXAMPLES)) {
		mem_grow(&report->items, &report->cap, report->n_items);
		report->items[report->n_items++] = (struct report_item){
			.kind = kind,
			.path = { mem_dup(path.ptr, path.len), path.len },
			.what = mem_strdup(what),
		};
	}
	pthread_mutex_unlock(&report->lock);
}

void report_merge(struct report *report, const struct report *from)
{
	uint64_t unlisted[REPORT_KINDS];

	memcpy(unlisted, from->count, sizeof(unlisted));
	for (size_t i = 0; i < from->n_items; i++) {
		const struct report_item *item = &from->items[i];

		report_add(report, item->kind, item->path, "%s", item->what);
		unlisted[item->kind]--;
	}
	pthread_mutex_lock(&report->lock);
	for (size_t kind = 0; kind < REPORT_KINDS; kind++)
		report->count[kind] += unlisted[kind];
	pthread_mutex_unlock(&report->lock);
}

const char *report_kind_name(enum report_kind kind)
{
	static const char *const names[REPORT_KINDS] = {
		[REPORT_UNREADABLE] = "unreadable",
		[REPORT_VANISHED] = "vanished",
		[REPORT_CHANGING] = "changing",
		[REPORT_UNRESTORED] = "unrestored",
		[REPORT_DAMAGED] = "damaged",
		[REPORT_LOGICAL] = "logical",
		[REPORT_LEFT_OUT] = "left_out",
		[REPORT_REFUSED] = "refused",
		[REPORT_ALTERED] = "altered",
		[REPORT_UNREMOVED] = "unremoved",
		[REPORT_UNSEARCHED] = "unsearched",
		[REPORT_MAPPED] = "mapped",
		[REPORT_COMPLETED] = "completed",
	};

	return names[kind];
}
