#include "trace/observe/missing.h"

#include <stdlib.h>

#include "core/mem.h"

struct missing_open {
	pid_t tid;
	uint32_t process;
	struct record *record;
};

void missing_release(struct missing *missing)
{
	free(missing->opens);
	*missing = (struct missing){ 0 };
}

void missing_over(struct missing *missing, pid_t tid)
{
	for (size_t i = 0; i < missing->n; i++)
		if (missing->opens[i].tid == tid) {
			missing->opens[i] = missing->opens[--missing->n];
			return;
		}
}

void missing_add(
	struct missing *missing, struct recorder *recorder, pid_t tid, struct record *record)
{
	if (pathmap_is_unsettled(record->entry)) {
		recorder_note(recorder, record->entry, BUNDLE_READ);
		return;
	}
	mem_grow(&missing->opens, &missing->cap, missing->n);
	missing->opens[missing->n++] = (struct missing_open){ tid, recorder->process, record };
}

void missing_may_appear(struct missing *missing, struct recorder *recorder, pid_t tid,
	const struct pathmap_entry *entry)
{
	uint32_t caller = recorder->process;

	for (size_t i = 0; i < missing->n; i++) {
		const struct missing_open *open = &missing->opens[i];

		if (open->tid == tid || !pathmap_is_below(open->record->entry, entry))
			continue;
		recorder->process = open->process;
		recorder_note(recorder, open->record->entry, BUNDLE_READ);
	}
	recorder->process = caller;
}
