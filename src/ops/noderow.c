#include "ops/noderow.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"
#include "ops/shape.h"

struct tag_list {
	struct arena *arena;
	const char **tags;
	size_t n, cap;
};

static int add_tag(void *arg, const char *name, const char *id, struct err *err)
{
	struct tag_list *list = arg;

	mem_grow(&list->tags, &list->cap, list->n);
	list->tags[list->n++] = arena_strdup(list->arena, name);
	return 0;
}

int noderow_fill(struct op_context *ctx, struct arena *arena, const struct node *node,
	struct noderow *row, struct err *err)
{
	struct tag_list list = { .arena = arena };
	int r = history_tags(&ctx->env->history, node->id, add_tag, &list, err);

	*row = (struct noderow){
		.node = node,
		.head = !strcmp(node->id, ctx->env->row.head),
		.n_tags = list.n,
	};
	if (list.n) {
		row->tags = arena_alloc(arena, list.n * sizeof(*list.tags));
		memcpy(row->tags, list.tags, list.n * sizeof(*list.tags));
	}
	free(list.tags);
	return r;
}

int noderow_emit(void *arg, const struct node *node, struct err *err)
{
	owned(arena_release) struct arena arena = { 0 };
	struct noderow row;
	int r = noderow_fill(arg, &arena, node, &row, err);

	return r < 0 ? r : op_emit(arg, &row, err);
}

static void paths_json(struct json *out, const struct node *node)
{
	json_open(out, "paths", '[');
	for (size_t i = 0; i < node->n_paths; i++)
		json_str(out, NULL,
			node->paths[i].op == 'R' ? node->paths[i].new_path : node->paths[i].path);
	json_close(out);
	json_open(out, "path_changes", '[');
	for (size_t i = 0; i < node->n_paths; i++) {
		json_open(out, NULL, '{');
		json_str(out, "op", (struct str){ &node->paths[i].op, 1 });
		json_str(out, "path", node->paths[i].path);
		if (node->paths[i].op == 'R')
			json_str(out, "new_path", node->paths[i].new_path);
		json_close(out);
	}
	json_close(out);
}

void noderow_json(struct json *out, const void *item)
{
	const struct noderow *row = item;
	const struct node *node = row->node;
	char hex[HASH_HEX], time[40];

	json_text(out, "id", node->id);
	json_text(out, "parent", node->parent[0] ? node->parent : NULL);
	json_text(out, "tree", hash_hex(&node->tree, hex));
	json_text(out, "time", when_iso(node->time, time));
	json_int(out, "time_ns", node->time);
	json_text(out, "kind", node_kind_name(node->kind));
	json_str(out, "message", node->message);
	if (node->n_command)
		json_strs(out, "command", node->command, node->n_command);
	else
		json_none(out, "command");
	json_number(out, "exit_status", node->has_status, node->exit_status);
	if (node->has_status)
		json_double(out, "duration", (double)node->duration / 1e9);
	shape_counts(out, &node->counts);
	paths_json(out, node);
	shape_binds(out, node->binds, node->n_binds);
	if (node->n_denials)
		shape_denials(out, node->denials, node->n_denials);
	json_texts(out, "tags", row->tags, row->n_tags);
	json_bool(out, "head", row->head);
}
