/* policy: reading with the place of every mistake, presets, writing and resolving. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/own.h"
#include "policy/policy.h"
#include "policy/preset.h"
#include "policy/rule.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct policy_place place = { "/home/u", "/w" };

static struct policy read_one(const char *text, struct arena *arena)
{
	struct policy policy;
	struct err err = { 0 };

	if (policy_read(str_of(text), "p.json", arena, &policy, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	return policy;
}

static struct policy resolve_one(
	const char *text, const struct policy_place *at, struct arena *arena)
{
	struct policy policy = read_one(text, arena), out;
	struct err err = { 0 };

	if (policy_resolve(&policy, at, arena, &out, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	return out;
}

static const char *written(const struct policy *policy, struct arena *arena)
{
	owned(json_release) struct json out = JSON_INIT;

	policy_write(&out, NULL, policy);
	assert_int_equal(json_end(&out), 0);
	return arena_str(arena, (struct str){ out.out.data, out.out.len }).ptr;
}

/* Returns the texts of a list, with '|' between them. */
static const char *joined(struct policy_list list, struct arena *arena)
{
	const char *text = "";

	for (size_t i = 0; i < list.n; i++)
		text = arena_printf(arena, "%s%s%s", text, i ? "|" : "", list.list[i]);
	return text;
}

static void a_document_is_read(void **state)
{
	owned(arena_release) struct arena arena = { 0 };
	struct policy policy = read_one(
		"{\"fs\":{\"allow_read\":[\"/usr//lib/\",\"~\",\"$WORKSPACE/a/**\"],"
		"\"deny_read\":[\"/usr/lib/x\"],\"allow_read_within_deny\":[\"/usr/lib/x/y\"],"
		"\"allow_write\":[\"$WORKSPACE\"],\"deny_write_within_allow\":[\"$WORKSPACE/*.c\"],"
		"\"grantable\":[\"/srv\"],\"allow_git_config\":true,"
		"\"mandatory_deny_search_depth\":5},"
		"\"net\":{\"mode\":\"allowlist\",\"allowed_domains\":[\"Example.COM.\",\"*.b.c:*\","
		"\"[::1]:80\",\"::FFFF:10.0.0.1\"],\"denied_domains\":[\"*\"],"
		"\"grantable\":[\"Later.example\"],"
		"\"allow_local_binding\":true,\"unix_sockets\":[\"/run/s\"]},"
		"\"exec\":{\"allow\":[\"/bin\"],\"deny\":[\"/bin/su\"],\"nested\":true},"
		"\"env\":{\"allow\":[\"LC_*\"],\"set\":{\"A\":\"b=c\",\"E\":\"\"}},"
		"\"limits\":{\"cpu_time_secs\":1,\"wall_time_secs\":2,\"max_rss_bytes\":3,"
		"\"max_open_fds\":4,\"max_processes\":null,\"max_output_bytes\":6},"
		"\"trust\":\"require\"}",
		&arena);

	assert_null(policy.preset);
	assert_string_equal(joined(policy.fs.allow_read, &arena), "/usr/lib|~|$WORKSPACE/a");
	assert_string_equal(joined(policy.fs.deny_read, &arena), "/usr/lib/x");
	assert_string_equal(joined(policy.fs.allow_read_within_deny, &arena), "/usr/lib/x/y");
	assert_string_equal(joined(policy.fs.allow_write, &arena), "$WORKSPACE");
	assert_string_equal(joined(policy.fs.deny_write_within_allow, &arena), "$WORKSPACE/*.c");
	assert_string_equal(joined(policy.fs.grantable, &arena), "/srv");
	assert_true(policy.fs.allow_git_config);
	assert_int_equal(policy.fs.search_depth, 5);
	assert_int_equal(policy.net.mode, POLICY_NET_ALLOWLIST);
	assert_string_equal(
		joined(policy.net.allowed, &arena), "example.com|*.b.c:*|[::1]:80|10.0.0.1");
	assert_string_equal(joined(policy.net.denied, &arena), "*");
	assert_string_equal(joined(policy.net.grantable, &arena), "later.example");
	assert_string_equal(joined(policy.net.unix_sockets, &arena), "/run/s");
	assert_true(policy.net.allow_local_binding);
	assert_string_equal(joined(policy.exec.allow, &arena), "/bin");
	assert_string_equal(joined(policy.exec.deny, &arena), "/bin/su");
	assert_true(policy.exec.nested);
	assert_string_equal(joined(policy.env.allow, &arena), "LC_*");
	assert_string_equal(joined(policy.env.set, &arena), "A=b=c|E=");
	assert_int_equal(policy.limits.cpu_time_secs, 1);
	assert_int_equal(policy.limits.wall_time_secs, 2);
	assert_int_equal(policy.limits.max_rss_bytes, 3);
	assert_int_equal(policy.limits.max_open_fds, 4);
	assert_int_equal(policy.limits.max_processes, 0);
	assert_int_equal(policy.limits.max_output_bytes, 6);
	assert_int_equal(policy.trust, POLICY_TRUST_REQUIRE);
}

