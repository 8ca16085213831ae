#include "cli/options.h"

#include <stdlib.h>
#include <string.h>

#include "core/text.h"

struct parser {
	const struct op *op;
	const char *command;
	struct arena *arena;
	char *request;
	int argc;
	char **argv;
	int at;
	uint64_t given; /* bit per parameter */
	struct err *err;
};

static const struct op_param no_params[] = { { NULL, 0, 0, 0, 0 } };

static const struct op_param *params_of(const struct op *op)
{
	return op->params ? op->params : no_params;
}

/* --allow-empty is the parameter allow_empty. */
static bool names_param(const char *option, size_t len, const char *name)
{
	if (strlen(name) != len)
		return false;
	for (size_t i = 0; i < len; i++)
		if (option[i] != (name[i] == '_' ? '-' : name[i]))
			return false;
	return true;
}

static int usage(struct parser *parser, const char *what, const char *which)
{
	return err_set(parser->err, ERR_USAGE, "%s: %s '%.200s' (see 'strata help %s')",
		parser->command, what, which, parser->command);
}

/* The list has room for the next power of two. */
static void add_text(struct parser *parser, struct op_texts *texts, const char *value)
{
	size_t n = texts->count;

	if (!(n & (n - 1))) {
		const char **list = arena_alloc(parser->arena, (n ? 2 * n : 1) * sizeof(*list));

		if (n)
			memcpy(list, texts->list, n * sizeof(*list));
		texts->list = list;
	}
	texts->list[texts->count++] = value;
}

static int set(struct parser *parser, const struct op_param *param, const char *value)
{
	char *slot = parser->request + param->offset;
	char *end;

	parser->given |= UINT64_C(1) << (param - params_of(parser->op));
	switch (param->type) {
	case OP_FLAG:
		*(bool *)slot = true;
		return 0;
	case OP_TEXTS:
		add_text(parser, (struct op_texts *)(void *)slot, value);
		return 0;
	case OP_COUNT: {
		long long number = strtoll(value, &end, 10);

		if (!*value || *end || number <= 0)
			return usage(parser, "a positive number is needed, not", value);
		*(int64_t *)(void *)slot = number;
		return 0;
	}
	case OP_BYTES:
		if (!text_parse_size(value, (uint64_t *)(void *)slot) || !*(uint64_t *)(void *)slot)
			return usage(parser, "a size such as 500M or 2G is needed, not", value);
		return 0;
	default:
		*(const char **)(void *)slot = value;
		return 0;
	}
}

static int take_value(struct parser *parser, const struct op_param *param, const char *option,
	const char *attached)
{
	if (param->type == OP_FLAG)
		return attached ? usage(parser, "no value belongs to", option)
				: set(parser, param, NULL);
	if (attached)
		return set(parser, param, attached);
	if (parser->at + 1 >= parser->argc)
		return usage(parser, "a value is missing after", option);
	return set(parser, param, parser->argv[++parser->at]);
}

static bool is_named(const struct op_param *param)
{
	return !(param->flags & (OP_POSITIONAL | OP_AFTER_DASHES)) || param->flags & OP_OPTION;
}

static int take_long(struct parser *parser, const char *option, struct options *options)
{
	const char *name = option + 2;
	const char *equals = strchr(name, '=');
	size_t len = equals ? (size_t)(equals - name) : strlen(name);

	for (const struct op_param *param = params_of(parser->op); param->name; param++)
		if (is_named(param) && names_param(name, len, param->name))
			return take_value(parser, param, option, equals ? equals + 1 : NULL);
	if (!strcmp(name, "json"))
		options->json = true;
	else if (!strcmp(name, "jsonl") && parser->op->rows)
		options->json = options->jsonl = true;
	else if (!strcmp(name, "help"))
		options->help = true;
	else
		return usage(parser, "unknown option", option);
	return 0;
}

static int take_short(struct parser *parser, const char *option, struct options *options)
{
	for (const struct op_param *param = params_of(parser->op); param->name; param++) {
		if (!param->letter || param->letter != option[1])
			continue;
		if (param->type == OP_FLAG && option[2])
			break;
		return take_value(parser, param, option, option[2] ? option + 2 : NULL);
	}
	if (!strcmp(option, "-h")) {
		options->help = true;
		return 0;
	}
	return usage(parser, "unknown option", option);
}

static int take_positional(struct parser *parser, const char *value)
{
	const struct op_param *params = params_of(parser->op);

	for (const struct op_param *param = params; param->name; param++) {
		bool given = parser->given >> (param - params) & 1;

		if (param->flags & OP_POSITIONAL && (!given || param->type == OP_TEXTS))
			return set(parser, param, value);
	}
	return usage(parser, "one argument too many:", value);
}

static int take_rest(struct parser *parser)
{
	const struct op_param *rest = NULL;

	for (const struct op_param *param = params_of(parser->op); param->name; param++)
		if (param->flags & OP_AFTER_DASHES)
			rest = param;
	for (parser->at++; parser->at < parser->argc; parser->at++) {
		const char *value = parser->argv[parser->at];
		int r = rest ? set(parser, rest, value) : take_positional(parser, value);

		if (r < 0)
			return r;
	}
	return 0;
}

static int check_required(struct parser *parser)
{
	const struct op_param *params = params_of(parser->op);

	for (const struct op_param *param = params; param->name; param++)
		if (param->flags & OP_REQUIRED && !(parser->given >> (param - params) & 1))
			return err_set(parser->err, ERR_USAGE,
				"%s: %s is missing (see 'strata help %s')", parser->command,
				param->name, parser->command);
	return 0;
}

int options_parse(const struct op *op, int argc, char **argv, struct arena *arena, void *request,
	struct options *options, struct err *err)
{
	struct parser parser = {
		.op = op,
		.command = argv[0],
		.arena = arena,
		.request = request,
		.argc = argc,
		.argv = argv,
		.err = err,
	};
	int r = 0;

	for (parser.at = 1; parser.at < argc && r >= 0; parser.at++) {
		const char *text = argv[parser.at];

		if (!strcmp(text, "--"))
			r = take_rest(&parser);
		else if (!strncmp(text, "--", 2))
			r = take_long(&parser, text, options);
		else if (text[0] == '-' && text[1])
			r = take_short(&parser, text, options);
		else
			r = take_positional(&parser, text);
	}
	if (r < 0 || options->help)
		return r;
	return check_required(&parser);
}
