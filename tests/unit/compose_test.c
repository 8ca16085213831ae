/*
 * compose: a composition allows only actions that both policies allow.  There are examples, and a
 * property test: random policies are asked about random paths, hosts and addresses.
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/own.h"
#include "policy/compose.h"
#include "policy/domains.h"
#include "policy/rule.h"
#include "policy/verdict.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ROUNDS 1500
#define QUESTIONS 60

static struct policy read_one(const char *text, struct arena *arena)
{
	struct policy policy;
	struct err err = { 0 };

	if (policy_read(str_of(text), "p", arena, &policy, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	return policy;
}

static struct policy composed(const struct policy *a, const struct policy *b, struct arena *arena)
{
	struct policy both;
	struct err err = { 0 };

	if (compose_policies(a, b, arena, &both, &err) < 0)
		fail_msg("%s", err.text);
	return both;
}

static const char *written(const struct policy *policy, struct arena *arena)
{
	owned(json_release) struct json out = JSON_INIT;

	policy_write(&out, NULL, policy);
	assert_int_equal(json_end(&out), 0);
	return arena_str(arena, (struct str){ out.out.data, out.out.len }).ptr;
}

static const char *joined(struct policy_list list, struct arena *arena)
{
	const char *text = "";

	for (size_t i = 0; i < list.n; i++)
		text = arena_printf(arena, "%s%s%s", text, i ? "|" : "", list.list[i]);
	return text;
}

/* ----------------------------------------------------------------- examples */

