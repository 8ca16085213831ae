/* sshargv: the arguments of ssh and of the agent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/own.h"
#include "rpc/hosts.h"
#include "rpc/sshargv.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TEXTS(...)                                                                                 \
	((struct param_texts){                                                                     \
		(const char *[]){ __VA_ARGS__ }, COUNT(((const char *[]){ __VA_ARGS__ })) })

static const char *join(const char *const *list, size_t count, struct arena *arena)
{
	const char *all = "";

	for (size_t i = 0; i < count && list[i]; i++)
		all = arena_printf(arena, "%s%s%s", all, i ? "|" : "", list[i]);
	return all;
}

static void makes_the_arguments_of_ssh(void **state)
{
	owned(arena_release) struct arena arena = { 0 };
	struct hosts_host host = { .name = "nas", .ssh_target = "me@nas" };

	assert_string_equal(join(sshargv_make(&host, "exec x", &arena), SIZE_MAX, &arena),
		"ssh|-T|-o|BatchMode=yes|-o|ServerAliveInterval=30|-o|ServerAliveCountMax=3|--|"
		"me@nas|exec x");
	host.ssh_options = TEXTS("-p", "2222", "User=a b", "-4C", "-i", "-key", "-F/x", "Port=3");
	assert_string_equal(join(sshargv_make(&host, "x", &arena), SIZE_MAX, &arena),
		"ssh|-T|-o|BatchMode=yes|-o|ServerAliveInterval=30|-o|ServerAliveCountMax=3|"
		"-p|2222|-o|User=a b|-4C|-i|-key|-F/x|-o|Port=3|--|me@nas|x");
}

static void refuses_options_that_change_the_streams(void **state)
{
	static const char *const bad[] = { "-t", "-N", "-n", "-f", "-s", "-W", "-O", "-V", "-G",
		"-Q", "-E", "-", "--", "-4t", "-L", "host", "Port", "Port=", "=1", "Po rt=1",
		"-p" };
	size_t at = 9;

	for (size_t i = 0; i < COUNT(bad); i++) {
		struct param_texts options = TEXTS("-4", bad[i]);

		if (!sshargv_refuse(&options, &at) || at != 1)
			fail_msg("%s is accepted", bad[i]);
	}
	struct param_texts options = TEXTS("-p", "-t");
	assert_null(sshargv_refuse(&options, &at));
}

/* A shell must split the quoted text into the same arguments. */
static void quotes_for_a_shell(void **state)
{
	owned(arena_release) struct arena arena = { 0 };
	struct param_texts odd = TEXTS("printf", "<%s>", "", "a b", "it's", "$HOME `id` \"x\" \\ !",
		"plain/path-1.0", "*", "ä", "#", "~");
	const char *command = sshargv_quote(&odd, &arena);
	char out[256] = "";

	assert_string_equal(sshargv_quote(&TEXTS("/a/b", "--x", "c d"), &arena), "/a/b --x 'c d'");
	FILE *shell = popen(command, "r");
	assert_non_null(shell);
	assert_non_null(fgets(out, sizeof(out), shell));
	pclose(shell);
	assert_string_equal(
		out, "<><a b><it's><$HOME `id` \"x\" \\ !><plain/path-1.0><*><ä><#><~>");
}

static void makes_the_arguments_of_an_agent(void **state)
{
	owned(arena_release) struct arena arena = { 0 };
	struct param_texts argv = { 0 }, more = TEXTS("--folder", "x=/y"), none = { 0 };
	struct hosts_host host = { .restore_paths = TEXTS("/srv", "/home/a b") };

	sshargv_agent(&host, "/agent", &none, &arena, &argv);
	assert_string_equal(join(argv.list, argv.count, &arena), "/agent|query");
	argv = (struct param_texts){ 0 };
	host.allow_restore = true;
	host.sudo = true;
	sshargv_agent(&host, "/agent", &more, &arena, &argv);
	assert_string_equal(join(argv.list, argv.count, &arena),
		"sudo|-n|--|/agent|query|--allow-restore|/srv|--allow-restore|/home/a b|--folder|"
		"x=/y");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(makes_the_arguments_of_ssh),
		cmocka_unit_test(refuses_options_that_change_the_streams),
		cmocka_unit_test(quotes_for_a_shell),
		cmocka_unit_test(makes_the_arguments_of_an_agent),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
