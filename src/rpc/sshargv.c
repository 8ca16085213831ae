#include "rpc/sshargv.h"

#include <string.h>

#include "core/own.h"
#include "rpc/hosts.h"

/*
 * The options that a hosts file may give.  Options that change the standard streams of ssh, or the
 * way ssh runs the command, are left out (-T -t -N -n -f -s -W -O -E -y).  So are options that only
 * print (-G -Q -V), and forwardings (-D -L -R -w -X -Y), which queries do not need.
 */
static const char plain_options[] = "46AaCKkqvx";
static const char options_with_argument[] = "BbcFIiJlmopPS";

/* Whether an item is a setting of ssh_config, such as "Port=2222". */
static bool is_setting(const char *text)
{
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");

	return n && text[n] == '=' && text[n + 1];
}

/*
 * Returns the reason why an option cannot be used, or NULL.  *wants_next becomes true if the next
 * item is the argument of the option.  An option may have several letters, as in "-4C".  A letter
 * with an argument comes last, as in "-4p22".
 */
static const char *refuse_option(const char *option, bool *wants_next)
{
	*wants_next = false;
	if (!option[1])
		return "a '-' alone is no option";
	for (const char *letter = option + 1; *letter; letter++) {
		if (strchr(options_with_argument, *letter)) {
			*wants_next = !letter[1];
			return NULL;
		}
		if (!strchr(plain_options, *letter))
			return "ssh has no such option, or queries cannot work with it";
	}
	return NULL;
}

const char *sshargv_refuse(const struct param_texts *options, size_t *bad)
{
	bool wants_next = false;

	for (size_t i = 0; i < options->count; i++) {
		const char *item = options->list[i], *why;

		*bad = i;
		if (wants_next) {
			wants_next = false;
			continue;
		}
		if (*item == '-') {
			why = refuse_option(item, &wants_next);
			if (why)
				return why;
		} else if (!is_setting(item)) {
			return "an item is an option of ssh (\"-p\", \"22\") or a setting "
			       "(\"Port=22\")";
		}
	}
	return wants_next ? "its argument is missing" : NULL;
}

static void add_options(
	const struct param_texts *options, struct arena *arena, struct param_texts *argv)
{
	bool wants_next = false;

	for (size_t i = 0; i < options->count; i++) {
		const char *item = options->list[i];

		if (!wants_next && *item != '-')
			param_texts_add(argv, arena, "-o");
		if (wants_next || *item != '-')
			wants_next = false;
		else
			(void)refuse_option(item, &wants_next);
		param_texts_add(argv, arena, item);
	}
}

const char *const *sshargv_make(
	const struct hosts_host *host, const char *command, struct arena *arena)
{
	/* ssh uses the first value of a setting, so the settings of the hosts file come later. */
	static const char *const first[] = { "ssh", "-T", "-o", "BatchMode=yes", "-o",
		"ServerAliveInterval=30", "-o", "ServerAliveCountMax=3" };
	struct param_texts argv = { 0 };

	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		param_texts_add(&argv, arena, first[i]);
	add_options(&host->ssh_options, arena, &argv);
	param_texts_add(&argv, arena, "--");
	param_texts_add(&argv, arena, host->ssh_target);
	param_texts_add(&argv, arena, command);
	param_texts_add(&argv, arena, NULL);
	return argv.list;
}

static bool needs_quotes(const char *text)
{
	return !*text || text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					   "0123456789_./:,+-@")];
}

const char *sshargv_quote(const struct param_texts *arguments, struct arena *arena)
{
	owned(buf_release) struct buf out = BUF_INIT;

	for (size_t i = 0; i < arguments->count; i++) {
		const char *text = arguments->list[i];

		if (i)
			buf_addc(&out, ' ');
		if (!needs_quotes(text)) {
			buf_adds(&out, text);
			continue;
		}
		buf_addc(&out, '\'');
		for (; *text; text++)
			if (*text == '\'')
				buf_adds(&out, "'\\''");
			else
				buf_addc(&out, *text);
		buf_addc(&out, '\'');
	}
	return arena_str(arena, (struct str){ out.data ?: "", out.len }).ptr;
}

void sshargv_options(const struct hosts_host *host, const struct param_texts *further,
	struct arena *arena, struct param_texts *argv)
{
	param_texts_add(argv, arena, "query");
	for (size_t i = 0; host->allow_restore && i < host->restore_paths.count; i++) {
		param_texts_add(argv, arena, "--allow-restore");
		param_texts_add(argv, arena, host->restore_paths.list[i]);
	}
	for (size_t i = 0; i < further->count; i++)
		param_texts_add(argv, arena, further->list[i]);
}

void sshargv_agent(const struct hosts_host *host, const char *program,
	const struct param_texts *further, struct arena *arena, struct param_texts *argv)
{
	static const char *const sudo[] = { "sudo", "-n", "--" };

	for (size_t i = 0; host->sudo && i < sizeof(sudo) / sizeof(sudo[0]); i++)
		param_texts_add(argv, arena, sudo[i]);
	param_texts_add(argv, arena, program);
	sshargv_options(host, further, arena, argv);
}
