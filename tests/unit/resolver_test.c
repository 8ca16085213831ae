/* resolver, namepool: finds addresses for names, and names for addresses, without blocking. */
#include <arpa/inet.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "confine/namepool.h"
#include "confine/resolver.h"
#include "core/when.h"

#define DEADLINE_MS 300

/*
 * The test's lookup: a name "nN" has N addresses.  The process may also wait or die, depending on
 * the name.
 */
static size_t find(void *arg, const char *name, union netspace_address *out, size_t max)
{
	size_t n = (size_t)atoi(name + 1);

	++*(_Atomic int *)arg;
	if (name[0] == 's')
		pause();
	if (name[0] == 'd')
		_exit(1);
	for (size_t i = 0; i < n && i < max; i++)
		out[i].v4 = (struct sockaddr_in){ .sin_family = AF_INET,
			.sin_addr.s_addr = htonl(0x7f000000 + (uint32_t)i) };
	return n < max ? n : max;
}

struct answer {
	struct resolver_wait wait;
	int times;
	size_t n;
};

static void note(void *arg, const union netspace_address *list, size_t n)
{
	struct answer *answer = arg;

	answer->times++;
	answer->n = n;
}

static _Atomic int *processes; /* number of processes that were started, in shared memory */

struct fixture {
	struct poller *poller;
	struct resolver *resolver;
	struct answer answers[RESOLVER_NAMES_MAX + 1];
};

static struct fixture fixture;

static int set_up(void **state)
{
	struct err err = { 0 };

	memset(&fixture, 0, sizeof(fixture));
	for (size_t i = 0; i < RESOLVER_NAMES_MAX + 1; i++)
		fixture.answers[i].wait =
			(struct resolver_wait){ .found = note, .arg = &fixture.answers[i] };
	fixture.poller = poller_new(&err);
	fixture.resolver = resolver_new(fixture.poller, find, (void *)processes, DEADLINE_MS, &err);
	return fixture.resolver ? 0 : -1;
}

static int tear_down(void **state)
{
	resolver_free(fixture.resolver);
	poller_free(fixture.poller);
	/* No process is left behind. */
	return waitpid(-1, NULL, WNOHANG) == -1 ? 0 : -1;
}

static void ask(size_t i, const char *name)
{
	resolver_ask(fixture.resolver, name, &fixture.answers[i].wait);
}

/* Handle events until this number of answers has come. */
static void run_until(int answers)
{
	for (int64_t end = when_monotonic() + 20 * WHEN_SECOND; when_monotonic() < end;) {
		struct pollfd fd = { .fd = poller_fd(fixture.poller), .events = POLLIN };
		int now = 0;

		for (size_t i = 0; i <= RESOLVER_NAMES_MAX; i++)
			now += fixture.answers[i].times;
		if (now >= answers)
			return;
		if (poll(&fd, 1, 1000) == 1)
			poller_step(fixture.poller);
	}
	fail_msg("no answer");
}

static void finds_addresses(void **state)
{
	ask(0, "n0");
	ask(1, "n3");
	ask(2, "n99");
	run_until(3);
	assert_int_equal(fixture.answers[0].n, 0);
	assert_int_equal(fixture.answers[1].n, 3);
	assert_int_equal(fixture.answers[2].n, LOOKUP_ADDRESSES_MAX);
}

static void gives_up_at_the_deadline(void **state)
{
	const int64_t begin = when_monotonic();

	ask(0, "s1");
	ask(1, "s1");
	ask(2, "d1");
	run_until(3);
	assert_true(when_monotonic() - begin >= DEADLINE_MS * WHEN_MS);
	for (int i = 0; i < 3; i++)
		assert_int_equal(fixture.answers[i].n, 0);
}

static void asks_once_for_all_and_keeps_the_answer(void **state)
{
	const int before = *processes;

	ask(0, "n1");
	ask(1, "n1");
	run_until(2);
	ask(2, "n1");
	assert_int_equal(fixture.answers[2].times, 1);
	assert_int_equal(fixture.answers[2].n, 1);
	assert_int_equal(*processes - before, 1);
}

static void tells_nobody_who_has_gone(void **state)
{
	ask(0, "n1");
	ask(1, "n1");
	ask(2, "n1");
	resolver_cancel(&fixture.answers[1].wait);
	run_until(2);
	assert_int_equal(fixture.answers[1].times, 0);
	resolver_cancel(&fixture.answers[0].wait);
}

