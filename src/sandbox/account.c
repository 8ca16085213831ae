#include "sandbox/account.h"

#include "core/own.h"
#include "sandbox/procfile.h"

enum passwd_field { NAME, PASSWORD, UID, GID, PASSWD_FIELDS };
enum group_field { GROUP_NAME, GROUP_PASSWORD, GROUP_ID, GROUP_MEMBERS, GROUP_FIELDS };

/* Everything up to a separator, which is taken off too. */
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
	/* The last one stands for "no id" in every call that takes ids. */
	if (value >= UINT32_MAX)
		return false;
	*number = (uint32_t)value;
	return true;
}

/* The line of a name or, where by_number, of a uid; the account's name goes to *name. */
static bool find_passwd(struct str text, struct str user, bool by_number, uint32_t uid,
	struct account *out, struct str *name)
{
	struct str field[PASSWD_FIELDS];
	uint32_t its_uid, its_gid;
	int n;

	while ((n = account_line(&text, field, PASSWD_FIELDS)) >= 0) {
		if (n < PASSWD_FIELDS || !account_number(field[UID], &its_uid) ||
			!account_number(field[GID], &its_gid))
			continue;
		if (by_number ? its_uid != uid : !str_eq(field[NAME], user))
			continue;
		out->uid = its_uid;
		out->gid = its_gid;
		*name = field[NAME];
		return true;
	}
	return false;
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

/* A tree without the file has nobody in it. */
static int read_table(const char *path, struct buf *out, struct err *err)
{
	int r = procfile_read(path, ACCOUNT_FILE_MAX, out, err);

	return r == -ERR_NOT_FOUND ? 0 : r;
}

static struct str str_of_buf(const struct buf *buf)
{
	return (struct str){ buf->data, buf->len };
}

int account_find(const char *user, struct account *out, struct err *err)
{
	owned(buf_release) struct buf passwd = BUF_INIT;
	owned(buf_release) struct buf group = BUF_INIT;
	struct account found = { 0 };
	struct str name = { 0 };
	uint32_t uid = 0;
	bool by_number = account_number(str_of(user), &uid);

	if (read_table("/etc/passwd", &passwd, err) < 0 ||
		read_table("/etc/group", &group, err) < 0)
		return err_context(err, "user '%s'", user);
	if (!find_passwd(str_of_buf(&passwd), str_of(user), by_number, uid, &found, &name)) {
		if (!by_number)
			return err_set(err, ERR_NOT_FOUND,
				"no user '%s' in /etc/passwd of this environment", user);
		found.uid = uid;
		found.gid = uid;
	}
	if (name.len)
		find_groups(str_of_buf(&group), name, &found);
	*out = found;
	return 0;
}
