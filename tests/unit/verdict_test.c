/*
 * verdict: the rule that decides about a path, program, host or address, and the texts of the
 * verdict.
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/un.h>

#include <cmocka.h>

#include "core/own.h"
#include "policy/domains.h"
#include "policy/rule.h"
#include "policy/verdict.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct policy resolved(
	const char *text, const char *home, const char *workspace, struct arena *arena)
{
	struct policy policy;
	struct policy_place place = { home, workspace };
	struct err err = { 0 };

	if (policy_read(str_of(text), "p", arena, &policy, &err) < 0 ||
		policy_resolve(&policy, &place, arena, &policy, &err) < 0)
		fail_msg("%s", err.text);
	return policy;
}

struct path_case {
	enum verdict_access access;
	const char *path;
	bool allowed;
	const char *rule, *remedy;
};

static void check_paths(const char *text, const struct path_case *cases, size_t n)
{
	owned(arena_release) struct arena arena = { 0 };
	struct policy policy = resolved(text, "/home/u", "/w", &arena);

	for (size_t i = 0; i < n; i++) {
		struct verdict verdict;

		verdict_path(&policy, cases[i].access, str_of(cases[i].path), &verdict);
		if (verdict.allowed != cases[i].allowed)
			fail_msg("%s: %s", cases[i].path, verdict.rule);
		assert_string_equal(verdict.rule, cases[i].rule);
		assert_string_equal(verdict.remedy, cases[i].remedy);
	}
}

static void reading_follows_the_precedence(void **state)
{
	static const struct path_case cases[] = {
		{ VERDICT_READ, "/usr/lib/x", true, "fs.allow_read: /usr", "" },
		{ VERDICT_READ, "/usr", true, "fs.allow_read: /usr", "" },
		{ VERDICT_READ, "/usrx", false, "fs.allow_read: no rule has the path",
			"add '/usrx' to fs.allow_read" },
		{ VERDICT_READ, "/", false, "fs.allow_read: no rule has the path",
			"add '/' to fs.allow_read" },
		{ VERDICT_READ, "/w/new", true, "fs.allow_write: /w", "" },
		{ VERDICT_READ, "/usr/secret", false, "fs.deny_read: /usr/secret",
			"add '/usr/secret' to fs.allow_read_within_deny" },
		{ VERDICT_READ, "/usr/secret/a/b", false, "fs.deny_read: /usr/secret",
			"add '/usr/secret/a/b' to fs.allow_read_within_deny" },
		{ VERDICT_READ, "/usr/secret/pub/b", true,
			"fs.allow_read_within_deny: /usr/secret/pub", "" },
		{ VERDICT_READ, "/usr/lib/a.key", false, "fs.deny_read: /usr/**/*.key",
			"add '/usr/lib/a.key' to fs.allow_read_within_deny" },
		{ VERDICT_READ, "/usr/a.key/b", false, "fs.deny_read: /usr/**/*.key",
			"add '/usr/a.key/b' to fs.allow_read_within_deny" },
		{ VERDICT_READ, "/usr/a.keys", true, "fs.allow_read: /usr", "" },
	};

	check_paths("{\"fs\":{\"allow_read\":[\"/usr\"],\"allow_write\":[\"$WORKSPACE\"],"
		    "\"deny_read\":[\"/usr/secret\",\"/usr/**/*.key\"],"
		    "\"allow_read_within_deny\":[\"/usr/secret/pub\"]}}",
		cases, COUNT(cases));
}

