/* worker - serve files under a policy.  The code for this is in worker/. */
#include "ops/requests.h"
#include "worker/workerrun.h"

static void send_row(struct op_context *ctx, const char *event, const char *text)
{
	struct worker_row row = { .event = event, .text = text };
	struct err ignored = { 0 };

	(void)op_emit(ctx, &row, &ignored);
}

static void tell(void *arg, const char *text)
{
	send_row(arg, "unenforced", text);
}

static void tell_ready(void *arg)
{
	send_row(arg, "ready", NULL);
}

static int check(const void *request, struct err *err)
{
	return workerrun_check(request, err);
}

static int run(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	struct worker_result *result = out;
	struct workerrun_face face = { .tell = tell, .ready = tell_ready, .arg = ctx };
	int r = workerrun_main(request, &face, &result->missing);

	if (r < 0)
		*err = result->missing;
	else
		result->status = r;
	return r < 0 ? r : 0;
}

static void row_json(struct json *out, const void *row)
{
	const struct worker_row *event = row;

	json_text(out, "event", event->event);
	json_text(out, "text", event->text);
}

static void result_json(struct json *out, const void *result)
{
	const struct worker_result *res = result;

	json_int(out, "status", res->status);
	if (res->status == WORKERRUN_UNCONFINED)
		json_text(out, "missing", res->missing.text);
}

const struct op op_worker = {
	.name = "worker",
	.summary = "serve files to a program, under a policy",
	.flags = OP_NO_ENV | OP_LOCAL | OP_ANYWHERE,
	.params = workerrun_params,
	.request_size = sizeof(struct workerrun_request),
	.result_size = sizeof(struct worker_result),
	.rows = "events",
	.row = "{event:text text:text?}",
	.result = "status:int missing?:text",
	.check = check,
	.run = run,
	.row_json = row_json,
	.result_json = result_json,
};