static void runs_few_processes_and_answers_all(void **state)
{
	char name[16];

	for (size_t i = 0; i <= RESOLVER_NAMES_MAX; i++) {
		snprintf(name, sizeof(name), i < 8 ? "s%zu" : "n%zu", i);
		ask(i, name);
	}
	/*
	 * All places are taken by names that are being looked up, so the last name fails at once.
	 */
	assert_int_equal(fixture.answers[RESOLVER_NAMES_MAX].times, 1);
	run_until(RESOLVER_NAMES_MAX + 1);
	assert_int_equal(fixture.answers[7].n, 0);
	assert_int_equal(fixture.answers[8].n, 8);
	assert_int_equal(fixture.answers[RESOLVER_NAMES_MAX - 1].n, LOOKUP_ADDRESSES_MAX);
	/* Now the oldest names are removed to make room. */
	ask(RESOLVER_NAMES_MAX, "n5");
	run_until(RESOLVER_NAMES_MAX + 2);
	assert_int_equal(fixture.answers[RESOLVER_NAMES_MAX].n, 5);
}

static void holds_a_descriptor_until_it_ends(void **state)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	struct pollfd reader = { .fd = ends[0] };
	resolver_hold(fixture.resolver, ends[1]);
	close(ends[1]);
	assert_int_equal(poll(&reader, 1, 100), 0);
	resolver_free(fixture.resolver);
	fixture.resolver = NULL;
	assert_int_equal(poll(&reader, 1, 5000), 1);
	assert_int_equal(reader.revents, POLLHUP);
	close(ends[0]);
}

static void uses_the_resolver_of_the_machine(void **state)
{
	union netspace_address out[2];

	assert_int_equal(lookup_system(NULL, "127.0.0.1", out, 2), 1);
	assert_int_equal(out[0].v4.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	assert_int_equal(lookup_system(NULL, "no-such-name.invalid", out, 0), 0);
}

static void gives_names_addresses_of_their_own(void **state)
{
	struct namepool *pool = namepool_new();
	union netspace_address a, b, again;
	char name[32];

	namepool_give(pool, "a.org", &a);
	namepool_give(pool, "b.org", &b);
	namepool_give(pool, "a.org", &again);
	assert_int_equal(a.v4.sin_addr.s_addr, again.v4.sin_addr.s_addr);
	assert_int_not_equal(a.v4.sin_addr.s_addr, b.v4.sin_addr.s_addr);
	assert_string_equal(namepool_find(pool, &a), "a.org");
	assert_string_equal(namepool_find(pool, &b), "b.org");

	/* The address of the oldest name is given to the newest name. */
	for (int i = 2; i <= NAMEPOOL_MAX; i++) {
		snprintf(name, sizeof(name), "n%d.org", i);
		namepool_give(pool, name, &again);
		assert_string_equal(namepool_find(pool, &again), name);
	}
	assert_string_equal(namepool_find(pool, &a), name);
	assert_string_equal(namepool_find(pool, &b), "b.org");
	namepool_give(pool, "a.org", &again);
	assert_int_equal(again.v4.sin_addr.s_addr, b.v4.sin_addr.s_addr);
	namepool_free(pool);
}

static void knows_no_other_addresses(void **state)
{
	static const char *const others[] = { "198.18.0.0", "198.18.0.1", "198.17.255.255",
		"0.0.0.0", "255.255.255.255", "127.0.0.1" };
	struct namepool *pool = namepool_new();
	union netspace_address address = { .v4 = { .sin_family = AF_INET } };
	const union netspace_address v6 = { .v6 = { .sin6_family = AF_INET6 } };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		assert_int_equal(inet_pton(AF_INET, others[i], &address.v4.sin_addr), 1);
		assert_null(namepool_find(pool, &address));
	}
	assert_null(namepool_find(pool, &v6));
	namepool_free(pool);
	namepool_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(finds_addresses, set_up, tear_down),
		cmocka_unit_test_setup_teardown(gives_up_at_the_deadline, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			asks_once_for_all_and_keeps_the_answer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(tells_nobody_who_has_gone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			runs_few_processes_and_answers_all, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			holds_a_descriptor_until_it_ends, set_up, tear_down),
		cmocka_unit_test(uses_the_resolver_of_the_machine),
		cmocka_unit_test(gives_names_addresses_of_their_own),
		cmocka_unit_test(knows_no_other_addresses),
	};

	processes = mmap(NULL, sizeof(*processes), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (processes == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
