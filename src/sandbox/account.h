/*
 * account - /etc/passwd and its like, read by hand.
 *
 * Neither the C library's lookups nor the modules they load belong here: the
 * files are those of the tree a command runs in, and their text is as
 * untrusted as the tree.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/buf.h"
#include "core/err.h"
#include "core/str.h"

#define ACCOUNT_FILE_MAX ((size_t)4 << 20)
#define ACCOUNT_GROUPS_MAX 64 /* supplementary groups of one user; more are left out */

struct account {
	uid_t uid;
	gid_t gid;
	gid_t groups[ACCOUNT_GROUPS_MAX];
	size_t n_groups;
	char *name, *home, *shell; /* owned */
};

void account_release(struct account *account);

/*
 * Who user is by this process's /etc/passwd and /etc/group: a name or a number, and after a ':'
 * optionally the name or number of a group, which then is the only one.  A number
 * nobody has listed is its own group, and its home is "/".
 */
int account_find(const char *user, struct account *out, struct err *err);
/* The same in the text of these files. */
int account_find_in(struct str passwd, struct str group, const char *user, struct account *out,
	struct err *err);

/*
 * Take one line off text and split it at ':'.  Returns how many of the n fields
 * it has, 0 for an empty line, -1 at the end of the text.
 */
int account_line(struct str *text, struct str *fields, int n);
bool account_number(struct str text, uint32_t *number);
