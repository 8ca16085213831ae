/*
 * table - the table of all operations and query methods.  Most operations have a file of their own
 * in this folder.
 */
#pragma once
#include "ops/op.h"

const struct op *table_at(size_t i);           /* NULL: i is past the end */
const struct op *table_find(const char *name); /* NULL: no such operation */

extern const struct op op_auto;    /* not in the table: see auto.c */
extern const struct op op_stores;  /* not in the table: see stores.c */
extern const struct op op_choices; /* not in the table: see choices.c */
extern const struct op op_agent, op_blame, op_branches, op_cancel, op_cat, op_cat_bundle,
	op_check_policy, op_checkout, op_commit, op_compose_policy, op_cp, op_ctl, op_daemon,
	op_delete, op_destroy, op_diff, op_diff_bundle, op_doctor, op_du, op_exec,
	op_explain_policy, op_export, op_file_log, op_find, op_fork, op_fsck, op_gc, op_grant,
	op_grep, op_head, op_hosts, op_import, op_init, op_kill, op_log, op_ls, op_mcp, op_ps,
	op_query, op_record_bundle, op_redo, op_relay, op_relay_signal, op_replay_bundle,
	op_restore, op_restore_bundle, op_restore_bundle_plan, op_retain, op_revoke, op_shell,
	op_show, op_show_bundle, op_spawn, op_status, op_subscribe, op_supervise, op_tag, op_tags,
	op_tournament, op_undo, op_verify_bundle, op_worker, op_workspaces;
