/* peer: refuses lines that are no requests, cancels, takes no more than it can, and ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/own.h"
#include "core/when.h"
#include "rpc/peer.h"
#include "talk_fixture.h"
#include "valgrind_fixture.h"

#define HELD_MAX 4

/* Holds requests until there are HELD_MAX of them, or one with the method "answer". */
struct holder {
	struct peer peer;
	struct buf ids[HELD_MAX];
	size_t n;
};

static void reply(struct holder *holder, struct str id)
{
	owned(json_release) struct json out = JSON_INIT;

	envelope_begin(&out, id);
	json_uint(&out, "held", holder->n);
	(void)envelope_end(&out);
	peer_reply(&holder->peer, &out.out, 0);
}

/* Answer the requests, the youngest first. */
static void answer_held(struct holder *holder)
{
	while (holder->n) {
		struct buf *id = &holder->ids[--holder->n];

		reply(holder, (struct str){ id->data, id->len });
		buf_clear(id);
	}
}

static void take_request(void *arg, const struct envelope *request)
{
	struct holder *holder = arg;

	if (holder->n == HELD_MAX)
		_exit(8);
	if (!str_eq(request->method, STR("answer"))) {
		buf_add(&holder->ids[holder->n++], request->id.data, request->id.len);
		return;
	}
	answer_held(holder);
	/* What the program prints must not get to the peer. */
	if (printf("printed\n") != 8 || fflush(stdout))
		_exit(7);
	if (request->answered)
		reply(holder, (struct str){ request->id.data, request->id.len });
}

static size_t cancel_held(void *arg, struct str id)
{
	struct holder *holder = arg;
	size_t n = 0;

	for (size_t i = 0; i < holder->n; i++)
		n += str_eq((struct str){ holder->ids[i].data, holder->ids[i].len }, id);
	return n;
}

static enum peer_load measure_load(const void *arg)
{
	const struct holder *holder = arg;

	return holder->n == HELD_MAX ? PEER_FULL : holder->n ? PEER_BUSY : PEER_IDLE;
}

static size_t poll_nothing(void *arg, size_t unsent, struct pollfd *fds, int64_t *wake)
{
	struct holder *holder = arg;

	if (holder->n == HELD_MAX)
		*wake = when_monotonic() + WHEN_MS;
	return 0;
}

static void handle(void *arg, const struct pollfd *fds)
{
	struct holder *holder = arg;

	if (holder->n == HELD_MAX)
		answer_held(holder);
}

static void run_peer(void *arg)
{
	static const struct peer_face face = {
		.request = take_request,
		.cancel = cancel_held,
		.load = measure_load,
		.poll = poll_nothing,
		.handle = handle,
	};
	struct holder holder = { 0 };
	struct err err = { 0 };

	for (size_t i = 0; i < HELD_MAX; i++)
		holder.ids[i] = (struct buf)BUF_INIT;
	/* The text that take_request prints goes to standard error. */
	if (!freopen("/dev/null", "w", stderr) || peer_open(&holder.peer, &face, &holder, &err) < 0)
		_exit(6);
	int r = peer_serve(&holder.peer, &err);
	peer_close(&holder.peer);
	if (r < 0)
		_exit(strcmp(err.text, "the peer has hung up") ? 5 : 1);
	/* Descriptor 1 is the pipe to the peer again. */
	_exit(write(STDOUT_FILENO, "bye\n", 4) != 4);
}

static int begin(void **state)
{
	static struct talk talk;

	talk = (struct talk){ .to = -1 };
	*state = &talk;
	return talk_begin(&talk, run_peer, NULL);
}

static int end(void **state)
{
	talk_end(*state);
	return 0;
}

static int finish(struct talk *talk)
{
	talk_close_input(talk);
	talk_expect(talk, "bye");
	return talk_finish(talk);
}

static void answers_in_any_order(void **state)
{
	struct talk *talk = *state;

	talk_put(talk, "{\"id\":1,\"method\":\"hold\"}\n"
		       "{\"id\":\"b\",\"method\":\"hold\"}\r\n\n"
		       "{\"id\":[3],\"method\":\"answer\"}\n");
	talk_expect(talk, "{\"jsonrpc\":\"2.0\",\"id\":\"b\",\"result\":{\"held\":1}}");
	talk_expect(talk, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"held\":0}}");
	talk_expect(talk, "{\"jsonrpc\":\"2.0\",\"id\":[3],\"result\":{\"held\":0}}");
	assert_int_equal(finish(talk), 0);
}

