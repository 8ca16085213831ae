/* policy_write - writes a policy as JSON. */
#include "core/mem.h"
#include "core/own.h"
#include "policy/keys.h"

static void write_list(struct json *out, const char *name, const struct policy_list *list)
{
	json_open(out, name, '[');
	for (size_t i = 0; i < list->n; i++)
		json_text(out, NULL, list->list[i]);
	json_close(out);
}

static void write_set(struct json *out, const char *name, const struct policy_list *list)
{
	json_open(out, name, '{');
	for (size_t i = 0; i < list->n; i++) {
		const char *equals = strchr(list->list[i], '=');
		owned_mem char *variable =
			mem_printf("%.*s", (int)(equals - list->list[i]), list->list[i]);

		json_text(out, variable, equals + 1);
	}
	json_close(out);
}

static void write_number(struct json *out, const char *name, int64_t number, bool or_null)
{
	if (or_null && !number)
		json_none(out, name);
	else
		json_int(out, name, number);
}

static void write_key(struct json *out, const struct keys_key *key, const struct policy *policy)
{
	const void *slot = keys_slot(key, policy);

	switch (key->kind) {
	case KEYS_FLAG:
		json_bool(out, key->name, *(const bool *)slot);
		break;
	case KEYS_LIMIT:
	case KEYS_DEPTH:
		write_number(out, key->name, *(const int64_t *)slot, key->kind == KEYS_LIMIT);
		break;
	case KEYS_CHOICE:
		json_text(out, key->name, key->choices[*(const unsigned *)slot]);
		break;
	case KEYS_SET:
		write_set(out, key->name, slot);
		break;
	default:
		write_list(out, key->name, slot);
		break;
	}
}

void policy_write_members(struct json *out, const struct policy *policy)
{
	const char *section = NULL;

	for (const struct keys_key *key = keys_all; key->name; key++) {
		if (section && (!key->section || strcmp(section, key->section) != 0))
			json_close(out);
		if (key->section && key->section != section)
			json_open(out, key->section, '{');
		section = key->section;
		write_key(out, key, policy);
	}
	if (section)
		json_close(out);
}

void policy_write(struct json *out, const char *key, const struct policy *policy)
{
	json_open(out, key, '{');
	policy_write_members(out, policy);
	json_close(out);
}