static void every_mistake_is_told_with_its_place(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "", "not JSON: no value, or a number that is malformed (line 1, column 1)" },
		{ "{\n \"fs\": {,}}",
			"not JSON: a key in double quotes is missing (line 2, column 9)" },
		{ "[]", "the policy: an object is needed, not a list (line 1, column 1)" },
		{ "{\n  \"fss\": {}}", "fss: no such key; the nearest is 'fs' (line 2, column 3)" },
		{ "{\"fs\":{\"alow_read\":[]}}", "fs.alow_read: no such key; the nearest is "
						 "'fs.allow_read' (line 1, column 8)" },
		{ "{\"allow_read\":[]}", "allow_read: no such key; the nearest is 'fs.allow_read' "
					 "(line 1, column 2)" },
		{ "{\"exec\":{\"denied\":[]}}", "exec.denied: no such key; the nearest is "
						"'exec.deny' (line 1, column 10)" },
		{ "{\"net\":{\"deny\":[]}}",
			"net.deny: no such key; the nearest is 'exec.deny' (line 1, column 9)" },
		{ "{\"Preset\":1}",
			"Preset: no such key; the nearest is 'preset' (line 1, column 2)" },
		{ "{\"fs\":[]}", "fs: an object is needed, not a list (line 1, column 2)" },
		{ "{\"preset\":\"x\"}",
			"preset: 'x' is not 'offline', 'open', 'readonly' or 'workspace' "
			"(line 1, column 2)" },
		{ "{\"preset\":1}", "preset: 'offline', 'open', 'readonly' or 'workspace' is "
				    "needed, not a number "
				    "(line 1, column 2)" },
		{ "{\"trust\":\"no\"}",
			"trust: 'no' is not 'auto', 'require' or 'forbid' (line 1, column 2)" },
		{ "{\"fs\":{\"allow_read\":\"/\"}}",
			"fs.allow_read: a list of texts is needed, not a text (line 1, column 8)" },
		{ "{\"fs\":{\"allow_read\":null}}",
			"fs.allow_read: a list of texts is needed, not null (line 1, column 8)" },
		{ "{\"fs\":{\"allow_read\":[\"/a\",\n\"/b\", 3]}}",
			"fs.allow_read[2]: a text is needed, not a number (line 2, column 7)" },
		{ "{\"fs\":{\"allow_read\":[\"/a\",\"src\"]}}",
			"fs.allow_read[1]: 'src' is not absolute, and does not begin with '~/' or "
			"'$WORKSPACE/' (line 1, column 27)" },
		{ "{\"fs\":{\"deny_read\":[\"./a\"]}}",
			"fs.deny_read[0]: './a' is not absolute, and does not begin with '~/' or "
			"'$WORKSPACE/' (line 1, column 21)" },
		{ "{\"fs\":{\"deny_read\":[\"\"]}}",
			"fs.deny_read[0]: '' is empty (line 1, column 21)" },
		{ "{\"fs\":{\"deny_read\":[\"~root/a\"]}}",
			"fs.deny_read[0]: '~root/a' names another user's home; only '~/' is known "
			"(line 1, column 21)" },
		{ "{\"fs\":{\"deny_read\":[\"$HOME/a\"]}}",
			"fs.deny_read[0]: '$HOME/a' has an unknown variable; only '$WORKSPACE/' is "
			"known (line 1, column 21)" },
		{ "{\"fs\":{\"deny_read\":[\"$WORKSPACES\"]}}",
			"fs.deny_read[0]: '$WORKSPACES' has an unknown variable; only "
			"'$WORKSPACE/' is "
			"known (line 1, column 21)" },
		{ "{\"fs\":{\"deny_read\":[\"/a/../b\"]}}", "fs.deny_read[0]: '/a/../b' has '.' or "
							    "'..' as a name (line 1, column 21)" },
		{ "{\"fs\":{\"deny_read\":[\"/a\\u0000b\"]}}",
			"fs.deny_read[0]: '/a' has a NUL (line 1, column 21)" },
		{ "{\"fs\":{\"deny_read\":[\"/{a,b/c}\"]}}",
			"fs.deny_read[0]: '/{a,b/c}' has a '/' in brackets or braces "
			"(line 1, column 21)" },
		{ "{\"fs\":{\"deny_read\":[\"/[a/b]\"]}}",
			"fs.deny_read[0]: '/[a/b]' has a '/' in brackets or braces (line 1, column "
			"21)" },
		{ "{\"fs\":{\"deny_read\":[\"/a**\"]}}", "fs.deny_read[0]: '/a**' has '**' as a "
							 "part of a name (line 1, column 21)" },
		{ "{\"fs\":{\"deny_read\":[\"/a\\\\\"]}}",
			"fs.deny_read[0]: '/a\\' has a '\\' that quotes nothing (line 1, column "
			"21)" },
		{ "{\"fs\":{\"mandatory_deny_search_depth\":17}}",
			"fs.mandatory_deny_search_depth: the depth is from 0 to 16 (line 1, column "
			"8)" },
		{ "{\"fs\":{\"allow_git_config\":1}}", "fs.allow_git_config: true or false is "
						       "needed, not a number (line 1, column 8)" },
		{ "{\"limits\":{\"max_processes\":0}}",
			"limits.max_processes: a limit is more than 0; without a limit it is null "
			"(line 1, column 12)" },
		{ "{\"limits\":{\"max_processes\":1.5}}", "limits.max_processes: a whole number or "
							  "null is needed, not a number with a "
							  "fraction (line 1, column 12)" },
		{ "{\"env\":{\"allow\":[\"A=B\"]}}",
			"env.allow[0]: 'A=B' has a '=' (line 1, column 18)" },
		{ "{\"env\":{\"set\":{\"A\":1}}}",
			"env.set.A: a text is needed, not a number (line 1, column 16)" },
		{ "{\"env\":{\"set\":{\"A=\":\"\"}}}",
			"env.set.A=: the name of a variable has a '=' (line 1, column 16)" },
		{ "{\"env\":{\"set\":{\"A\":\"1\",\"A\":\"2\"}}}",
			"env.set.A: given twice (line 1, column 24)" },
		{ "{\"fs\":{\"deny_read\":[\"/a\"],\n\"deny_read\":[]}}",
			"fs.deny_read: given twice (line 2, column 1)" },
		{ "{\"fs\":{},\"fs\":{}}", "fs: given twice (line 1, column 10)" },
		{ "{\"net\":{\"mode\":\"allowlist\",\"allowed_domains\":[\"a b\"]}}",
			"net.allowed_domains[0]: 'a b' is not the name of a host (line 1, column "
			"47)" },
		{ "{\"net\":{\"mode\":\"allowlist\",\"allowed_domains\":[\"127.1\"]}}",
			"net.allowed_domains[0]: '127.1' is not an address in dotted decimal "
			"(line 1, column 47)" },
		/* contradictions */
		{ "{\"net\":{\"mode\":\"none\",\"allowed_domains\":[\"a.b\"]}}",
			"net.allowed_domains: only net.mode 'allowlist' uses it, and the mode is "
			"'none' "
			"(line 1, column 23)" },
		{ "{\"net\":{\"allowed_domains\":[\"a.b\"]}}",
			"net.allowed_domains: only net.mode 'allowlist' uses it, and the mode is "
			"'none' "
			"(line 1, column 9)" },
		{ "{\"net\":{\"mode\":\"host\",\"grantable\":[\"a.b\"]}}",
			"net.grantable: only net.mode 'allowlist' uses it, and the mode is 'host' "
			"(line 1, column 23)" },
		{ "{\"net\":{\"mode\":\"host\",\"denied_domains\":[\"a.b\"]}}",
			"net.denied_domains: net.mode 'host' denies nothing (line 1, column 23)" },
		{ "{\"fs\":{\"allow_read\":[\"/\",\"/a\"],\"deny_read\":[\"/a/\"]}}",
			"fs.allow_read[1]: fs.deny_read has '/a', too (line 1, column 26)" },
		{ "{\"preset\":\"workspace\",\"fs\":{\"allow_read\":[\"~/.ssh\"]}}",
			"fs.allow_read[0]: fs.deny_read has '~/.ssh', too (line 1, column 43)" },
		{ "{\"fs\":{\"allow_write\":[\"/a\"],\"deny_write_within_allow\":[\"/a\"]}}",
			"fs.allow_write[0]: fs.deny_write_within_allow has '/a', too "
			"(line 1, column 23)" },
		{ "{\"exec\":{\"allow\":[\"/a\"],\"deny\":[\"/a\"]}}",
			"exec.allow[0]: exec.deny has '/a', too (line 1, column 19)" },
		{ "{\"net\":{\"mode\":\"allowlist\",\"allowed_domains\":[\"a.b\"],"
		  "\"denied_domains\":[\"A.B\"]}}",
			"net.allowed_domains[0]: net.denied_domains has 'a.b', too "
			"(line 1, column 47)" },
		{ "{\"fs\":{\"deny_read\":[\"/a\"],\"allow_read_within_deny\":[\"/a/b\",\"/b\"]}}",
			"fs.allow_read_within_deny[1]: fs.deny_read does not deny '/b' "
			"(line 1, column 60)" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		owned(arena_release) struct arena arena = { 0 };
		struct policy policy;
		struct err err = { 0 };
		const char *message = arena_printf(&arena, "p.json: %s", cases[i].message);

		assert_int_equal(
			policy_read(str_of(cases[i].text), "p.json", &arena, &policy, &err),
			-ERR_INVALID);
		assert_string_equal(err.text, message);
	}
}

