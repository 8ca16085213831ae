/*
 * valuetext - a value of a JSON result as text for people.
 *
 * The name of a member says which kind of value it has: 'mtime' and 'creation' are times, 'size'
 * and '..._bytes' are sizes, and so on.  Texts are quoted as by output_name, so they cannot control
 * the terminal.
 */
#pragma once
#include "core/jsonread.h"

/*
 * Append the text of a member.  The text of an object is empty.  The text of a list of objects is
 * the length of the list.
 */
void valuetext_add(struct buf *out, struct str name, const struct jsonread *value);
/* Whether the value is a number that a table aligns to the right.  A time is no such number. */
bool valuetext_is_number(struct str name, const struct jsonread *value);
/* Whether a value tells nothing in a table: null, an empty list, or an empty text. */
bool valuetext_is_empty(const struct jsonread *value);
/* Returns how many columns of a terminal the text takes, if no character is wider than one. */
size_t valuetext_width(struct str text);
