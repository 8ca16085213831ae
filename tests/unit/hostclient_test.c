/* hostclient: requests to an agent whose connection may be lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "core/arena.h"
#include "core/own.h"
#include "core/when.h"
#include "fakeagent_fixture.h"
#include "rpc/hostclient.h"
#include "tempdir_fixture.h"
#include "valgrind_fixture.h"

#define ANSWERS_MAX 8

struct place {
	struct arena arena;
	const char *dir, *agent;
	struct hosts_host host;
	struct hostlink_options options;
	struct hostclient_face face;
	struct hostclient *client;
	size_t answers, notices;
	const char *value[ANSWERS_MAX]; /* by tag */
	bool failed[ANSWERS_MAX];
};

static void take_answer(void *arg, uint64_t tag, const struct hostclient_answer *answer)
{
	struct place *place = arg;

	assert_true(tag < ANSWERS_MAX);
	assert_null(place->value[tag]);
	place->value[tag] = arena_str(&place->arena, answer->value).ptr;
	place->failed[tag] = answer->failed;
	place->answers++;
}

static void take_notice(void *arg, const char *text)
{
	((struct place *)arg)->notices++;
}

static void write_agent(struct place *place, const char *text)
{
	assert_int_equal(fakeagent_write(place->dir, text), 0);
}

static int make_place(void **state)
{
	struct place *place = calloc(1, sizeof(*place));
	char dir[] = "/tmp/strata-client-XXXXXX";

	if (!place || !mkdtemp(dir))
		return -1;
	place->dir = arena_strdup(&place->arena, dir);
	place->agent = arena_printf(&place->arena, "%s/agent", dir);
	write_agent(place, FAKEAGENT);
	place->host = (struct hosts_host){ .name = "here", .transport = HOSTS_LOCAL };
	place->options = (struct hostlink_options){ .agent_file = place->agent, .start_ms = 20000 };
	place->face = (struct hostclient_face){ take_answer, take_notice, place };
	place->client = hostclient_new(&place->host, &place->options, &place->face);
	*state = place;
	return 0;
}

static int remove_place(void **state)
{
	struct place *place = *state;
	int r;

	hostclient_free(place->client);
	r = tempdir_remove(place->dir);
	arena_release(&place->arena);
	free(place);
	return r;
}

static void ask(struct place *place, uint64_t tag, const char *method, const char *params)
{
	hostclient_ask(place->client, tag, method, str_of(params));
}

static void step(struct place *place)
{
	struct pollfd polls[HOSTCLIENT_POLLS];
	size_t n = hostclient_polls(place->client, polls);
	int ms = hostclient_wait_ms(place->client);

	poll(polls, n, ms < 0 || ms > 1000 ? 1000 : ms);
	hostclient_handle(place->client);
}

static void await_answers(struct place *place, size_t count)
{
	int64_t deadline = when_monotonic() + 30 * WHEN_SECOND;

	while (place->answers < count) {
		if (when_monotonic() > deadline)
			fail_msg("%zu answers", place->answers);
		step(place);
	}
}

static const char *log_of(struct place *place)
{
	const char *path = arena_printf(&place->arena, "%s/log", place->dir);
	FILE *file = fopen(path, "r");
	char *text = arena_alloc(&place->arena, 20000);

	assert_non_null(file);
	text[fread(text, 1, 19999, file)] = '\0';
	fclose(file);
	return text;
}

static size_t count_of(const char *text, const char *word)
{
	size_t n = 0;

	for (; (text = strstr(text, word)); text += strlen(word))
		n++;
	return n;
}

static void answers_several_requests(void **state)
{
	struct place *place = *state;

	for (uint64_t tag = 0; tag < 5; tag++)
		ask(place, tag, "list_dir", arena_printf(&place->arena, "{\"n\":%d}", (int)tag));
	assert_int_equal(hostclient_pending(place->client), 5);
	await_answers(place, 5);
	for (int tag = 0; tag < 5; tag++) {
		assert_false(place->failed[tag]);
		assert_string_equal(
			place->value[tag], arena_printf(&place->arena, "{\"n\":%d}", tag));
	}
	assert_int_equal(hostclient_pending(place->client), 0);
	assert_int_equal(hostclient_bytes(place->client), 0);
	assert_string_equal(hostclient_version(place->client), "7");
	assert_int_equal(count_of(log_of(place), "start"), 1);
}

static void repeats_reads_on_a_new_connection(void **state)
{
	struct place *place = *state;

	ask(place, 0, "list_dir", "{\"a\":\"die-once\"}");
	ask(place, 1, "read_file", "{\"b\":1}");
	await_answers(place, 2);
	assert_false(place->failed[0]);
	assert_false(place->failed[1]);
	assert_int_equal(count_of(log_of(place), "start"), 2);
	assert_int_equal(count_of(log_of(place), "die-once"), 2);
	assert_int_equal(place->notices, 1);
}

static void gives_up_a_read_that_always_kills(void **state)
{
	struct place *place = *state;

	ask(place, 0, "list_dir", "{\"a\":\"die\"}");
	await_answers(place, 1);
	assert_true(place->failed[0]);
	assert_non_null(
		strstr(place->value[0], "{\"code\":-32001,\"message\":\"host 'here': the "
					"connection ended; the agent ended with status 3: "
					"gone\",\"data\":{\"stderr\":\"gone\",\"argv\":[\""));
	assert_int_equal(count_of(log_of(place), "\"die\""), 3);
	/* The next question finds a new agent. */
	ask(place, 1, "list_dir", "{\"b\":1}");
	await_answers(place, 2);
	assert_string_equal(place->value[1], "{\"b\":1}");
}

