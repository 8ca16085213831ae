/*
 * workqueue: a producer that holds the queue finds every item done once, in order, by one thread at
 * a time.  Numbers show which items are done.
 */
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/workqueue.h"

#define ITEMS 20000
#define WAITING_MAX ((size_t)1 << 20)

struct seen {
	_Atomic unsigned seeing; /* number of calls that are running */
	_Atomic unsigned most;
	_Atomic unsigned n; /* number of items done, and so the number of the next item */
	_Atomic bool wrong;
	bool stops; /* the call posts 'begun' and waits for 'go' */
	sem_t begun, go;
};

/* Items have different lengths. */
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

static void add(struct workqueue *queue, unsigned number)
{
	struct item item = { .number = number };

	memset(item.text, 'a' + (int)(number % 26), length_of(number));
	workqueue_add(queue, &item, offsetof(struct item, text) + length_of(number), WAITING_MAX);
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
	struct workqueue queue;

	workqueue_init(&queue, see, &seen);
	for (unsigned i = 0; i < ITEMS; i++) {
		add(&queue, i);
		/*
		 * Hold the queue now and then, so that the thread is waiting, working or in
		 * between.
		 */
		if (i % 97 == 0) {
			workqueue_hold(&queue);
			assert_seen(&seen, i + 1);
		}
		if (i % 5001 == 0)
			(void)usleep(4000);
	}
	workqueue_stop(&queue);
	assert_seen(&seen, ITEMS);
	workqueue_release(&queue);
}

static void to_hold_it_twice_is_to_hold_it(void **state)
{
	struct seen seen = { 0 };
	struct workqueue queue;

	workqueue_init(&queue, see, &seen);
	workqueue_hold(&queue);
	workqueue_hold(&queue);
	for (unsigned i = 0; i < ITEMS; i++)
		add(&queue, i);
	workqueue_hold(&queue);
	workqueue_hold(&queue);
	assert_seen(&seen, ITEMS);
	add(&queue, ITEMS);
	workqueue_stop(&queue);
	assert_seen(&seen, ITEMS + 1);
	workqueue_stop(&queue);
	workqueue_release(&queue);
}

static void without_a_thread_who_adds_sees(void **state)
{
	struct seen seen = { 0 };
	struct workqueue queue;

	workqueue_init(&queue, see, &seen);
	queue.alone = true;
	for (unsigned i = 0; i < 100; i++) {
		add(&queue, i);
		assert_seen(&seen, i + 1);
	}
	workqueue_hold(&queue);
	assert_seen(&seen, 100);
	workqueue_release(&queue);
}

/* The thread pauses between items, and producers do not wake it until there are enough items. */
static void a_pause_loses_nothing(void **state)
{
	struct seen seen = { 0 };
	struct workqueue queue;

	workqueue_init(&queue, see, &seen);
	queue.pause_ns = 200000;
	queue.enough = 4096;
	for (unsigned i = 0; i < ITEMS; i++) {
		add(&queue, i);
		if (i % 501 == 0)
			(void)usleep(400);
		if (i % 977 == 0) {
			workqueue_hold(&queue);
			assert_seen(&seen, i + 1);
		}
	}
	while (seen.n < ITEMS)
		(void)usleep(1000);
	workqueue_release(&queue);
	assert_seen(&seen, ITEMS);
}

static void who_waits_for_a_number_finds_it_done(void **state)
{
	struct seen seen = { 0 };
	struct workqueue queue;

	workqueue_init(&queue, see, &seen);
	for (unsigned i = 0; i < ITEMS; i++) {
		add(&queue, i);
		assert_int_equal(workqueue_last(&queue), i + 1);
		if (i % 7 == 0) {
			workqueue_wait(&queue, i / 2);
			assert_true(workqueue_is_done(&queue, i / 2));
			assert_true(seen.n >= i / 2);
		}
	}
	workqueue_wait(&queue, ITEMS);
	assert_seen(&seen, ITEMS);
	workqueue_release(&queue);
}

/* Several threads wait for different numbers, and the event is used at the same time. */
struct waiter {
	struct workqueue *queue;
	const struct seen *seen;
	unsigned first;
	bool wrong;
};