static void too_much_is_refused(void **state)
{
	owned(arena_release) struct arena arena = { 0 };
	owned(buf_release) struct buf text = BUF_INIT;
	struct policy policy;
	struct err err = { 0 };

	buf_adds(&text, "{\"fs\":{\"allow_read\":[\"/\"");
	for (int i = 0; i < POLICY_RULES_MAX; i++)
		buf_addf(&text, ",\"/%d\"", i);
	buf_adds(&text, "]}}");
	assert_int_equal(
		policy_read((struct str){ text.data, text.len }, "p", &arena, &policy, &err),
		-ERR_INVALID);
	assert_string_equal(err.text, "p: fs.allow_read: more than 1024 rules (line 1, column 8)");
	buf_clear(&text);
	while (text.len <= POLICY_SIZE_MAX)
		buf_adds(&text, "          ");
	assert_int_equal(
		policy_read((struct str){ text.data, text.len }, "p", &arena, &policy, &err),
		-ERR_LIMIT);
	buf_clear(&text);
	buf_adds(&text, "{\"fs\":{\"allow_read\":[\"");
	for (int i = 0; i <= RULE_NAMES_MAX; i++)
		buf_adds(&text, "/a");
	buf_adds(&text, "\"]}}");
	assert_int_equal(
		policy_read((struct str){ text.data, text.len }, "p", &arena, &policy, &err),
		-ERR_INVALID);
	assert_non_null(strstr(err.text, "has too many names"));
}

