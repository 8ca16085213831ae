/* help - the list of commands, or the usage of one. */
#include <string.h>

#include "cli/command.h"
#include "cli/help.h"

static void list_commands(void)
{
	printf("usage: strata [--root DIR] [-w WORKSPACE] COMMAND [ARGUMENT...]\n\n");
	for (size_t i = 0; i < commands_count; i++)
		printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
	printf("\n'strata help COMMAND' tells more; so does 'man strata-COMMAND'.\n");
}

static int run(int argc, char **argv, struct err *err)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	if (argc > 2)
		return err_set(err, ERR_USAGE, "help: one argument too many: '%.100s'", argv[2]);
	if (name && (!strcmp(name, "--help") || !strcmp(name, "-h")))
		name = "help";
	if (name && name[0] == '-')
		return err_set(err, ERR_USAGE, "help: unknown option '%.100s'", name);
	if (!name) {
		list_commands();
		return fflush(stdout) ? err_errno(err, "standard output") : 0;
	}
	if (!command_find(name))
		return err_set(err, ERR_USAGE, "no command '%.100s' (see 'strata help')", name);
	for (size_t i = 0; i < help_pages_count; i++)
		if (!strcmp(help_pages[i].name, name))
			fputs(help_pages[i].text, stdout);
	return fflush(stdout) ? err_errno(err, "standard output") : 0;
}

const struct command cmd_help = {
	.name = "help",
	.summary = "list the commands, or tell about one",
	.run = run,
};
