/* looker: whoever has caught up finds everything looked at, once each, in the order it came. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/mem.h"
#include "core/own.h"
#include "trace/looker.h"
#include "trace/recorder.h"

#define RECORDS 5000

struct seen {
	_Atomic unsigned looking; /* at a time */
	unsigned most;
	unsigned n;
	bool disorder;
	struct record *last;
	useconds_t pause;
};

static void look(void *arg, struct record *record)
{
	struct seen *seen = arg;
	unsigned now = ++seen->looking;

	if (now > seen->most)
		seen->most = now;
	if (seen->pause)
		(void)usleep(seen->pause);
	seen->disorder |= seen->last && record < seen->last;
	seen->last = record;
	seen->n++;
	record->ops++;
	seen->looking--;
}

static void assert_looked_at(const struct record *records, size_t n, const struct seen *seen)
{
	assert_int_equal(seen->n, n);
	assert_int_equal(seen->most, n ? 1 : 0);
	assert_false(seen->disorder);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(records[i].ops, 1);
		assert_false(atomic_load(&records[i].pending));
	}
}

static void test_catches_up(void **state)
{
	owned_mem struct record *records = mem_zalloc(RECORDS * sizeof(*records));
	struct seen seen = { 0 };
	struct looker looker;

	looker_init(&looker, look, &seen);
	looker_catch_up(&looker);
	for (size_t i = 0; i < RECORDS; i++) {
		looker_add(&looker, &records[i]);
		/* Now and then, so that the thread is found asleep, at work and napping. */
		if (i % 97 == 0) {
			looker_catch_up(&looker);
			assert_looked_at(records, i + 1, &seen);
		}
		if (i % 501 == 0)
			(void)usleep(400);
	}
	looker_stop(&looker);
	assert_looked_at(records, RECORDS, &seen);
	looker_release(&looker);
}

static void test_waits_for_the_one_under_way(void **state)
{
	struct record records[3] = { 0 };
	struct seen seen = { .pause = 20000 };
	struct looker looker;

	looker_init(&looker, look, &seen);
	for (size_t i = 0; i < 3; i++)
		looker_add(&looker, &records[i]);
	(void)usleep(5000);
	looker_catch_up(&looker);
	assert_looked_at(records, 3, &seen);
	looker_release(&looker);
}

/* Nobody need catch up for it. */
static void test_looks_by_itself(void **state)
{
	struct record record = { 0 };
	struct seen seen = { 0 };
	struct looker looker;

	looker_init(&looker, look, &seen);
	looker_add(&looker, &record);
	while (atomic_load_explicit(&record.pending, memory_order_acquire))
		(void)usleep(1000);
	assert_looked_at(&record, 1, &seen);
	looker_release(&looker);
}

/* Once it has stopped whoever gives looks. */
static void test_after_the_end(void **state)
{
	struct record record = { 0 };
	struct seen seen = { 0 };
	struct looker looker;

	looker_init(&looker, look, &seen);
	looker_stop(&looker);
	looker_add(&looker, &record);
	assert_looked_at(&record, 1, &seen);
	looker_stop(&looker);
	looker_release(&looker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_catches_up),
		cmocka_unit_test(test_waits_for_the_one_under_way),
		cmocka_unit_test(test_looks_by_itself),
		cmocka_unit_test(test_after_the_end),
	};

	return cmocka_run_group_tests_name("looker", tests, NULL, NULL);
}
