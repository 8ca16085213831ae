/* hostrelay: the requests of a peer, the agent of a host, and the loss of either. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fakeagent_fixture.h"
#include "rpc/hostrelay.h"
#include "talk_fixture.h"
#include "tempdir_fixture.h"
#include "valgrind_fixture.h"

struct place {
	char dir[64];
	struct talk talk;
	struct arena *arena; /* the arena of talk */
	struct hosts_host host;
	struct hostlink_options options;
};

static void run_relay(void *arg)
{
	struct place *place = arg;
	struct err err = { 0 };

	_exit(hostrelay_run(&place->host, &place->options, NULL, NULL, &err) < 0);
}

static int make_place(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	if (!place)
		return -1;
	memcpy(place->dir, "/tmp/strata-relay-XXXXXX", sizeof("/tmp/strata-relay-XXXXXX"));
	if (!mkdtemp(place->dir) || fakeagent_write(place->dir, FAKEAGENT) < 0)
		return -1;
	place->arena = &place->talk.arena;
	place->host = (struct hosts_host){ .name = "here", .transport = HOSTS_LOCAL };
	place->options.agent_file = arena_printf(place->arena, "%s/agent", place->dir);
	*state = place;
	return talk_begin(&place->talk, run_relay, place);
}

static int remove_place(void **state)
{
	struct place *place = *state;
	int r;

	talk_end(&place->talk);
	r = tempdir_remove(place->dir);
	free(place);
	return r;
}

static void repeats_ids_as_they_were(void **state)
{
	static const char *const ids[] = { "1", "\"a\\u0062 c\"", "1.50", "null", "{\"x\":[1]}",
		"true", "123456789012345678901234567890" };
	struct place *place = *state;

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		talk_put(&place->talk,
			arena_printf(place->arena,
				"{\"jsonrpc\":\"2.0\",\"id\": %s,\"method\":\"list_dir\","
				"\"params\":{\"n\":%zu}}\r\n",
				ids[i], i));
		talk_expect(&place->talk,
			arena_printf(place->arena,
				"{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"n\":%zu}}", ids[i],
				i));
	}
	assert_int_equal(talk_finish(&place->talk), 0);
}

static void answers_what_is_no_request_itself(void **state)
{
	struct place *place = *state;

	/* No agent is needed for that. */
	assert_int_equal(fakeagent_write(place->dir, "exit 1"), 0);
	talk_put(&place->talk,
		"nonsense\n[]\n{\"id\":7}\n{\"id\":8,\"method\":\"list_dir\",\"params\":[]}\n"
		"{\"id\":9,\"method\":\"agent_info\\u0000\"}\n"
		"{\"id\":10,\"method\":\"$/cancel\",\"params\":{\"id\":99}}\n"
		"{\"id\":11,\"method\":\"$/cancel\"}\n");
	static const char *const starts[] = {
		"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":"
		"-32700,",
		"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,",
		"{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32600,",
		"{\"jsonrpc\":\"2.0\",\"id\":8,\"error\":{\"code\":-32602,",
		"{\"jsonrpc\":\"2.0\",\"id\":9,\"error\":{\"code\":-32601,",
		"{\"jsonrpc\":\"2.0\",\"id\":10,\"result\":{\"cancelled\":0}}",
		"{\"jsonrpc\":\"2.0\",\"id\":11,\"error\":{\"code\":-32602,"
	};
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		assert_memory_equal(talk_get(&place->talk), starts[i], strlen(starts[i]));
	/* Of a request, the answer says why the host cannot be asked. */
	talk_put(&place->talk, "{\"id\":12,\"method\":\"list_dir\"}\n");
	const char *line = talk_get(&place->talk);
	assert_non_null(strstr(line, "{\"jsonrpc\":\"2.0\",\"id\":12,\"error\":{\"code\":-32001,"
				     "\"message\":\"host 'here': the connection ended before"));
	assert_non_null(strstr(line, "\"data\":{\"stderr\":"));
	assert_int_equal(talk_finish(&place->talk), 0);
}

