#include "mcp/prompt.h"

#include <string.h>

#include "core/own.h"

#define ARGUMENTS_MAX 2

struct argument {
	const char *name, *description;
	bool required;
};

/*
 * In a text, {NAME} stands for the value of the argument NAME.  {NAME|DEFAULT} also gives the value
 * to use if the argument is missing.
 */
static const struct prompt {
	const char *name, *title, *description;
	struct argument arguments[ARGUMENTS_MAX + 1];
	const char *text;
} prompts[] = {
	{
		"what-changed",
		"What changed?",
		"explain what changed in the environment since a node",
		{ { "since", "a reference such as HEAD~3, a tag or an id; HEAD~1 unless given",
			0 } },
		"Explain what changed in this environment since {since|HEAD~1}. Call the tool "
		"'diff' with a={since|HEAD~1} and b=HEAD to list the paths, and once more with "
		"patch=true for the files that matter. Call 'status' to learn whether the live "
		"tree has changes that no node has yet. Summarise by purpose, not by file, and "
		"name what looks accidental.",
	},
	{
		"undo-last",
		"Undo the last step",
		"go back to the state before the last change",
		{ { 0 } },
		"Undo the last change of this environment. First call 'log' with limit=3 and tell "
		"me which node would be left and what it changed. Then call 'undo'. Work that no "
		"node has yet is saved as a node first, so nothing is lost. At the end call 'head' "
		"and say how to come back with 'redo'.",
	},
	{
		"find-when-it-broke",
		"Find when it broke",
		"find the node whose change broke something",
		{ { "symptom", "what is broken, such as a failing command", true },
			{ "path", "a file that is known to be concerned", false } },
		"Something broke in this environment: {symptom}. Find the node that broke it. Call "
		"'log' for the nodes, and 'file_log' with path={path|the files concerned} to see "
		"when they changed. Compare a good node with its successor by 'diff' with "
		"patch=true, and read old versions with 'cat'. Halve the range between a node that "
		"works and one that does not. Change nothing. At the end name the node, its time "
		"and the change, and propose how to bring back only that file with 'restore'.",
	},
};

#define PROMPTS (sizeof(prompts) / sizeof(prompts[0]))

void prompt_list(struct json *out, const struct mcp_settings *settings)
{
	json_open(out, "prompts", '[');
	for (size_t i = 0; settings->root && i < PROMPTS; i++) {
		const struct prompt *prompt = &prompts[i];

		json_open(out, NULL, '{');
		json_text(out, "name", prompt->name);
		json_text(out, "title", prompt->title);
		json_text(out, "description", prompt->description);
		json_open(out, "arguments", '[');
		for (const struct argument *at = prompt->arguments; at->name; at++) {
			json_open(out, NULL, '{');
			json_text(out, "name", at->name);
			json_text(out, "description", at->description);
			json_bool(out, "required", at->required);
			json_close(out);
		}
		json_close(out);
		json_close(out);
	}
	json_close(out);
}

/* Add a text, with the values of the arguments in place of their names. */
static void fill_in(struct buf *out, const char *text, const struct jsonread *given)
{
	while (*text) {
		size_t plain = strcspn(text, "{");

		buf_add(out, text, plain);
		text += plain;
		if (!*text)
			return;
		size_t name_len = strcspn(text, "|}") - 1, len = strcspn(text, "}") + 1;
		char name[32] = "";
		struct str value;

		memcpy(name, text + 1, name_len < sizeof(name) - 1 ? name_len : sizeof(name) - 1);
		if (given && jsonread_get_str(given, name, &value) == JSONREAD_FOUND)
			buf_add(out, value.ptr, value.len);
		else if (text[name_len + 1] == '|')
			buf_add(out, text + name_len + 2, len - name_len - 3);
		text += len;
	}
}

static int check_arguments(
	const struct prompt *prompt, const struct jsonread *given, struct err *err)
{
	for (const struct argument *at = prompt->arguments; at->name; at++) {
		const struct jsonread *value = given ? jsonread_member(given, at->name) : NULL;

		if (!value && at->required)
			return err_set(err, ERR_INVALID, "'%s' is missing", at->name);
		if (value && jsonread_type(value) != JSONREAD_STRING)
			return err_set(err, ERR_INVALID, "'%s' must be a string", at->name);
	}
	return 0;
}

int prompt_get(const struct mcp_settings *settings, const struct jsonread *params, struct json *out,
	struct err *err)
{
	const char *name = request_text(params, "name");
	const struct jsonread *given = NULL;
	owned(buf_release) struct buf text = BUF_INIT;
	size_t i = 0;

	while (i < PROMPTS && (!name || strcmp(prompts[i].name, name) != 0))
		i++;
	if (i == PROMPTS || !settings->root)
		return err_set(err, ERR_NOT_FOUND, "no prompt '%.100s'", name ?: "");
	if (jsonread_get_object(params, "arguments", &given) == JSONREAD_WRONG_TYPE)
		return err_set(err, ERR_INVALID, "'arguments' must be an object");
	if (check_arguments(&prompts[i], given, err) < 0)
		return -(int)err->code;
	fill_in(&text, prompts[i].text, given);
	json_text(out, "description", prompts[i].description);
	json_open(out, "messages", '[');
	json_open(out, NULL, '{');
	json_text(out, "role", "user");
	json_open(out, "content", '{');
	json_text(out, "type", "text");
	json_str(out, "text", (struct str){ text.data, text.len });
	json_close(out);
	json_close(out);
	json_close(out);
	return 0;
}
