/* table - the operations, one per file of this folder. */
#pragma once
#include "ops/op.h"

extern const struct op op_auto;    /* not in the table: see auto.c */
extern const struct op op_stores;  /* likewise: see stores.c */
extern const struct op op_choices; /* not in the table: see choices.c */
extern const struct op op_blame;
extern const struct op op_branches;
extern const struct op op_cat;
extern const struct op op_checkout;
extern const struct op op_commit;
extern const struct op op_cp;
extern const struct op op_delete;
extern const struct op op_destroy;
extern const struct op op_diff;
extern const struct op op_doctor;
extern const struct op op_du;
extern const struct op op_exec;
extern const struct op op_export;
extern const struct op op_file_log;
extern const struct op op_find;
extern const struct op op_fork;
extern const struct op op_fsck;
extern const struct op op_gc;
extern const struct op op_grep;
extern const struct op op_head;
extern const struct op op_import;
extern const struct op op_init;
extern const struct op op_log;
extern const struct op op_ls;
extern const struct op op_ps;
extern const struct op op_query;
extern const struct op op_redo;
extern const struct op op_restore;
extern const struct op op_retain;
extern const struct op op_shell;
extern const struct op op_show;
extern const struct op op_status;
extern const struct op op_tag;
extern const struct op op_tags;
extern const struct op op_tournament;
extern const struct op op_undo;
extern const struct op op_workspaces;
