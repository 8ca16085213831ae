/* backlog: whoever holds it finds everything seen, once each, in the order it came, by one at a
 * time. */
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/backlog.h"

#define ITEMS 20000
#define WAITING_MAX ((size_t)1 << 20)

struct seen {
	_Atomic unsigned seeing; /* at a time */
	_Atomic unsigned most;
	_Atomic unsigned n; /* the next to come, too */
	_Atomic bool wrong;
	bool stops; /* says begun, and waits for go */
	sem_t begun, go;
};

/* Of different lengths. */
struct item {
	unsigned number;
	char text[60];
};

static size_t length_of(unsigned number)
{
	return number % 60;
}

static void see(void *arg, const void *bytes)
{
	const struct item *item = bytes;
	struct seen *seen = arg;
	unsigned now = ++seen->seeing;

	if (now > seen->most)
		seen->most = now;
	if (seen->stops) {
		sem_post(&seen->begun);
		sem_wait(&seen->go);
	}
	if (item->number != seen->n || (uintptr_t)item % _Alignof(max_align_t))
		seen->wrong = true;
	for (size_t i = 0; i < length_of(item->number); i++)
		if (item->text[i] != (char)('a' + item->number % 26))
			seen->wrong = true;
	seen->n++;
	seen->seeing--;
}

static void add(struct backlog *backlog, unsigned number)
{
	struct item item = { .number = number };

	memset(item.text, 'a' + (int)(number % 26), length_of(number));
	backlog_add(backlog, &item, offsetof(struct item, text) + length_of(number), WAITING_MAX);
}

static void assert_seen(const struct seen *seen, unsigned n)
{
	assert_int_equal(seen->n, n);
	assert_int_equal(seen->seeing, 0);
	assert_true(seen->most <= 1);
	assert_false(seen->wrong);
}

static void who_holds_it_finds_all_seen(void **state)
{
	struct seen seen = { 0 };
	struct backlog backlog;

	backlog_init(&backlog, see, &seen);
	for (unsigned i = 0; i < ITEMS; i++) {
		add(&backlog, i);
		/* Now and then, so that the thread is found waiting, at work and in between. */
		if (i % 97 == 0) {
			backlog_hold(&backlog);
			assert_seen(&seen, i + 1);
		}
		if (i % 5001 == 0)
			(void)usleep(4000);
	}
	backlog_stop(&backlog);
	assert_seen(&seen, ITEMS);
	backlog_release(&backlog);
}

static void to_hold_it_twice_is_to_hold_it(void **state)
{
	struct seen seen = { 0 };
	struct backlog backlog;

	backlog_init(&backlog, see, &seen);
	backlog_hold(&backlog);
	backlog_hold(&backlog);
	for (unsigned i = 0; i < ITEMS; i++)
		add(&backlog, i);
	backlog_hold(&backlog);
	backlog_hold(&backlog);
	assert_seen(&seen, ITEMS);
	add(&backlog, ITEMS);
	backlog_stop(&backlog);
	assert_seen(&seen, ITEMS + 1);
	backlog_stop(&backlog);
	backlog_release(&backlog);
}

static void without_a_thread_who_adds_sees(void **state)
{
	struct seen seen = { 0 };
	struct backlog backlog;

	backlog_init(&backlog, see, &seen);
	backlog.alone = true;
	for (unsigned i = 0; i < 100; i++) {
		add(&backlog, i);
		assert_seen(&seen, i + 1);
	}
	backlog_hold(&backlog);
	assert_seen(&seen, 100);
	backlog_release(&backlog);
}

static void nobody_need_hold_it(void **state)
{
	struct seen seen = { 0 };
	struct backlog backlog;

	backlog_init(&backlog, see, &seen);
	for (unsigned i = 0; i < 3; i++) {
		add(&backlog, i);
		while (seen.n <= i)
			(void)usleep(1000);
	}
	backlog_hold(&backlog);
	assert_seen(&seen, 3);
	backlog_release(&backlog);
}

static void *let_go_soon(void *arg)
{
	struct seen *seen = arg;

	(void)usleep(20000);
	for (int i = 0; i < 3; i++)
		sem_post(&seen->go);
	return NULL;
}

static void the_one_under_way_is_waited_for(void **state)
{
	struct seen seen = { .stops = true };
	struct backlog backlog;
	pthread_t helper;

	assert_int_equal(sem_init(&seen.begun, 0, 0), 0);
	assert_int_equal(sem_init(&seen.go, 0, 0), 0);
	backlog_init(&backlog, see, &seen);
	for (unsigned i = 0; i < 3; i++)
		add(&backlog, i);
	sem_wait(&seen.begun);
	assert_int_equal(pthread_create(&helper, NULL, let_go_soon, &seen), 0);
	backlog_hold(&backlog);
	assert_seen(&seen, 3);
	pthread_join(helper, NULL);
	backlog_release(&backlog);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_holds_it_finds_all_seen),
		cmocka_unit_test(to_hold_it_twice_is_to_hold_it),
		cmocka_unit_test(without_a_thread_who_adds_sees),
		cmocka_unit_test(nobody_need_hold_it),
		cmocka_unit_test(the_one_under_way_is_waited_for),
	};

	return cmocka_run_group_tests_name("backlog", tests, NULL, NULL);
}