static void path_lists_intersect(void **state)
{
	static const struct {
		const char *a, *b, *both;
	} cases[] = {
		{ "\"/\"", "\"/a\",\"~/b\",\"$WORKSPACE\"", "/a|~/b|$WORKSPACE" },
		{ "\"/a\"", "\"/a/b\",\"/c\"", "/a/b" },
		{ "\"/a\",\"/b\"", "\"/b/x\",\"/a\"", "/a|/b/x" },
		{ "\"~/a\"", "\"/home\"", "" },
		{ "\"~\"", "\"~/a\"", "~/a" },
		{ "\"/a/*/c\"", "\"/a/b\"", "/a/b/c" },
		{ "\"/a/*\"", "\"/a/b*\"", "/a/b*" },
		{ "\"/a/b*\"", "\"/a/*c\"", "" },
		{ "\"/a/b*\"", "\"/a/bcd\"", "/a/bcd" },
		{ "\"/**/x\"", "\"/a/b\"", "/a/b/**/x" },
		{ "\"/**/x\"", "\"/a/x/c\"", "/a/x/c" },
		{ "\"/a\"", "\"/ab\"", "" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		owned(arena_release) struct arena arena = { 0 };
		const char *form = "{\"fs\":{\"grantable\":[%s]}}";
		struct policy a = read_one(arena_printf(&arena, form, cases[i].a), &arena);
		struct policy b = read_one(arena_printf(&arena, form, cases[i].b), &arena);

		assert_string_equal(
			joined(composed(&a, &b, &arena).fs.grantable, &arena), cases[i].both);
		assert_int_equal(composed(&b, &a, &arena).fs.grantable.n,
			composed(&a, &b, &arena).fs.grantable.n);
	}
}

static void a_protected_name_must_be_named_by_both(void **state)
{
	static const struct {
		const char *a, *b, *both;
	} cases[] = {
		{ "\"/w\"", "\"/w/.git/hooks\"", "" },
		{ "\"/w/.git/hooks\"", "\"/w/.git/hooks\",\"/w/a\"", "/w/.git/hooks" },
		{ "\"/w\",\"/w/.vscode\"", "\"/w\",\"/w/.vscode\"", "/w|/w/.vscode" },
		{ "\"/w\",\"/w/.vscode\"", "\"/w\"", "/w" },
		{ "\"/w/*/x\"", "\"/w/.vscode\"", "" },
		{ "\"~\"", "\"~/.bashrc\"", "" },
		{ "\"~\"", "\"~/x/.bashrcs\"", "~/x/.bashrcs" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		owned(arena_release) struct arena arena = { 0 };
		const char *form = "{\"fs\":{\"allow_write\":[%s]}}";
		struct policy a = read_one(arena_printf(&arena, form, cases[i].a), &arena);
		struct policy b = read_one(arena_printf(&arena, form, cases[i].b), &arena);

		assert_string_equal(
			joined(composed(&a, &b, &arena).fs.allow_write, &arena), cases[i].both);
	}
}

static void a_grant_lifts_only_what_both_offer(void **state)
{
	static const struct {
		const char *a, *b, *both;
	} cases[] = {
		{ "\"grantable\":[\"/w\"]", "\"grantable\":[\"/w/.git/hooks\"]", "" },
		{ "\"grantable\":[\"/w/.git/hooks\"]", "\"grantable\":[\"/w/.git/hooks\"]",
			"/w/.git/hooks" },
		/* The second policy names places within a denial, and the first policy does not. */
		{ "\"deny_read\":[\"/s/x\"],\"grantable\":[\"/s\"]",
			"\"grantable\":[\"/s/x\",\"/s/y\"]", "/s/y" },
		{ "\"deny_read\":[\"/s/x\"],\"grantable\":[\"/s\",\"/s/x\"]",
			"\"grantable\":[\"/s/x\"]", "/s/x" },
		{ "\"allow_write\":[\"/s\"],\"deny_write_within_allow\":[\"/s/x\"],"
		  "\"grantable\":[\"/s\"]",
			"\"grantable\":[\"/s/x/y\"]", "" },
		{ "\"deny_read\":[\"/s/x\"],\"grantable\":[\"/s\",\"/s/x\"]",
			"\"grantable\":[\"/s\",\"/s/x\"]", "/s|/s/x" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		owned(arena_release) struct arena arena = { 0 };
		const char *form = "{\"fs\":{%s}}";
		struct policy a = read_one(arena_printf(&arena, form, cases[i].a), &arena);
		struct policy b = read_one(arena_printf(&arena, form, cases[i].b), &arena);

		assert_string_equal(
			joined(composed(&a, &b, &arena).fs.grantable, &arena), cases[i].both);
		assert_string_equal(
			joined(composed(&b, &a, &arena).fs.grantable, &arena), cases[i].both);
	}
}

static void hosts_that_may_be_granted_intersect(void **state)
{
	static const struct {
		const char *a, *b, *both;
	} cases[] = {
		{ "\"allowlist\",\"grantable\":[\"*.b\",\"c\"]",
			"\"allowlist\",\"grantable\":[\"a.b:443\"]", "a.b:443" },
		{ "\"allowlist\",\"grantable\":[\"*.b\"]", "\"host\"", "*.b" },
		{ "\"allowlist\",\"grantable\":[\"*.b\"]", "\"none\"", "" },
		{ "\"allowlist\",\"grantable\":[\"a.b\"]",
			"\"allowlist\",\"allowed_domains\":[\"a.b\"]", "" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		owned(arena_release) struct arena arena = { 0 };
		const char *form = "{\"net\":{\"mode\":%s}}";
		struct policy a = read_one(arena_printf(&arena, form, cases[i].a), &arena);
		struct policy b = read_one(arena_printf(&arena, form, cases[i].b), &arena);

		assert_string_equal(
			joined(composed(&a, &b, &arena).net.grantable, &arena), cases[i].both);
		assert_string_equal(
			joined(composed(&b, &a, &arena).net.grantable, &arena), cases[i].both);
	}
}

static void domains_intersect_with_their_ports(void **state)
{
	static const struct {
		const char *a, *b, *both;
	} cases[] = {
		{ "\"a.b\"", "\"a.b\"", "a.b" },
		{ "\"*.b\"", "\"x.b\",\"b\"", "x.b" },
		{ "\"*.b\"", "\"*.x.b\"", "*.x.b" },
		{ "\"*\"", "\"*.x.b:*\"", "*.x.b" },
		{ "\"a.b:443\"", "\"a.b\"", "a.b:443" },
		{ "\"a.b:22\"", "\"a.b\"", "" },
		{ "\"a.b:22\"", "\"a.b:*\"", "" },
		{ "\"a.b:22\"", "\"a.b:*\",\"c:22\"", "a.b:22" },
		{ "\"a.b:*\"", "\"a.b:*\"", "a.b:*" },
		{ "\"localhost\"", "\"127.0.0.1:80\"", "127.0.0.1:80" },
		{ "\"localhost\"", "\"*\"", "" },
		{ "\"1.2.3.4\"", "\"*\"", "" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		owned(arena_release) struct arena arena = { 0 };
		const char *form = "{\"net\":{\"mode\":\"allowlist\",\"allowed_domains\":[%s]}}";
		struct policy a = read_one(arena_printf(&arena, form, cases[i].a), &arena);
		struct policy b = read_one(arena_printf(&arena, form, cases[i].b), &arena);

		assert_string_equal(
			joined(composed(&a, &b, &arena).net.allowed, &arena), cases[i].both);
		assert_string_equal(
			joined(composed(&b, &a, &arena).net.allowed, &arena), cases[i].both);
	}
}

static void the_narrower_value_wins(void **state)
{
	owned(arena_release) struct arena arena = { 0 };
	struct policy a = read_one("{\"preset\":\"open\",\"limits\":{\"max_processes\":5,"
				   "\"cpu_time_secs\":9},\"trust\":\"forbid\","
				   "\"fs\":{\"allow_git_config\":true,"
				   "\"mandatory_deny_search_depth\":1},"
				   "\"env\":{\"allow\":[\"LC_*\",\"A\",\"FREE\"],"
				   "\"set\":{\"A\":\"parent\"}}}",
		&arena);
	struct policy b = read_one("{\"net\":{\"mode\":\"allowlist\",\"allowed_domains\":[\"a.b\"],"
				   "\"denied_domains\":[\"c.d\"]},"
				   "\"limits\":{\"max_processes\":7,\"max_open_fds\":3},"
				   "\"exec\":{\"allow\":[\"/bin\"]},"
				   "\"env\":{\"allow\":[\"LC_ALL\",\"A\",\"B\"],"
				   "\"set\":{\"A\":\"child\",\"FREE\":\"x\",\"OTHER\":\"y\"}}}",
		&arena);
	struct policy both = composed(&a, &b, &arena);

	assert_null(both.preset);
	assert_int_equal(both.limits.max_processes, 5);
	assert_int_equal(both.limits.cpu_time_secs, 9);
	assert_int_equal(both.limits.max_open_fds, 3);
	assert_int_equal(both.limits.max_rss_bytes, 0);
	assert_int_equal(both.trust, POLICY_TRUST_AUTO);
	assert_false(both.fs.allow_git_config);
	assert_int_equal(both.fs.search_depth, 3);
	assert_false(both.exec.nested);
	assert_false(both.net.allow_local_binding);
	assert_int_equal(both.net.mode, POLICY_NET_ALLOWLIST);
	assert_string_equal(joined(both.net.allowed, &arena), "a.b");
	assert_string_equal(joined(both.net.denied, &arena), "c.d");
	assert_string_equal(joined(both.exec.allow, &arena), "/bin");
	assert_string_equal(joined(both.env.allow, &arena), "LC_ALL|A");
	assert_string_equal(joined(both.env.set, &arena), "A=parent|FREE=x");
	assert_int_equal(composed(&a, &a, &arena).trust, POLICY_TRUST_FORBID);
	assert_int_equal(composed(&b, &a, &arena).net.mode, POLICY_NET_ALLOWLIST);
	struct policy none = read_one("{\"trust\":\"require\"}", &arena);
	both = composed(&b, &none, &arena);
	assert_int_equal(both.trust, POLICY_TRUST_REQUIRE);
	assert_int_equal(both.net.mode, POLICY_NET_NONE);
	assert_int_equal(both.net.allowed.n, 0);
}

static void no_common_program_means_no_program(void **state)
{
	owned(arena_release) struct arena arena = { 0 };
	struct policy a = read_one("{\"exec\":{\"allow\":[\"/bin\"]}}", &arena);
	struct policy b = read_one("{\"exec\":{\"allow\":[\"/usr\"]}}", &arena);
	struct policy c = read_one("{\"exec\":{\"deny\":[\"/bin\"]}}", &arena);

	assert_string_equal(joined(composed(&a, &b, &arena).exec.deny, &arena), "/");
	assert_string_equal(joined(composed(&a, &c, &arena).exec.deny, &arena), "/bin|/");
}

static void what_may_be_written_stays_readable(void **state)
{
	owned(arena_release) struct arena arena = { 0 };
	struct policy a =
		read_one("{\"fs\":{\"allow_read\":[\"/usr\"],\"allow_write\":[\"/w\"]}}", &arena);
	struct policy b = read_one("{}", &arena);

	assert_string_equal(joined(composed(&a, &b, &arena).fs.allow_read, &arena), "/usr|/w");
}

static void too_many_rules_are_an_error(void **state)
{
	owned(arena_release) struct arena arena = { 0 };
	struct policy both, halves[2];
	struct err err = { 0 };

	for (int k = 0; k < 2; k++) {
		owned(buf_release) struct buf text = BUF_INIT;

		buf_adds(&text, "{\"fs\":{\"deny_read\":[\"/x\"");
		for (int i = 0; i < 600; i++)
			buf_addf(&text, ",\"/%d/%d\"", k, i);
		buf_adds(&text, "]}}");
		halves[k] = read_one(text.data, &arena);
	}
	assert_int_equal(compose_policies(&halves[0], &halves[1], &arena, &both, &err), -ERR_LIMIT);
	assert_string_equal(err.text, "fs.deny_read: the composition has more than 1024 rules");
}

/* ----------------------------------------------------------------- property */

static uint64_t seed = 20;

static unsigned below(unsigned n)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(seed >> 33) % n;
}

#define PICK(list) ((list)[below(COUNT(list))])

static const char *const names[] = { "a", "b", "ab", ".git", "hooks", "config", "refs", "modules",
	".vscode", ".bashrc", ".config", "git" };
static const char *const globs[] = { "*", "a*", "*b", "?", "{a,b}", "[ab]", ".*", "**", "**", "!",
	".g*", "h?oks", "hook*" };
static const char *const roots[] = { "", "", "~", "$WORKSPACE" };
static const char *const hosts[] = { "a.com", "x.a.com", "y.x.a.com", "b.com", "com", "localhost",
	"127.0.0.1", "127.0.0.2", "::1", "10.0.0.1", "1.1.1.1" };
static const char *const patterns[] = { "*", "*.com", "*.a.com", "*.x.a.com" };
static const char *const ports[] = { "", "", ":*", ":80", ":443", ":22", ":8080" };

static void add_path(struct buf *out, bool with_globs)
{
	unsigned n = below(4);

	for (unsigned i = 0; i < n; i++)
		buf_addf(out, "/%s", with_globs && !below(3) ? PICK(globs) : PICK(names));
}

static void add_rules(struct buf *out, const char *name, unsigned most)
{
	unsigned n = below(most + 1);

	buf_addf(out, "\"%s\":[", name);
	for (unsigned i = 0; i < n; i++) {
		const char *root = PICK(roots);
		size_t begin;

		buf_addf(out, "%s\"%s", i ? "," : "", root);
		begin = out->len;
		add_path(out, true);
		buf_adds(out, !*root && out->len == begin ? "/\"" : "\"");
	}
	buf_adds(out, "]");
}

static void add_domains(struct buf *out, const char *name, unsigned most)
{
	unsigned n = below(most + 1);

	buf_addf(out, "\"%s\":[", name);
	for (unsigned i = 0; i < n; i++) {
		const char *host = below(3) ? PICK(hosts) : PICK(patterns), *port = PICK(ports);
		bool brackets = strchr(host, ':') && *port;

		buf_addf(out, "%s\"%s%s%s%s\"", i ? "," : "", brackets ? "[" : "", host,
			brackets ? "]" : "", port);
	}
	buf_adds(out, "]");
}

static void add_network(struct buf *out)
{
	unsigned mode = below(6);

	if (mode < 2) {
		buf_addf(out, "\"net\":{\"mode\":\"%s\"}", mode ? "host" : "none");
		return;
	}
	buf_adds(out, "\"net\":{\"mode\":\"allowlist\",");
	add_domains(out, "allowed_domains", 6);
	buf_adds(out, ",");
	add_domains(out, "denied_domains", 2);
	buf_adds(out, "}");
}

static void add_policy(struct buf *out)
{
	buf_adds(out, "{\"fs\":{");
	if (below(3)) {
		add_rules(out, "allow_read", 3);
		buf_adds(out, ",");
	}
	add_rules(out, "deny_read", 2);
	buf_adds(out, ",");
	if (below(2)) {
		add_rules(out, "allow_read_within_deny", 2);
		buf_adds(out, ",");
	}
	add_rules(out, "allow_write", 4);
	buf_adds(out, ",");
	add_rules(out, "deny_write_within_allow", 2);
	buf_addf(out, ",\"allow_git_config\":%s},\"exec\":{", below(2) ? "true" : "false");
	add_rules(out, "allow", 2);
	buf_adds(out, ",");
	add_rules(out, "deny", 1);
	buf_adds(out, "},");
	add_network(out);
	buf_adds(out, "}");
}

/* Returns a random policy without contradictions. */
static struct policy random_policy(struct arena *arena)
{
	for (;;) {
		owned(buf_release) struct buf text = BUF_INIT;
		struct policy policy;
		struct err err = { 0 };

		add_policy(&text);
		if (policy_read((struct str){ text.data, text.len }, "p", arena, &policy, &err) >=
			0)
			return policy;
		/* Any other error would be a mistake of this test. */
		if (!strstr(err.text, ", too") && !strstr(err.text, "does not deny"))
			fail_msg("%s: %s", text.data, err.text);
	}
}

struct trial {
	struct policy a, b, both;
	size_t allowed; /* number of questions that the composition allowed */
	size_t asked;
	bool same; /* a and b are the same policy, so the answers must be equal */
};

static void compare(struct trial *trial, const char *what, struct verdict *a, struct verdict *b,
	struct verdict *both, struct arena *arena)
{
	bool wrong = trial->same ? both->allowed != a->allowed
				 : both->allowed && !(a->allowed && b->allowed);

	trial->asked++;
	trial->allowed += both->allowed;
	if (wrong)
		fail_msg("%s\n%s\n%s\nboth %s\na %s\nb %s\n%s", written(&trial->a, arena),
			written(&trial->b, arena), written(&trial->both, arena), both->rule,
			a->rule, b->rule, what);
}

static void ask_path(struct trial *trial, struct arena *arena)
{
	owned(buf_release) struct buf path = BUF_INIT;

	/* Home and workspace are below /a, since many paths are. */
	buf_adds(&path, below(3) ? "/a" : "");
	add_path(&path, false);
	add_path(&path, false);
	struct str text = path.len ? (struct str){ path.data, path.len } : STR("/");
	for (int access = VERDICT_READ; access <= VERDICT_EXECUTE; access++) {
		struct verdict a, b, both;

		verdict_path(&trial->a, access, text, &a);
		verdict_path(&trial->b, access, text, &b);
		verdict_path(&trial->both, access, text, &both);
		compare(trial, text.ptr, &a, &b, &both, arena);
	}
}

static void ask_host(struct trial *trial, struct arena *arena)
{
	static const uint16_t numbers[] = { 80, 443, 22, 8080, 9 };
	const char *host = PICK(hosts);
	uint16_t port = PICK(numbers);
	const char *what = arena_printf(arena, "%s port %u", host, port);
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
	struct sockaddr_in four = { .sin_family = AF_INET };
	struct sockaddr *address = (struct sockaddr *)&four;
	struct verdict a, b, both;

	verdict_host(&trial->a, str_of(host), port, &a);
	verdict_host(&trial->b, str_of(host), port, &b);
	verdict_host(&trial->both, str_of(host), port, &both);
	compare(trial, what, &a, &b, &both, arena);
	verdict_name(&trial->a, str_of(host), &a);
	verdict_name(&trial->b, str_of(host), &b);
	verdict_name(&trial->both, str_of(host), &both);
	compare(trial, what, &a, &b, &both, arena);
	if (inet_pton(AF_INET, host, &four.sin_addr) != 1) {
		if (inet_pton(AF_INET6, host, &six.sin6_addr) != 1)
			return;
		address = (struct sockaddr *)&six;
	}
	verdict_address(&trial->a, address, port, &a);
	verdict_address(&trial->b, address, port, &b);
	verdict_address(&trial->both, address, port, &both);
	compare(trial, what, &a, &b, &both, arena);
}

static struct policy placed(
	const struct policy *policy, const struct policy_place *place, struct arena *arena)
{
	struct policy out;
	struct err err = { 0 };

	assert_int_equal(policy_resolve(policy, place, arena, &out, &err), 0);
	return out;
}

/* Check that a composition can be written and read like any other policy. */
static void check_written(const struct policy *both, struct arena *arena)
{
	const char *text = written(both, arena);
	struct policy again = read_one(text, arena);

	assert_string_equal(written(&again, arena), text);
}

static void run_round(struct trial *trial, struct arena *arena)
{
	static const struct policy_place places[] = { { "/a", "/a/b" }, { "/a/b", "/a" },
		{ "/a", "/a/.vscode/b" }, { "/a", "/a/.git" }, { "/a/ab", "/" } };
	const struct policy_place *place = &PICK(places);
	/* Some intersections cannot be computed without the paths of home and workspace. */
	bool resolve_first = trial->same || below(2);
	struct policy a = random_policy(arena), b = trial->same ? a : random_policy(arena);

	trial->a = placed(&a, place, arena);
	trial->b = placed(&b, place, arena);
	if (resolve_first) {
		trial->both = composed(&trial->a, &trial->b, arena);
	} else {
		struct policy both = composed(&a, &b, arena);

		check_written(&both, arena);
		trial->both = placed(&both, place, arena);
	}
	for (int i = 0; i < QUESTIONS; i++) {
		ask_path(trial, arena);
		ask_host(trial, arena);
	}
}

static size_t run_rounds(bool same)
{
	struct trial trial = { .same = same };

	for (int i = 0; i < ROUNDS; i++) {
		owned(arena_release) struct arena arena = { 0 };

		run_round(&trial, &arena);
	}
	/*
	 * A composition that allows nothing would pass all checks, so check that many answers were
	 * allowed.
	 */
	assert_true(trial.allowed > trial.asked / (same ? 5 : 50));
	return trial.allowed;
}

static void a_composition_allows_what_both_allow(void **state)
{
	print_message("%zu answers allowed\n", run_rounds(false));
}

static void a_policy_with_itself_is_itself(void **state)
{
	print_message("%zu answers allowed\n", run_rounds(true));
}

int main(void)
{
	const struct CMUnitTest compose_tests[] = {
		cmocka_unit_test(path_lists_intersect),
		cmocka_unit_test(a_protected_name_must_be_named_by_both),
		cmocka_unit_test(a_grant_lifts_only_what_both_offer),
		cmocka_unit_test(hosts_that_may_be_granted_intersect),
		cmocka_unit_test(domains_intersect_with_their_ports),
		cmocka_unit_test(the_narrower_value_wins),
		cmocka_unit_test(no_common_program_means_no_program),
		cmocka_unit_test(what_may_be_written_stays_readable),
		cmocka_unit_test(too_many_rules_are_an_error),
		cmocka_unit_test(a_composition_allows_what_both_allow),
		cmocka_unit_test(a_policy_with_itself_is_itself),
	};

	return cmocka_run_group_tests(compose_tests, NULL, NULL);
}
