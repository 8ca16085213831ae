#include "owner/retainer.h"

#include "core/when.h"
#include "ops/requests.h"
#include "ops/table.h"
#include "owner/owner_priv.h"

void retainer_start(struct retainer *retainer, struct owner *owner)
{
	*retainer = (struct retainer){ .owner = owner, .collected = when_monotonic() };
}

static void on_collected(struct owner *owner, const struct jsonread *answer)
{
	owner->retainer.busy = false;
	if (answer && jsonread_member(answer, "result"))
		owner->retainer.garbage = false;
}

static void collect(struct retainer *retainer)
{
	const struct gc_request request = { 0 };
	struct call_plan plan = {
		.kind = CALL_OP, .op = &op_gc, .request = &request, .done = on_collected
	};
	struct err ignored = { 0 };

	retainer->collected = when_monotonic();
	retainer->busy = call_start(retainer->owner, &plan, NULL, &ignored) >= 0;
}

void retainer_collect_if_due(struct retainer *retainer)
{
	struct owner *owner = retainer->owner;
	bool due = when_monotonic() - retainer->collected > RETAINER_GC_NS ||
		   owner->options->request->max_bytes;

	/*
	 * operations that write have to wait while gc runs, so gc is not started during such an
	 * operation
	 */
	if (retainer->garbage && due && !retainer->busy && !owner_is_writing(owner) &&
		!owner->capturer.capturing && !owner->stopping)
		collect(retainer);
}

static void on_retained(struct owner *owner, const struct jsonread *answer)
{
	struct retainer *retainer = &owner->retainer;
	const struct jsonread *result = answer ? jsonread_member(answer, "result") : NULL;
	int64_t dropped = 0;

	retainer->busy = false;
	if (result)
		(void)jsonread_get_int(result, "dropped_count", &dropped);
	/* the result is missing if the list of dropped nodes was too long for an answer */
	retainer->garbage |= !result || dropped > 0;
	retainer_collect_if_due(retainer);
}

void retainer_count_node(struct retainer *retainer)
{
	const struct supervise_request *asked = retainer->owner->options->request;
	struct retain_request request = { .keep = asked->keep, .max_bytes = asked->max_bytes };
	struct call_plan plan = {
		.kind = CALL_OP, .op = &op_retain, .request = &request, .done = on_retained
	};
	struct err ignored = { 0 };

	if (++retainer->nodes < RETAINER_NODES || retainer->busy || retainer->owner->stopping) {
		retainer_collect_if_due(retainer);
		return;
	}
	retainer->nodes = 0;
	retainer->busy = call_start(retainer->owner, &plan, NULL, &ignored) >= 0;
}