static void *wait_for_many(void *arg)
{
	struct waiter *waiter = arg;

	for (unsigned number = waiter->first; number <= ITEMS; number += 13) {
		workqueue_wait(waiter->queue, number);
		waiter->wrong |= waiter->seen->n < number;
	}
	return NULL;
}

static void all_who_wait_are_told(void **state)
{
	struct seen seen = { 0 };
	struct workqueue queue;
	struct waiter waiters[3] = { { &queue, &seen, 1, false }, { &queue, &seen, 5, false },
		{ &queue, &seen, 9, false } };
	pthread_t threads[3];

	workqueue_init(&queue, see, &seen);
	queue.event = eventfd(0, EFD_CLOEXEC);
	assert_true(queue.event >= 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, wait_for_many, &waiters[i]), 0);
	for (unsigned i = 0; i < ITEMS; i++) {
		eventfd_t count;

		add(&queue, i);
		if (i % 11)
			continue;
		workqueue_ask(&queue, i + 1);
		assert_int_equal(eventfd_read(queue.event, &count), 0);
		assert_true(workqueue_is_done(&queue, i + 1));
	}
	for (int i = 0; i < 3; i++) {
		pthread_join(threads[i], NULL);
		assert_false(waiters[i].wrong);
	}
	(void)close(queue.event);
	workqueue_release(&queue);
}

struct file {
	struct workqueue_once once;
	_Atomic unsigned looks;
	sem_t begun, go;
};

static void look(void *arg, const void *item)
{
	struct file *file = (struct file *)workqueue_begin_once(item);

	sem_post(&file->begun);
	sem_wait(&file->go);
	file->looks++;
	workqueue_end_once(&file->once);
}

static void what_is_added_while_it_is_worked_on_is_done_again(void **state)
{
	struct file file = { 0 };
	struct workqueue queue;

	assert_int_equal(sem_init(&file.begun, 0, 0), 0);
	assert_int_equal(sem_init(&file.go, 0, 0), 0);
	workqueue_init(&queue, look, NULL);
	workqueue_add_once(&queue, &file.once, WAITING_MAX);
	sem_wait(&file.begun);
	/* Added twice, the object is in the queue only once. */
	workqueue_add_once(&queue, &file.once, WAITING_MAX);
	workqueue_add_once(&queue, &file.once, WAITING_MAX);
	sem_post(&file.go);
	sem_wait(&file.begun);
	assert_int_equal(file.looks, 1);
	assert_true(workqueue_is_pending(&file.once));
	sem_post(&file.go);
	workqueue_hold(&queue);
	assert_int_equal(file.looks, 2);
	assert_false(workqueue_is_pending(&file.once));
	workqueue_release(&queue);
}

static void nobody_need_hold_it(void **state)
{
	struct seen seen = { 0 };
	struct workqueue queue;

	workqueue_init(&queue, see, &seen);
	for (unsigned i = 0; i < 3; i++) {
		add(&queue, i);
		while (seen.n <= i)
			(void)usleep(1000);
	}
	workqueue_hold(&queue);
	assert_seen(&seen, 3);
	workqueue_release(&queue);
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
	struct workqueue queue;
	pthread_t helper;

	assert_int_equal(sem_init(&seen.begun, 0, 0), 0);
	assert_int_equal(sem_init(&seen.go, 0, 0), 0);
	workqueue_init(&queue, see, &seen);
	for (unsigned i = 0; i < 3; i++)
		add(&queue, i);
	sem_wait(&seen.begun);
	assert_int_equal(pthread_create(&helper, NULL, let_go_soon, &seen), 0);
	workqueue_hold(&queue);
	assert_seen(&seen, 3);
	pthread_join(helper, NULL);
	workqueue_release(&queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_holds_it_finds_all_seen),
		cmocka_unit_test(to_hold_it_twice_is_to_hold_it),
		cmocka_unit_test(without_a_thread_who_adds_sees),
		cmocka_unit_test(a_pause_loses_nothing),
		cmocka_unit_test(who_waits_for_a_number_finds_it_done),
		cmocka_unit_test(all_who_wait_are_told),
		cmocka_unit_test(what_is_added_while_it_is_worked_on_is_done_again),
		cmocka_unit_test(nobody_need_hold_it),
		cmocka_unit_test(the_one_under_way_is_waited_for),
	};

	return cmocka_run_group_tests_name("workqueue", tests, NULL, NULL);
}
