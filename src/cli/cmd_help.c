/* help - list the commands, or print the usage of one command. */
#include <string.h>

#include "cli/command.h"
#include "cli/help.h"
#include "core/own.h"
#include "core/schema.h"
#include "ops/table.h"

static void list_commands(void)
{
	printf("usage: strata [--root DIR] [-w WORKSPACE] COMMAND [ARGUMENT...]\n\n");
	for (size_t i = 0; i < commands_count; i++)
		printf("  %-10s %s\n", commands[i]->name,
			commands[i]->summary ?: commands[i]->op->summary);
	printf("\n'strata help COMMAND' tells more; so does 'man strata-COMMAND'.\n");
}

/*
 * Print the schema of the operation that is named by the words after --schema.  Without such words,
 * print all schemas.
 */
static int print_schema(int argc, char **words, struct err *err)
{
	owned(json_release) struct json out = JSON_INIT;
	owned(buf_release) struct buf name = BUF_INIT;
	const struct op *op;

	for (int i = 0; i < argc; i++)
		buf_addf(&name, "%s%s", i ? " " : "", words[i]);
	for (char *c = name.data; c && *c; c++)
		if (*c == '-')
			*c = '_';
	out.sink = output_json;
	out.pretty = true;
	if (argc) {
		op = table_find(name.data);
		if (!op)
			return err_set(err, ERR_USAGE,
				"no operation '%.100s' ('strata help --schema' lists all)",
				name.data);
		schema_write(&out, NULL, op);
	} else {
		json_open(&out, NULL, '[');
		for (size_t i = 0; (op = table_at(i)); i++)
			if (!(op->flags & OP_INTERNAL))
				schema_write(&out, NULL, op);
		json_close(&out);
	}
	return json_end(&out) < 0 ? err_errno(err, "standard output") : 0;
}

static int print_help(int argc, char **argv, struct err *err)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	if (name && !strcmp(name, "--schema"))
		return print_schema(argc - 2, argv + 2, err);
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
	.run = print_help,
};
