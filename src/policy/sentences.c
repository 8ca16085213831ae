#include "policy/sentences.h"

#include <inttypes.h>
#include <stdarg.h>

#include "core/own.h"
#include "core/text.h"
#include "policy/lists.h"
#include "policy/protected.h"

static void say(struct lists_builder *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void say(struct lists_builder *out, const char *fmt, ...)
{
	owned(buf_release) struct buf text = BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	buf_addv(&text, fmt, ap);
	va_end(ap);
	lists_add(out, arena_str(out->arena, (struct str){ text.data, text.len }).ptr);
}

/* Append text number i of n, so that the result is a list "a, b and c". */
static void add_listed(struct buf *out, const char *text, size_t i, size_t n)
{
	buf_adds(out, !i ? "" : i + 1 < n ? ", " : " and ");
	text_quote(out, str_of(text));
}

/*
 * Add one sentence about all rules of a list.  The sentence consists of the text 'front', the
 * rules, and the text 'back'.  If the list is empty, nothing is added.
 */
static void say_list(struct lists_builder *out, const char *front, const struct policy_list *list,
	const char *back)
{
	owned(buf_release) struct buf text = BUF_INIT;

	for (size_t i = 0; i < list->n; i++)
		add_listed(&text, list->list[i], i, list->n);
	if (list->n)
		say(out, "%s %s%s.", front, text.data, back);
}

static bool has_everything(const struct policy_list *list)
{
	return lists_has(list, "/");
}

/* -------------------------------------------------------------------- files */

static void tell_files(struct lists_builder *out, const struct policy_fs *fs)
{
	if (has_everything(&fs->allow_read))
		say(out, "It may read every file.");
	else
		say_list(out, "It may read", &fs->allow_read, ", and what it may write");
	if (!fs->allow_read.n && !fs->allow_write.n && !fs->allow_read_within_deny.n)
		say(out, "It may read no file.");
	say_list(out, "It may not read", &fs->deny_read, "");
	say_list(out, "It may read nevertheless", &fs->allow_read_within_deny, "");
	if (has_everything(&fs->allow_write))
		say(out, "It may write every file.");
	else
		say_list(out, "It may write", &fs->allow_write, "");
	if (!fs->allow_write.n)
		say(out, "It may write no file.");
	say_list(out, "It may not write", &fs->deny_write_within_allow, "");
	say_list(out, "It may be granted, while it runs,", &fs->grantable, "");
}

static const char *place_text(enum protected_place place)
{
	static const char *const texts[] = {
		[PROTECTED_ANYWHERE] = "in every directory",
		[PROTECTED_GIT] = "in every '.git'",
		[PROTECTED_HOME] = "in the home directory",
	};

	return texts[place];
}

static bool is_protected(const struct policy *policy, const struct protected_name *name)
{
	return !(name->by_git_config && policy->fs.allow_git_config);
}

/*
 * Add one sentence about several names: those from *name on that have the same class and place.
 * *name is moved past these names.
 */
static void tell_class(
	struct lists_builder *out, const struct policy *policy, const struct protected_name **name)
{
	const struct protected_name *first = *name;
	struct lists_builder names = { .arena = out->arena };

	for (; (*name)->name && (*name)->what == first->what && (*name)->place == first->place;
		(*name)++)
		if (is_protected(policy, *name))
			lists_add(&names, (*name)->name);
	say_list(out,
		arena_printf(out->arena, "Protected %s, unless fs.allow_write names it, as %s:",
			place_text(first->place), first->what),
		&names.list, "");
}

static void tell_protected(struct lists_builder *out, const struct policy *policy)
{
	if (!policy->fs.allow_write.n)
		return;
	for (const struct protected_name *name = protected_names; name->name;)
		tell_class(out, policy, &name);
}

/* ---------------------------------------------------------- everything else */

static void tell_network(struct lists_builder *out, const struct policy_domains *net)
{
	if (net->mode == POLICY_NET_NONE)
		say(out, "It has no network.");
	else if (net->mode == POLICY_NET_HOST)
		say(out, "It uses the network of the machine.");
	else if (!net->allowed.n)
		say(out, "It can reach no host.");
	else
		say_list(out, "It can reach", &net->allowed, "");
	if (net->mode == POLICY_NET_ALLOWLIST)
		say_list(out, "It cannot reach", &net->denied, "");
	if (net->mode == POLICY_NET_ALLOWLIST)
		say_list(out, "It may be granted, while it runs, to reach", &net->grantable, "");
	say_list(out, "It may connect to the UNIX sockets", &net->unix_sockets,
		", but that is not enforced");
	say(out, "It can connect to every UNIX socket whose file it can see.");
	say(out, "It may%s listen on TCP ports.", net->allow_local_binding ? "" : " not");
}

static void tell_programs(struct lists_builder *out, const struct policy_programs *exec)
{
	if (has_everything(&exec->deny)) {
		say(out, "It may execute no program.");
		return;
	}
	if (!exec->allow.n)
		say(out, "It may execute every program that it may read.");
	say_list(out, "It may execute", &exec->allow, "");
	say_list(out, "It may not execute", &exec->deny, "");
	say(out, "It may%s make sandboxes of its own.", exec->nested ? "" : " not");
}

static void tell_variables(struct lists_builder *out, const struct policy_env *env)
{
	struct lists_builder names = { .arena = out->arena };

	for (size_t i = 0; i < env->set.n; i++)
		lists_add(&names, arena_printf(out->arena, "%.*s",
					  (int)strcspn(env->set.list[i], "="), env->set.list[i]));
	if (!env->allow.n)
		say(out, "It gets no variable of the caller.");
	say_list(out, "It gets the variables", &env->allow, " of the caller");
	say_list(out, "The policy sets", &names.list, "");
}

static void tell_limits(struct lists_builder *out, const struct policy_limits *limits)
{
	const struct {
		int64_t value;
		const char *front, *back;
	} all[] = {
		{ limits->cpu_time_secs, "A process may use", "seconds of processor time" },
		{ limits->wall_time_secs, "It may run for", "seconds" },
		{ limits->max_rss_bytes, "It may have", "bytes of memory" },
		{ limits->max_open_fds, "A process may have", "open files" },
		{ limits->max_processes, "It may have", "processes" },
		{ limits->max_output_bytes, "It may print", "bytes" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].value)
			say(out, "%s %" PRId64 " %s.", all[i].front, all[i].value, all[i].back);
}

static void tell_trust(struct lists_builder *out, enum policy_trust trust)
{
	static const char *const texts[] = {
		[POLICY_TRUST_AUTO] = "Where the kernel cannot enforce a rule, the program runs, "
				      "and strata says what is not enforced.",
		[POLICY_TRUST_REQUIRE] = "Where the kernel cannot enforce a rule, "
					 "the program does not run.",
		[POLICY_TRUST_FORBID] = "Nothing of this is enforced.",
	};

	say(out, "%s", texts[trust]);
}

struct policy_list sentences_list(const struct policy *policy, struct arena *arena)
{
	struct lists_builder out = { .arena = arena };

	tell_files(&out, &policy->fs);
	tell_protected(&out, policy);
	tell_network(&out, &policy->net);
	tell_programs(&out, &policy->exec);
	tell_variables(&out, &policy->env);
	tell_limits(&out, &policy->limits);
	tell_trust(&out, policy->trust);
	return out.list;
}
