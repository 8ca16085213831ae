/* ctl - call a method of a running owner and print the answer. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/owning.h"
#include "core/at.h"
#include "core/jsonread.h"
#include "core/own.h"
#include "ops/requests.h"
#include "ops/table.h"
#include "owner/methods.h"
#include "owner/owner.h"
#include "owner/rpc.h"

#define READ_SIZE 65536
#define OUTPUT_METHOD "exec.output"

/* ---------------------------------------------------------------- the request */

static int send_call(int fd, const struct ctl_request *req, struct err *err)
{
	owned(json_release) struct json out = JSON_INIT;
	const struct op *op = methods_find(req->method);

	rpc_ask(&out, 1, req->method);
	if (param_add_pairs(NULL, op ? op->params : NULL, &req->pairs, &out, err) < 0)
		return -(int)err->code;
	rpc_end(&out);
	struct str text = json_written(&out);
	errno = -at_write_all(fd, text.ptr, text.len);
	/*
	 * Do not fail if the owner has closed the connection.  An owner that refuses a connection
	 * sends the reason before it closes the connection.  That reason is read later.
	 */
	return errno && errno != EPIPE && errno != ECONNRESET ? err_errno(err, "ask the owner") : 0;
}

/* ----------------------------------------------------------------- the answer */

static void print_json(const struct jsonread *value, bool pretty)
{
	owned(json_release) struct json out = JSON_INIT;

	out.sink = output_json;
	out.pretty = pretty;
	jsonread_write(&out, NULL, value);
	(void)json_end(&out);
	(void)fflush(stdout);
}

/* Print the command's output on stderr, because stdout is reserved for the answer. */
static void print_output(const struct jsonread *message)
{
	const struct jsonread *what = jsonread_member(message, "params");
	struct str text;

	if (what && jsonread_get_str(what, "text", &text) == JSONREAD_FOUND)
		(void)fwrite(text.ptr, 1, text.len, stderr);
	else
		fputs("(binary output: see --lines)\n", stderr);
}

static int take_error(const struct jsonread *error, struct err *err)
{
	const struct jsonread *data = jsonread_member(error, "data");
	struct str message = STR(""), hint;
	int64_t code = 0;

	(void)jsonread_get_str(error, "message", &message);
	(void)jsonread_get_int(error, "code", &code);
	err_set(err, ERR_SYSTEM, "%.*s (%lld)", (int)message.len, message.ptr, (long long)code);
	if (data && jsonread_get_str(data, "hint", &hint) == JSONREAD_FOUND)
		err_hint(err, "%.*s", (int)hint.len, hint.ptr);
	return -(int)err->code;
}

/*
 * Print the result of an answer that is too large to be parsed.  The text of the result is printed
 * unchanged.
 */
static void print_large(const struct ctl_request *req, struct str line)
{
	static const struct str head = STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":");

	if (!req->lines && line.len > head.len && !memcmp(line.ptr, head.ptr, head.len)) {
		line.ptr += head.len;
		line.len -= head.len + 1; /* the length without the brace that closes the answer */
	}
	(void)fwrite(line.ptr, 1, line.len, stdout);
	putchar('\n');
}

/* Handle one line that the owner has sent.  Returns 1 if the line was the answer. */
static int take_line(const struct ctl_request *req, struct str line, struct err *err)
{
	owned(jsonread_freep) struct jsonread *message = jsonread_new(line, err);
	struct str method;

	if (!message) {
		if (err->code != ERR_LIMIT)
			return -(int)err->code;
		print_large(req, line);
		return 1;
	}
	bool event = jsonread_get_str(message, "method", &method) == JSONREAD_FOUND;
	const struct jsonread *error = jsonread_member(message, "error");
	if (req->lines || (event && !str_eq(method, STR(OUTPUT_METHOD))))
		print_json(message, false);
	else if (event)
		print_output(message);
	else if (!error && jsonread_member(message, "result"))
		print_json(jsonread_member(message, "result"), true);
	(void)fflush(stdout);
	if (ferror(stdout))
		return err_errno(err, "standard output");
	if (event)
		return 0;
	return error ? take_error(error, err) : 1;
}

