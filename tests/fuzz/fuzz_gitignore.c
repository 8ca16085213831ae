/* The input consists of rules, an empty line and a path.  The matcher must answer soon. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "worker/gitignore.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = { (const char *)data, size };
	const char *end = size ? memmem(text.ptr, size, "\n\n", 2) : NULL;
	struct str rules = { text.ptr, end ? (size_t)(end - text.ptr) : 0 };
	struct str path = { text.ptr + rules.len, size - rules.len };
	struct gitignore ignore;

	if (!end || path.len > 4096 || rules.len > 4096)
		return 0;
	gitignore_init(&ignore, NULL, STR(""), rules);
	(void)gitignore_has(&ignore, path, false);
	(void)gitignore_has(&ignore, path, true);
	gitignore_release(&ignore);
	return 0;
}
