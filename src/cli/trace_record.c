#include "cli/trace_record.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/output.h"
#include "core/own.h"
#include "core/text.h"
#include "trace/trace.h"

static int parse_compression(const char *name, enum pqwrite_codec *codec, struct err *err)
{
	if (!strcmp(name, "snappy"))
		*codec = PQWRITE_SNAPPY;
	else if (!strcmp(name, "zstd"))
		*codec = PQWRITE_ZSTD;
	else
		return err_set(err, ERR_USAGE,
			"trace: no compression '%.100s': there are snappy and zstd", name);
	return 0;
}

/* Not options_parse: what follows the first word that is no option is the command's. */
static int parse(int argc, char **argv, struct trace_request *request, struct err *err)
{
	static const struct option options[] = {
		{ "snapshot-dir", required_argument, NULL, 'o' },
		{ "output", required_argument, NULL, 'o' },
		{ "engine", required_argument, NULL, 'e' },
		{ "ignore", required_argument, NULL, 'i' },
		{ "compression", required_argument, NULL, 'c' },
		{ "read-limit", required_argument, NULL, 'r' },
		{ 0 },
	};
	int option, r = 0;

	opterr = 0;
	optind = 1;
	while (r >= 0 && (option = getopt_long(argc, argv, "+:", options, NULL)) != -1) {
		switch (option) {
		case 'o':
			request->output = optarg;
			break;
		case 'e':
			request->engine = optarg;
			break;
		case 'i':
			request->ignore = optarg;
			break;
		case 'c':
			r = parse_compression(optarg, &request->codec, err);
			break;
		case 'r':
			request->has_read_limit = true;
			if (!text_parse_size(optarg, &request->read_limit))
				return err_set(err, ERR_USAGE,
					"trace: '%.100s' is no size: such as 64M or 0", optarg);
			break;
		case ':':
			return err_set(
				err, ERR_USAGE, "trace: '%.100s' needs a value", argv[optind - 1]);
		default:
			return err_set(
				err, ERR_USAGE, "trace: unknown option '%.100s'", argv[optind - 1]);
		}
	}
	request->argv = argv + optind;
	return r;
}

static int check(const struct trace_request *request, struct err *err)
{
	if (!request->output)
		return err_set(err, ERR_USAGE,
			"trace: say where to: --snapshot-dir DIR (see 'strata help trace')");
	if (!request->argv[0])
		return err_set(
			err, ERR_USAGE, "trace: no command to run (see 'strata help trace')");
	return 0;
}

static void warn(const struct trace_request *request, const struct trace_result *result)
{
	if (result->unsaved.code)
		fprintf(stderr, "strata: trace: nothing was kept in '%s': %s\n", request->output,
			result->unsaved.text);
	else if (!result->complete)
		fprintf(stderr, "strata: trace: '%s' is incomplete: %s\n", request->output,
			result->first_reason);
	if (result->instead)
		fprintf(stderr, "strata: trace: '%s' is not empty any more: the bundle is '%s'\n",
			request->output, result->instead);
}

int trace_record_run(int argc, char **argv, struct err *err)
{
	owned(trace_result_release) struct trace_result result = { 0 };
	struct trace_request request = { 0 };
	int r = parse(argc, argv, &request, err);

	if (r >= 0)
		r = check(&request, err);
	if (r < 0)
		return r;
	if (trace_run(&request, &result, err) < 0) {
		err_context(err, "trace");
		output_error(err);
		return result.exit_status;
	}
	warn(&request, &result);
	return result.exit_status;
}
