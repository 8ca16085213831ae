/* trace replay - run the command of a bundle again, and compare the results. */
#include "cli/command.h"
#include "ops/bundles.h"
#include "ops/table.h"
#include "trace/trace.h"

static void print_row(struct output *out, const void *request, const void *row)
{
	const struct replay_row *differing = row;
	const char *between = "  ";

	printf("%c ", !(differing->what & REPLAY_EXISTS) ? '~'
		      : differing->replayed->exists      ? '+'
							 : '-');
	output_name(differing->path);
	for (unsigned i = 0; i < BUNDLE_CHANGES; i++) {
		if (!(differing->what & 1u << i))
			continue;
		printf("%s%s", between, replay_difference_name(1u << i));
		between = ", ";
	}
	putchar('\n');
}

static bool is_status_same(const struct replay_bundle_result *res)
{
	return !res->has_status || res->recorded_status == res->replay.exit_status;
}

static void print_summary(const struct replay_bundle_result *res)
{
	const struct replay *replay = &res->replay;

	printf("%llu of %llu paths differ; exit status %d", (unsigned long long)replay->differing,
		(unsigned long long)(replay->differing + replay->same), replay->exit_status);
	if (!is_status_same(res))
		printf(", was %lld", (long long)res->recorded_status);
	else if (res->has_status)
		printf(" as before");
	printf("%s\n", replay->complete ? "" : "; not everything was recorded");
}

static int print_result(struct output *out, const void *request, const void *result)
{
	const struct replay_bundle_result *res = result;

	if (!out->json)
		print_summary(res);
	return res->replay.differing || !is_status_same(res) ? 1 : 0;
}

const struct command trace_replay = {
	.name = "replay",
	.op = &op_replay_bundle,
	.row = print_row,
	.result = print_result,
	.failed = TRACE_FAILED,
};
