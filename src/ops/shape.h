/*
 * shape - the parts that the JSON results of several operations have in common.
 */
#pragma once
#include "core/json.h"
#include "history/node.h"
#include "tree/report.h"
#include "tree/treediff.h"

/* "exceptions": {...} */
void shape_report(struct json *out, const struct report *report);
/* "changes": {...} */
void shape_counts(struct json *out, const struct treediff_counts *counts);
/* The members of a change. */
void shape_change(struct json *out, const struct treediff_change *change);
/* "binds": [...], of a node or of the programs that run now. */
void shape_binds(struct json *out, const struct node_bind *binds, size_t n);
