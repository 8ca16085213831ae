/* policy compose - print a policy that allows an action only if both given policies allow it. */
#include "cli/command.h"
#include "core/own.h"
#include "ops/policies.h"
#include "ops/table.h"

static int print_result(struct output *out, const void *request, const void *result)
{
	owned(json_release) struct json text = JSON_INIT;

	if (out->json)
		return 0;
	text.sink = output_json;
	text.pretty = true;
	policy_write(&text, NULL, &((const struct policy_result *)result)->policy);
	(void)json_end(&text); /* errors of standard output are reported by the caller */
	return 0;
}

const struct command policy_compose = {
	.name = "compose",
	.op = &op_compose_policy,
	.result = print_result,
};
