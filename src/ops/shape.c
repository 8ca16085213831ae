#include "ops/shape.h"

#include "core/own.h"
#include "core/text.h"

void shape_content(struct json *out, struct str content)
{
	owned(buf_release) struct buf coded = BUF_INIT;
	bool is_text = text_is_utf8(content);

	json_uint(out, "bytes_returned", content.len);
	json_text(out, "encoding", is_text ? "utf-8" : "base64");
	if (!is_text) {
		text_base64(&coded, content);
		content = (struct str){ coded.data, coded.len };
	}
	json_str(out, "content", content);
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

void shape_lines(struct json *out, const char *key, const char *text)
{
	json_open(out, key, '[');
	while (text && *text) {
		size_t len = strcspn(text, "\n");

		json_str(out, NULL, (struct str){ text, len });
		text += len + (text[len] == '\n');
	}
	json_close(out);
}

void shape_denials(struct json *out, const struct node_denial *denials, size_t n)
{
	json_open(out, "denials", '[');
	for (size_t i = 0; i < n; i++) {
		json_open(out, NULL, '{');
		json_str(out, "what", denials[i].what);
		json_str(out, "subject", denials[i].subject);
		json_str(out, "rule", denials[i].rule);
		json_str(out, "remedy", denials[i].remedy);
		json_uint(out, "times", denials[i].times);
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
	json_bits(out, "what", change->what, TREEDIFF_WHATS, treediff_what_name);
}
