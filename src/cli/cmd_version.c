/* version - print the version of this program. */
#include <string.h>

#include "cli/command.h"

static int print_version(int argc, char **argv, struct err *err)
{
	bool json = false;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--json")) {
			json = true;
		} else if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			char *help[] = { (char *)"help", (char *)"version", NULL };

			return command_find("help")->run(2, help, err);
		} else {
			return err_set(
				err, ERR_USAGE, "version: unknown argument '%.100s'", argv[i]);
		}
	}
	if (json)
		printf("{\"version\": \"%s\"}\n", STRATA_VERSION);
	else
		printf("strata %s\n", STRATA_VERSION);
	return fflush(stdout) ? err_errno(err, "standard output") : 0;
}

const struct command cmd_version = {
	.name = "version",
	.summary = "say which strata this is",
	.run = print_version,
};
