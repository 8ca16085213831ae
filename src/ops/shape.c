#include "ops/shape.h"

void shape_number(struct json *out, const char *key, bool known, int64_t number)
{
	if (known)
		json_int(out, key, number);
	else
		json_none(out, key);
}

void shape_texts(struct json *out, const char *key, const char *const *texts, size_t n)
{
	json_open(out, key, '[');
	for (size_t i = 0; i < n; i++)
		json_text(out, NULL, texts[i]);
	json_close(out);
}

void shape_stats(struct json *out, const char *key, const struct store_stats *stats)
{
	json_open(out, key, '{');
	json_uint(out, "bytes", stats->bytes);
	json_uint(out, "raw_bytes", stats->raw_bytes);
	json_uint(out, "objects", stats->objects);
	json_close(out);
}

void shape_counts(struct json *out, const struct treediff_counts *counts)
{
	json_open(out, "changes", '{');
	json_uint(out, "added", counts->added);
	json_uint(out, "modified", counts->modified);
	json_uint(out, "deleted", counts->deleted);
	json_uint(out, "renamed", counts->renamed);
	json_close(out);
}

void shape_binds(struct json *out, const struct node_bind *binds, size_t n)
{
	json_open(out, "binds", '[');
	for (size_t i = 0; i < n; i++) {
		json_open(out, NULL, '{');
		json_str(out, "host", binds[i].host);
		json_str(out, "inside", binds[i].inside);
		json_bool(out, "read_only", binds[i].read_only);
		json_close(out);
	}
	json_close(out);
}

void shape_report(struct json *out, const struct report *report)
{
	json_open(out, "exceptions", '{');
	for (int kind = 0; kind < REPORT_KINDS; kind++)
		json_uint(out, report_kind_name(kind), report->count[kind]);
	json_open(out, "list", '[');
	for (size_t i = 0; i < report->n_items; i++) {
		json_open(out, NULL, '{');
		json_text(out, "kind", report_kind_name(report->items[i].kind));
		json_str(out, "path", report->items[i].path);
		json_text(out, "reason", report->items[i].what);
		json_close(out);
	}
	json_close(out);
	json_close(out);
}

void shape_change(struct json *out, const struct treediff_change *change)
{
	const struct entry *entry = change->b ? change->b : change->a;

	json_str(out, "op", (struct str){ &change->op, 1 });
	json_text(out, "type", entry_type_name(entry->type));
	json_str(out, "path", change->path);
	if (change->op == 'R')
		json_str(out, "new_path", change->new_path);
	json_open(out, "what", '[');
	for (unsigned bit = 0; bit < TREEDIFF_WHATS; bit++)
		if (change->what & 1u << bit)
			json_text(out, NULL, treediff_what_name(1u << bit));
	json_close(out);
}
