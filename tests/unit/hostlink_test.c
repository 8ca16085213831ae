/*
 * hostlink: how an agent is brought to a host and started there, and the errors of this.
 *
 * In place of ssh, a script runs the command of the session on this machine; tests/cli/hosts.bats
 * has a real sshd.  The agent is a script, too, which repeats each line after its arguments.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "core/arena.h"
#include "core/own.h"
#include "core/when.h"
#include "rpc/agentfile.h"
#include "rpc/bootstrap.h"
#include "rpc/hostlink.h"
#include "tempdir_fixture.h"
#include "valgrind_fixture.h"

#define TEXTS(...)                                                                                 \
	((struct param_texts){ (const char *[]){ __VA_ARGS__ },                                    \
		sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(const char *) })

struct place {
	struct arena arena;
	const char *dir, *agent, *home, *cached;
	struct hosts_host host;
	struct hostlink_options options;
	struct hostlink *link;
	struct err err;
};

static void write_script(struct place *place, const char *name, const char *text)
{
	const char *path = arena_printf(&place->arena, "%s/%s", place->dir, name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fprintf(file, "#!/bin/sh\n%s\n", text) > 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, 0755), 0);
}

#define AGENT                                                                                      \
	"case $1 in version) exit 0;; esac\n"                                                      \
	"while read -r line; do printf '%s\\n' \"$line: $*\"; done; echo end >&2"

static int make_place(void **state)
{
	struct place *place = calloc(1, sizeof(*place));
	char dir[] = "/tmp/strata-link-XXXXXX";
	struct agentfile file;

	if (!place || !mkdtemp(dir))
		return -1;
	place->dir = arena_strdup(&place->arena, dir);
	place->home = arena_printf(&place->arena, "%s/home", dir);
	place->agent = arena_printf(&place->arena, "%s/agent", dir);
	if (mkdir(place->home, 0700) < 0)
		return -1;
	write_script(place, "agent", AGENT);
	/* The last argument is the command of the session. */
	write_script(place, "ssh",
		arena_printf(&place->arena,
			"printf '%%s|' \"$@\" >%s/argv\nfor last; do :; done\nexec env -i "
			"PATH=\"${FAKE_PATH:-$PATH}\" HOME=%s ${FAKE_ENV:-A=b} sh -c \"$last\"",
			dir, place->home));
	if (agentfile_open(place->agent, &file, &place->err) < 0)
		return -1;
	place->cached =
		arena_printf(&place->arena, "%s/.cache/strata/agent-%s", place->home, file.hash);
	agentfile_close(&file);
	setenv("PATH", arena_printf(&place->arena, "%s:/usr/bin:/bin", dir), 1);
	unsetenv("FAKE_PATH");
	unsetenv("FAKE_ENV");
	place->host = (struct hosts_host){ .name = "nas", .ssh_target = "me@nas" };
	place->options = (struct hostlink_options){ .agent_file = place->agent, .start_ms = 20000 };
	*state = place;
	return 0;
}

static int remove_place(void **state)
{
	struct place *place = *state;
	int r;

	hostlink_close(place->link);
	r = tempdir_remove(place->dir);
	arena_release(&place->arena);
	free(place);
	return r;
}

/* Wait for a line.  Returns NULL if the link ends before, with the reason in place->err. */
static const char *await_line(struct place *place)
{
	int64_t deadline = when_monotonic() + 30 * WHEN_SECOND;
	struct str line;

	while (when_monotonic() < deadline) {
		struct pollfd polls[HOSTLINK_POLLS];
		size_t n = hostlink_polls(place->link, polls);

		if (hostlink_next(place->link, &line))
			return arena_str(&place->arena, line).ptr;
		poll(polls, n, 1000);
		if (hostlink_handle(place->link, &place->err) < 0)
			return NULL;
	}
	fail_msg("nothing happens");
	return NULL;
}

static void open_link(struct place *place)
{
	hostlink_close(place->link);
	place->err = (struct err){ 0 };
	place->link = hostlink_open(&place->host, &place->options, &place->err);
	assert_string_equal(place->err.text, "");
	assert_non_null(place->link);
	hostlink_send(place->link, STR("ping"));
}

