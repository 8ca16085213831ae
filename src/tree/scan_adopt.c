#include "tree/scan_adopt.h"

#include "tree/scan_priv.h"

static bool is_override_needed(const struct scan_adopt *item)
{
	const struct windex_override *wanted = &item->wanted;
	const struct windex_record *now = &item->now;

	return wanted->type != now->type || wanted->unread || wanted->uid != now->uid ||
	       wanted->gid != now->gid || wanted->mode != now->mode ||
	       !hash_eq(&wanted->found_xattrs, &item->xattrs);
}

/*
 * Whether treeapply makes an empty file, called a stand-in, when it cannot make the file of this
 * entry.
 */
static bool needs_stand_in(const struct entry *entry)
{
	return entry->type == ENTRY_CHAR || entry->type == ENTRY_BLOCK ||
	       (entry->type == ENTRY_FILE && entry->content == ENTRY_UNREAD);
}

static int64_t ctime_of(const struct windex_record *record)
{
	return record->ctime_sec * SCAN_SECOND + record->ctime_nsec;
}

/* Whether only treeapply has changed the inode since the old record was made. */
static bool is_untouched(const struct windex_record *now, const struct windex_record *old,
	const struct applied_inode *note)
{
	if (!note || note->after != ctime_of(now))
		return false;
	return !note->before || (old && old->ino == now->ino && ctime_of(old) == note->before &&
					!(old->flags & WINDEX_UNHASHED));
}

/* Whether each attribute either equals that of the entry or could not be set. */
static bool do_attributes_fit(
	const struct scan_adopt *item, const struct entry *entry, unsigned lacks)
{
	const struct windex_record *now = &item->now;

	return ((now->uid == entry->uid && now->gid == entry->gid) || lacks & APPLIED_NO_OWNER) &&
	       (now->mode == entry->mode || now->type == ENTRY_LINK || lacks & APPLIED_NO_MODE) &&
	       (hash_eq(&item->found, &entry->xattrs) || lacks & APPLIED_NO_XATTRS);
}

/* Whether the live file has the type, size and mtime of the entry. */
static bool does_content_fit(
	const struct windex_record *now, const struct entry *entry, unsigned lacks)
{
	if (now->mtime_sec != entry->mtime_sec || now->mtime_nsec != entry->mtime_nsec)
		return false;
	if (needs_stand_in(entry) && now->type == ENTRY_FILE)
		return !now->size && (entry->type == ENTRY_FILE || lacks & APPLIED_NO_TYPE);
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

bool scan_adopt_entry(struct scan_adopt *item, const struct entry *entry,
	const struct applied *applied, const struct windex_record *old)
{
	bool unread = entry->type == ENTRY_FILE && entry->content == ENTRY_UNREAD;
	struct windex_record *now = &item->now;

	const struct applied_inode *note = applied_find(applied, now->ino);

	/*
	 * A file is not adopted if its hard link could not be made.  The next checkout then tries
	 * again.
	 */
	if (entry->link && !(now->flags & WINDEX_LINKED))
		return false;
	if (!is_untouched(now, old, note) || !does_content_fit(now, entry, note->lacks) ||
		!do_attributes_fit(item, entry, note->lacks))
		return false;
	now->link = entry->link;
	if (now->type == ENTRY_FILE && entry->type == ENTRY_FILE) {
		now->hash = entry->hash;
		now->content = unread ? ENTRY_EMPTY : (uint8_t)entry->content;
	}
	now->flags &= (uint16_t)~WINDEX_UNHASHED;
	item->wanted = (struct windex_override){
		.type = (uint8_t)entry->type,
		.unread = unread,
		.size = entry->size,
		.mode = (uint16_t)entry->mode,
		.uid = entry->uid,
		.gid = entry->gid,
		.major = entry->major,
		.minor = entry->minor,
		.found_xattrs = item->found,
	};
	item->xattrs = entry->xattrs;
	item->override = is_override_needed(item);
	return true;
}

void scan_adopt_carry(struct scan_adopt *item, const struct windex_item *old)
{
	struct windex_override *wanted = &item->wanted;
	const struct windex_record *was = &old->record;
	struct windex_record *now = &item->now;

	if (!(was->flags & WINDEX_OVERRIDE) || was->type != now->type)
		return;
	*wanted = old->override;
	wanted->found_xattrs = item->found;
	if (now->uid != was->uid)
		wanted->uid = now->uid;
	if (now->gid != was->gid)
		wanted->gid = now->gid;
	if (now->mode != was->mode)
		wanted->mode = now->mode;
	/* A stand-in remains a stand-in until it gets content or another file replaces it. */
	if (now->ino != was->ino || now->size) {
		wanted->type = now->type;
		wanted->unread = false;
	}
	if (hash_eq(&item->found, &old->override.found_xattrs))
		item->xattrs = old->xattrs;
	item->override = is_override_needed(item);
	/* A stand-in is empty, so no content has to be read. */
	if (item->override && (wanted->unread || wanted->type != now->type))
		now->flags &= (uint16_t)~WINDEX_UNHASHED;
}
