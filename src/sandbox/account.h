/*
 * account - reads /etc/passwd and files like it, without the C library.
 *
 * The files are those of the tree that a command runs in, and they are as untrusted as that tree.
 * The C library's functions for this purpose would load modules from the tree.
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
 * Find an account in this process's /etc/passwd and /etc/group.  The text 'user' is "USER" or
 * "USER:GROUP", and each part is a name or a number.  If GROUP is given, the account has only this
 * group.  A uid that is not listed gets the group of the same number and the home "/".
 */
int account_find(const char *user, struct account *out, struct err *err);
/* As account_find, but 'passwd' and 'group' are the texts of the two files. */
int account_find_in(struct str passwd, struct str group, const char *user, struct account *out,
	struct err *err);

/*
 * Returns the name of a uid in the text of /etc/passwd, or an empty text if the uid is not
 * listed.
 */
struct str account_name(struct str passwd, uid_t uid);
/*
 * Find a user's first range of ids in 'table', the text of /etc/subuid or /etc/subgid.  The user
 * may be listed by name or by number.
 */
bool account_range(struct str table, struct str name, uid_t uid, uint32_t *first, uint32_t *count);

/*
 * Take one line off *text and split it at ':'.  Returns the number of fields (at most n), 0 for an
 * empty line, or -1 at the end of the text.
 */
int account_line(struct str *text, struct str *fields, int n);
bool account_number(struct str text, uint32_t *number);
