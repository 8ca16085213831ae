/* policy - explain a policy, check a file that should contain a policy, or compose two policies. */
#include <string.h>

#include "cli/command.h"

extern const struct command policy_check, policy_compose, policy_explain;

static const struct command *const group[] = {
	&policy_check,
	&policy_compose,
	&policy_explain,
	NULL,
};

static bool is_help(const char *word)
{
	return !strcmp(word, "--help") || !strcmp(word, "-h");
}

/* Called only if the word after 'policy' is not a command of the group. */
static int refuse_word(int argc, char **argv, struct err *err)
{
	char *help[] = { (char *)"help", argv[0], NULL };

	if (argc > 1 && is_help(argv[1]))
		return command_find("help")->run(2, help, err);
	if (argc > 1)
		return err_set(err, ERR_USAGE,
			"policy: 'check', 'compose' or 'explain' is needed, not '%.100s' "
			"(see 'strata help policy')",
			argv[1]);
	return err_set(err, ERR_USAGE,
		"policy: 'check', 'compose' or 'explain' is missing (see 'strata help policy')");
}

const struct command cmd_policy = {
	.name = "policy",
	.summary = "say what a policy allows, check it, compose two",
	.group = group,
	.run = refuse_word,
};
