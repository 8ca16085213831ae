/*
 * frame: frames that arrive in pieces are put together, and the different ends of input are
 * distinguished.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/mem.h"
#include "core/own.h"
#include "worker/frame.h"

struct pair {
	int ours, theirs;
	struct frame_reader reader;
	struct err err;
};

static int setup(void **state)
{
	struct pair *pair = mem_zalloc(sizeof(*pair));
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	pair->ours = ends[0];
	pair->theirs = ends[1];
	frame_reader_init(&pair->reader, pair->ours);
	*state = pair;
	return 0;
}

static int teardown(void **state)
{
	struct pair *pair = *state;

	frame_reader_release(&pair->reader);
	close_fd(&pair->ours);
	close_fd(&pair->theirs);
	free(pair);
	return 0;
}

/* Send these bytes to the reader.  If all is set, close the connection afterwards. */
static void arrive(struct pair *pair, const void *bytes, size_t len, bool all)
{
	assert_int_equal(write(pair->theirs, bytes, len), len);
	if (all)
		close_fd(&pair->theirs);
}

static void assert_frame(struct pair *pair, const char *text)
{
	struct str frame;

	assert_int_equal(frame_read(&pair->reader, &frame, &pair->err), 1);
	assert_int_equal(frame.len, strlen(text));
	assert_memory_equal(frame.ptr, text, frame.len);
}

static void assert_end(struct pair *pair, int r, const char *why)
{
	struct str frame;

	assert_int_equal(frame_read(&pair->reader, &frame, &pair->err), r);
	assert_string_equal(pair->err.text, why);
}

static void takes_frames_back_to_back(void **state)
{
	struct pair *pair = *state;

	arrive(pair, "\0\0\0\2{}\0\0\0\0\0\0\0\4null", 18, true);
	assert_frame(pair, "{}");
	assert_frame(pair, "");
	assert_frame(pair, "null");
	assert_end(pair, 0, "");
}

static void ends_cleanly_before_any_byte(void **state)
{
	arrive(*state, "", 0, true);
	assert_end(*state, 0, "");
}

static void tells_an_end_in_a_length(void **state)
{
	arrive(*state, "\0\0", 2, true);
	assert_end(*state, -ERR_INVALID, "the input ends after 2 of the 4 bytes of a length");
}

static void tells_an_end_in_a_frame(void **state)
{
	arrive(*state, "\0\0\0\144abcd", 8, true);
	assert_end(*state, -ERR_INVALID, "the input ends after 4 of the 100 bytes of a frame");
}

static void refuses_a_length_before_it_allocates(void **state)
{
	struct pair *pair = *state;

	arrive(pair, "\0\20\0\1", 4, false);
	assert_end(pair, -ERR_LIMIT, "a frame of 1048577 bytes; 1048576 are allowed");
	assert_true(pair->reader.bytes.cap < FRAME_MAX / 2);
	frame_reader_release(&pair->reader);
	frame_reader_init(&pair->reader, pair->ours);
	arrive(pair, "\100\0\0\0", 4, false);
	assert_end(pair, -ERR_LIMIT, "a frame of 1073741824 bytes; 1048576 are allowed");
}

static void takes_the_largest_frame_in_pieces(void **state)
{
	struct pair *pair = *state;
	owned(buf_release) struct buf out = FRAME_BUF_INIT;
	struct str frame;

	frame_begin(&out);
	for (size_t i = 0; i < FRAME_MAX; i++)
		buf_addc(&out, 'x');
	pid_t pid = fork();
	if (pid == 0)
		_exit(frame_send(pair->theirs, &out, &pair->err) != 0);
	assert_int_equal(frame_read(&pair->reader, &frame, &pair->err), 1);
	assert_int_equal(frame.len, FRAME_MAX);
	assert_memory_equal(frame.ptr, out.data + FRAME_PREFIX, FRAME_MAX);
}

static void refuses_to_send_more(void **state)
{
	struct pair *pair = *state;
	owned(buf_release) struct buf out = FRAME_BUF_INIT;
	char byte;

	frame_begin(&out);
	for (size_t i = 0; i <= FRAME_MAX; i++)
		buf_addc(&out, 'x');
	assert_int_equal(frame_send(pair->theirs, &out, &pair->err), -ERR_LIMIT);
	assert_int_equal(recv(pair->ours, &byte, 1, MSG_DONTWAIT), -1);
}

static void survives_a_peer_that_is_gone(void **state)
{
	struct pair *pair = *state;
	owned(buf_release) struct buf out = FRAME_BUF_INIT;

	close_fd(&pair->ours);
	frame_begin(&out);
	assert_int_equal(frame_send(pair->theirs, &out, &pair->err), -ERR_SYSTEM);
	assert_int_equal(pair->err.errno_value, EPIPE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(takes_frames_back_to_back),
		TEST(ends_cleanly_before_any_byte),
		TEST(tells_an_end_in_a_length),
		TEST(tells_an_end_in_a_frame),
		TEST(refuses_a_length_before_it_allocates),
		TEST(takes_the_largest_frame_in_pieces),
		TEST(refuses_to_send_more),
		TEST(survives_a_peer_that_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
