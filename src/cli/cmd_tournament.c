/* tournament - run several candidates in forks of a node, and check out the best result. */
#include <string.h>

#include "cli/command.h"
#include "core/when.h"
#include "ops/judge.h"
#include "ops/requests.h"
#include "ops/table.h"

#define TABLE_MAX 16 /* maximum number of candidates that the table shows */
#define STATUS_NO_WINNER 1
#define STATUS_SIGNAL 128

static double seconds(int64_t ns)
{
	return (double)ns / WHEN_SECOND;
}

static void print_verdict(struct output *out, const struct tournament_row *row)
{
	const struct tournament_state *state = &row->state;

	output_style(out, state->passed ? OUTPUT_GOOD : row->cancelled ? OUTPUT_DIM : OUTPUT_BAD);
	if (row->cancelled)
		printf("cancelled");
	else if (state->failure.code)
		printf("error");
	else if (state->timed_out)
		printf("timed out");
	else if (state->exit_status)
		printf("exit %d", state->exit_status);
	else if (state->passed)
		printf("passed");
	else
		printf("test %d", state->test_exit);
	output_style(out, OUTPUT_PLAIN);
	if (state->scored)
		printf("  score %g", state->score);
}

/* Print the names of the test's files that a candidate has changed. */
static void say_judge(const struct tournament_request *req, const struct tournament_row *row)
{
	for (size_t i = 0; i < row->judge->n; i++)
		if (row->state.judge_changed & UINT32_C(1) << i) {
			fflush(stdout);
			fprintf(stderr, "strata: %s changed '%s', by which it is tested: %s\n",
				row->name, row->judge->paths[i],
				req->test_in_candidate ? "it was tested with its own"
						       : "it was tested with that of the base");
		}
}

static void print_row(struct output *out, const void *request, const void *item)
{
	const struct tournament_row *row = item;
	struct str line = { row->command, strcspn(row->command, "\n") };

	printf("%s  %s  ", row->name, row->state.node[0] ? row->state.node : "-");
	print_verdict(out, row);
	printf("  %.2f s  ", seconds(row->duration));
	output_text(line);
	putchar('\n');
	say_judge(request, row);
	if (row->state.failure.code) {
		fflush(stdout);
		output_error(&row->state.failure);
	}
}

static void watch(struct output *out, const void *request, const void *state)
{
	static const char *const stages[] = { "waiting", "running", "testing", "scoring", "ended" };
	const struct tournament_watch *now = state;
	size_t count[TOURNAMENT_ENDED + 1] = { 0 }, shown = 0;

	for (size_t i = 0; i < now->n; i++) {
		const struct tournament_row *row = now->rows[i];
		enum tournament_stage stage = row->state.stage;

		count[stage]++;
		if (stage == TOURNAMENT_WAITING || stage == TOURNAMENT_ENDED || shown == TABLE_MAX)
			continue;
		shown++;
		output_table_line(out, "%-12s  %-7s  %6.1f s  %.400s", row->name, stages[stage],
			seconds(now->now - row->began), row->command);
	}
	output_table_line(out, "%zu of %zu ended, %zu waiting", count[TOURNAMENT_ENDED], now->n,
		count[TOURNAMENT_WAITING]);
}

/*
 * Print the winner.  Also print the safety node, which has the work that was in no node before the
 * checkout.
 */
static void print_winner(const struct tournament_result *res)
{
	if (res->moved.safety)
		fprintf(stderr, "uncaptured work is kept in %s\n", res->moved.saved);
	printf("winner %s %s\n", res->winner, res->winner_node);
}

static int print_result(struct output *out, const void *request, const void *result)
{
	const struct tournament_result *res = result;

	if (!out->json && res->winner)
		print_winner(res);
	if (res->why.code)
		output_error(&res->why);
	if (res->left.code)
		output_error(&res->left);
	if (res->signal) {
		fprintf(stderr, "strata: the tournament was ended by signal %d\n", res->signal);
		return STATUS_SIGNAL + res->signal;
	}
	if (!res->winner)
		fprintf(stderr, "strata: no candidate passed\n");
	return !res->winner || res->why.code ? STATUS_NO_WINNER : 0;
}

const struct command cmd_tournament = {
	.name = "tournament",
	.op = &op_tournament,
	.live = true,
	.watch = watch,
	.row = print_row,
	.result = print_result,
};