static void cancels_by_the_id_of_the_peer(void **state)
{
	struct place *place = *state;

	talk_put(&place->talk,
		"{\"id\":\"x\",\"method\":\"list_dir\",\"params\":{\"a\":\"wait\"}}\n"
		"{\"id\":\"y\",\"method\":\"list_dir\",\"params\":{}}\n");
	talk_expect(&place->talk, "{\"jsonrpc\":\"2.0\",\"id\":\"y\",\"result\":{}}");
	talk_put(&place->talk, "{\"method\":\"$/cancel\",\"params\":{\"id\":\"x\"}}\n");
	talk_expect(&place->talk,
		"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"error\":{\"code\":-32003,\"message\":"
		"\"cancelled\"}}");
	assert_int_equal(talk_finish(&place->talk), 0);
}

static void answers_everything_before_the_end(void **state)
{
	struct place *place = *state;

	talk_put(&place->talk,
		"{\"id\":1,\"method\":\"list_dir\",\"params\":{\"a\":\"die-once\"}}\n"
		"{\"method\":\"list_dir\",\"params\":{\"told\":1}}\n"
		"{\"id\":2,\"method\":\"restore_file\",\"params\":{\"a\":\"die\"}}\n"
		"{\"id\":3,\"method\":\"read_file\",\"params\":{\"b\":1}}");
	talk_close_input(&place->talk);
	bool seen[4] = { 0 };
	for (int i = 0; i < 3; i++) {
		const char *line = talk_get(&place->talk);
		int id = line[strlen("{\"jsonrpc\":\"2.0\",\"id\":")] - '0';

		assert_in_range(id, 1, 3);
		assert_false(seen[id]);
		seen[id] = true;
		assert_int_equal(strstr(line, "\"error\"") != NULL, id == 2);
	}
	talk_expect(&place->talk, "(end)");
	assert_int_equal(talk_wait(&place->talk), 0);
}

static void ends_when_the_peer_has_gone(void **state)
{
	struct place *place = *state;
	pid_t agent = 0;

	/* An agent that does not look at its input meanwhile. */
	assert_int_equal(fakeagent_write(place->dir,
				 "echo $$ >pid\nwhile read -r line; do\n"
				 "  case $line in *agent_info*) echo "
				 "'{\"id\":0,\"result\":{\"protocol_version\":\"1\"}}';;\n"
				 "  *wait*) echo '{\"id\":2,\"result\":{}}'; exec sleep 50;; esac\n"
				 "done"),
		0);
	talk_put(&place->talk, "{\"id\":1,\"method\":\"list_dir\",\"params\":{\"a\":\"wait\"}}\n"
			       "{\"id\":2,\"method\":\"list_dir\",\"params\":{}}\n");
	talk_expect(&place->talk, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
	FILE *file = fopen(arena_printf(place->arena, "%s/pid", place->dir), "r");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%d", &agent), 1);
	fclose(file);
	talk_close_output(&place->talk);
	assert_int_equal(talk_wait(&place->talk), 1);
	assert_int_equal(kill(agent, 0), -1);
}

static void passes_many_and_large_requests(void **state)
{
	enum { COUNT = 400, LARGE = 30000 };
	struct place *place = *state;
	char *filler = arena_alloc(place->arena, LARGE + 1);
	pid_t writer;

	memset(filler, 'x', LARGE);
	writer = child_fork();
	if (writer == 0) {
		for (int i = 0; i < COUNT; i++) {
			owned_mem char *line = mem_printf("{\"id\":%d,\"method\":\"list_dir\","
							  "\"params\":{\"wrong\":\"%s\"}}\n",
				i, filler);
			size_t len = strlen(line), at = 0;

			while (at < len) {
				ssize_t n = write(place->talk.to, line + at, len - at);
				if (n <= 0)
					_exit(1);
				at += (size_t)n;
			}
		}
		_exit(0);
	}
	bool seen[COUNT] = { 0 };
	for (int i = 0; i < COUNT; i++) {
		int id = atoi(talk_get(&place->talk) + strlen("{\"jsonrpc\":\"2.0\",\"id\":"));

		assert_in_range(id, 0, COUNT - 1);
		assert_false(seen[id]);
		seen[id] = true;
	}
	assert_int_equal(child_wait(writer), 0);
	assert_int_equal(talk_finish(&place->talk), 0);
}

int main(void)
{
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, make_place, remove_place)
	const struct CMUnitTest tests[] = {
		TEST(repeats_ids_as_they_were),
		TEST(answers_what_is_no_request_itself),
		TEST(cancels_by_the_id_of_the_peer),
		TEST(answers_everything_before_the_end),
		TEST(ends_when_the_peer_has_gone),
		TEST(passes_many_and_large_requests),
	};

	if (valgrind_runs())
		return valgrind_skip_all();
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
