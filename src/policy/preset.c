#include "policy/preset.h"

#define LIST(...)                                                                                  \
	{                                                                                          \
		(const char *[]){ __VA_ARGS__ },                                                   \
			sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(const char *)             \
	}

#define SEARCH_DEPTH 3

/* Files with keys, passwords and sessions, which a program could use elsewhere. */
#define SECRETS                                                                                    \
	LIST("~/.ssh", "~/.gnupg", "~/.aws", "~/.azure", "~/.kube", "~/.config/gcloud",            \
		"~/.config/gh", "~/.docker/config.json", "~/.netrc", "~/.git-credentials",         \
		"~/.password-store", "~/.local/share/keyrings", "~/.mozilla",                      \
		"~/.config/google-chrome", "~/.config/google-chrome-beta", "~/.config/chromium",   \
		"~/.config/BraveSoftware", "~/.config/microsoft-edge", "~/.config/opera",          \
		"~/.config/vivaldi", "~/.librewolf", "~/.thunderbird", "~/snap/firefox",           \
		"~/snap/chromium", "~/.var/app/org.mozilla.firefox",                               \
		"~/.var/app/com.google.Chrome", "~/.var/app/org.chromium.Chromium")

/* Variables that describe the user and the place of files, and contain no secrets. */
#define HARMLESS                                                                                   \
	LIST("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "COLORTERM", "LANG", "LC_*",      \
		"TZ", "NO_COLOR", "TMPDIR")

const struct policy preset_none = {
	.fs = { .allow_read = LIST("/"), .search_depth = SEARCH_DEPTH },
	.net = { .mode = POLICY_NET_NONE },
	.env = { .allow = HARMLESS },
};

const struct policy preset_all[] = {
	{
		.preset = "offline",
		.fs = {
			.allow_read = LIST("/"),
			.deny_read = SECRETS,
			.allow_write = LIST("$WORKSPACE", "/tmp"),
			.search_depth = SEARCH_DEPTH,
		},
		.net = { .mode = POLICY_NET_NONE, .allow_local_binding = true },
		.env = { .allow = HARMLESS },
	},
	{
		.preset = "open",
		.fs = {
			.allow_read = LIST("/"),
			.allow_write = LIST("/"),
			.search_depth = SEARCH_DEPTH,
		},
		.net = { .mode = POLICY_NET_HOST, .allow_local_binding = true },
		.exec = { .nested = true },
		.env = { .allow = HARMLESS },
	},
	{
		.preset = "readonly",
		.fs = {
			.allow_read = LIST("/"),
			.deny_read = SECRETS,
			.search_depth = SEARCH_DEPTH,
		},
		.net = { .mode = POLICY_NET_NONE },
		.env = { .allow = HARMLESS },
	},
	{
		.preset = "workspace",
		.fs = {
			.allow_read = LIST("/"),
			.deny_read = SECRETS,
			.allow_write = LIST("$WORKSPACE", "/tmp"),
			.search_depth = SEARCH_DEPTH,
		},
		.net = { .mode = POLICY_NET_HOST, .allow_local_binding = true },
		.exec = { .nested = true },
		.env = { .allow = HARMLESS },
	},
	{ 0 },
};

const struct policy *preset_find(struct str name)
{
	for (const struct policy *preset = preset_all; preset->preset; preset++)
		if (str_eq(str_of(preset->preset), name))
			return preset;
	return NULL;
}
