#include "ops/variables.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/text.h"

#define DEFAULT_PATH "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define ROOTS_OWN 4 /* number of default variables that only root gets */

/* Variables that describe the terminal and the locale. */
static const char *const passed[] = { "TERM", "COLORTERM", "NO_COLOR", "LANG", "LC_ALL", "LC_CTYPE",
	"LC_MESSAGES", "TZ" };

/* Variables whose values would be wrong in the sandbox. */
static const char *const own[] = { "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "PWD",
	"OLDPWD" };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct str name_of(const char *text)
{
	return (struct str){ text, strcspn(text, "=") };
}

static bool is_set(const struct param_texts *list, struct str name)
{
	for (size_t i = 0; i < list->count; i++)
		if (str_eq(name_of(list->list[i]), name))
			return true;
	return false;
}

static bool is_in(const char *const *names, size_t n, struct str name)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(str_of(names[i]), name))
			return true;
	return false;
}

/* Whether a command may get this variable of strata's own environment. */
static bool is_allowed(const struct policy *policy, struct str name)
{
	for (size_t i = 0; policy && i < policy->env.allow.n; i++)
		if (text_glob(str_of(policy->env.allow.list[i]), name))
			return true;
	return !policy;
}

static int refuse(const char *name, struct err *err)
{
	err_set(err, ERR_DENIED, "--env %.100s: the policy passes no such variable on", name);
	return err_hint(err, "'\"env\": {\"allow\": [\"%.100s\"]}' in the policy allows it", name);
}

/* Add the variables of --env. */
static int add_given(const struct exec_place *place, const struct policy *policy,
	struct arena *arena, struct param_texts *list, struct err *err)
{
	for (size_t i = 0; i < place->env.count; i++) {
		const char *text = place->env.list[i];
		const char *equals = strchr(text, '=');
		const char *value = equals ? NULL : getenv(text);

		if (!*text || equals == text)
			return err_set(
				err, ERR_USAGE, "--env takes NAME=VALUE, or NAME to pass on");
		if (!equals && !is_allowed(policy, str_of(text)))
			return refuse(text, err);
		if (equals)
			param_texts_add(list, arena, text);
		else if (value)
			param_texts_add(list, arena, arena_printf(arena, "%s=%s", text, value));
	}
	return 0;
}

/* Add the variables of strata's own environment that are passed on without --env. */
static void add_passed(const struct policy *policy, struct arena *arena, struct param_texts *list)
{
	for (char **one = environ; one && *one; one++) {
		struct str name = name_of(*one);
		bool wanted = policy ? is_allowed(policy, name) && !is_in(own, COUNT(own), name)
				     : is_in(passed, COUNT(passed), name);

		if (wanted && !is_set(list, name))
			param_texts_add(list, arena, arena_strdup(arena, *one));
	}
}

static void add_defaults(
	const struct exec_place *place, struct arena *arena, struct param_texts *list)
{
	/*
	 * Only root gets the last ROOTS_OWN variables.  For another user, the sandbox looks up the
	 * values of these variables.
	 */
	static const char *const defaults[] = { DEFAULT_PATH, "container=strata", "HOME=/root",
		"USER=root", "LOGNAME=root", "SHELL=/bin/sh" };
	size_t n = COUNT(defaults) - (place->user ? ROOTS_OWN : 0);

	for (size_t i = 0; i < n; i++)
		if (!is_set(list, name_of(defaults[i])))
			param_texts_add(list, arena, defaults[i]);
}

static const char *const *terminate(struct param_texts *list, struct arena *arena)
{
	const char **texts = arena_alloc(arena, (list->count + 1) * sizeof(*texts));

	if (list->count)
		memcpy(texts, list->list, list->count * sizeof(*texts));
	texts[list->count] = NULL;
	return texts;
}

int variables_make(const struct exec_place *place, const struct policy *policy, struct arena *arena,
	const char *const **out, struct err *err)
{
	struct param_texts list = { 0 };

	if (add_given(place, policy, arena, &list, err) < 0)
		return -(int)err->code;
	add_passed(policy, arena, &list);
	add_defaults(place, arena, &list);
	*out = terminate(&list, arena);
	return 0;
}

const char *const *variables_merge(
	const char *const *env, const struct param_texts *add, struct arena *arena)
{
	struct param_texts list = { 0 };

	for (size_t i = 0; i < add->count; i++)
		if (!is_set(&list, name_of(add->list[i])))
			param_texts_add(&list, arena, add->list[i]);
	for (; *env; env++)
		if (!is_set(&list, name_of(*env)))
			param_texts_add(&list, arena, *env);
	return terminate(&list, arena);
}
