/*
 * valuetext - a value of a JSON result as text for people.
 *
 * The name of a member says what it is: 'mtime' and 'creation' are times, 'size' and '..._bytes'
 * are sizes, and so on.  Texts are quoted as by output_name, so they cannot control the terminal.
 */
#pragma once
#include "core/jsonread.h"

/* Append the text of a member.  An object has none, and a list of objects its length. */
void valuetext_add(struct buf *out, struct str name, const struct jsonread *value);
/* Whether values of this member are numbers to be compared with those above and below them. */
bool valuetext_is_number(struct str name, const struct jsonread *value);
/* Whether a value tells nothing in a table: null, an empty list, or an empty text. */
bool valuetext_is_empty(const struct jsonread *value);
/* Returns how many columns of a terminal the text takes, if no character is wider than one. */
size_t valuetext_width(struct str text);
