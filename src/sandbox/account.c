#include "sandbox/account.h"

#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"
#include "core/procfile.h"

#define NO_HOME "/"
#define NO_SHELL "/bin/sh"

enum passwd_field { NAME, PASSWORD, UID, GID, COMMENT, HOME, SHELL, PASSWD_FIELDS };
enum group_field { GROUP_NAME, GROUP_PASSWORD, GROUP_ID, GROUP_MEMBERS, GROUP_FIELDS };

/* Take the text before a separator off *text, and remove the separator, too. */
static struct str take_until(struct str *text, char separator)
{
	const char *end = text->len ? memchr(text->ptr, separator, text->len) : NULL;
	struct str part = { text->ptr, end ? (size_t)(end - text->ptr) : text->len };
	size_t used = part.len + (end != NULL);

	text->ptr += used;
	text->len -= used;
	return part;
}

int account_line(struct str *text, struct str *fields, int n)
{
	if (!text->len)
		return -1;

	struct str line = take_until(text, '\n');
	int found = 0;
	while (found < n && line.len)
		fields[found++] = take_until(&line, ':');
	return found;
}

bool account_number(struct str text, uint32_t *number)
{
	uint64_t value = 0;

	if (!text.len || text.len > 10)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] < '0' || text.ptr[i] > '9')
			return false;
		value = value * 10 + (uint64_t)(text.ptr[i] - '0');
	}
	/* In every system call that takes ids, the largest number stands for "no id". */
	if (value >= UINT32_MAX)
		return false;
	*number = (uint32_t)value;
	return true;
}

struct str account_name(struct str passwd, uid_t uid)
{
	struct str field[UID + 1];
	uint32_t number;
	int n;

	while ((n = account_line(&passwd, field, UID + 1)) >= 0)
		if (n > UID && account_number(field[UID], &number) && number == uid)
			return field[NAME];
	return (struct str){ 0 };
}

bool account_range(struct str table, struct str name, uid_t uid, uint32_t *first, uint32_t *count)
{
	struct str field[3];
	uint32_t number;
	int n;

	while ((n = account_line(&table, field, 3)) >= 0) {
		bool ours = n == 3 && ((name.len && str_eq(field[0], name)) ||
					      (account_number(field[0], &number) && number == uid));

		if (ours && account_number(field[1], first) && account_number(field[2], count) &&
			*count)
			return true;
	}
	return false;
}

static char *copy_field(struct str field, const char *otherwise)
{
	return field.len ? mem_printf("%.*s", (int)field.len, field.ptr) : mem_strdup(otherwise);
}

static void copy_passwd(const struct str field[PASSWD_FIELDS], int n, struct account *out)
{
	const struct str none = { 0 };

	out->name = copy_field(field[NAME], "");
	out->home = copy_field(n > HOME ? field[HOME] : none, NO_HOME);
	out->shell = copy_field(n > SHELL ? field[SHELL] : none, NO_SHELL);
}

/* Find the user with the given name or uid.  A uid that the file does not list counts as found. */
static bool find_passwd(struct str text, struct str user, struct account *out)
{
	struct str field[PASSWD_FIELDS];
	uint32_t uid = 0, its_uid, its_gid;
	bool by_number = account_number(user, &uid);
	int n;

	while ((n = account_line(&text, field, PASSWD_FIELDS)) >= 0) {
		if (n <= GID || !account_number(field[UID], &its_uid) ||
			!account_number(field[GID], &its_gid))
			continue;
		if (by_number ? its_uid != uid : !str_eq(field[NAME], user))
			continue;
		out->uid = its_uid;
		out->gid = its_gid;
		copy_passwd(field, n, out);
		return true;
	}
	if (!by_number)
		return false;
	out->uid = out->gid = uid;
	out->name = mem_printf("%u", uid);
	out->home = mem_strdup(NO_HOME);
	out->shell = mem_strdup(NO_SHELL);
	return true;
}

static bool is_member(struct str members, struct str name)
{
	while (members.len)
		if (str_eq(take_until(&members, ','), name))
			return true;
	return false;
}

static void find_groups(struct str text, struct str name, struct account *out)
{
	struct str field[GROUP_FIELDS];
	uint32_t gid;
	int n;

	while ((n = account_line(&text, field, GROUP_FIELDS)) >= 0)
		if (n == GROUP_FIELDS && account_number(field[GROUP_ID], &gid) &&
			out->n_groups < ACCOUNT_GROUPS_MAX && is_member(field[GROUP_MEMBERS], name))
			out->groups[out->n_groups++] = gid;
}

/* Find the gid of the group with the given name or number. */
static bool find_group(struct str text, struct str group, gid_t *gid)
{
	struct str field[GROUP_FIELDS];
	uint32_t its_gid;
	int n;

	if (account_number(group, &its_gid)) {
		*gid = its_gid;
		return true;
	}
	while ((n = account_line(&text, field, GROUP_FIELDS)) >= 0) {
		if (n <= GROUP_ID || !account_number(field[GROUP_ID], &its_gid) || !group.len ||
			!str_eq(field[GROUP_NAME], group))
			continue;
		*gid = its_gid;
		return true;
	}
	return false;
}

void account_release(struct account *account)
{
	free(account->name);
	free(account->home);
	free(account->shell);
	*account = (struct account){ 0 };
}

/* Read /etc/passwd or /etc/group.  A file that the tree does not have counts as empty. */
static int read_table(const char *path, struct buf *out, struct err *err)
{
	int r = procfile_read(path, ACCOUNT_FILE_MAX, out, err);

	return r == -ERR_NOT_FOUND ? 0 : r;
}

int account_find_in(
	struct str passwd, struct str group, const char *user, struct account *out, struct err *err)
{
	owned(account_release) struct account found = { 0 };
	struct str its_group = str_of(user);
	struct str its_user = take_until(&its_group, ':');

	if (!find_passwd(passwd, its_user, &found))
		return err_set(err, ERR_NOT_FOUND,
			"no user '%.*s' in /etc/passwd of this environment", (int)its_user.len,
			its_user.ptr);
	if (its_user.len == strlen(user))
		find_groups(group, str_of(found.name), &found);
	else if (!find_group(group, its_group, &found.gid))
		return err_set(err, ERR_NOT_FOUND,
			"no group '%.*s' in /etc/group of this environment", (int)its_group.len,
			its_group.ptr);
	*out = found;
	found = (struct account){ 0 };
	return 0;
}

int account_find(const char *user, struct account *out, struct err *err)
{
	owned(buf_release) struct buf passwd = BUF_INIT, group = BUF_INIT;

	if (read_table("/etc/passwd", &passwd, err) < 0 ||
		read_table("/etc/group", &group, err) < 0)
		return err_context(err, "user '%s'", user);
	return account_find_in((struct str){ passwd.data, passwd.len },
		(struct str){ group.data, group.len }, user, out, err);
}
