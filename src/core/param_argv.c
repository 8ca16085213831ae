#include "core/param_argv.h"

#include <stdlib.h>

#include "core/text.h"

struct parser {
	const struct param_reader *own, *face;
	int argc;
	char **argv;
	int at;
	uint64_t given; /* one bit for each parameter of 'own' that was given */
	struct err *err;
};

/* Whether an option has the name of a parameter: --allow-empty is the parameter allow_empty. */
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
		parser->argv[0], what, which, parser->argv[0]);
}

static int set_param(struct parser *parser, const struct param_reader *reader,
	const struct param *param, const char *value)
{
	void *slot = (char *)reader->request + param->offset;
	char *end;

	if (reader == parser->own)
		parser->given |= UINT64_C(1) << (param - reader->params);
	switch (param->type) {
	case PARAM_FLAG:
		*(bool *)slot = true;
		return 0;
	case PARAM_TEXTS:
		param_texts_add(slot, reader->arena, value);
		return 0;
	case PARAM_COUNT: {
		long long number = strtoll(value, &end, 10);

		if (!*value || *end || number <= 0)
			return usage(parser, "a positive number is needed, not", value);
		*(int64_t *)slot = number;
		return 0;
	}
	case PARAM_BYTES:
		if (!text_parse_size(value, slot) ||
			(!*(uint64_t *)slot && !(param->flags & PARAM_FROM_ZERO)))
			return usage(parser, "a size such as 500M or 2G is needed, not", value);
		return 0;
	default:
		*(const char **)slot = value;
		return 0;
	}
}

static int take_value(struct parser *parser, const struct param_reader *reader,
	const struct param *param, const char *option, const char *attached)
{
	if (param->type == PARAM_FLAG)
		return attached ? usage(parser, "no value belongs to", option)
				: set_param(parser, reader, param, NULL);
	if (attached)
		return set_param(parser, reader, param, attached);
	if (parser->at + 1 >= parser->argc)
		return usage(parser, "a value is missing after", option);
	return set_param(parser, reader, param, parser->argv[++parser->at]);
}

static bool is_named(const struct param *param)
{
	return !(param->flags & (PARAM_POSITIONAL | PARAM_AFTER_DASHES | PARAM_REST));
}

static int take_option(struct parser *parser, const char *option)
{
	bool is_long = option[1] == '-';
	const char *equals = is_long ? strchr(option, '=') : NULL;
	size_t len = equals ? (size_t)(equals - option) : strlen(option);

	for (int i = 0; i < 2; i++) {
		const struct param_reader *reader = i ? parser->face : parser->own;

		for (const struct param *p = reader->params; p && p->name; p++) {
			if (is_long && is_named(p) && names_param(option + 2, len - 2, p->name))
				return take_value(
					parser, reader, p, option, equals ? equals + 1 : NULL);
			if (!is_long && p->letter && p->letter == option[1] &&
				!(p->type == PARAM_FLAG && option[2]))
				return take_value(
					parser, reader, p, option, option[2] ? option + 2 : NULL);
		}
	}
	return usage(parser, "unknown option", option);
}

static const struct param *with_flag(const struct parser *parser, unsigned flag)
{
	for (const struct param *p = parser->own->params; p && p->name; p++)
		if (p->flags & flag)
			return p;
	return NULL;
}

static int take_positional(struct parser *parser, const char *value)
{
	const struct param *params = parser->own->params;

	for (const struct param *param = params; param && param->name; param++) {
		bool given = parser->given >> (param - params) & 1;

		if (param->flags & PARAM_POSITIONAL && (!given || param->type == PARAM_TEXTS))
			return set_param(parser, parser->own, param, value);
	}
	return usage(parser, "one argument too many:", value);
}

/* Take every word from here on as a value, even one that looks like an option. */
static int take_rest(struct parser *parser, const struct param *rest)
{
	int r = 0;

	for (; parser->at < parser->argc && r >= 0; parser->at++) {
		const char *value = parser->argv[parser->at];

		r = rest ? set_param(parser, parser->own, rest, value)
			 : take_positional(parser, value);
	}
	return r;
}

static int take_word(struct parser *parser, const char *word)
{
	const struct param *rest = with_flag(parser, PARAM_REST);

	if (!strcmp(word, "--")) {
		parser->at++;
		return take_rest(parser, rest ?: with_flag(parser, PARAM_AFTER_DASHES));
	}
	if (word[0] == '-' && word[1])
		return take_option(parser, word);
	return rest ? take_rest(parser, rest) : take_positional(parser, word);
}

int param_argv_read(const struct param_reader *reader, const struct param_reader *face,
	const bool *help, int argc, char **argv, struct err *err)
{
	struct parser parser = {
		.own = reader,
		.face = face,
		.argc = argc,
		.argv = argv,
		.err = err,
	};
	const struct param *params = reader->params;
	int r = 0;

	param_defaults(params, reader->request);
	for (parser.at = 1; parser.at < argc && r >= 0; parser.at++)
		r = take_word(&parser, argv[parser.at]);
	if (r < 0 || *help)
		return r;
	for (const struct param *param = params; param && param->name; param++)
		if (param->flags & PARAM_REQUIRED && !(parser.given >> (param - params) & 1))
			return err_set(err, ERR_USAGE, "%s: %s is missing (see 'strata help %s')",
				argv[0], param->name, argv[0]);
	return 0;
}
