#include "query/snapname.h"

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static bool has_form(struct str name, const char *others)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];

		if (!is_word(c) && (!i || !c || !strchr(others, c)))
			return false;
	}
	return name.len && name.ptr[name.len - 1] != ' ';
}

bool snapname_is_dataset(struct str name)
{
	return has_form(name, ".:/ -");
}

bool snapname_is_snapshot(struct str name)
{
	return has_form(name, ".: -");
}