static void a_key_replaces_that_of_the_preset_and_denials_unite(void **state)
{
	owned(arena_release) struct arena arena = { 0 };
	struct policy plain = read_one("{\"preset\":\"workspace\"}", &arena);
	struct policy policy = read_one("{\"fs\":{\"allow_write\":[\"/srv\"],"
					"\"deny_read\":[\"/srv/key\",\"~/.ssh\"]},"
					"\"exec\":{\"nested\":false},\"preset\":\"workspace\"}",
		&arena);

	assert_string_equal(policy.preset, "workspace");
	assert_string_equal(joined(policy.fs.allow_write, &arena), "/srv");
	assert_string_equal(joined(policy.fs.allow_read, &arena), "/");
	assert_int_equal(policy.fs.deny_read.n, plain.fs.deny_read.n + 1);
	assert_string_equal(policy.fs.deny_read.list[plain.fs.deny_read.n], "/srv/key");
	assert_true(plain.exec.nested);
	assert_false(policy.exec.nested);
	assert_int_equal(policy.net.mode, POLICY_NET_HOST);
}

static void a_denial_takes_the_same_rule_from_the_preset(void **state)
{
	owned(arena_release) struct arena arena = { 0 };
	struct policy policy = read_one("{\"preset\":\"workspace\","
					"\"fs\":{\"deny_write_within_allow\":[\"/tmp\"]}}",
		&arena);

	assert_string_equal(joined(policy.fs.allow_write, &arena), "$WORKSPACE");
}

