/* hash: SHA-256 as in FIPS 180-4, for whole contents and for pieces, and its text form. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/hash.h"
#include "core/mem.h"
#include "core/own.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MILLION 1000000

static void gives_the_examples_of_the_standard(void **state)
{
	static const struct {
		const char *text, *hex;
	} cases[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
			"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
		{ "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno"
		  "ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
			"cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1" },
	};
	char hex[HASH_HEX];
	struct hash hash;

	for (size_t i = 0; i < COUNT(cases); i++) {
		hash_of(cases[i].text, strlen(cases[i].text), &hash);
		assert_string_equal(hash_hex(&hash, hex), cases[i].hex);
	}
	owned_mem char *many = mem_alloc(MILLION);
	memset(many, 'a', MILLION);
	hash_of(many, MILLION, &hash);
	assert_string_equal(hash_hex(&hash, hex),
		"cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void gives_the_same_in_pieces_of_any_size(void **state)
{
	static const size_t pieces[] = { 1, 3, 55, 56, 63, 64, 65, 127, 128, 1000, 4096, 10000 };
	char bytes[10000];
	struct hash whole, streamed;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * i >> 3);
	for (size_t len = 0; len <= sizeof(bytes); len = len * 3 + 7) {
		hash_of(bytes, len, &whole);
		for (size_t i = 0; i < COUNT(pieces); i++) {
			struct hash_stream *stream = hash_stream_new();

			for (size_t at = 0; at < len; at += pieces[i])
				hash_stream_add(stream, bytes + at,
					len - at < pieces[i] ? len - at : pieces[i]);
			hash_stream_finish(stream, &streamed);
			assert_true(hash_eq(&whole, &streamed));
		}
	}
}

static void reads_its_own_text_and_no_other(void **state)
{
	static const char *const wrong[] = {
		"",
		"ba78",
		"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015a",
		"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015add",
		"BA7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		"ga7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		"b 7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
	};
	struct hash hash, back, none = { 0 };
	char hex[HASH_HEX];

	for (unsigned i = 0; i < 256; i++) {
		hash_of(&i, sizeof(i), &hash);
		assert_true(hash_parse(hash_hex(&hash, hex), &back));
		assert_true(hash_eq(&hash, &back));
		assert_false(hash_is_none(&hash));
	}
	for (size_t i = 0; i < COUNT(wrong); i++)
		assert_false(hash_parse(wrong[i], &back));
	assert_true(hash_is_none(&none));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_the_examples_of_the_standard),
		cmocka_unit_test(gives_the_same_in_pieces_of_any_size),
		cmocka_unit_test(reads_its_own_text_and_no_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
