#include "core/mountinfo.h"

#include <string.h>

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* Decode, in place, the \ooo that the kernel writes for a space, tab, newline or backslash. */
static char *unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from;) {
		if (from[0] == '\\' && is_octal(from[1]) && is_octal(from[2]) &&
			is_octal(from[3])) {
			*to++ = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 |
				       (from[3] - '0'));
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
	return text;
}

/* Parse, for example, "36 35 98:0 /root /mount/point rw,noatime master:1 - ext4 /dev/root rw". */
static bool parse_line(char *line, struct mountinfo *mount)
{
	const char *tag;

	for (int i = 0; i < 2; i++)
		(void)strsep(&line, " ");
	char *device = strsep(&line, " ");
	char *root = strsep(&line, " ");
	char *point = strsep(&line, " ");
	/* Skip the options and any number of tags. */
	do
		tag = strsep(&line, " ");
	while (tag && strcmp(tag, "-"));
	mount->type = strsep(&line, " ");
	if (!mount->type)
		return false;
	mount->source = line ? unescape(strsep(&line, " ")) : "";
	mount->device = device;
	mount->root = unescape(root);
	mount->point = unescape(point);
	return true;
}

bool mountinfo_next(char **text, struct mountinfo *mount)
{
	char *line;

	while ((line = strsep(text, "\n")))
		if (parse_line(line, mount))
			return true;
	return false;
}
