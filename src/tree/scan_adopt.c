#include "tree/scan_adopt.h"

#include "tree/scan_priv.h"

static bool is_override_needed(const struct scan_adopt *it)
{
	const struct windex_override *wanted = &it->wanted;
	const struct windex_record *now = &it->now;

	return wanted->type != now->type || wanted->unread || wanted->uid != now->uid ||
	       wanted->gid != now->gid || wanted->mode != now->mode ||
	       !hash_eq(&wanted->found_xattrs, &it->xattrs);
}

/* What treeapply makes where it cannot make the thing itself: an empty file. */
static bool needs_stand_in(const struct entry *entry)
{
	return entry->type == ENTRY_CHAR || entry->type == ENTRY_BLOCK ||
	       (entry->type == ENTRY_FILE && entry->content == ENTRY_UNREAD);
}

/* Whether this is what treeapply made of the entry. */
static bool is_made_of(const struct windex_record *now, const struct entry *entry, int64_t since)
{
	if (now->ctime_sec * SCAN_SECOND + now->ctime_nsec < since ||
		now->mtime_sec != entry->mtime_sec || now->mtime_nsec != entry->mtime_nsec)
		return false;
	if (needs_stand_in(entry) && now->type == ENTRY_FILE)
		return !now->size;
	if (now->type != entry->type)
		return false;
	switch (now->type) {
	case ENTRY_FILE:
	case ENTRY_LINK:
		return now->size == entry->size;
	case ENTRY_CHAR:
	case ENTRY_BLOCK:
		return now->size == ((uint64_t)entry->major << 32 | entry->minor);
	default:
		return true;
	}
}

bool scan_adopt_entry(struct scan_adopt *it, const struct entry *entry, int64_t since)
{
	bool unread = entry->type == ENTRY_FILE && entry->content == ENTRY_UNREAD;
	struct windex_record *now = &it->now;

	if (!is_made_of(now, entry, since))
		return false;
	now->link = entry->link;
	if (now->type == ENTRY_FILE && entry->type == ENTRY_FILE) {
		now->hash = entry->hash;
		now->content = unread ? ENTRY_EMPTY : (uint8_t)entry->content;
	}
	now->flags &= (uint16_t)~WINDEX_UNHASHED;
	it->wanted = (struct windex_override){
		.type = (uint8_t)entry->type,
		.unread = unread,
		.size = entry->size,
		.mode = (uint16_t)entry->mode,
		.uid = entry->uid,
		.gid = entry->gid,
		.major = entry->major,
		.minor = entry->minor,
		.found_xattrs = it->found,
	};
	it->xattrs = entry->xattrs;
	it->override = is_override_needed(it);
	return true;
}

void scan_adopt_carry(struct scan_adopt *it, const struct windex_item *old)
{
	struct windex_override *wanted = &it->wanted;
	const struct windex_record *was = &old->record;
	struct windex_record *now = &it->now;

	if (!(was->flags & WINDEX_OVERRIDE) || was->type != now->type)
		return;
	*wanted = old->override;
	wanted->found_xattrs = it->found;
	if (now->uid != was->uid)
		wanted->uid = now->uid;
	if (now->gid != was->gid)
		wanted->gid = now->gid;
	if (now->mode != was->mode)
		wanted->mode = now->mode;
	/* A stand-in stays one until it gets content or is replaced. */
	if (now->ino != was->ino || now->size) {
		wanted->type = now->type;
		wanted->unread = false;
	}
	if (hash_eq(&it->found, &old->override.found_xattrs))
		it->xattrs = old->xattrs;
	it->override = is_override_needed(it);
	/* A stand-in, which is empty, has nothing to read. */
	if (it->override && (wanted->unread || wanted->type != now->type))
		now->flags &= (uint16_t)~WINDEX_UNHASHED;
}