static void without_a_preset_little_is_allowed(void **state)
{
	owned(arena_release) struct arena arena = { 0 };
	struct policy policy = read_one("{\"preset\":null}", &arena);

	assert_string_equal(joined(policy.fs.allow_read, &arena), "/");
	assert_int_equal(policy.fs.allow_write.n, 0);
	assert_int_equal(policy.net.mode, POLICY_NET_NONE);
	assert_false(policy.net.allow_local_binding);
	assert_false(policy.exec.nested);
	assert_int_equal(policy.env.allow.n, 12);
	assert_int_equal(policy.fs.search_depth, 3);
}

static void presets_differ_as_documented(void **state)
{
	static const struct {
		const char *name, *writes;
		enum policy_net mode;
		bool secrets, nested, binding;
	} cases[] = {
		{ "offline", "$WORKSPACE|/tmp", POLICY_NET_NONE, false, false, true },
		{ "open", "/", POLICY_NET_HOST, true, true, true },
		{ "readonly", "", POLICY_NET_NONE, false, false, false },
		{ "workspace", "$WORKSPACE|/tmp", POLICY_NET_HOST, false, true, true },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		owned(arena_release) struct arena arena = { 0 };
		const struct policy *preset = preset_find(str_of(cases[i].name));

		assert_ptr_equal(preset, &preset_all[i]);
		assert_string_equal(joined(preset->fs.allow_write, &arena), cases[i].writes);
		assert_string_equal(joined(preset->fs.allow_read, &arena), "/");
		assert_int_equal(preset->net.mode, cases[i].mode);
		assert_int_equal(preset->fs.deny_read.n == 0, cases[i].secrets);
		assert_int_equal(preset->exec.nested, cases[i].nested);
		assert_int_equal(preset->net.allow_local_binding, cases[i].binding);
	}
	assert_null(preset_all[COUNT(cases)].preset);
}

static void what_is_written_is_read_back(void **state)
{
	static const char *const texts[] = {
		"{}",
		"{\"preset\":\"workspace\"}",
		"{\"preset\":\"open\",\"fs\":{\"deny_write_within_allow\":[\"/\"]}}",
		"{\"preset\":\"readonly\",\"fs\":{\"allow_read_within_deny\":[\"~/.ssh\"]}}",
		"{\"fs\":{\"allow_write\":[\"/\\udcffx\"],\"mandatory_deny_search_depth\":0},"
		"\"limits\":{\"max_rss_bytes\":9223372036854775807},"
		"\"env\":{\"set\":{\"A\":\"=\\n\",\"B\":\"\"}},\"trust\":\"forbid\"}",
		"{\"net\":{\"mode\":\"allowlist\",\"allowed_domains\":[\"*\",\"[::1]:1\"]}}",
	};

	for (size_t i = 0; i < COUNT(texts); i++) {
		owned(arena_release) struct arena arena = { 0 };
		struct policy policy = read_one(texts[i], &arena);
		const char *once = written(&policy, &arena);
		struct policy again = read_one(once, &arena);

		assert_string_equal(written(&again, &arena), once);
		assert_int_equal(policy.warnings.n, again.warnings.n);
	}
}

static void variables_are_replaced(void **state)
{
	owned(arena_release) struct arena arena = { 0 };
	const char *text = "{\"fs\":{\"allow_read\":[\"~\",\"~/a*\",\"$WORKSPACE/b\",\"/w/b\"],"
			   "\"allow_write\":[\"$WORKSPACE\",\"/tmp/~/$WORKSPACE\"]},"
			   "\"exec\":{\"deny\":[\"~/bin\"]},"
			   "\"net\":{\"unix_sockets\":[\"$WORKSPACE/s\"]}}";
	struct policy policy = resolve_one(text, &place, &arena);

	assert_string_equal(joined(policy.fs.allow_read, &arena), "/home/u|/home/u/a*|/w/b");
	assert_string_equal(joined(policy.fs.allow_write, &arena), "/w|/tmp/~/$WORKSPACE");
	assert_string_equal(joined(policy.exec.deny, &arena), "/home/u/bin");
	assert_string_equal(joined(policy.net.unix_sockets, &arena), "/w/s");
	assert_string_equal(policy.place.home, "/home/u");
	assert_string_equal(policy.place.workspace, "/w");

	policy = resolve_one(text, &(struct policy_place){ "/", "/x/[a]*//" }, &arena);
	assert_string_equal(joined(policy.fs.allow_read, &arena), "/|/a*|/x/\\[a]\\*/b|/w/b");
	assert_string_equal(rule_path(policy.fs.allow_write.list[0], &arena), "/x/[a]*");
	assert_null(rule_path(policy.fs.allow_read.list[1], &arena));
}

