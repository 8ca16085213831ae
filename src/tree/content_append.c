/* content_append - a sink for content that appends to a buffer.  It needs no store. */
#include "tree/content.h"

int content_append(void *arg, const void *bytes, uint64_t len, struct err *err)
{
	struct buf *out = arg;
	char *room = buf_reserve(out, len);

	if (!room)
		return err_set(err, ERR_LIMIT, "content too large");
	if (bytes)
		memcpy(room, bytes, len);
	else
		memset(room, 0, len);
	out->len += len;
	out->data[out->len] = '\0';
	return 0;
}
