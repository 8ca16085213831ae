#include "ops/table.h"

/* Keep sorted by name. */
const struct op *const op_table[] = {
	&op_blame,
	&op_branches,
	&op_cat,
	&op_checkout,
	&op_commit,
	&op_delete,
	&op_diff,
	&op_doctor,
	&op_exec,
	&op_export,
	&op_file_log,
	&op_find,
	&op_fork,
	&op_fsck,
	&op_gc,
	&op_grep,
	&op_head,
	&op_import,
	&op_init,
	&op_log,
	&op_ls,
	&op_query,
	&op_redo,
	&op_restore,
	&op_retain,
	&op_shell,
	&op_show,
	&op_status,
	&op_tag,
	&op_tags,
	&op_undo,
	&op_workspaces,
};

const size_t op_table_size = sizeof(op_table) / sizeof(op_table[0]);