static void never_sends_a_restore_twice(void **state)
{
	struct place *place = *state;

	ask(place, 0, "restore_file", "{\"a\":\"die\"}");
	ask(place, 1, "restore_dir", "{\"b\":1}");
	ask(place, 2, "unknown_method", "{\"c\":1}");
	ask(place, 3, "list_dir", "{\"d\":1}");
	await_answers(place, 4);
	for (int tag = 0; tag < 3; tag++) {
		assert_true(place->failed[tag]);
		assert_non_null(strstr(
			place->value[tag], "lost before the reply, so it is not known whether"));
		assert_non_null(strstr(place->value[tag], "\"hint\":\"look at the target"));
	}
	assert_false(place->failed[3]);
	assert_int_equal(count_of(log_of(place), "restore_file"), 1);
	assert_true(count_of(log_of(place), "restore_dir") <= 1);
}

/* A request that was not yet sent when the connection ended is sent once. */
static void sends_a_restore_that_waited(void **state)
{
	struct place *place = *state;

	ask(place, 0, "list_dir", "{}");
	await_answers(place, 1);
	hostclient_tell(place->client, "die", str_of("{}"));
	while (count_of(log_of(place), "\"die\"") == 0)
		step(place);
	for (int i = 0; i < 200 && hostclient_started(place->client); i++)
		step(place);
	assert_null(hostclient_started(place->client));
	ask(place, 1, "restore_file", "{\"a\":1}");
	await_answers(place, 2);
	assert_string_equal(place->value[1], "{\"a\":1}");
	assert_int_equal(count_of(log_of(place), "restore_file"), 1);
}

static void cancels_a_request(void **state)
{
	struct place *place = *state;

	ask(place, 0, "list_dir", "{\"a\":\"wait\"}");
	ask(place, 1, "list_dir", "{\"b\":1}");
	await_answers(place, 1);
	hostclient_cancel(place->client, 0);
	await_answers(place, 2);
	assert_true(place->failed[0]);
	assert_string_equal(place->value[0], "{\"code\":-32003,\"message\":\"cancelled\"}");
	assert_non_null(strstr(log_of(place), "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel\","
					      "\"params\":{\"id\":1}}"));
	/* A request that was not sent yet needs no agent for that. */
	hostclient_free(place->client);
	place->client = hostclient_new(&place->host, &place->options, &place->face);
	ask(place, 2, "list_dir", "{}");
	hostclient_cancel(place->client, 2);
	assert_int_equal(place->answers, 3);
	assert_non_null(strstr(place->value[2], "\"code\":-32003"));
}

static void refuses_what_is_no_reply(void **state)
{
	static const struct {
		const char *agent, *error;
	} cases[] = {
		{ "echo Welcome; cat >/dev/null",
			"it prints text before the agent answers: Welcome" },
		{ "echo '{\"id\":1}'; cat >/dev/null",
			"it prints text before the agent answers: " },
		{ "echo '{\"id\":0,\"result\":{\"protocol_version\":\"2\"}}'; cat >/dev/null",
			"speaks protocol 2, not 1" },
		{ "echo '{\"id\":0,\"error\":{}}'; cat >/dev/null", "does not say which protocol" },
		{ "head -c 9000000 /dev/zero | tr '\\0' x; cat >/dev/null",
			"it prints text before the agent answers: " },
		{ "exit 5", "the connection ended before the agent answered; the agent ended with "
			    "status 5" },
	};
	struct place *place = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		write_agent(place, cases[i].agent);
		ask(place, i, "list_dir", "{}");
		await_answers(place, i + 1);
		assert_true(place->failed[i]);
		if (!strstr(place->value[i], cases[i].error))
			fail_msg("%s", place->value[i]);
	}
	assert_int_equal(place->notices, 0);
	write_agent(place, FAKEAGENT);
	ask(place, 6, "list_dir", "{\"a\":\"noise\"}");
	await_answers(place, 7);
	assert_non_null(strstr(place->value[6], "the agent sends a line that is no reply"));
}

static void asks_one_question(void **state)
{
	struct place *place = *state;
	owned(buf_release) struct buf result = BUF_INIT, data = BUF_INIT;
	struct err err = { 0 };

	assert_int_equal(hostclient_call(&place->host, &place->options, "list_dir",
				 STR("{\"a\":1}"), &result, &data, &err),
		0);
	assert_string_equal(result.data, "{\"a\":1}");
	assert_int_equal(hostclient_call(&place->host, &place->options, "list_dir",
				 STR("{\"a\":\"wrong\"}"), &result, &data, &err),
		-ERR_NOT_FOUND);
	assert_string_equal(err.text, "host 'here': no path");
	assert_string_equal(err.hint, "look");
	assert_string_equal(data.data, "\"hint\":\"look\"");
}

int main(void)
{
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, make_place, remove_place)
	const struct CMUnitTest tests[] = {
		TEST(answers_several_requests),
		TEST(repeats_reads_on_a_new_connection),
		TEST(gives_up_a_read_that_always_kills),
		TEST(never_sends_a_restore_twice),
		TEST(sends_a_restore_that_waited),
		TEST(cancels_a_request),
		TEST(refuses_what_is_no_reply),
		TEST(asks_one_question),
	};

	if (valgrind_runs())
		return valgrind_skip_all();
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
