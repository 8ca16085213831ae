/* log - list the nodes, newest first. */
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "core/mem.h"
#include "ops/requests.h"
#include "ops/table.h"

/*
 * Draw the columns of the graph in front of a node.  Each column belongs to a chain of nodes, and
 * waits for the parent of the node that was last drawn in the column.  A node is drawn in the first
 * column that waits for it.  The other columns that wait for the same node end there.
 */
static void print_graph(struct output *out, const struct node *node)
{
	size_t mine = SIZE_MAX;

	for (size_t i = 0; i < out->n_graph; i++)
		if (mine == SIZE_MAX && !strcmp(out->graph[i], node->id))
			mine = i;
	if (mine == SIZE_MAX) {
		out->graph = mem_realloc(out->graph, (out->n_graph + 1) * sizeof(*out->graph));
		mine = out->n_graph;
		out->graph[out->n_graph++] = mem_strdup(node->id);
	}
	for (size_t i = 0; i < out->n_graph; i++)
		fputs(i == mine ? "* " : !strcmp(out->graph[i], node->id) ? "/ " : "| ", stdout);
	/*
	 * Remove the other columns that waited for this node.  Also remove the node's own column if
	 * the node has no parent.
	 */
	for (size_t i = out->n_graph; i-- > 0;) {
		bool joined = i != mine && !strcmp(out->graph[i], node->id);

		if (!joined && !(i == mine && !node->parent[0]))
			continue;
		free(out->graph[i]);
		memmove(out->graph + i, out->graph + i + 1,
			(--out->n_graph - i) * sizeof(*out->graph));
		if (i < mine)
			mine--;
	}
	if (node->parent[0]) {
		free(out->graph[mine]);
		out->graph[mine] = mem_strdup(node->parent);
	}
}

static void print_row(struct output *out, const void *request, const void *row)
{
	const struct log_request *req = request;

	if (req->graph)
		print_graph(out, ((const struct noderow *)row)->node);
	output_node_line(out, row);
}

const struct command cmd_log = {
	.name = "log",
	.op = &op_log,
	.row = print_row,
};
