/* par: every job runs once, with several threads, with one, and when no thread can be started. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/par.h"

#define JOBS 5000
#define NOBODY 65534

struct work {
	atomic_int runs;
	atomic_bool done;
	size_t n;
};

static struct work works[JOBS];
static atomic_int in_parallel, most_in_parallel;

static void reset(void)
{
	memset(works, 0, sizeof(works));
	for (size_t i = 0; i < JOBS; i++)
		works[i].n = i;
	in_parallel = most_in_parallel = 0;
}

/* Fill the thread's buffer with a value of this job, and check later that it did not change. */
static void run(void *arg)
{
	struct work *work = arg;
	size_t size = 1 + work->n * 37 % 4000;
	unsigned char *scratch = par_scratch(size);
	int now = atomic_fetch_add(&in_parallel, 1) + 1, most = most_in_parallel;
	bool good = true;

	while (now > most && !atomic_compare_exchange_weak(&most_in_parallel, &most, now))
		;
	memset(scratch, (int)(work->n & 255), size);
	if (work->n % 64 == 0)
		usleep(100);
	for (size_t i = 0; i < size; i++)
		good &= scratch[i] == (work->n & 255);
	atomic_fetch_sub(&in_parallel, 1);
	atomic_fetch_add(&work->runs, good ? 1 : 100);
	atomic_store(&work->done, true);
}

static bool all_ran_once(void)
{
	for (size_t i = 0; i < JOBS; i++)
		if (works[i].runs != 1)
			return false;
	return true;
}

static void runs_every_job_once(void **state)
{
	static const unsigned threads[] = { 0, 1, 2, PAR_MAX, 1000 };

	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
		reset();
		struct par *par = par_new(threads[i]);
		for (size_t n = 0; n < JOBS; n++)
			par_submit(par, run, &works[n]);
		par_free(par);
		assert_true(all_ran_once());
		if (threads[i] < 2)
			assert_int_equal(most_in_parallel, 1);
		else
			assert_in_range(most_in_parallel, 1, PAR_MAX);
	}
	par_free(NULL);
}

static void waiting_for_one_job_ends(void **state)
{
	static const unsigned threads[] = { 0, 1, 3 };

	for (size_t i = 0; i < 3; i++) {
		reset();
		struct par *par = par_new(threads[i]);
		for (size_t n = 0; n < JOBS; n++) {
			par_submit(par, run, &works[n]);
			if (n % 10)
				continue;
			while (!atomic_load(&works[n].done))
				par_wait_some(par);
		}
		par_free(par);
		assert_true(all_ran_once());
	}
}

/* Run jobs in a process that may start no threads.  Returns 0 on success. */
static int run_alone(void)
{
	struct rlimit none = { 0, 0 };
	pthread_t thread;

	/* The limit does not apply to root. */
	if (!getuid() && setresuid(NOBODY, NOBODY, NOBODY) < 0)
		return 1;
	if (setrlimit(RLIMIT_NPROC, &none) < 0)
		return 2;
	reset();
	struct par *par = par_new(4);
	for (size_t n = 0; n < JOBS; n++) {
		par_submit(par, run, &works[n]);
		par_wait_some(par);
	}
	par_free(par);
	/* Check only now that no thread can be started. */
	if (pthread_create(&thread, NULL, (void *(*)(void *))(void *)par_scratch, NULL) == 0)
		return 3;
	return all_ran_once() && most_in_parallel == 1 ? 0 : 4;
}

static void does_the_work_itself_where_no_thread_can_be_made(void **state)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (!child)
		_exit(run_alone());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void scratch_grows_and_stays(void **state)
{
	struct par *par = par_new(1);
	char *small = par_scratch(10);

	memcpy(small, "ten bytes", 10);
	assert_ptr_equal(par_scratch(5), small);
	assert_string_equal(small, "ten bytes");
	char *large = par_scratch(1 << 20);
	memset(large, 1, 1 << 20);
	assert_ptr_equal(par_scratch(10), large);
	par_free(par);
}

static void counts_processors(void **state)
{
	assert_in_range(par_cpus(), 1, PAR_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_every_job_once),
		cmocka_unit_test(waiting_for_one_job_ends),
		cmocka_unit_test(does_the_work_itself_where_no_thread_can_be_made),
		cmocka_unit_test(scratch_grows_and_stays),
		cmocka_unit_test(counts_processors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
