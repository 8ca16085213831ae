#include "ops/table.h"

#include <string.h>

#include "query/method.h"

/* Keep this list sorted by name. */
static const struct op *const operations[] = {
	&op_agent,
	&op_blame,
	&op_branches,
	&op_cancel,
	&op_cat,
	&op_cat_bundle,
	&op_check_policy,
	&op_checkout,
	&op_commit,
	&op_compose_policy,
	&op_cp,
	&op_ctl,
	&op_daemon,
	&op_delete,
	&op_destroy,
	&op_diff,
	&op_diff_bundle,
	&op_doctor,
	&op_du,
	&op_exec,
	&op_explain_policy,
	&op_export,
	&op_file_log,
	&op_find,
	&op_fork,
	&op_fsck,
	&op_gc,
	&op_grant,
	&op_grep,
	&op_head,
	&op_hosts,
	&op_import,
	&op_init,
	&op_kill,
	&op_log,
	&op_ls,
	&op_mcp,
	&op_ps,
	&op_query,
	&op_record_bundle,
	&op_redo,
	&op_relay,
	&op_relay_signal,
	&op_replay_bundle,
	&op_restore,
	&op_restore_bundle,
	&op_restore_bundle_plan,
	&op_retain,
	&op_revoke,
	&op_shell,
	&op_show,
	&op_show_bundle,
	&op_spawn,
	&op_status,
	&op_subscribe,
	&op_supervise,
	&op_tag,
	&op_tags,
	&op_tournament,
	&op_undo,
	&op_verify_bundle,
	&op_worker,
	&op_workspaces,
};

#define OPERATIONS (sizeof(operations) / sizeof(operations[0]))

const struct op *table_at(size_t i)
{
	if (i < OPERATIONS)
		return operations[i];
	return i - OPERATIONS < methods_count ? methods[i - OPERATIONS] : NULL;
}

const struct op *table_find(const char *name)
{
	const struct op *op;

	for (size_t i = 0; (op = table_at(i)); i++)
		if (!strcmp(op->name, name))
			return op;
	return NULL;
}