static void refuses_what_is_no_request(void **state)
{
	static const char *const refused[] = {
		"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,",
		"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,",
		"{\"jsonrpc\":\"2.0\",\"id\":8,\"error\":{\"code\":-32602,",
		"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,"
		"\"message\":\"a request is longer than 1048576 bytes\"}}",
		"{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{\"held\":0}}",
	};
	struct talk *talk = *state;
	char *filler = arena_alloc(&talk->arena, 1025);

	talk_put(talk, "nonsense\n[]\n{\"id\":8,\"method\":\"hold\",\"params\":[]}\n"
		       "{\"method\":\"hold\",\"params\":[]}\n");
	memset(filler, 'x', 1024);
	filler[1024] = '\0';
	for (int i = 0; i < 1025; i++)
		talk_put(talk, filler);
	talk_put(talk, "\n{\"id\":9,\"method\":\"answer\"}\n");
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		assert_memory_equal(talk_get(talk), refused[i], strlen(refused[i]));
	assert_int_equal(finish(talk), 0);
}

static void counts_what_it_cancels(void **state)
{
	struct talk *talk = *state;

	talk_put(talk, "{\"id\":1,\"method\":\"hold\"}\n{\"id\":1,\"method\":\"hold\"}\n"
		       "{\"method\":\"$/cancel\",\"params\":{\"id\":1}}\n"
		       "{\"id\":2,\"method\":\"$/cancel\",\"params\":{\"id\": 1}}\n"
		       "{\"id\":3,\"method\":\"$/cancel\",\"params\":{\"id\":\"1\"}}\n"
		       "{\"id\":4,\"method\":\"$/cancel\"}\n"
		       "{\"method\":\"answer\"}\n");
	talk_expect(talk, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"cancelled\":2}}");
	talk_expect(talk, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"cancelled\":0}}");
	talk_expect(talk, "{\"jsonrpc\":\"2.0\",\"id\":4,\"error\":{\"code\":-32602,"
			  "\"message\":\"'id' must be the id of a request\"}}");
	talk_expect(talk, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"held\":1}}");
	talk_expect(talk, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"held\":0}}");
	assert_int_equal(finish(talk), 0);
}

static void waits_while_its_face_is_full(void **state)
{
	enum { COUNT = 40 * HELD_MAX };
	struct talk *talk = *state;
	bool seen[COUNT] = { 0 };

	/* The child fails if it is given more requests than it can hold. */
	for (int i = 0; i < COUNT; i++)
		talk_put(talk, arena_printf(&talk->arena, "{\"id\":%d,\"method\":\"hold\"}\n", i));
	talk_close_input(talk);
	for (int i = 0; i < COUNT; i++) {
		int id = atoi(talk_get(talk) + strlen("{\"jsonrpc\":\"2.0\",\"id\":"));

		assert_in_range(id, 0, COUNT - 1);
		assert_false(seen[id]);
		seen[id] = true;
	}
	assert_int_equal(finish(talk), 0);
}

/* The replies to one piece of input are larger than what may be unsent. */
static void answers_lines_that_had_to_wait_for_the_replies(void **state)
{
	enum { COUNT = 30000 };
	struct talk *talk = *state;
	char *lines = arena_alloc(&talk->arena, 2 * COUNT + 1);

	for (int i = 0; i < COUNT; i++)
		memcpy(lines + (size_t)2 * i, "x\n", 3);
	talk_put(talk, lines);
	for (int i = 0; i < COUNT; i++)
		assert_non_null(strstr(talk_get(talk), "-32700"));
	talk_put(talk, "{\"id\":1,\"method\":\"answer\"}\n");
	talk_expect(talk, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"held\":0}}");
	assert_int_equal(finish(talk), 0);
}

static void ends_when_the_peer_hangs_up(void **state)
{
	struct talk *talk = *state;

	talk_put(talk, "{\"id\":1,\"method\":\"hold\"}\n");
	talk_close_output(talk);
	assert_int_equal(talk_wait(talk), 1);
}

int main(void)
{
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(answers_in_any_order),
		TEST(refuses_what_is_no_request),
		TEST(counts_what_it_cancels),
		TEST(waits_while_its_face_is_full),
		TEST(answers_lines_that_had_to_wait_for_the_replies),
		TEST(ends_when_the_peer_hangs_up),
	};

	if (valgrind_runs())
		return valgrind_skip_all();
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
