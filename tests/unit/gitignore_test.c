/* gitignore: for random rules and paths, the results are the same as those of git itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/buf.h"
#include "core/own.h"
#include "worker/gitignore.h"

#define ROUNDS 400
#define RULES 6
#define PATHS 60

static uint64_t seed = 20260117;

static unsigned chance(unsigned n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

static const char *pick(const char *const *words, size_t n)
{
	return words[chance((unsigned)n)];
}

#define PICK(words) pick(words, sizeof(words) / sizeof((words)[0]))

static void random_rule(struct buf *out)
{
	static const char *const parts[] = { "a", "b", "ab", "c.o", "*", "*", "**", "?", "/", "/",
		"**/", "/**", "[ab]", "[!a]", "[^b]", "[a-c]", "[]a]", "[]-a]", "[a", "[[:alpha:]]",
		"[[:digit:]b]", "[[:nope:]]", "[[:a]", "\\*", "\\a", "\\", "*.o", ".", "-", " ",
		"\\ ", "[\\]a]", "[a\\-c]", "{a,b}", "!", "#" };

	if (chance(4) == 0)
		buf_addc(out, '!');
	if (chance(4) == 0)
		buf_addc(out, '/');
	for (unsigned n = 1 + chance(4); n; n--)
		buf_adds(out, PICK(parts));
	if (chance(4) == 0)
		buf_addc(out, '/');
	if (chance(12) == 0)
		buf_addc(out, ' ');
	buf_adds(out, chance(12) ? "\n" : "\r\n");
}

static void random_path(struct buf *out)
{
	static const char *const names[] = { "a", "b", "c", "ab", "aa", "abc", "c.o", "a.o", "*",
		"ba", "a-c", "]", "[a", "a ", "\\", "-", ".", "1", "b1", "{a,b}", "!a", "#a" };

	for (unsigned n = 1 + chance(3); n; n--) {
		const char *name = PICK(names);

		buf_adds(out, strcmp(name, ".") ? name : ".x");
		if (n > 1)
			buf_addc(out, '/');
	}
}

static void write_file(const char *path, const struct buf *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fwrite(text->data, 1, text->len, file);
	assert_int_equal(fclose(file), 0);
}

/*
 * Ask git about the paths.  It prints one line for each: "SOURCE:LINE:PATTERN\tPATH".  The source
 * is empty if no rule matches.
 */
static void ask_git(bool *ignored, size_t n)
{
	char line[512];
	FILE *answers = popen(
		"git check-ignore --no-index -v -n --stdin -z <paths | tr '\\n\\0' '\\1\\n'", "r");

	assert_non_null(answers);
	for (size_t i = 0; i < n; i++) {
		char fields[4][512];

		for (size_t k = 0; k < 4; k++) {
			assert_non_null(fgets(line, sizeof(line), answers));
			snprintf(fields[k], sizeof(fields[k]), "%s", line);
		}
		ignored[i] = fields[0][0] != '\n' && fields[2][0] != '!';
	}
	assert_int_equal(pclose(answers) >> 8 & ~1, 0);
}

/* Judge a path as a walk does, which does not enter ignored directories. */
static bool is_ignored(const struct gitignore *top, const struct gitignore *below, const char *path)
{
	owned(buf_release) struct buf full = BUF_INIT;

	buf_adds(&full, "/r");
	for (struct str rest = str_of(path), name; (name = str_take_name(&rest)).len;) {
		buf_addc(&full, '/');
		buf_add(&full, name.ptr, name.len);
		const struct gitignore *rules =
			str_starts((struct str){ full.data, full.len }, STR("/r/a/")) ? below : top;
		bool is_dir = rest.len || !strcmp(path, "a"); /* only this directory exists */
		if (gitignore_has(rules, (struct str){ full.data, full.len }, is_dir))
			return true;
	}
	return false;
}

static void one_round(void)
{
	owned(buf_release) struct buf top = BUF_INIT, below = BUF_INIT, exclude = BUF_INIT;
	owned(buf_release) struct buf list = BUF_INIT;
	struct gitignore rules[3];
	bool ignored[PATHS];
	char paths[PATHS][64];

	for (unsigned i = 0; i < RULES; i++) {
		random_rule(&top);
		random_rule(&below);
		random_rule(&exclude);
	}
	for (unsigned i = 0; i < PATHS; i++) {
		owned(buf_release) struct buf path = BUF_INIT;

		random_path(&path);
		snprintf(paths[i], sizeof(paths[i]), "%s", path.data);
		buf_add(&list, path.data, path.len + 1);
	}
	write_file(".gitignore", &top);
	write_file("a/.gitignore", &below);
	write_file(".git/info/exclude", &exclude);
	write_file("paths", &list);
	gitignore_init(&rules[0], NULL, STR("/r"), (struct str){ exclude.data, exclude.len });
	gitignore_init(&rules[1], &rules[0], STR("/r"), (struct str){ top.data, top.len });
	gitignore_init(&rules[2], &rules[1], STR("/r/a"), (struct str){ below.data, below.len });
	ask_git(ignored, PATHS);
	for (unsigned i = 0; i < PATHS; i++)
		if (is_ignored(&rules[1], &rules[2], paths[i]) != ignored[i])
			fail_msg("'%s' is %signored by git, with rules\n%s-- a/.gitignore:\n%s-- "
				 "exclude:\n%s",
				paths[i], ignored[i] ? "" : "not ", top.data, below.data,
				exclude.data);
	for (unsigned i = 0; i < 3; i++)
		gitignore_release(&rules[i]);
}

static void agrees_with_git_on_random_rules(void **state)
{
	char dir[] = "/tmp/gitignore-test.XXXXXX";

	if (system("git --version >/dev/null 2>&1") != 0) {
		printf("# skip: no git\n");
		skip();
	}
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	assert_int_equal(setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1), 0);
	assert_int_equal(setenv("GIT_CONFIG_SYSTEM", "/dev/null", 1), 0);
	assert_int_equal(system("git init -q . && mkdir -p .git/info a"), 0);
	for (unsigned i = 0; i < ROUNDS; i++)
		one_round();
	assert_int_equal(chdir("/"), 0);
	char command[64];
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	assert_int_equal(system(command), 0);
}

static void ends_a_hostile_pattern(void **state)
{
	struct str text =
		STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab/x");

	assert_false(gitignore_matches(STR("**/*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*c/**/*x*y"), text));
	assert_true(gitignore_matches(STR("**/x"), text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_git_on_random_rules),
		cmocka_unit_test(ends_a_hostile_pattern),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
