#include "policy/keys.h"

#include <stdio.h>

static const char *const net_modes[] = { "none", "host", "allowlist", NULL };
static const char *const trusts[] = { "auto", "require", "forbid", NULL };

#define KEY(SECTION, NAME, KIND, ROLE, MEMBER, ...)                                                \
	{                                                                                          \
		.section = (SECTION), .name = (NAME), .kind = KEYS_##KIND, .role = KEYS_##ROLE,    \
		.offset = offsetof(struct policy, MEMBER), __VA_ARGS__                             \
	}

const struct keys_key keys_all[] = {
	KEY("fs", "allow_read", PATHS, ALLOWS, fs.allow_read),
	KEY("fs", "deny_read", PATHS, DENIES, fs.deny_read),
	KEY("fs", "allow_read_within_deny", PATHS, ALLOWS, fs.allow_read_within_deny),
	KEY("fs", "allow_write", PATHS, ALLOWS, fs.allow_write),
	KEY("fs", "deny_write_within_allow", PATHS, DENIES, fs.deny_write_within_allow),
	KEY("fs", "grantable", PATHS, ALLOWS, fs.grantable),
	KEY("fs", "allow_git_config", FLAG, ALLOWS, fs.allow_git_config),
	KEY("fs", "mandatory_deny_search_depth", DEPTH, DENIES, fs.search_depth),
	KEY("net", "mode", CHOICE, ALLOWS, net.mode, .choices = net_modes),
	KEY("net", "allowed_domains", DOMAINS, ALLOWS, net.allowed),
	KEY("net", "denied_domains", DOMAINS, DENIES, net.denied),
	KEY("net", "grantable", DOMAINS, ALLOWS, net.grantable),
	KEY("net", "allow_local_binding", FLAG, ALLOWS, net.allow_local_binding),
	KEY("net", "unix_sockets", PATHS, ALLOWS, net.unix_sockets),
	KEY("exec", "allow", PATHS, ALLOWS, exec.allow),
	KEY("exec", "deny", PATHS, DENIES, exec.deny),
	KEY("exec", "nested", FLAG, ALLOWS, exec.nested),
	KEY("env", "allow", NAMES, ALLOWS, env.allow),
	KEY("env", "set", SET, ALLOWS, env.set),
	KEY("limits", "cpu_time_secs", LIMIT, DENIES, limits.cpu_time_secs),
	KEY("limits", "wall_time_secs", LIMIT, DENIES, limits.wall_time_secs),
	KEY("limits", "max_rss_bytes", LIMIT, DENIES, limits.max_rss_bytes),
	KEY("limits", "max_open_fds", LIMIT, DENIES, limits.max_open_fds),
	KEY("limits", "max_processes", LIMIT, DENIES, limits.max_processes),
	KEY("limits", "max_output_bytes", LIMIT, DENIES, limits.max_output_bytes),
	KEY(NULL, "trust", CHOICE, DENIES, trust, .choices = trusts),
	{ 0 },
};

static bool same_section(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

const char *keys_text(const struct keys_key *key, char out[KEYS_TEXT_MAX])
{
	snprintf(out, KEYS_TEXT_MAX, "%s%s%s", key->section ?: "", key->section ? "." : "",
		key->name);
	return out;
}

const struct keys_key *keys_find(const char *section, struct str name)
{
	for (const struct keys_key *key = keys_all; key->name; key++)
		if (same_section(key->section, section) && str_eq(str_of(key->name), name))
			return key;
	return NULL;
}

bool keys_is_section(struct str name)
{
	for (const struct keys_key *key = keys_all; key->name; key++)
		if (key->section && str_eq(str_of(key->section), name))
			return true;
	return false;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * Returns the number of bytes that must be inserted, removed or replaced to turn one name into the
 * other.
 */
static size_t distance(struct str a, const char *b)
{
	size_t row[KEYS_TEXT_MAX], n = strlen(b);

	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 0; i < a.len; i++) {
		size_t before = row[0]++;

		for (size_t j = 0; j < n; j++) {
			size_t change = before + (a.ptr[i] != b[j]);

			before = row[j + 1];
			row[j + 1] = smaller(change, smaller(row[j], before) + 1);
		}
	}
	return row[n];
}

const char *keys_nearest(const char *section, struct str name, char out[KEYS_TEXT_MAX])
{
	static const char *const others[] = { "preset", "fs", "net", "exec", "env", "limits" };
	size_t best = SIZE_MAX;

	if (name.len > KEYS_TEXT_MAX)
		name.len = KEYS_TEXT_MAX;
	for (const struct keys_key *key = keys_all; key->name; key++) {
		/* If two keys are equally near, choose the one in the same section. */
		size_t far = 2 * distance(name, key->name) + !same_section(section, key->section);

		if (far < best)
			best = far, keys_text(key, out);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		size_t far = 2 * distance(name, others[i]) + !!section;

		if (far < best)
			best = far, snprintf(out, KEYS_TEXT_MAX, "%s", others[i]);
	}
	return out;
}
