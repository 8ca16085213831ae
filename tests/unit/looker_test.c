/* looker: whoever has caught up finds everything looked at, once each, in the order it came. */
#include <semaphore.h>
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

#define FILES 5000

struct file {
	struct looker_item item;
	unsigned looks;
};

struct seen {
	_Atomic unsigned looking; /* at a time */
	unsigned most;
	unsigned n;
	bool disorder;
	struct file *last;
	bool stops; /* says begun, and waits for go */
	sem_t begun, go;
};

static void look(void *arg, struct looker_item *item)
{
	struct file *file = (struct file *)item;
	struct seen *seen = arg;
	unsigned now = ++seen->looking;

	if (now > seen->most)
		seen->most = now;
	if (seen->stops) {
		sem_post(&seen->begun);
		sem_wait(&seen->go);
	}
	seen->disorder |= seen->last && file < seen->last;
	seen->last = file;
	seen->n++;
	file->looks++;
	seen->looking--;
}

static bool is_pending(struct file *file)
{
	return atomic_load_explicit(&file->item.pending, memory_order_acquire);
}

static void assert_looked_at(struct file *files, size_t n, const struct seen *seen)
{
	assert_int_equal(seen->n, n);
	assert_int_equal(seen->most, n ? 1 : 0);
	assert_false(seen->disorder);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(files[i].looks, 1);
		assert_false(is_pending(&files[i]));
	}
}

static void who_catches_up_finds_all_looked_at(void **state)
{
	owned_mem struct file *files = mem_zalloc(FILES * sizeof(*files));
	struct seen seen = { 0 };
	struct looker looker;

	looker_init(&looker, look, &seen);
	looker_catch_up(&looker);
	for (size_t i = 0; i < FILES; i++) {
		looker_add(&looker, &files[i].item);
		/* Now and then, so that the thread is found asleep, at work and napping. */
		if (i % 97 == 0) {
			looker_catch_up(&looker);
			assert_looked_at(files, i + 1, &seen);
		}
		if (i % 501 == 0)
			(void)usleep(400);
	}
	looker_stop(&looker);
	assert_looked_at(files, FILES, &seen);
	looker_release(&looker);
}

static void *let_go_soon(void *arg)
{
	struct seen *seen = arg;

	(void)usleep(20000);
	for (int i = 0; i < 3; i++)
		sem_post(&seen->go);
	return NULL;
}

static void begin_stopping(struct seen *seen)
{
	seen->stops = true;
	assert_int_equal(sem_init(&seen->begun, 0, 0), 0);
	assert_int_equal(sem_init(&seen->go, 0, 0), 0);
}

static void the_one_under_way_is_waited_for(void **state)
{
	struct file files[3] = { 0 };
	struct seen seen = { 0 };
	struct looker looker;
	pthread_t helper;

	begin_stopping(&seen);
	looker_init(&looker, look, &seen);
	for (size_t i = 0; i < 3; i++)
		looker_add(&looker, &files[i].item);
	sem_wait(&seen.begun);
	assert_int_equal(pthread_create(&helper, NULL, let_go_soon, &seen), 0);
	looker_catch_up(&looker);
	assert_looked_at(files, 3, &seen);
	pthread_join(helper, NULL);
	looker_release(&looker);
}

static void what_is_given_while_it_is_looked_at_is_looked_at_again(void **state)
{
	struct file file = { 0 };
	struct seen seen = { 0 };
	struct looker looker;

	begin_stopping(&seen);
	looker_init(&looker, look, &seen);
	looker_add(&looker, &file.item);
	sem_wait(&seen.begun);
	/* Twice: it is in the queue but once. */
	looker_add(&looker, &file.item);
	looker_add(&looker, &file.item);
	sem_post(&seen.go);
	sem_wait(&seen.begun);
	assert_int_equal(file.looks, 1);
	assert_true(is_pending(&file));
	sem_post(&seen.go);
	looker_catch_up(&looker);
	assert_int_equal(file.looks, 2);
	assert_false(is_pending(&file));
	looker_release(&looker);
}

static void nobody_need_catch_up(void **state)
{
	struct file file = { 0 };
	struct seen seen = { 0 };
	struct looker looker;

	looker_init(&looker, look, &seen);
	looker_add(&looker, &file.item);
	while (is_pending(&file))
		(void)usleep(1000);
	assert_looked_at(&file, 1, &seen);
	looker_release(&looker);
}

static void once_stopped_who_gives_looks(void **state)
{
	struct file file = { 0 };
	struct seen seen = { 0 };
	struct looker looker;

	looker_init(&looker, look, &seen);
	looker_stop(&looker);
	looker_add(&looker, &file.item);
	assert_looked_at(&file, 1, &seen);
	looker_stop(&looker);
	looker_release(&looker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_catches_up_finds_all_looked_at),
		cmocka_unit_test(the_one_under_way_is_waited_for),
		cmocka_unit_test(what_is_given_while_it_is_looked_at_is_looked_at_again),
		cmocka_unit_test(nobody_need_catch_up),
		cmocka_unit_test(once_stopped_who_gives_looks),
	};

	return cmocka_run_group_tests_name("looker", tests, NULL, NULL);
}
