#include "owner/keeper.h"

#include "core/when.h"
#include "ops/requests.h"
#include "ops/table.h"
#include "owner/owner_priv.h"

void keeper_start(struct keeper *keeper, struct owner *owner)
{
	*keeper = (struct keeper){ .owner = owner, .collected = when_monotonic() };
}

static void on_collected(struct owner *owner, const struct jsonread *answer)
{
	owner->keeper.busy = false;
	if (answer && jsonread_member(answer, "result"))
		owner->keeper.garbage = false;
}

static void collect(struct keeper *keeper)
{
	const struct gc_request request = { 0 };
	struct call_plan plan = {
		.kind = CALL_OP, .op = &op_gc, .request = &request, .done = on_collected
	};
	struct err ignored = { 0 };

	keeper->collected = when_monotonic();
	keeper->busy = call_start(keeper->owner, &plan, NULL, &ignored) >= 0;
}

void keeper_look(struct keeper *keeper)
{
	struct owner *owner = keeper->owner;
	bool due = when_monotonic() - keeper->collected > KEEPER_GC_NS || owner->options->max_bytes;

	/* It holds others up: not while somebody writes. */
	if (keeper->garbage && due && !keeper->busy && !owner_is_writing(owner) &&
		!owner->capturer.capturing && !owner->stopping)
		collect(keeper);
}

static void on_thinned(struct owner *owner, const struct jsonread *answer)
{
	struct keeper *keeper = &owner->keeper;
	const struct jsonread *result = answer ? jsonread_member(answer, "result") : NULL;
	int64_t dropped = 0;

	keeper->busy = false;
	if (result)
		(void)jsonread_get_int(result, "dropped_count", &dropped);
	/* A very long list is not read: it says the same. */
	keeper->garbage |= !result || dropped > 0;
	keeper_look(keeper);
}

void keeper_count(struct keeper *keeper)
{
	const struct owner_options *options = keeper->owner->options;
	struct retain_request request = { .keep = options->keep, .max_bytes = options->max_bytes };
	struct call_plan plan = {
		.kind = CALL_OP, .op = &op_retain, .request = &request, .done = on_thinned
	};
	struct err ignored = { 0 };

	if (++keeper->nodes < KEEPER_NODES || keeper->busy || keeper->owner->stopping) {
		keeper_look(keeper);
		return;
	}
	keeper->nodes = 0;
	keeper->busy = call_start(keeper->owner, &plan, NULL, &ignored) >= 0;
}
