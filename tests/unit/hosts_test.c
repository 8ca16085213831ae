/* hosts: all keys of a hosts file are read, and each mistake in a file is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "core/own.h"
#include "rpc/hosts.h"
#include "tempdir_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void reads_all_keys(void **state)
{
	static const char text[] = "# the machines\n"
				   "[hosts.nas]\n"
				   "transport = \"ssh\"\n"
				   "ssh_target = \"admin@10.0.0.2\"\n"
				   "agent_mode = \"preinstalled\"\n"
				   "agent_path = \"/opt/strata-agent\"\n"
				   "sudo = true\n"
				   "ssh_options = [\"-p\", \"2222\", \"Port=3\"]\n"
				   "allow_restore = true\n"
				   "restore_paths = [\"/srv\", \"/home/a b\"]\n"
				   "[hosts.here]\n"
				   "transport = \"local\"\n"
				   "[hosts.plain]\n";
	owned(arena_release) struct arena arena = { 0 };
	struct hosts hosts;
	struct err err = { 0 };

	assert_int_equal(hosts_parse(str_of(text), "hosts.toml", &arena, &hosts, &err), 0);
	assert_int_equal(hosts.count, 3);
	const struct hosts_host *nas = hosts_find(&hosts, "nas", &err);
	const struct hosts_host *here = hosts_find(&hosts, "here", &err);
	const struct hosts_host *plain = hosts_find(&hosts, "plain", &err);
	assert_ptr_equal(nas, &hosts.list[0]);
	assert_int_equal(nas->transport, HOSTS_SSH);
	assert_int_equal(nas->agent_mode, HOSTS_PREINSTALLED);
	assert_string_equal(nas->ssh_target, "admin@10.0.0.2");
	assert_string_equal(nas->agent_path, "/opt/strata-agent");
	assert_true(nas->sudo);
	assert_true(nas->allow_restore);
	assert_int_equal(nas->ssh_options.count, 3);
	assert_string_equal(nas->ssh_options.list[1], "2222");
	assert_int_equal(nas->restore_paths.count, 2);
	assert_string_equal(nas->restore_paths.list[1], "/home/a b");
	assert_int_equal(here->transport, HOSTS_LOCAL);
	assert_null(here->ssh_target);
	assert_int_equal(plain->transport, HOSTS_SSH);
	assert_int_equal(plain->agent_mode, HOSTS_BOOTSTRAP);
	assert_string_equal(plain->ssh_target, "plain");
	assert_null(plain->agent_path);
	assert_false(plain->sudo);
	assert_false(plain->allow_restore);
}

static void refuses_with_the_place(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "a = 1", "h: 'a' stands outside of a [hosts.NAME] table (line 1, column 1)" },
		{ "[host.a]", "h: a table is called [hosts.NAME], not [host…] (line 1, column 1)" },
		{ "[hosts]", "h: a table is called [hosts.NAME], not [hosts] (line 1, column 1)" },
		{ "[hosts.a.b]", "h: a table is called [hosts.NAME], not [hosts…] "
				 "(line 1, column 1)" },
		{ "[hosts.a]\n[hosts.b]\n [hosts.a]", "h: host 'a' is given twice "
						      "(line 3, column 2)" },
		{ "[hosts.a]\nsudo = true\nsudo = true", "h: 'sudo' is given twice "
							 "(line 3, column 1)" },
		{ "[hosts.a]\nsudoo = true", "h: unknown key 'sudoo' (line 2, column 1)" },
		{ "[hosts.a]\nsudo.b = true", "h: unknown key 'sudo…' (line 2, column 1)" },
		{ "[hosts.a]\nsudo = \"yes\"", "h: 'sudo' must be true or false, not a string "
					       "(line 2, column 8)" },
		{ "[hosts.a]\nssh_target = 1", "h: 'ssh_target' must be a string, not a number "
					       "(line 2, column 14)" },
		{ "[hosts.a]\nssh_options = \"-4\"",
			"h: 'ssh_options' must be a list, not a string "
			"(line 2, column 15)" },
		{ "[hosts.a]\nssh_options = [\"-4\", 6]", "h: 'ssh_options' is a list of strings, "
							  "not of a number (line 2, column 22)" },
		{ "[hosts.a]\ntransport = \"tcp\"", "h: 'transport' is 'ssh' or 'local', not 'tcp' "
						    "(line 2, column 13)" },
		{ "[hosts.a]\nssh_target = \"-oProxyCommand=x\"",
			"h: 'ssh_target' cannot be '-oProxyCommand=x': ssh would take what begins "
			"with '-' for an option (line 2, column 14)" },
		{ "[hosts.a]\nssh_target = \"u@-x\"", "h: 'ssh_target' cannot be 'u@-x': ssh would "
						      "take what begins with '-' for an option "
						      "(line 2, column 14)" },
		{ "[hosts.a]\nssh_target = \"\"", "h: 'ssh_target' cannot be '': it is empty "
						  "(line 2, column 14)" },
		{ "[hosts.a]\nssh_target = \"-p 1 b\"", "h: 'ssh_target' cannot be '-p 1 b': ssh "
							"would take what begins with '-' for an "
							"option (line 2, column 14)" },
		{ "[hosts.a]\nssh_target = \"a b\"", "h: 'ssh_target' cannot be 'a b': it has a "
						     "space; options belong into 'ssh_options' "
						     "(line 2, column 14)" },
		{ "[hosts.a]\nagent_path = \"x\"", "h: 'agent_path' cannot be 'x': it must begin "
						   "with '/' (line 2, column 14)" },
		{ "[hosts.a]\nagent_path = \"/a\\nb\"",
			"h: 'agent_path' cannot be '/a\nb': it has a "
			"control character (line 2, column 14)" },
		{ "[hosts.a]\nssh_options = [\"-t\"]",
			"h: '-t' in 'ssh_options' cannot be used: ssh "
			"has no such option, or queries cannot work "
			"with it (line 2, column 1)" },
		{ "[hosts.a]\nallow_restore = true", "h: host 'a' has 'allow_restore' but no "
						     "'restore_paths' (line 1, column 1)" },
		{ "[hosts.a]\ntransport = \"local\"\nssh_target = \"b\"",
			"h: 'ssh_target' means nothing for a host with transport = \"local\" "
			"(line 3, column 1)" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		owned(arena_release) struct arena arena = { 0 };
		struct hosts hosts;
		struct err err = { 0 };

		assert_int_equal(hosts_parse(str_of(cases[i].text), "h", &arena, &hosts, &err),
			-ERR_INVALID);
		assert_string_equal(err.text, cases[i].error);
	}
}

static void refuses_names_that_look_like_something_else(void **state)
{
	static const char *const bad[] = { "[hosts.-a]", "[hosts.\"\"]", "[hosts.\"a b\"]",
		"[hosts.\".a\"]", "[hosts.\"a/b\"]", "[hosts.\"ä\"]" };

	for (size_t i = 0; i < COUNT(bad); i++) {
		owned(arena_release) struct arena arena = { 0 };
		struct hosts hosts;
		struct err err = { 0 };

		assert_int_equal(
			hosts_parse(str_of(bad[i]), "h", &arena, &hosts, &err), -ERR_INVALID);
		assert_non_null(strstr(err.text, "cannot be the name of a host"));
	}
}

static void limits_the_number_of_hosts_and_items(void **state)
{
	owned(arena_release) struct arena arena = { 0 };
	owned(buf_release) struct buf text = BUF_INIT;
	struct hosts hosts;
	struct err err = { 0 };

	for (int i = 0; i < HOSTS_MAX; i++)
		buf_addf(&text, "[hosts.h%d]\n", i);
	struct str all = { text.data, text.len };
	assert_int_equal(hosts_parse(all, "h", &arena, &hosts, &err), 0);
	assert_int_equal(hosts.count, HOSTS_MAX);
	buf_adds(&text, "[hosts.more]\n");
	all = (struct str){ text.data, text.len };
	assert_int_equal(hosts_parse(all, "h", &arena, &hosts, &err), -ERR_INVALID);
	assert_non_null(strstr(err.text, "more than 1024 hosts"));

	buf_clear(&text);
	buf_adds(&text, "[hosts.a]\nssh_options = [");
	for (int i = 0; i <= HOSTS_LIST_MAX; i++)
		buf_adds(&text, "\"-4\", ");
	buf_adds(&text, "]");
	all = (struct str){ text.data, text.len };
	assert_int_equal(hosts_parse(all, "h", &arena, &hosts, &err), -ERR_INVALID);
	assert_non_null(strstr(err.text, "'ssh_options' has more than 64 items"));
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static int make_dir(void **state)
{
	*state = mkdtemp(strdup("/tmp/strata-hosts-XXXXXX"));
	return *state ? 0 : -1;
}

static int remove_dir(void **state)
{
	int r = tempdir_remove(*state);

	free(*state);
	return r;
}

static void finds_the_file(void **state)
{
	owned(arena_release) struct arena arena = { 0 };
	const char *dir = *state;
	struct hosts hosts;
	struct err err = { 0 };
	const char *file = arena_printf(&arena, "%s/strata/hosts.toml", dir);
	const char *other = arena_printf(&arena, "%s/other.toml", dir);

	unsetenv("STRATA_HOSTS");
	setenv("XDG_CONFIG_HOME", dir, 1);
	assert_int_equal(hosts_read(NULL, &arena, &hosts, &err), 0);
	assert_false(hosts.has_file);
	assert_null(hosts_find(&hosts, "a", &err));
	assert_non_null(strstr(err.text, "no host 'a': there is no file"));
	assert_int_equal(hosts_read(other, &arena, &hosts, &err), -ERR_NOT_FOUND);

	assert_int_equal(mkdir(arena_printf(&arena, "%s/strata", dir), 0700), 0);
	write_file(file, "[hosts.a]\n");
	write_file(other, "[hosts.b]\n[hosts.c]\n");
	assert_int_equal(hosts_read(NULL, &arena, &hosts, &err), 0);
	assert_string_equal(hosts.path, file);
	assert_non_null(hosts_find(&hosts, "a", &err));
	setenv("STRATA_HOSTS", other, 1);
	assert_int_equal(hosts_read(NULL, &arena, &hosts, &err), 0);
	assert_non_null(hosts_find(&hosts, "b", &err));
	assert_null(hosts_find(&hosts, "a", &err));
	assert_string_equal(err.hint, "the hosts are b, c");
	assert_int_equal(hosts_read(file, &arena, &hosts, &err), 0);
	assert_non_null(hosts_find(&hosts, "a", &err));
}

static void refuses_a_file_that_everybody_may_write(void **state)
{
	owned(arena_release) struct arena arena = { 0 };
	const char *dir = *state;
	struct hosts hosts;
	struct err err = { 0 };
	const char *file = arena_printf(&arena, "%s/open.toml", dir);

	write_file(file, "[hosts.a]\n");
	assert_int_equal(chmod(file, 0666), 0);
	assert_int_equal(hosts_read(file, &arena, &hosts, &err), -ERR_DENIED);
	assert_non_null(strstr(err.text, "can be changed by every user"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_all_keys),
		cmocka_unit_test(refuses_with_the_place),
		cmocka_unit_test(refuses_names_that_look_like_something_else),
		cmocka_unit_test(limits_the_number_of_hosts_and_items),
		cmocka_unit_test_setup_teardown(finds_the_file, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(
			refuses_a_file_that_everybody_may_write, make_dir, remove_dir),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
