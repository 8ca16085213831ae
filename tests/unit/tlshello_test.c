/* tlshello: reads the name of the server from hellos that are whole, split, or hostile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "confine/tlshello.h"
#include "core/own.h"
#include "tlshello_fixture.h"

#define WHOLE_RECORD 16384

static enum tlshello read_buf(const struct buf *bytes, char name[HOSTNAME_MAX + 1])
{
	return tlshello_read((struct str){ bytes->data, bytes->len }, name);
}

static void finds_the_name(void **state)
{
	owned(buf_release) struct buf hello = BUF_INIT;
	char name[HOSTNAME_MAX + 1];

	make_hello(&hello, "WWW.Example.org", WHOLE_RECORD);
	assert_int_equal(read_buf(&hello, name), TLSHELLO_WHOLE);
	assert_string_equal(name, "www.example.org");
}

static void takes_hellos_without_a_name(void **state)
{
	owned(buf_release) struct buf hello = BUF_INIT, message = BUF_INIT, old = BUF_INIT;
	char name[HOSTNAME_MAX + 1];

	make_hello(&hello, NULL, WHOLE_RECORD);
	assert_int_equal(read_buf(&hello, name), TLSHELLO_WHOLE);
	assert_string_equal(name, "");
	add_message(&message, NULL);
	add_records(&old, &message, WHOLE_RECORD);
	assert_int_equal(read_buf(&old, name), TLSHELLO_WHOLE);
	assert_string_equal(name, "");
}

static void waits_for_every_byte(void **state)
{
	char name[HOSTNAME_MAX + 1];

	for (size_t record = 1; record < 40; record += 19) {
		owned(buf_release) struct buf hello = BUF_INIT;

		make_hello(&hello, "example.org", record);
		for (size_t n = 0; n < hello.len; n++)
			assert_int_equal(tlshello_read((struct str){ hello.data, n }, name),
				TLSHELLO_PARTIAL);
		assert_int_equal(read_buf(&hello, name), TLSHELLO_WHOLE);
		assert_string_equal(name, "example.org");
	}
}

static void leaves_other_protocols_alone(void **state)
{
	static const char *const others[] = { "GET / HTTP/1.1\r\n", "SSH-2.0-x\r\n", "\x80\x2e\1",
		"\x16\x02\x01" };
	char name[HOSTNAME_MAX + 1];

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_int_equal(tlshello_read(str_of(others[i]), name), TLSHELLO_OTHER);
}

static void decides_nothing_by_one_byte(void **state)
{
	char name[HOSTNAME_MAX + 1];

	for (int c = 0x14; c <= 0x18; c++) {
		const char bytes[] = { (char)c, 'x' };

		assert_int_equal(tlshello_read((struct str){ bytes, 1 }, name), TLSHELLO_PARTIAL);
		assert_int_equal(tlshello_read((struct str){ bytes, 2 }, name), TLSHELLO_OTHER);
	}
}

static void refuses_names_that_no_host_has(void **state)
{
	static const struct {
		const char *name;
		size_t len;
	} names[] = {
		{ "", 0 },
		{ "a\0b.org", 7 },
		{ "a\r\nb", 4 },
		{ "a..b", 4 },
		{ "exam ple.org", 12 },
		{ "\xc3\xa4.org", 6 },
		{ "127.1", 5 },
		{ "0x7f000001", 10 },
	};
	char name[HOSTNAME_MAX + 1];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		owned(buf_release) struct buf extensions = BUF_INIT, message = BUF_INIT;
		owned(buf_release) struct buf hello = BUF_INIT;

		add_server_name(&extensions, names[i].name, names[i].len);
		add_message(&message, &extensions);
		add_records(&hello, &message, WHOLE_RECORD);
		assert_int_equal(read_buf(&hello, name), TLSHELLO_BAD);
	}
}

static void refuses_two_names(void **state)
{
	owned(buf_release) struct buf extensions = BUF_INIT, message = BUF_INIT, hello = BUF_INIT;
	char name[HOSTNAME_MAX + 1];

	add_server_name(&extensions, "a.org", 5);
	add_server_name(&extensions, "b.org", 5);
	add_message(&message, &extensions);
	add_records(&hello, &message, WHOLE_RECORD);
	assert_int_equal(read_buf(&hello, name), TLSHELLO_BAD);
}

static void refuses_two_names_in_one_list(void **state)
{
	static const char list[] = "\0\x10\0\0\5a.org\0\0\5b.org";
	owned(buf_release) struct buf extensions = BUF_INIT, message = BUF_INIT, hello = BUF_INIT;
	char name[HOSTNAME_MAX + 1];

	add_extension(&extensions, 0, list, sizeof(list) - 1);
	add_message(&message, &extensions);
	add_records(&hello, &message, WHOLE_RECORD);
	assert_int_equal(read_buf(&hello, name), TLSHELLO_BAD);
}

/* Other records come before, between or after the parts of a hello, where they are not allowed. */
static void refuses_other_records(void **state)
{
	static const char alert[] = "\x15\3\1\0\2\1\0", empty[] = "\x16\3\1\0\0";
	char name[HOSTNAME_MAX + 1];
	owned(buf_release) struct buf parts = BUF_INIT;

	make_hello(&parts, "example.org", 40);
	for (size_t at = 0; at <= 45; at += 45) {
		const struct {
			const char *bytes;
			size_t len;
		} records[] = { { alert, sizeof(alert) - 1 }, { empty, sizeof(empty) - 1 } };

		for (size_t i = 0; i < 2; i++) {
			owned(buf_release) struct buf hello = BUF_INIT;

			buf_add(&hello, parts.data, at);
			buf_add(&hello, records[i].bytes, records[i].len);
			buf_add(&hello, parts.data + at, parts.len - at);
			assert_int_equal(read_buf(&hello, name), TLSHELLO_BAD);
		}
	}
}

