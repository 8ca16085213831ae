#include "trace/observe/missing.h"

#include <stdlib.h>

#include "core/mem.h"

struct missing_call {
	pid_t tid;
	uint32_t process;
	struct record *record;
	unsigned ops;
	/* a call that makes the file may overlap this call, so 'ops' have been recorded */
	bool overlaps;
};

void missing_release(struct missing *missing)
{
	free(missing->calls);
	*missing = (struct missing){ 0 };
}

struct record *missing_over(struct missing *missing, pid_t tid)
{
	for (size_t i = 0; i < missing->n; i++) {
		const struct missing_call call = missing->calls[i];

		if (call.tid != tid)
			continue;
		missing->calls[i] = missing->calls[--missing->n];
		return call.overlaps && call.ops & BUNDLE_EXECUTE ? call.record : NULL;
	}
	return NULL;
}

void missing_add(struct missing *missing, struct recorder *recorder, pid_t tid,
	struct record *record, unsigned ops)
{
	bool overlaps = pathmap_is_unsettled(record->entry);

	if (overlaps)
		recorder_note(recorder, record->entry, ops);
	mem_grow(&missing->calls, &missing->cap, missing->n);
	missing->calls[missing->n++] =
		(struct missing_call){ tid, recorder->process, record, ops, overlaps };
}

void missing_may_appear(struct missing *missing, struct recorder *recorder, pid_t tid,
	const struct pathmap_entry *entry)
{
	uint32_t caller = recorder->process;

	for (size_t i = 0; i < missing->n; i++) {
		struct missing_call *call = &missing->calls[i];

		if (call->tid == tid || !pathmap_is_below(call->record->entry, entry))
			continue;
		recorder->process = call->process;
		recorder_note(recorder, call->record->entry, call->ops);
		call->overlaps = true;
	}
	recorder->process = caller;
}
