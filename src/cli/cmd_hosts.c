/* hosts - list the hosts that questions can be sent to, and try to ask them. */
#include "cli/command.h"
#include "ops/requests.h"
#include "ops/table.h"

static void print_check(struct output *out, const struct hosts_check *check)
{
	output_style(out, check->ok ? OUTPUT_GOOD : OUTPUT_BAD);
	printf("%-4s", check->ok ? "yes" : "no");
	output_style(out, OUTPUT_PLAIN);
}

static void print_row(struct output *out, const void *request, const void *row)
{
	const struct hosts_row *item = row;
	const struct hosts_host *host = item->host;
	const struct hosts_check *check = item->check;

	if (check)
		print_check(out, check);
	printf("%-16s ", host->name);
	if (host->transport == HOSTS_LOCAL)
		printf("this machine");
	else
		output_text(str_of(host->ssh_target));
	if (host->transport == HOSTS_SSH && host->agent_mode == HOSTS_PREINSTALLED)
		printf(", preinstalled");
	printf("%s%s\n", host->sudo ? ", sudo" : "", host->allow_restore ? ", may restore" : "");
	if (!check)
		return;
	if (check->ok) {
		printf("    agent %s (%s), connected in %lld ms, answers in %lld ms\n",
			check->agent_version, check->agent, (long long)check->connect_ms,
			(long long)check->latency_ms);
		return;
	}
	printf("    ");
	output_text(str_of(check->err.text));
	printf("\n");
	if (check->err.hint[0])
		printf("    hint: %s\n", check->err.hint);
}

static int print_result(struct output *out, const void *request, const void *result)
{
	const struct hosts_result *res = result;

	if (!res->exists && !out->json)
		fprintf(stderr, "strata: there are no hosts, because there is no file '%s'\n",
			res->path);
	return res->n_failed ? 1 : 0;
}

const struct command cmd_hosts = {
	.name = "hosts",
	.op = &op_hosts,
	.live = true,
	.row = print_row,
	.result = print_result,
};