static int listen_to(int fd, const struct ctl_request *req, struct err *err)
{
	owned(buf_release) struct buf in = BUF_INIT;
	bool stays = !strcmp(req->method, "subscribe");
	/* number of bytes that were searched for the end of a line without finding one */
	size_t seen = 0;

	for (;;) {
		char *room = buf_reserve(&in, READ_SIZE);
		ssize_t n = room ? read(fd, room, READ_SIZE) : 0;
		char *end;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_set(err, ERR_SYSTEM, "the owner has ended");
		in.len += (size_t)n;
		while ((end = memchr(in.data + seen, '\n', in.len - seen))) {
			size_t len = (size_t)(end - in.data);
			int r = take_line(req, (struct str){ in.data, len }, err);

			if (r < 0 || (r > 0 && !stays))
				return r;
			memmove(in.data, end + 1, in.len - len - 1);
			buf_truncate(&in, in.len - len - 1);
			seen = 0;
		}
		seen = in.len;
	}
}

/* ------------------------------------------------------------------- help */

static int print_help(const struct ctl_request *req, struct err *err)
{
	const struct op *op;

	for (size_t i = 0; !req->pairs.count && (op = methods_listed(i)); i++)
		printf("%s\n", op->name);
	for (size_t i = 0; i < req->pairs.count; i++) {
		const char *name = req->pairs.list[i];

		op = methods_find(name);
		if (!op) {
			err_set(err, ERR_NOT_FOUND, "no method '%.100s'", name);
			return err_hint(err, "'strata ctl help' lists them");
		}
		printf("%s\n", name);
		for (const struct param *param = op->params; param && param->name; param++)
			printf("  %s=%s%s\n", param->name, param_wants(param),
				param->flags & PARAM_REQUIRED ? " (needed)" : "");
	}
	return 0;
}

/* ------------------------------------------------------------ without an owner */

/* Returns the request of an operation, filled from KEY=VALUE pairs, or NULL on error. */
static void *read_pairs(
	const struct op *op, const struct ctl_request *req, struct arena *arena, struct err *err)
{
	owned(json_release) struct json text = JSON_INIT;
	struct param_reader reader = {
		.name = op->name,
		.params = op->params,
		.arena = arena,
		.request = arena_alloc(arena, op->request_size + 1),
	};

	json_open(&text, NULL, '{');
	if (param_add_pairs(NULL, op->params, &req->pairs, &text, err) < 0)
		return NULL;
	json_close(&text);
	owned(jsonread_freep) struct jsonread *object = jsonread_new(json_written(&text), err);
	return object && param_read(&reader, object, err) >= 0 ? reader.request : NULL;
}

/*
 * Run the operation in this process, in the same way as an owner.  The result is printed as if an
 * owner had sent it.
 */
static int do_directly(
	struct op_context *ctx, const struct op *op, const struct ctl_request *req, struct err *err)
{
	owned(json_release) struct json out = JSON_INIT;
	const void *request = read_pairs(op, req, ctx->arena, err);

	if (!request)
		return -(int)err->code;
	out.pretty = !req->lines;
	json_open(&out, NULL, '{');
	if (op_answer(op, ctx, request, &out, err) < 0)
		return -(int)err->code;
	json_close(&out);
	struct str text = json_written(&out);
	if (fwrite(text.ptr, 1, text.len, stdout) != text.len || putchar('\n') < 0 ||
		fflush(stdout) != 0)
		return err_errno(err, "standard output");
	return 0;
}

int cmd_ctl_call(struct op_context *ctx, const struct ctl_request *req, struct err *err)
{
	if (!strcmp(req->method, "help"))
		return print_help(req, err);
	const struct op *op = methods_find(req->method);
	struct err lacking = { 0 };
	owned_fd int fd = owner_dial(ctx->root, ctx->workspace, &lacking);
	/*
	 * Ignore SIGPIPE.  If the owner or the reader of the output has gone, a write then fails,
	 * and the error is reported.
	 */
	(void)signal(SIGPIPE, SIG_IGN);
	if (fd == -ERR_NOT_FOUND && op && op->flags & OP_OWNERLESS)
		return do_directly(ctx, op, req, err);
	if (fd < 0)
		*err = lacking;
	int r = fd < 0 ? fd : send_call(fd, req, err);

	return r < 0 ? r : listen_to(fd, req, err);
}

const struct command cmd_ctl = {
	.name = "ctl",
	.op = &op_ctl,
};
