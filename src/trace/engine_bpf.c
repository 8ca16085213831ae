/*
 * eBPF: calls that change nothing are seen while they pass (passing.h), which stops nobody.  All
 * other calls stop by user notification, as in engine_notify.c, whose code this is: each of them
 * waits until everything that had passed before it has been looked at.
 *
 * What a call that has passed names is looked for later.  That is sound since nothing the answer
 * depends on can change meanwhile but by a call that stops: names and files, working directories
 * and roots, the end of a process by its own will.  Descriptors do change, so a path that begins
 * at one is not let pass.  Who is killed takes its working directory along; if that is needed and
 * not known, the bundle says so.
 */
#include <linux/seccomp.h>
#include <stdlib.h>
#include <unistd.h>

#include "trace/engine.h"
#include "trace/filter.h"

/*
 * So far the programs can be ahead of who reads the ring.  It has room for some 30000 calls whose
 * paths are short, and for more where more processors make them.
 */
#define RING_BYTES ((size_t)8 << 20)
#define RING_BYTES_EACH ((size_t)2 << 20) /* processor */
#define RING_BYTES_MOST ((size_t)64 << 20)

/* A power of two.  For tests the environment can ask for less: a ring that is soon full. */
static size_t ring_bytes(void)
{
	const char *set = getenv("STRATA_TRACE_RING");
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	size_t wanted = set ? strtoul(set, NULL, 10) : (size_t)processors * RING_BYTES_EACH;
	size_t size = set ? PASSING_RING_LEAST : RING_BYTES;

	while (size < wanted && size < RING_BYTES_MOST)
		size *= 2;
	return size;
}

static void tell_of_lost(const struct engine_run *run)
{
	struct reasons *reasons = run->observer->reasons;
	struct passing_lost lost;

	passing_count_lost(run->passing, &lost);
	if (lost.events)
		reasons_add(reasons,
			"%llu calls were not seen: they came faster than they could be looked at",
			(unsigned long long)lost.events);
	if (lost.tasks)
		reasons_add(reasons, "%llu processes or threads were not followed: too many",
			(unsigned long long)lost.tasks);
	if (lost.unread)
		reasons_add(reasons, "the paths of %llu calls could not be read",
			(unsigned long long)lost.unread);
}

static int run_command(struct engine_run *run, struct err *err)
{
	int r = engine_notify.run(run, err);

	if (r >= 0)
		tell_of_lost(run);
	return r;
}

static int prepare(void *arg)
{
	const struct engine_run *run = arg;
	int r = passing_join(run->passing);

	return r < 0 ? r : filter_install(SECCOMP_RET_USER_NOTIF, run->listings, true);
}

static int probe(struct engine_run *run, struct err *err)
{
	int r = engine_notify.probe(run, err);

	if (r < 0)
		return r;
	struct passing *passing = passing_new(ring_bytes(), err);
	if (!passing || passing_attach(passing, err) < 0) {
		passing_free(passing);
		return -(int)err->code;
	}
	run->passing = passing;
	return 0;
}

const struct engine engine_bpf = {
	.name = "bpf",
	.probe = probe,
	.prepare = prepare,
	.run = run_command,
};