static void writing_follows_the_precedence(void **state)
{
	static const struct path_case cases[] = {
		{ VERDICT_WRITE, "/w/a", true, "fs.allow_write: /w", "" },
		{ VERDICT_WRITE, "/usr/a", false, "fs.allow_write: no rule has the path",
			"add '/usr/a' to fs.allow_write" },
		{ VERDICT_WRITE, "/w/lock/a", false, "fs.deny_write_within_allow: /w/lock",
			"take '/w/lock' out of fs.deny_write_within_allow" },
		{ VERDICT_WRITE, "/w/secret/a", false, "fs.deny_read: /w/secret",
			"add '/w/secret/a' to fs.allow_read_within_deny" },
		{ VERDICT_WRITE, "/w/secret/pub", true, "fs.allow_write: /w", "" },
		{ VERDICT_WRITE, "/srv/secret/pub", false, "fs.allow_write: no rule has the path",
			"add '/srv/secret/pub' to fs.allow_write" },
		{ VERDICT_WRITE, "/w/lock/.git/hooks", false,
			"always protected: git hooks, '/w/lock/.git/hooks'",
			"name '/w/lock/.git/hooks' in fs.allow_write" },
		{ VERDICT_WRITE, "/w/.git/config", false,
			"always protected: git configuration, '/w/.git/config'",
			"name '/w/.git/config' in fs.allow_write, or set fs.allow_git_config" },
	};

	check_paths("{\"fs\":{\"allow_write\":[\"$WORKSPACE\"],"
		    "\"deny_write_within_allow\":[\"$WORKSPACE/lock\"],"
		    "\"deny_read\":[\"/w/secret\",\"/srv/secret\"],"
		    "\"allow_read_within_deny\":[\"/w/secret/pub\",\"/srv/secret/pub\"]}}",
		cases, COUNT(cases));
}

static void executing_needs_reading(void **state)
{
	static const struct path_case cases[] = {
		{ VERDICT_EXECUTE, "/bin/sh", true, "exec.allow: /bin", "" },
		{ VERDICT_EXECUTE, "/bin/su", false, "exec.deny: /bin/su",
			"take '/bin/su' out of exec.deny" },
		{ VERDICT_EXECUTE, "/usr/bin/x", false, "exec.allow: no rule has the program",
			"add '/usr/bin/x' to exec.allow" },
		{ VERDICT_EXECUTE, "/bin/hidden", false, "fs.deny_read: /bin/hidden",
			"add '/bin/hidden' to fs.allow_read_within_deny" },
	};
	static const struct path_case all[] = {
		{ VERDICT_EXECUTE, "/bin/sh", true,
			"exec.allow: it is empty, so every program is allowed", "" },
		{ VERDICT_WRITE, "/bin/sh", false, "fs.allow_write: it is empty",
			"add '/bin/sh' to fs.allow_write" },
	};

	check_paths("{\"fs\":{\"deny_read\":[\"/bin/hidden\"]},"
		    "\"exec\":{\"allow\":[\"/bin\"],\"deny\":[\"/bin/su\"]}}",
		cases, COUNT(cases));
	check_paths("{}", all, COUNT(all));
}

/* ---------------------------------------------------------- protected names */

static void check_protected(const char *writes, bool git_config, const char *path, const char *what)
{
	owned(arena_release) struct arena arena = { 0 };
	const char *text = arena_printf(&arena,
		"{\"preset\":\"open\",\"fs\":{\"allow_write\":[%s],\"allow_git_config\":%s}}",
		writes, git_config ? "true" : "false");
	struct policy policy = resolved(text, "/home/u", "/w", &arena);
	const char *found = verdict_protected(&policy, str_of(path));
	struct verdict verdict;

	if ((found ?: "")[0] != (what ?: "")[0] || (found && strcmp(found, what) != 0))
		fail_msg("%s, %s: %s", writes, path, found);
	verdict_path(&policy, VERDICT_WRITE, str_of(path), &verdict);
	if (found && verdict.allowed)
		fail_msg("%s, %s: may be written", writes, path);
}

