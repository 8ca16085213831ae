/*
 * choices - list the sources from which 'init' could make an environment here.  The command line
 * shows the list to a user who runs 'init' without a source.  The operation is not in the table of
 * operations (table.c), because in every other interface an 'init' without a source is an error.
 */
#include <fcntl.h>

#include "core/at.h"
#include "core/own.h"
#include "ops/dirsource.h"
#include "ops/requests.h"

static void add_choice(struct choices_result *result, const char *arguments, const char *gives)
{
	result->list[result->n++] = (struct choices_one){ arguments, gives };
}

/* Add the choices for a directory without a shell.  Such a directory is taken for a project. */
static void add_for_project(struct choices_result *result)
{
	add_choice(result, "--from . --in-place",
		result->git
			? "this directory, a git repository, becomes the live tree, .git and all: "
			  "edit it as ever; commit, undo and checkout act on it"
			: "this directory becomes the live tree: edit it as ever; commit, undo "
			  "and checkout act on it");
	add_choice(result, "--from .",
		"a copy of this directory becomes the live tree; this one stays as it is");
	add_choice(result, "--from /",
		"a copy of this machine's files, to run programs in: this directory has no "
		"/bin/sh.  'strata exec --bind .:/src' shows it to them");
}

/* Add the choices for a directory with a shell.  It is taken for a root file system. */
static void add_for_system(struct choices_result *result)
{
	add_choice(result, "--from .",
		"a copy of this directory, which has a shell: programs run in it with 'strata "
		"exec', and this one stays as it is");
	add_choice(result, "--from . --in-place",
		"the same without a copy: this directory lies below the live tree, is only read, "
		"and must stay as it is");
}

static int do_choices(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	struct choices_result *result = out;
	struct err none = { 0 };
	struct statx stx;
	owned_fd int here = at_open_given(".", O_RDONLY | O_DIRECTORY, 0, err);

	if (here < 0)
		return here;
	owned_fd int root = at_open_given(ctx->root, O_PATH | O_DIRECTORY, 0, &none);
	result->root = ctx->root;
	result->exists = root >= 0 && at_exists(root, ENV_DATABASE);
	result->git = at_name_stat(here, ".git", &stx) == 0;
	result->shell = dirsource_has_shell(here);
	if (result->shell)
		add_for_system(result);
	else
		add_for_project(result);
	add_choice(result, "--tarball FILE",
		"a root file system from a tar archive, '-' for standard input: "
		"'docker export NAME | strata init --tarball -'");
	add_choice(result, "--empty", "nothing: an empty live tree");
	return 0;
}

static void result_json(struct json *out, const void *result)
{
	const struct choices_result *res = result;

	json_text(out, "root", res->root);
	json_bool(out, "exists", res->exists);
	json_bool(out, "git", res->git);
	json_bool(out, "shell", res->shell);
	json_open(out, "choices", '[');
	for (size_t i = 0; i < res->n; i++) {
		json_open(out, NULL, '{');
		json_text(out, "arguments", res->list[i].arguments);
		json_text(out, "gives", res->list[i].gives);
		json_close(out);
	}
	json_close(out);
}

const struct op op_choices = {
	.name = "choices",
	.flags = OP_NO_ENV | OP_LOCAL,
	.request_size = sizeof(struct init_request),
	.result_size = sizeof(struct choices_result),
	.run = do_choices,
	.result_json = result_json,
};
