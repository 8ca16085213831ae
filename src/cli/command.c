/* command - a list of all commands. */
#include "cli/command.h"

#include <string.h>

extern const struct command cmd_agent, cmd_blame, cmd_branches, cmd_cat, cmd_checkout, cmd_commit,
	cmd_cp, cmd_ctl, cmd_daemon, cmd_delete, cmd_destroy, cmd_diff, cmd_doctor, cmd_du,
	cmd_exec, cmd_export, cmd_file_log, cmd_find, cmd_fork, cmd_fsck, cmd_gc, cmd_grep,
	cmd_head, cmd_help, cmd_hosts, cmd_import, cmd_init, cmd_log, cmd_ls, cmd_mcp, cmd_policy,
	cmd_ps, cmd_query, cmd_redo, cmd_restore, cmd_retain, cmd_shell, cmd_show, cmd_status,
	cmd_supervise, cmd_tag, cmd_tournament, cmd_trace, cmd_undo, cmd_version, cmd_worker,
	cmd_workspaces;

/* The list must be sorted by name. */
const struct command *const commands[] = {
	&cmd_agent,
	&cmd_blame,
	&cmd_branches,
	&cmd_cat,
	&cmd_checkout,
	&cmd_commit,
	&cmd_cp,
	&cmd_ctl,
	&cmd_daemon,
	&cmd_delete,
	&cmd_destroy,
	&cmd_diff,
	&cmd_doctor,
	&cmd_du,
	&cmd_exec,
	&cmd_export,
	&cmd_file_log,
	&cmd_find,
	&cmd_fork,
	&cmd_fsck,
	&cmd_gc,
	&cmd_grep,
	&cmd_head,
	&cmd_help,
	&cmd_hosts,
	&cmd_import,
	&cmd_init,
	&cmd_log,
	&cmd_ls,
	&cmd_mcp,
	&cmd_policy,
	&cmd_ps,
	&cmd_query,
	&cmd_redo,
	&cmd_restore,
	&cmd_retain,
	&cmd_shell,
	&cmd_show,
	&cmd_status,
	&cmd_supervise,
	&cmd_tag,
	&cmd_tournament,
	&cmd_trace,
	&cmd_undo,
	&cmd_version,
	&cmd_worker,
	&cmd_workspaces,
};

const size_t commands_count = sizeof(commands) / sizeof(commands[0]);

const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < commands_count; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

const struct command *command_find_in(const struct command *const *group, const char *name)
{
	for (; group && *group; group++)
		if (!strcmp((*group)->name, name))
			return *group;
	return NULL;
}