static void names_are_protected_wherever_they_are(void **state)
{
	static const struct {
		const char *path, *what;
	} cases[] = {
		{ "/w/.git", "git repository" },
		{ "/w/.git/HEAD", NULL },
		{ "/w/.git/index", NULL },
		{ "/w/.git/hooks", "git hooks" },
		{ "/w/.git/hooks/pre-commit", "git hooks" },
		{ "/w/.git/config", "git configuration" },
		{ "/w/.git/config.worktree", "git configuration" },
		{ "/w/.git/config.lock", NULL },
		{ "/w/.git/commondir", "git links" },
		{ "/w/sub/dir/.git/hooks/x", "git hooks" },
		{ "/.git/hooks", "git hooks" },
		{ "/w/.git/worktrees/a/config.worktree", "git configuration" },
		{ "/w/.git/worktrees/a/commondir", "git links" },
		{ "/w/.git/worktrees/a/gitdir", "git links" },
		{ "/w/.git/worktrees/a/HEAD", NULL },
		{ "/w/.git/modules/a/hooks", "git hooks" },
		{ "/w/.git/modules/a/b/config", "git configuration" },
		{ "/w/.git/modules/a/modules/b/hooks/x", "git hooks" },
		{ "/w/.git/modules/refs/hooks/x", "git hooks" },
		{ "/w/.git/bare/hooks", "git hooks" },
		/* Branches may have any name. */
		{ "/w/.git/refs/heads/config", NULL },
		{ "/w/.git/refs/heads/hooks/fix", NULL },
		{ "/w/.git/logs/refs/heads/config", NULL },
		{ "/w/.git/worktrees/a/refs/bisect/hooks", NULL },
		{ "/w/.git/worktrees/refs/hooks", "git hooks" },
		{ "/w/hooks", NULL },
		{ "/w/config", NULL },
		{ "/w/.gitx/hooks", NULL },
		{ "/home/u/.bashrc", "shell start-up files" },
		{ "/home/u/.config/fish/config.fish", "shell start-up files" },
		{ "/home/u/.config/fish/conf.d/a.fish", "shell start-up files" },
		{ "/home/u/.config/fish", NULL },
		{ "/home/u/.gitconfig", "git configuration" },
		{ "/home/u/.config/git/attributes", "git configuration" },
		{ "/w/.bashrc", NULL },
		{ "/home/u/x/.bashrc", NULL },
		{ "/w/.vscode", "editor configuration" },
		{ "/w/a/.vscode/settings.json", "editor configuration" },
		{ "/w/.idea/x", "editor configuration" },
		{ "/w/.mcp.json", "agent configuration" },
		{ "/w/.claude/settings.json", "agent configuration" },
		{ "/home/u/.codex/config.toml", "agent configuration" },
		{ "/w/.vscodex", NULL },
		{ "/", NULL },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		check_protected("\"/\"", false, cases[i].path, cases[i].what);
}

static void only_a_rule_that_names_it_frees_a_name(void **state)
{
	static const struct {
		const char *writes, *path, *what;
	} cases[] = {
		{ "\"/w/.git/hooks\"", "/w/.git/hooks", NULL },
		{ "\"/w/.git/hooks\"", "/w/.git/hooks/x", NULL },
		{ "\"/w/.git/hooks\"", "/w/.git/config", "git configuration" },
		{ "\"/w/.git/hooks\"", "/w/a/.git/hooks", "git hooks" },
		{ "\"/w/.git/hooks/x\"", "/w/.git/hooks/x", NULL },
		{ "\"/w/.git/hooks/x\"", "/w/.git/hooks/y", "git hooks" },
		{ "\"/w/.git/hooks/x\"", "/w/.git/hooks", "git hooks" },
		{ "\"/w/.git\"", "/w/.git", NULL },
		{ "\"/w/.git\"", "/w/.git/hooks", "git hooks" },
		{ "\"/w/.git/*\"", "/w/.git/hooks", "git hooks" },
		{ "\"/w/.git/hook?\"", "/w/.git/hooks", "git hooks" },
		{ "\"/w/*/hooks\"", "/w/.git/hooks", "git hooks" },
		{ "\"/**/hooks\"", "/w/.git/hooks", "git hooks" },
		{ "\"/**/.git/hooks\"", "/w/a/.git/hooks/x", NULL },
		{ "\"/w/.git/modules/*/hooks\"", "/w/.git/modules/a/hooks", NULL },
		{ "\"/w/.git/modules/*/hooks\"", "/w/.git/hooks", "git hooks" },
		{ "\"$WORKSPACE/.vscode\"", "/w/.vscode/a", NULL },
		{ "\"$WORKSPACE/*/.vscode\"", "/w/a/.vscode/b", NULL },
		{ "\"$WORKSPACE/*/.vscode\"", "/w/.vscode/b", "editor configuration" },
		{ "\"$WORKSPACE/.vs*\"", "/w/.vscode/a", "editor configuration" },
		{ "\"~/.bashrc\"", "/home/u/.bashrc", NULL },
		{ "\"/home/*/.bashrc\"", "/home/u/.bashrc", NULL },
		{ "\"~/.config/fish/config.fish\"", "/home/u/.config/fish/config.fish", NULL },
		{ "\"~/.config/*/config.fish\"", "/home/u/.config/fish/config.fish",
			"shell start-up files" },
		/* Each protected name on the way has to be named. */
		{ "\"/w/.claude\"", "/w/.claude/.git/hooks", "git hooks" },
		{ "\"/w/.claude\",\"/w/.claude/.git/hooks\"", "/w/.claude/.git/hooks", NULL },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		check_protected(cases[i].writes, false, cases[i].path, cases[i].what);
}

static void allow_git_config_frees_configuration_only(void **state)
{
	check_protected("\"/\"", true, "/w/.git/config", NULL);
	check_protected("\"/\"", true, "/w/.git/modules/a/config", NULL);
	check_protected("\"/\"", true, "/home/u/.gitconfig", NULL);
	check_protected("\"/\"", true, "/w/.git/hooks", "git hooks");
	check_protected("\"/\"", true, "/w/.git/commondir", "git links");
}

static void a_workspace_in_a_protected_directory_can_be_written(void **state)
{
	owned(arena_release) struct arena arena = { 0 };
	struct policy policy =
		resolved("{\"preset\":\"open\"}", "/home/u", "/home/u/.claude/worktrees/a", &arena);

	assert_null(verdict_protected(&policy, STR("/home/u/.claude/worktrees/a/x")));
	assert_null(verdict_protected(&policy, STR("/home/u/.claude/worktrees/a")));
	assert_non_null(verdict_protected(&policy, STR("/home/u/.claude/worktrees/b")));
	assert_non_null(verdict_protected(&policy, STR("/home/u/.claude/worktrees/a/.claude")));
}

/* -------------------------------------------------------------------- rules */

static void rules_cover_paths(void **state)
{
	static const struct {
		const char *rule, *path;
		bool covers;
	} cases[] = {
		{ "/", "/", true },
		{ "/", "/a", true },
		{ "/a", "/a/b/c", true },
		{ "/a", "/ab", false },
		{ "/a/b", "/a", false },
		{ "/a/*", "/a", false },
		{ "/a/*", "/a/.b/c", true },
		{ "/a/**", "/a", true },
		{ "/**/x", "/x", true },
		{ "/**/x", "/a/b/x/c", true },
		{ "/**/x", "/a/b/xx", false },
		{ "/**/a/**/b", "/a/c/a/d/b", true },
		{ "/**/a/b", "/a/a/b", true },
		{ "/**/a/b", "/a/c/b", false },
		{ "/a/{b,c}/d", "/a/c/d", true },
		{ "/a/[bc]", "/a/b/x", true },
		{ "/a/[!b]", "/a/b", false },
		{ "/a/\\*", "/a/*", true },
		{ "/a/\\*", "/a/b", false },
		{ "/a/?", "/a/b", true },
		{ "~/a", "/home/u/a", false },
		{ "/a", "/a/\xff", true },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		if (rule_covers(cases[i].rule, str_of(cases[i].path)) != cases[i].covers)
			fail_msg("%s and %s", cases[i].rule, cases[i].path);
}

static void many_stars_cost_little(void **state)
{
	owned(buf_release) struct buf rule = BUF_INIT, path = BUF_INIT;

	for (int i = 0; i < 60; i++)
		buf_adds(&rule, "/**/a");
	for (int i = 0; i < 20000; i++)
		buf_adds(&path, "/a");
	buf_adds(&rule, "/b");
	assert_false(rule_covers(rule.data, (struct str){ path.data, path.len }));
	buf_adds(&path, "/b");
	assert_true(rule_covers(rule.data, (struct str){ path.data, path.len }));
}

/* -------------------------------------------------------------------- hosts */

static void hosts_are_judged_with_their_port(void **state)
{
	static const struct {
		struct str host;
		uint16_t port;
		const char *rule; /* the rule that allows or denies */
		bool allowed;
		const char *remedy;
	} cases[] = {
		{ STR("a.com"), 443, "net.allowed_domains: a.com", true, "" },
		{ STR("A.COM."), 80, "net.allowed_domains: a.com", true, "" },
		{ STR("a.com"), 22, "net.allowed_domains: no rule has the host with this port",
			false, "add 'a.com:22' to net.allowed_domains" },
		{ STR("x.b.com"), 8443, "net.allowed_domains: *.b.com:8443", true, "" },
		{ STR("x.b.com"), 443, "net.allowed_domains: no rule has the host with this port",
			false, "add 'x.b.com' to net.allowed_domains" },
		{ STR("any.com"), 8443, "net.allowed_domains: any.com:*", true, "" },
		{ STR("any.com"), 443, "net.allowed_domains: any.com:*", true, "" },
		{ STR("any.com"), 9, "net.allowed_domains: no rule has the host with this port",
			false, "add 'any.com:9' to net.allowed_domains" },
		{ STR("bad.b.com"), 8443, "net.denied_domains: bad.b.com", false,
			"take 'bad.b.com' out of net.denied_domains" },
		{ STR("half.b.com"), 8443, "net.allowed_domains: *.b.com:8443", true, "" },
		{ STR("127.0.0.1"), 80, "net.allowed_domains: localhost", true, "" },
		{ STR("1.2.3.4"), 443, "net.allowed_domains: 1.2.3.4:443", true, "" },
		{ STR("::ffff:1.2.3.4"), 443, "net.allowed_domains: 1.2.3.4:443", true, "" },
		{ STR("1.2.3.5"), 443, "net.allowed_domains: no rule has a public address", false,
			"add '1.2.3.5' to net.allowed_domains" },
		{ STR("169.254.169.254"), 80,
			"net.allowed_domains: no rule has an address of a cloud's metadata service",
			false, "add '169.254.169.254' to net.allowed_domains" },
		{ STR("0x7f.1"), 80,
			"net.mode: allowlist has only names of hosts and addresses in the usual "
			"form",
			false, "use the name of the host" },
		{ STR("a.com\0.evil"), 443,
			"net.mode: allowlist has only names of hosts and addresses in the usual "
			"form",
			false, "use the name of the host" },
		{ STR("a.com\r\nx"), 443,
			"net.mode: allowlist has only names of hosts and addresses in the usual "
			"form",
			false, "use the name of the host" },
		/* No rule can contain such an address. */
		{ STR("0.0.0.0"), 443, "net.allowed_domains: no rule has an unspecified address",
			false, "connect to another address" },
	};
	owned(arena_release) struct arena arena = { 0 };
	struct policy policy = resolved(
		"{\"net\":{\"mode\":\"allowlist\",\"allowed_domains\":[\"a.com\",\"*.b.com:8443\","
		"\"any.com:*\",\"localhost\",\"1.2.3.4:443\"],"
		"\"denied_domains\":[\"bad.b.com\",\"half.b.com:443\"]}}",
		"/", "/", &arena);

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct verdict verdict;

		verdict_host(&policy, cases[i].host, cases[i].port, &verdict);
		assert_string_equal(verdict.rule, cases[i].rule);
		assert_int_equal(verdict.allowed, cases[i].allowed);
		assert_string_equal(verdict.remedy, cases[i].remedy);
	}
}

static void the_mode_decides_first(void **state)
{
	owned(arena_release) struct arena arena = { 0 };
	struct policy none = resolved("{}", "/", "/", &arena);
	struct policy host = resolved("{\"net\":{\"mode\":\"host\"}}", "/", "/", &arena);
	struct sockaddr_in loopback = { .sin_family = AF_INET };
	struct verdict verdict;

	verdict_host(&none, STR("a.com"), 443, &verdict);
	assert_false(verdict.allowed);
	assert_string_equal(verdict.rule, "net.mode: none");
	verdict_host(&host, STR("a.com\n"), 443, &verdict);
	assert_true(verdict.allowed);
	assert_string_equal(verdict.rule, "net.mode: host");
	verdict_address(&none, (struct sockaddr *)&loopback, 1, &verdict);
	assert_false(verdict.allowed);
	verdict_address(&host, (struct sockaddr *)&loopback, 1, &verdict);
	assert_true(verdict.allowed);
	verdict_name(&host, STR("x"), &verdict);
	assert_true(verdict.allowed);
}

static bool address_allowed(const struct policy *policy, const char *text, uint16_t port)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
	struct sockaddr_in four = { .sin_family = AF_INET };
	bool is_four = inet_pton(AF_INET, text, &four.sin_addr) == 1;
	struct verdict verdict;

	if (!is_four)
		assert_int_equal(inet_pton(AF_INET6, text, &six.sin6_addr), 1);
	verdict_address(policy, is_four ? (struct sockaddr *)&four : (struct sockaddr *)&six, port,
		&verdict);
	assert_true(verdict.allowed || verdict.remedy[0]);
	return verdict.allowed;
}

static void addresses_of_names_must_be_public(void **state)
{
	static const char *const refused[] = { "127.0.0.1", "::1", "::ffff:127.0.0.1", "10.1.2.3",
		"192.168.0.1", "172.16.0.1", "100.64.0.1", "169.254.169.254", "fd00:ec2::254",
		"fe80::1", "fd12::1", "224.0.0.1", "ff02::1", "0.0.0.0", "::", "::ffff:0.0.0.0",
		"64:ff9b::7f00:1", "2002:a00:1::", "240.0.0.1" };
	owned(arena_release) struct arena arena = { 0 };
	struct policy plain = resolved("{\"net\":{\"mode\":\"allowlist\","
				       "\"allowed_domains\":[\"*:*\",\"a.b:8080\"],"
				       "\"denied_domains\":[\"9.9.9.9\"]}}",
		"/", "/", &arena);
	struct policy local =
		resolved("{\"net\":{\"mode\":\"allowlist\","
			 "\"allowed_domains\":[\"localhost:8080\",\"10.1.2.3:5432\"]}}",
			"/", "/", &arena);
	struct sockaddr_un unix_address = { .sun_family = AF_UNIX };
	struct verdict verdict;

	for (size_t i = 0; i < COUNT(refused); i++)
		if (address_allowed(&plain, refused[i], 443))
			fail_msg("%s", refused[i]);
	assert_true(address_allowed(&plain, "1.1.1.1", 443));
	assert_true(address_allowed(&plain, "2606:4700::1", 443));
	assert_false(address_allowed(&plain, "9.9.9.9", 443));
	assert_true(address_allowed(&local, "127.0.0.1", 8080));
	assert_true(address_allowed(&local, "::1", 8080));
	assert_false(address_allowed(&local, "127.0.0.1", 8081));
	assert_true(address_allowed(&local, "::ffff:10.1.2.3", 5432));
	assert_false(address_allowed(&local, "10.1.2.3", 80));
	assert_false(address_allowed(&local, "10.1.2.4", 5432));
	verdict_address(&plain, (struct sockaddr *)&unix_address, 443, &verdict);
	assert_false(verdict.allowed);
}

static void ports_are_those_of_the_rules(void **state)
{
	static const struct {
		const char *domains;
		size_t n;
		uint16_t ports[4];
	} cases[] = {
		{ "", 0, { 0 } },
		{ "\"a\"", 2, { 80, 443 } },
		{ "\"a:*\"", 2, { 80, 443 } },
		{ "\"a:443\",\"b:443\"", 1, { 443 } },
		{ "\"a:9000\",\"b:22\",\"c\"", 4, { 22, 80, 443, 9000 } },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		owned(arena_release) struct arena arena = { 0 };
		struct policy policy = resolved(
			arena_printf(&arena,
				"{\"net\":{\"mode\":\"allowlist\",\"allowed_domains\":[%s]}}",
				cases[i].domains),
			"/", "/", &arena);
		uint16_t ports[4] = { 0 };

		assert_int_equal(verdict_ports(&policy, ports, 4), cases[i].n);
		assert_memory_equal(ports, cases[i].ports, sizeof(ports));
		ports[1] = 7;
		assert_int_equal(verdict_ports(&policy, ports, 1), cases[i].n);
		assert_int_equal(ports[1], 7);
	}
}

static void a_name_resolves_if_some_port_of_it_is_allowed(void **state)
{
	static const struct {
		const char *name;
		bool allowed;
		const char *rule, *remedy; /* set if the host is denied */
	} cases[] = {
		{ "a.com", true, NULL, NULL },
		/* The query has no port, so the remedy has none either. */
		{ "x.a.com", false, "net.allowed_domains: no rule has the host with this port",
			"add 'x.a.com' to net.allowed_domains" },
		{ "b.com", true, NULL, NULL },
		{ "c.com", false, "net.denied_domains: c.com",
			"take 'c.com' out of net.denied_domains" },
		{ "d.com", true, NULL, NULL },
	};
	owned(arena_release) struct arena arena = { 0 };
	struct policy policy =
		resolved("{\"net\":{\"mode\":\"allowlist\",\"allowed_domains\":[\"a.com\","
			 "\"b.com:2222\",\"c.com:23\",\"d.com\"],"
			 "\"denied_domains\":[\"c.com\",\"d.com:80\"]}}",
			"/", "/", &arena);

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct verdict verdict;

		verdict_name(&policy, str_of(cases[i].name), &verdict);
		if (verdict.allowed != cases[i].allowed)
			fail_msg("%s: %s", cases[i].name, verdict.rule);
		if (cases[i].rule) {
			assert_string_equal(verdict.rule, cases[i].rule);
			assert_string_equal(verdict.remedy, cases[i].remedy);
		}
	}
}

int main(void)
{
	const struct CMUnitTest verdict_tests[] = {
		cmocka_unit_test(reading_follows_the_precedence),
		cmocka_unit_test(writing_follows_the_precedence),
		cmocka_unit_test(executing_needs_reading),
		cmocka_unit_test(names_are_protected_wherever_they_are),
		cmocka_unit_test(only_a_rule_that_names_it_frees_a_name),
		cmocka_unit_test(allow_git_config_frees_configuration_only),
		cmocka_unit_test(a_workspace_in_a_protected_directory_can_be_written),
		cmocka_unit_test(rules_cover_paths),
		cmocka_unit_test(many_stars_cost_little),
		cmocka_unit_test(hosts_are_judged_with_their_port),
		cmocka_unit_test(the_mode_decides_first),
		cmocka_unit_test(addresses_of_names_must_be_public),
		cmocka_unit_test(ports_are_those_of_the_rules),
		cmocka_unit_test(a_name_resolves_if_some_port_of_it_is_allowed),
	};

	return cmocka_run_group_tests(verdict_tests, NULL, NULL);
}