static const struct hostlink_start *ask(struct place *place, const char *expected)
{
	open_link(place);
	const char *line = await_line(place);

	assert_string_equal(place->err.text, "");
	assert_string_equal(line, expected);
	return hostlink_started(place->link);
}

static void expect_failure(struct place *place, const char *text)
{
	open_link(place);
	assert_null(await_line(place));
	if (!strstr(place->err.text, text))
		fail_msg("'%s' instead of '%s'", place->err.text, text);
}

static bool is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

static void sends_the_agent_once(void **state)
{
	struct place *place = *state;
	const struct hostlink_start *start = ask(place, "ping: query");
	struct stat st;

	assert_true(start->bootstrapped && start->sent && start->cached && !start->changed);
	assert_int_equal(stat(place->cached, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(
		stat(arena_printf(&place->arena, "%s/.cache/strata", place->home), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	start = ask(place, "ping: query");
	assert_true(start->cached && !start->sent && !start->changed);
}

/* The login shell of the host may be a csh or fish, which read some characters in another way. */
static void writes_a_command_for_any_shell(void **state)
{
	struct place *place = *state;
	struct agentfile file;

	assert_int_equal(agentfile_open(place->agent, &file, &place->err), 0);
	const char *command = bootstrap_command(&file, 3, true, &place->arena);
	const char *start = strchr(command, '\''), *end = strrchr(command, '\'');
	assert_int_equal(strcspn(start + 1, "'!\\\n"), end - start - 1);
	assert_memory_equal(command, "exec sh -c '", start - command + 1);
	assert_string_equal(end + 1, arena_printf(&place->arena, " strata %s %llu 3 sudo",
					     file.hash, (unsigned long long)file.size));
	agentfile_close(&file);
}

/* A connection that ends while the program is sent leaves nothing behind. */
static void keeps_no_half_of_an_agent(void **state)
{
	struct place *place = *state;
	const char *cache = arena_printf(&place->arena, "%s/.cache/strata", place->home);
	const char *stale = arena_printf(&place->arena, "%s/strata-agent-1", cache);

	write_script(place, "head",
		"case $2 in 1) exec /usr/bin/head \"$@\";; esac\n/usr/bin/head -c 10");
	expect_failure(place, "host 'nas': the agent arrived damaged there");
	assert_int_equal(rmdir(cache), 0);
	write_script(place, "head", "exec /usr/bin/head \"$@\"");
	/* Those that were killed are removed the next day. */
	assert_int_equal(mkdir(cache, 0700), 0);
	assert_int_equal(mkdir(stale, 0700), 0);
	const struct timespec old[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	assert_int_equal(utimensat(AT_FDCWD, stale, old, 0), 0);
	ask(place, "ping: query");
	assert_false(is_there(stale));
	assert_true(is_there(place->cached));
}

static void sends_a_large_agent(void **state)
{
	struct place *place = *state;
	FILE *file = fopen(place->agent, "w");

	assert_true(fputs("#!/bin/sh\n" AGENT "\nexit\n", file) >= 0);
	for (int i = 0; i < 400000; i++)
		assert_true(fprintf(file, "# %d\n", i) > 0);
	assert_int_equal(fclose(file), 0);
	assert_true(ask(place, "ping: query")->sent);
}

static void replaces_an_agent_that_was_changed(void **state)
{
	struct place *place = *state;
	const struct hostlink_start *start;

	ask(place, "ping: query");
	FILE *file = fopen(place->cached, "a");
	assert_true(fputs("touch /tmp/never\n", file) >= 0);
	assert_int_equal(fclose(file), 0);
	start = ask(place, "ping: query");
	assert_true(start->changed && start->sent && start->cached);
	start = ask(place, "ping: query");
	assert_true(!start->changed && !start->sent);
}

/* The link leads to the right content, but others may change it later. */
static void does_not_run_a_link_in_the_cache(void **state)
{
	struct place *place = *state;
	struct stat st;

	ask(place, "ping: query");
	assert_int_equal(unlink(place->cached), 0);
	assert_int_equal(symlink(place->agent, place->cached), 0);
	assert_true(ask(place, "ping: query")->changed);
	assert_int_equal(lstat(place->cached, &st), 0);
	assert_true(S_ISREG(st.st_mode));
}

/* Without a cache, the program lives as long as the agent. */
static void removes_an_agent_that_cannot_be_kept(void **state)
{
	struct place *place = *state;
	const char *temporary = arena_printf(&place->arena, "%s/tmp", place->dir);
	const struct hostlink_start *start;

	assert_int_equal(mkdir(temporary, 0700), 0);
	setenv("FAKE_ENV",
		arena_printf(&place->arena, "HOME= TMPDIR=%s XDG_RUNTIME_DIR=", temporary), 1);
	start = ask(place, "ping: query");
	assert_true(start->sent && !start->cached);
	assert_int_not_equal(rmdir(temporary), 0);
	hostlink_close(place->link);
	place->link = NULL;
	assert_int_equal(rmdir(temporary), 0);
}

static void link_tool(struct place *place, const char *name)
{
	const char *from = arena_printf(&place->arena, "/usr/bin/%s", name);
	const char *to = arena_printf(&place->arena, "%s/few/%s", place->dir, name);

	if (!is_there(from))
		from = arena_printf(&place->arena, "/bin/%s", name);
	assert_int_equal(symlink(from, to), 0);
}

/*
 * Without sha256sum, the program is not kept on the host, since it could not be verified later.
 * Without head, dd receives the program.
 */
static void needs_few_programs_there(void **state)
{
	static const char *const tools[] = { "sh", "env", "uname", "mkdir", "chmod", "rm", "mv",
		"id", "touch", "find", "dd", "wc" };
	struct place *place = *state;
	const char *few = arena_printf(&place->arena, "%s/few", place->dir);

	assert_int_equal(mkdir(few, 0700), 0);
	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
		link_tool(place, tools[i]);
	setenv("FAKE_PATH", few, 1);
	const struct hostlink_start *start = ask(place, "ping: query");
	assert_true(start->sent && !start->cached);
	assert_false(is_there(place->cached));
	link_tool(place, "sha256sum");
	assert_true(ask(place, "ping: query")->cached);
	assert_true(is_there(place->cached));
}

static void passes_arguments_untouched(void **state)
{
	struct place *place = *state;
	struct param_texts more = TEXTS("--folder", "it's=/a  b\\c", "$HOME", "*", "-n");

	place->options.agent = &more;
	place->host.allow_restore = true;
	place->host.restore_paths = TEXTS("/srv/\"x\"");
	ask(place, "ping: query --allow-restore /srv/\"x\" --folder it's=/a  b\\c $HOME * -n");
	ask(place, "ping: query --allow-restore /srv/\"x\" --folder it's=/a  b\\c $HOME * -n");
	place->host.agent_mode = HOSTS_PREINSTALLED;
	place->host.agent_path = place->agent;
	ask(place, "ping: query --allow-restore /srv/\"x\" --folder it's=/a  b\\c $HOME * -n");
	place->host = (struct hosts_host){ .name = "here", .transport = HOSTS_LOCAL };
	ask(place, "ping: query --folder it's=/a  b\\c $HOME * -n");
	more = TEXTS("a\nb");
	assert_null(hostlink_open(&place->host, &place->options, &place->err));
	assert_non_null(strstr(place->err.text, "cannot have control characters"));
}

static void runs_sudo_without_a_question(void **state)
{
	struct place *place = *state;

	write_script(place, "sudo",
		"[ \"$1 $2\" = '-n --' ] || exit 1\nshift 2\necho asked >&2\n"
		"exec \"$@\"");
	place->host.sudo = true;
	ask(place, "ping: query");
	write_script(place, "sudo", "echo 'sudo: a password is required' >&2; exit 1");
	expect_failure(
		place, "host 'nas': sudo there asks for a password: sudo: a password is required");
	assert_non_null(strstr(place->err.hint, "NOPASSWD"));
}

static void names_what_the_host_lacks(void **state)
{
	struct place *place = *state;

	place->host.agent_mode = HOSTS_PREINSTALLED;
	place->host.agent_path = "/nowhere/strata-agent";
	expect_failure(place, "host 'nas': strata-agent does not exist there: ");
	place->host.agent_mode = HOSTS_BOOTSTRAP;
	place->host.agent_path = NULL;
	/* This error of mkdir stands for a host where no directory can be written. */
	write_script(place, "mkdir", "echo \"mkdir: $*: Read-only file system\" >&2; exit 1");
	expect_failure(place, "host 'nas': no directory there takes a program: mkdir: /");
	assert_non_null(strstr(place->err.text, "Read-only file system"));
	write_script(place, "mkdir", "exec /bin/mkdir \"$@\"");
	write_script(place, "uname", "[ $1 = -s ] && echo Linux || echo mips");
	ask(place, "ping: query"); /* a script runs on any machine */
	place->options.agent_file = "/proc/self/exe";
	expect_failure(place, "host 'nas': its architecture is mips, and '/proc/self/exe' is for ");
	assert_non_null(strstr(place->err.hint, "set 'agent_path'"));
	write_script(place, "uname", "echo Darwin");
	expect_failure(place, "it runs Darwin, and strata-agent runs on Linux alone");
}

static void says_what_ssh_said(void **state)
{
	static const struct {
		const char *says, *error;
	} cases[] = {
		{ "echo 'me@nas: Permission denied (publickey,password).' >&2; exit 255",
			"host 'nas': it refuses this user without a password: me@nas: Permission "
			"denied (publickey,password)." },
		{ "echo 'ssh: connect to host nas port 22: Connection refused' >&2; exit 255",
			"host 'nas': it refuses the connection: ssh: connect to host nas port 22: "
			"Connection refused" },
		{ "echo 'Host key verification failed.' >&2; exit 255",
			"host 'nas': its host key is not known, or has changed: Host key "
			"verification failed." },
		{ "echo 'odd\033[1m' >&2; exit 3", "host 'nas': the connection ended before the "
						   "agent ran; ssh ended with status 3: odd?[1m" },
		{ "kill -9 $$", "host 'nas': ssh was killed by signal 9" },
		{ "echo quota >&2; echo Welcome; sleep 9",
			"host 'nas': it prints text before the agent answers: Welcome; it said: "
			"quota" },
	};
	struct place *place = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		write_script(place, "ssh", cases[i].says);
		expect_failure(place, cases[i].error);
	}
}

static void does_not_wait_for_ever(void **state)
{
	struct place *place = *state;

	write_script(place, "ssh", "echo slow >&2; sleep 60");
	place->options.start_ms = 300;
	expect_failure(place, "host 'nas': no answer within 0.3 seconds: slow");
	assert_int_equal(place->err.errno_value, ETIMEDOUT);
}

static void takes_lines_that_came_before_the_end(void **state)
{
	struct place *place = *state;
	owned(json_release) struct json out = JSON_INIT;

	write_script(place, "agent", "[ $1 = version ] || { echo one; echo two; echo bye >&2; }");
	place->cached = NULL;
	open_link(place);
	assert_string_equal(await_line(place), "one");
	hostlink_answered(place->link);
	assert_string_equal(await_line(place), "two");
	assert_null(await_line(place));
	assert_string_equal(
		place->err.text, "host 'nas': the connection ended; ssh ended with status 0: bye");
	json_open(&out, NULL, '{');
	hostlink_members(&out, place->link);
	json_close(&out);
	assert_non_null(strstr(out.out.data, "{\"stderr\":\"bye\",\"argv\":[\"ssh\",\"-T\","));
}

int main(void)
{
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, make_place, remove_place)
	const struct CMUnitTest tests[] = {
		TEST(sends_the_agent_once),
		TEST(writes_a_command_for_any_shell),
		TEST(keeps_no_half_of_an_agent),
		TEST(sends_a_large_agent),
		TEST(replaces_an_agent_that_was_changed),
		TEST(does_not_run_a_link_in_the_cache),
		TEST(removes_an_agent_that_cannot_be_kept),
		TEST(needs_few_programs_there),
		TEST(passes_arguments_untouched),
		TEST(runs_sudo_without_a_question),
		TEST(names_what_the_host_lacks),
		TEST(says_what_ssh_said),
		TEST(does_not_wait_for_ever),
		TEST(takes_lines_that_came_before_the_end),
	};

	if (valgrind_runs())
		return valgrind_skip_all();
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
