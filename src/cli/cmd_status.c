/* status - describe the environment on one screen. */
#include "cli/command.h"
#include "core/text.h"
#include "core/when.h"
#include "ops/requests.h"
#include "ops/table.h"

static void print_disk(const struct usage *disk)
{
	char base[16], layers[16], uppers[16], store[16], traces[16], logs[16];

	printf("disk         base %s, layers %s, uppers %s, store %s, traces %s, logs %s\n",
		text_size(disk->base, base), text_size(disk->layers, layers),
		disk->uppers_unknown ? "?" : text_size(disk->uppers, uppers),
		text_size(disk->store, store), text_size(disk->traces, traces),
		text_size(disk->logs, logs));
}

static void print_recording(const struct recording *recording)
{
	if (recording->mode == RECORDING_NONE) {
		printf("recording    nothing by itself: exec and commit make nodes "
		       "('strata daemon' makes them of every change)\n");
		return;
	}
	printf("recording    by %s", recording->by ? recording->by : "an owner");
	if (recording->pid)
		printf(", process %lld", (long long)recording->pid);
	if (recording->mode == RECORDING_LOOKING)
		printf(", looking every %lld s", (long long)recording->every);
	else
		printf(", %s", recording_mode_name(recording->mode));
	if (recording->last_node)
		printf(", last node %s", recording->last_node);
	putchar('\n');
}

static int print_result(struct output *out, const void *request, const void *result)
{
	const struct status_result *res = result;
	char stored[16], raw[16], ago[40];

	if (out->json)
		return 0;
	printf("environment  ");
	output_text(str_of(res->name));
	printf(" (");
	output_text(str_of(res->root));
	printf(")\n");
	printf("workspace    %s, %s: %s\n", res->workspace->name, res->workspace->backend,
		res->workspace->reason ? res->workspace->reason : "");
	printf("live tree    ");
	output_text(str_of(res->work_path ? res->work_path : "only for programs that run in it"));
	putchar('\n');
	printf("HEAD         %s  ", res->workspace->head);
	output_text(res->head.message);
	printf("  (%s)\n", when_relative(res->head.time, out->now, ago));
	printf("history      %llu nodes, %llu tags\n", (unsigned long long)res->nodes,
		(unsigned long long)res->tags);
	printf("store        %s in %llu objects, %s before compression (%.2f)\n",
		text_size(res->store.bytes, stored), (unsigned long long)res->store.objects,
		text_size(res->store.raw_bytes, raw),
		res->store.raw_bytes ? (double)res->store.bytes / (double)res->store.raw_bytes
				     : 1.0);
	print_disk(&res->disk);
	print_recording(&res->recording);
	if (!res->n_processes)
		printf("processes    %s\n", res->processes_unknown ? "unknown" : "none");
	for (size_t i = 0; i < res->n_processes && i < RUNNING_LIST_MAX; i++) {
		printf("%-13s%d  ", i ? "" : "processes", res->processes[i].pid);
		output_text(str_of(res->processes[i].command));
		putchar('\n');
	}
	output_binds("bound        ", res->binds, res->n_binds);
	for (size_t i = 0; i < res->n_ignore; i++)
		printf("ignored      %s\n", res->ignore[i]);
	for (size_t i = 0; i < res->n_degraded; i++)
		printf("degraded     %s\n", res->degraded[i]);
	if (!res->dirty) {
		printf("clean        nothing changed since HEAD\n");
		return 0;
	}
	printf("changed      ");
	output_counts(&res->changes);
	putchar('\n');
	output_paths(res->paths, res->n_paths, res->dirty);
	return 0;
}

const struct command cmd_status = {
	.name = "status",
	.op = &op_status,
	.result = print_result,
};
