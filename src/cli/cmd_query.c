/* query - call a method of the query protocol on the history. */
#include "cli/command.h"
#include "core/errcode.h"
#include "core/own.h"
#include "ops/requests.h"
#include "ops/resultview.h"
#include "ops/table.h"
#include "query/method.h"

#define RESULT_MAX (2 * METHOD_REPLY_MAX) /* maximum size of a parsed result */

static int print_members(const struct op *method, struct str members, struct err *err)
{
	owned(buf_release) struct buf text = BUF_INIT, notes = BUF_INIT;

	buf_addc(&text, '{');
	buf_add(&text, members.ptr, members.len);
	buf_addc(&text, '}');
	owned(jsonread_freep) struct jsonread *result =
		jsonread_new_max((struct str){ text.data, text.len }, RESULT_MAX, err);
	if (!result)
		return err_context(err, "the result of %s", method->name);
	buf_clear(&text);
	resultview_add(&text, &notes, method, result);
	(void)fwrite(text.data, 1, text.len, stdout);
	(void)fflush(stdout);
	output_lines(notes.data);
	return 0;
}

static int print_result(struct output *out, const void *request, const void *result)
{
	const struct query_result *res = result;
	struct err err = { 0 };

	if (out->json || print_members(res->method, res->members, &err) >= 0)
		return 0;
	output_error(&err);
	return errcode_status(&err);
}

const struct command cmd_query = {
	.name = "query",
	.op = &op_query,
	.result = print_result,
};
