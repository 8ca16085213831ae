#include "tree/xattrs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/stub.h"

#define VERSION 1

/*
 * Overlayfs keeps marks in attributes.  The name of a mark begins with MARK_TRUSTED, or with
 * MARK_USER if the overlay was mounted in a user namespace.  A program inside an overlay may set an
 * attribute with such a name.  Overlayfs then stores this attribute in the layer with ESCAPED after
 * the prefix.
 */
#define MARK_USER "user.overlay."
#define MARK_TRUSTED "trusted.overlay."
#define ESCAPED "overlay."
#define SHORT_VALUE 256

static int compare_names(const void *a, const void *b)
{
	return str_cmp(((const struct xattr *)a)->name, ((const struct xattr *)b)->name);
}

void xattrs_encode(struct xattr *list, size_t count, struct buf *out)
{
	if (!count)
		return;
	qsort(list, count, sizeof(*list), compare_names);
	buf_addc(out, VERSION);
	bytes_varint(out, count);
	for (size_t i = 0; i < count; i++) {
		bytes_str(out, list[i].name);
		bytes_str(out, list[i].value);
	}
}

/*
 * Append the value of one attribute to *values.  Returns the length of the value, or -errno.  Most
 * values are short, and the kernel allocates as many bytes as the caller asks for.  So a small
 * buffer is tried first.  The second buffer has room for every value, since the value may grow
 * between the two calls.
 */
static ssize_t read_value(int dirfd, const char *name, const char *attr, struct buf *values)
{
	static const size_t sizes[] = { SHORT_VALUE, AT_XATTR_MAX };
	ssize_t n = -ERANGE;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && n == -ERANGE; i++) {
		char *room = buf_reserve(values, sizes[i]);

		if (!room)
			return -E2BIG;
		n = at_xattr_get(dirfd, name, attr, room, sizes[i]);
	}
	if (n >= 0)
		values->len += (size_t)n;
	return n;
}

static bool starts_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* Returns the prefix MARK_USER or MARK_TRUSTED of the name 'attr', or NULL if it has neither. */
static const char *mark_prefix(const char *attr)
{
	return starts_with(attr, MARK_USER)      ? MARK_USER
	       : starts_with(attr, MARK_TRUSTED) ? MARK_TRUSTED
						 : NULL;
}

bool xattrs_is_mark(const char *attr)
{
	const char *prefix = mark_prefix(attr);

	return prefix && !starts_with(attr + strlen(prefix), ESCAPED);
}

/*
 * Whether attr is a mark of overlayfs other than "opaque".  Only the mark "opaque" has a meaning
 * for the file itself.
 */
static bool is_ignored_mark(const char *attr)
{
	return xattrs_is_mark(attr) && strcmp(attr + strlen(mark_prefix(attr)), "opaque") != 0;
}

/*
 * Returns the name under which an attribute of a file in a layer is recorded.  This is the name
 * that programs in the overlay see, or XATTRS_OPAQUE for the opaque mark.  For all other marks,
 * which are left out, the result is NULL.  'own' is a buffer for the name.
 */
static const char *visible_name(const char *attr, struct str value, char own[XATTRS_NAME_MAX + 1])
{
	const char *prefix = mark_prefix(attr);

	if (!prefix)
		return attr;
	const char *mark = attr + strlen(prefix);
	if (starts_with(mark, ESCAPED)) {
		snprintf(own, XATTRS_NAME_MAX + 1, "%s%s", prefix, mark + strlen(ESCAPED));
		return own;
	}
	return !strcmp(mark, "opaque") && str_eq(value, STR(XATTRS_OPAQUE_VALUE)) ? XATTRS_OPAQUE
										  : NULL;
}

const char *xattrs_escape(const char *attr, char escaped[XATTRS_NAME_MAX + 1])
{
	const char *prefix = mark_prefix(attr);

	if (!prefix)
		return attr;
	snprintf(escaped, XATTRS_NAME_MAX + 1, "%s" ESCAPED "%s", prefix, attr + strlen(prefix));
	return escaped;
}

