/*
 * A policy is read, or refused with a reason.  A policy that was read can be written, and is then
 * read as the same.  It can be resolved, and composed with every preset and with itself.  The
 * result is a document, too, and allows nothing that either of the two policies denies.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/own.h"
#include "policy/compose.h"
#include "policy/domains.h"
#include "policy/preset.h"
#include "policy/sentences.h"
#include "policy/verdict.h"

static const char *const paths[] = { "/", "/a", "/a/.git/hooks/x", "/a/b/c", "/h/.ssh/id",
	"/h/.bashrc" };
static const char *const hosts[] = { "a.com", "x.a.com", "127.0.0.1", "localhost", "1.1.1.1" };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void write_policy(const struct policy *policy, struct json *out)
{
	policy_write(out, NULL, policy);
	if (json_end(out) < 0)
		abort();
}

/* The written policy must be readable, and must be written as the same text again. */
static void read_again(const struct policy *policy, struct arena *arena)
{
	owned(json_release) struct json first = JSON_INIT, second = JSON_INIT;
	struct policy again;
	struct err err = { 0 };

	write_policy(policy, &first);
	struct str text = { first.out.data, first.out.len };
	/* Escapes may make a text longer than its limit. */
	if (text.len > POLICY_SIZE_MAX)
		return;
	if (policy_read(text, "again", arena, &again, &err) < 0)
		abort();
	write_policy(&again, &second);
	if (!str_eq(text, (struct str){ second.out.data, second.out.len }))
		abort();
}

static void compare(const struct policy *a, const struct policy *b, const struct policy *both)
{
	struct verdict one, other, verdict;

	for (size_t i = 0; i < COUNT(paths); i++)
		for (int access = VERDICT_READ; access <= VERDICT_EXECUTE; access++) {
			verdict_path(a, access, str_of(paths[i]), &one);
			verdict_path(b, access, str_of(paths[i]), &other);
			verdict_path(both, access, str_of(paths[i]), &verdict);
			if (verdict.allowed && !(one.allowed && other.allowed))
				abort();
		}
	for (size_t i = 0; i < COUNT(hosts); i++) {
		verdict_host(a, str_of(hosts[i]), 443, &one);
		verdict_host(b, str_of(hosts[i]), 443, &other);
		verdict_host(both, str_of(hosts[i]), 443, &verdict);
		if (verdict.allowed && !(one.allowed && other.allowed))
			abort();
	}
}

static bool place_policy(const struct policy *policy, struct arena *arena, struct policy *out)
{
	static const struct policy_place place = { "/h", "/a" };
	struct err err = { 0 };

	return policy_resolve(policy, &place, arena, out, &err) >= 0;
}

static void compose(const struct policy *a, const struct policy *b, struct arena *arena)
{
	struct policy both, placed[3];
	struct err err = { 0 };

	if (compose_policies(a, b, arena, &both, &err) < 0)
		return;
	read_again(&both, arena);
	if (place_policy(a, arena, &placed[0]) && place_policy(b, arena, &placed[1]) &&
		place_policy(&both, arena, &placed[2]))
		compare(&placed[0], &placed[1], &placed[2]);
}

static void use(const struct policy *policy, struct arena *arena)
{
	struct policy placed;

	read_again(policy, arena);
	compose(policy, policy, arena);
	for (const struct policy *preset = preset_all; preset->preset; preset++) {
		compose(policy, preset, arena);
		compose(preset, policy, arena);
	}
	if (place_policy(policy, arena, &placed) && !sentences_list(&placed, arena).n)
		abort();
}

/*
 * Read the input as a host, and as a rule about hosts.  A host and a rule each have only one form.
 */
static void read_host(struct str text)
{
	owned(buf_release) struct buf once = BUF_INIT, twice = BUF_INIT;
	struct domains_host host;
	struct domains_rule rule;

	if (domains_read_host(text, &host) && !host.is_address &&
		(!host.name[0] || strlen(host.name) > DOMAINS_NAME_MAX))
		abort();
	if (domains_read_rule(text, &rule))
		return;
	domains_write_rule(&once, &rule);
	if (domains_read_rule((struct str){ once.data, once.len }, &rule))
		abort();
	domains_write_rule(&twice, &rule);
	if (strcmp(once.data, twice.data) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(arena_release) struct arena arena = { 0 };
	struct str text = { (const char *)data, size };
	struct policy policy;
	struct err err = { 0 };

	read_host(text);
	if (policy_read(text, "input", &arena, &policy, &err) >= 0)
		use(&policy, &arena);
	else if ((err.code != ERR_INVALID && err.code != ERR_LIMIT) || !err.text[0])
		abort();
	return 0;
}
