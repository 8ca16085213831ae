/* shape - the parts that the JSON results of several operations have in common. */
#pragma once
#include "core/json.h"
#include "history/node.h"
#include "store/store.h"
#include "tree/report.h"
#include "tree/treediff.h"

/* Shapes (core/schema.h) of the members that the functions of this file write. */
#define SHAPE_COUNTS "changes:{added:int modified:int deleted:int renamed:int} "
#define SHAPE_STATS "{bytes:int raw_bytes:int objects:int} "
#define SHAPE_BINDS "binds:[{host:text inside:text read_only:bool}] "
#define SHAPE_DENIALS "denials:[{what:text subject:text rule:text remedy:text times:int}] "
#define SHAPE_OPTIONAL_DENIALS                                                                     \
	"denials?:[{what:text subject:text rule:text remedy:text times:int}] "
#define SHAPE_CHANGE "op:text type:text path:text new_path?:text what:[text] "
#define SHAPE_OPTIONAL_COUNTS "changes?:{added:int modified:int deleted:int renamed:int} "
#define SHAPE_REPORT "exceptions:" SHAPE_EXCEPTIONS
#define SHAPE_OPTIONAL_REPORT "exceptions?:" SHAPE_EXCEPTIONS
#define SHAPE_EXCEPTIONS                                                                           \
	"{unreadable:int vanished:int changing:int unrestored:int damaged:int "                    \
	"logical:int left_out:int refused:int altered:int unremoved:int unsearched:int "           \
	"mapped:int "                                                                              \
	"completed:int list:[{kind:text path:text reason:text}]} "

/* Add the members for a content: its length, its encoding, and the text or base64. */
#define SHAPE_CONTENT "bytes_returned:int encoding:text content:text "
void shape_content(struct json *out, struct str content);
/* Add a member with the sizes of a store or of a part of it. */
void shape_stats(struct json *out, const char *key, const struct store_stats *stats);
/* Add the member "exceptions", an object. */
void shape_report(struct json *out, const struct report *report);
/* Add the member "changes", an object. */
void shape_counts(struct json *out, const struct treediff_counts *counts);
/* Add the members of a change. */
void shape_change(struct json *out, const struct treediff_change *change);
/* Add the member "binds", a list: the binds of a node or of the running programs. */
void shape_binds(struct json *out, const struct node_bind *binds, size_t n);
/* Add a member with a list of the lines of text.  If 'text' is NULL, the list is empty. */
void shape_lines(struct json *out, const char *key, const char *text);
void shape_denials(struct json *out, const struct node_denial *denials, size_t n);
