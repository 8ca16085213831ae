#include "cli/options.h"

#include "core/param_argv.h"

static const struct param face_params[] = {
	PARAM(options, jsonl, FLAG, 0, "print each row as a line of JSON"),
	PARAM(options, json, FLAG, 0, "print the result as JSON"),
	PARAM(options, help, FLAG, 0, "how the command is used", .letter = 'h'),
	{ 0 },
};

int options_parse(const struct op *op, int argc, char **argv, struct arena *arena, void *request,
	struct options *options, struct err *err)
{
	struct param_reader own = { .params = op->params, .arena = arena, .request = request };
	struct param_reader face = {
		.params = op->rows ? face_params : face_params + 1,
		.request = options,
	};
	int r = param_argv_read(&own, &face, &options->help, argc, argv, err);

	options->json |= options->jsonl;
	return r;
}
