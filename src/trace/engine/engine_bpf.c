/*
 * The engine bpf.  eBPF programs report calls that change nothing while these calls pass
 * (passing.h).  All other calls stop by seccomp user notification, which engine_notify.c handles.
 * A call that has stopped goes on only after all calls that passed before it have been examined.
 *
 * The path of a passed call is resolved later, and still leads to the right file.  The file depends
 * on names, working directories, roots and the exit of processes, and only calls that stop can
 * change these.  The file may also depend on a descriptor, which a passed call can change.  So a
 * call whose path begins at a descriptor must stop.
 *
 * The working directory of a killed process cannot be looked up.  If a path needs that directory,
 * and strata does not know it from an earlier call, the bundle becomes incomplete.
 */
#include <linux/seccomp.h>
#include <stdlib.h>
#include <unistd.h>

#include "trace/engine/engine.h"
#include "trace/engine/filter.h"

/*
 * The size of the ring limits how far the command can be ahead of strata.  The smallest ring has
 * room for about 30000 calls with short paths.  The ring is larger on a machine with more
 * processors, since more processors make more calls in the same time.
 */
#define RING_BYTES ((size_t)8 << 20)
#define RING_BYTES_EACH ((size_t)2 << 20) /* number of bytes for each processor */
#define RING_BYTES_MOST ((size_t)64 << 20)

/*
 * Returns the size of the ring, which is a power of two.  Tests set the variable STRATA_TRACE_RING
 * to a small size, so that the ring soon becomes full.
 */
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

static void add_lost_reasons(const struct engine_run *run)
{
	struct reasons *reasons = run->observer->shared.reasons;
	struct passing_lost lost;

	passing_count_lost(run->passing, &lost);
	if (lost.events)
		reasons_add(reasons,
			"%llu calls were not seen: they came faster than strata could read them",
			(unsigned long long)lost.events);
	if (lost.tasks)
		reasons_add(reasons,
			"%llu processes or threads were not traced: there were too many",
			(unsigned long long)lost.tasks);
	if (lost.unread)
		reasons_add(reasons, "the paths of %llu calls could not be read",
			(unsigned long long)lost.unread);
}

static int bpf_run(struct engine_run *run, struct err *err)
{
	int r = engine_notify.run(run, err);

	if (r >= 0)
		add_lost_reasons(run);
	return r;
}

static int bpf_prepare(void *arg)
{
	const struct engine_run *run = arg;
	int r = passing_join(run->passing);

	return r < 0 ? r : filter_install(SECCOMP_RET_USER_NOTIF, run->listings, true);
}

static int bpf_probe(struct engine_run *run, struct err *err)
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
	.probe = bpf_probe,
	.prepare = bpf_prepare,
	.run = bpf_run,
};