static void a_hole_that_lifts_no_denial_is_dropped(void **state)
{
	owned(arena_release) struct arena arena = { 0 };
	const char *text = "{\"fs\":{\"allow_read\":[],\"deny_read\":[\"/home/u/x\"],"
			   "\"allow_read_within_deny\":[\"~/x/y\",\"$WORKSPACE\"]}}";
	struct policy policy = resolve_one(text, &place, &arena);

	assert_string_equal(joined(policy.fs.allow_read_within_deny, &arena), "/home/u/x/y");
	assert_string_equal(joined(policy.warnings, &arena),
		"fs.allow_read_within_deny: '/w' has no effect: fs.deny_read does not reach it");
}

static void a_place_must_be_absolute(void **state)
{
	owned(arena_release) struct arena arena = { 0 };
	struct policy policy = read_one("{}", &arena), out;
	struct err err = { 0 };

	assert_int_equal(
		policy_resolve(&policy, &(struct policy_place){ "/h", "w" }, &arena, &out, &err),
		-ERR_INVALID);
	assert_string_equal(err.text, "the workspace 'w' is not absolute");
}

static void rules_without_effect_are_warned_of(void **state)
{
	static const struct {
		const char *text, *warnings;
	} cases[] = {
		{ "{\"preset\":\"workspace\"}", "" },
		{ "{\"fs\":{\"deny_read\":[\"/a/b\"],\"allow_read_within_deny\":[\"/a/*\"]}}",
			"fs.deny_read: '/a/b' has no effect: fs.allow_read_within_deny has "
			"'/a/*'" },
		{ "{\"fs\":{\"deny_read\":[\"/a\"],\"allow_write\":[\"/a/b\"]}}",
			"fs.allow_write: '/a/b' has no effect: fs.deny_read has '/a'" },
		{ "{\"fs\":{\"allow_read\":[]}}",
			"fs.allow_read: nothing can be read, so no program can be started" },
		{ "{\"fs\":{\"allow_write\":[\"/a\"],\"deny_write_within_allow\":[\"/b\"]}}",
			"fs.deny_write_within_allow: '/b' has no effect: "
			"fs.allow_write does not reach it" },
		{ "{\"exec\":{\"allow\":[\"/bin/sh\"],\"deny\":[\"/bin/su\",\"/bin\"]}}",
			"exec.allow: '/bin/sh' has no effect: exec.deny has '/bin'|"
			"exec.deny: '/bin/su' has no effect: exec.allow does not have it" },
		{ "{\"net\":{\"denied_domains\":[\"a.b\"]}}",
			"net.denied_domains: no effect: net.mode is 'none'" },
		{ "{\"net\":{\"mode\":\"allowlist\",\"allowed_domains\":[\"a.b:1\",\"*.com\","
		  "\"10.0.0.1\"],\"denied_domains\":[\"*.b\"]}}",
			"net.allowed_domains: 'a.b:1' has no effect: net.denied_domains has '*.b'|"
			"net.allowed_domains: '*.com' allows a whole top-level domain|"
			"net.allowed_domains: '10.0.0.1' is a private address" },
		{ "{\"net\":{\"mode\":\"allowlist\"}}",
			"net.mode: 'allowlist' without a domain that is allowed: "
			"no host can be reached" },
		{ "{\"trust\":\"forbid\"}", "trust: 'forbid': no rule of this policy is enforced" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		owned(arena_release) struct arena arena = { 0 };

		assert_string_equal(joined(read_one(cases[i].text, &arena).warnings, &arena),
			cases[i].warnings);
	}
}

int main(void)
{
	const struct CMUnitTest policy_tests[] = {
		cmocka_unit_test(a_document_is_read),
		cmocka_unit_test(every_mistake_is_told_with_its_place),
		cmocka_unit_test(too_much_is_refused),
		cmocka_unit_test(a_key_replaces_that_of_the_preset_and_denials_unite),
		cmocka_unit_test(a_denial_takes_the_same_rule_from_the_preset),
		cmocka_unit_test(without_a_preset_little_is_allowed),
		cmocka_unit_test(presets_differ_as_documented),
		cmocka_unit_test(what_is_written_is_read_back),
		cmocka_unit_test(variables_are_replaced),
		cmocka_unit_test(a_hole_that_lifts_no_denial_is_dropped),
		cmocka_unit_test(a_place_must_be_absolute),
		cmocka_unit_test(rules_without_effect_are_warned_of),
	};

	return cmocka_run_group_tests(policy_tests, NULL, NULL);
}