static void refuses_what_is_too_long(void **state)
{
	static const char too_long[] = "\x16\3\1\x40\0\1\0\x40\1";
	static const char record_too_long[] = "\x16\3\1\xff\xff\1\0\x01\1";
	char name[HOSTNAME_MAX + 1];
	owned(buf_release) struct buf padding = BUF_INIT, extensions = BUF_INIT, message = BUF_INIT,
				      hello = BUF_INIT;

	assert_int_equal(
		tlshello_read((struct str){ too_long, sizeof(too_long) - 1 }, name), TLSHELLO_BAD);
	assert_int_equal(
		tlshello_read((struct str){ record_too_long, sizeof(record_too_long) - 1 }, name),
		TLSHELLO_BAD);
	for (int i = 0; i < 12000; i++)
		buf_addc(&padding, 0);
	add_extension(&extensions, 21, padding.data, padding.len);
	add_message(&message, &extensions);
	add_records(&hello, &message, 1);
	assert_int_equal(read_buf(&hello, name), TLSHELLO_WHOLE);
	buf_truncate(&hello, TLSHELLO_BYTES_MAX);
	assert_int_equal(read_buf(&hello, name), TLSHELLO_BAD);
}

static void never_reads_past_lengths_that_lie(void **state)
{
	owned(buf_release) struct buf hello = BUF_INIT;
	char name[HOSTNAME_MAX + 1];

	make_hello(&hello, "example.org", WHOLE_RECORD);
	for (size_t i = 5; i < hello.len; i++) {
		owned(buf_release) struct buf changed = BUF_INIT;

		buf_add(&changed, hello.data, hello.len);
		changed.data[i] = (char)0xff;
		(void)read_buf(&changed, name);
		assert_true(strlen(name) <= HOSTNAME_MAX);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_name),
		cmocka_unit_test(takes_hellos_without_a_name),
		cmocka_unit_test(waits_for_every_byte),
		cmocka_unit_test(leaves_other_protocols_alone),
		cmocka_unit_test(decides_nothing_by_one_byte),
		cmocka_unit_test(refuses_names_that_no_host_has),
		cmocka_unit_test(refuses_two_names),
		cmocka_unit_test(refuses_two_names_in_one_list),
		cmocka_unit_test(refuses_other_records),
		cmocka_unit_test(refuses_what_is_too_long),
		cmocka_unit_test(never_reads_past_lengths_that_lie),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
