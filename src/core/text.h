/* text - texts that people read and write: quoted names, sizes, globs, UTF-8. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/str.h"

/* The length of the valid UTF-8 sequence at the start of a text (1 to 4), or 0 if there is none. */
size_t text_utf8_length(struct str text);
/* The length of the longest part of a text, from its start, that is valid UTF-8. */
size_t text_utf8_prefix(struct str text);
bool text_is_utf8(struct str text);
/*
 * Write the UTF-8 sequence of a character, whose code is at most 0x10ffff.  Returns its length.
 * Only that many bytes of 'out' are written.  A surrogate, which is no character, gives three bytes
 * that are not UTF-8.
 */
size_t text_utf8_encode(char out[4], uint32_t code);
/* Append the UTF-8 sequence of a character, whose code is at most 0x10ffff. */
void text_utf8_add(struct buf *out, uint32_t code);

/*
 * Append a name in a form for terminals and for programs that read lines.  A name stays as it is if
 * it is printable UTF-8 without quotes, backslashes and control characters.  Any other name is put
 * in double quotes with the escapes \n \t \" \\ and \ooo (octal), as git does.  The output never
 * has a raw control character, so a file name cannot control a terminal or forge a line.
 */
void text_quote(struct buf *out, struct str name);

/* Append bytes as base64 with padding (RFC 4648). */
void text_base64(struct buf *out, struct str bytes);
/* Decode base64.  If the text is not valid base64, returns false and appends nothing. */
bool text_unbase64(struct buf *out, struct str text);

/* Write a size for people, such as "4.2 KiB", into 'out'.  Returns 'out'. */
const char *text_size(uint64_t bytes, char out[16]);

/*
 * Read a number of bytes as people type it: 4096, 64K, 10M, 2G, 1T, with an optional "iB" or "B" at
 * the end.  Returns false if the text is malformed.
 */
bool text_parse_size(const char *text, uint64_t *bytes);

/*
 * Match a shell pattern with a whole path or name, byte by byte.  '*' and '?' do not match '/', but
 * '**' does.  A component '**' stands for any number of components, also for none. [a-z], [!a-z]
 * and [^a-z] are classes, {a,b} are alternatives, and '\' quotes the next byte.  A bracket or brace
 * that is not closed stands for itself.
 *
 * In practice the time grows linearly.  A match that needs more than TEXT_GLOB_STEPS steps of
 * backtracking counts as no match.
 */
#define TEXT_GLOB_STEPS 100000
bool text_glob(struct str pattern, struct str path);

/*
 * Match a pattern with a base name, as docs/QUERY.md defines it for find_files.  '*' matches
 * anything.  '?' and the classes [a-z] and [!a-z] match one character, or one byte that is not
 * UTF-8.  '^', '{' and '\' stand for themselves.
 */
bool text_fnmatch(struct str pattern, struct str name);
/* The value of a hexadecimal digit; -1 for other characters. */
int text_hex_value(char c);