/*
 * Replace the names of attributes in a layer by the names under which they are recorded.  Returns
 * the number of attributes that remain in the list.  'names' has room for one name for each
 * attribute.
 */
static size_t translate_names(struct xattr *list, size_t count, char (*names)[XATTRS_NAME_MAX + 1])
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		const char *own = visible_name(list[i].name.ptr, list[i].value, names[kept]);

		if (!own)
			continue;
		list[kept] = (struct xattr){ str_of(own), list[i].value };
		kept++;
	}
	return kept;
}

int xattrs_read(int dirfd, const char *name, bool upper, struct buf *out)
{
	char small[512];
	owned_mem char *large = NULL;
	char *names = small;
	ssize_t n = at_xattr_list(dirfd, name, small, sizeof(small));

	if (n == -ERANGE) {
		names = large = mem_alloc(AT_XATTR_MAX);
		n = at_xattr_list(dirfd, name, large, AT_XATTR_MAX);
	}
	if (n <= 0)
		return (int)n;

	owned(buf_release) struct buf values = { .max = XATTRS_BYTES_MAX };
	owned_mem struct xattr *list = mem_alloc(XATTRS_MAX * sizeof(*list));
	size_t count = 0;
	for (const char *attr = names; attr < names + n; attr += strlen(attr) + 1) {
		if ((upper && is_ignored_mark(attr)) || !strcmp(attr, STUB_XATTR))
			continue;
		size_t start = values.len;
		ssize_t len = read_value(dirfd, name, attr, &values);

		/*
		 * Either the attribute was removed meanwhile, or this user may list it but must not
		 * read it, as with trusted.*.
		 */
		if (len == -ENODATA || len == -EPERM)
			continue;
		if (len < 0)
			return (int)len;
		if (count == XATTRS_MAX)
			return -E2BIG;
		list[count].name = str_of(attr);
		/* The pointer is only an offset for now, since the buffer may still move. */
		list[count++].value = (struct str){ (const char *)start, (size_t)len };
	}
	for (size_t i = 0; i < count; i++)
		list[i].value.ptr = values.data + (size_t)list[i].value.ptr;
	owned_mem void *translated = upper ? mem_alloc(count * (XATTRS_NAME_MAX + 1) + 1) : NULL;
	if (upper)
		count = translate_names(list, count, translated);
	xattrs_encode(list, count, out);
	return (int)count;
}

int xattrs_open(struct xattrs_reader *reader, const void *bytes, size_t len, struct err *err)
{
	struct cursor in = cursor_of(bytes, len);
	uint8_t version = cursor_byte(&in);
	uint64_t count = cursor_varint(&in);

	if (in.bad || version != VERSION || !count || count > XATTRS_MAX)
		return err_set(err, ERR_CORRUPT, "malformed extended attributes");
	*reader = (struct xattrs_reader){ .in = in, .left = count };
	return 0;
}

int xattrs_next(struct xattrs_reader *reader, struct xattr *xattr, struct err *err)
{
	struct xattr out;

	if (!reader->left)
		return cursor_left(&reader->in) ? err_set(err, ERR_CORRUPT,
							  "extended attributes with trailing bytes")
						: 0;
	reader->left--;
	out.name = cursor_str(&reader->in);
	out.value = cursor_str(&reader->in);
	if (reader->in.bad || !out.name.len || out.name.len > XATTRS_NAME_MAX ||
		memchr(out.name.ptr, '\0', out.name.len) || out.value.len > AT_XATTR_MAX ||
		(reader->before.ptr && str_cmp(reader->before, out.name) >= 0))
		return err_set(err, ERR_CORRUPT, "malformed extended attributes");
	reader->before = out.name;
	*xattr = out;
	return 1;
}
