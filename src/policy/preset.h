/*
 * preset - policies that have a name, as data.  A document begins with its preset: a key that the
 * document has replaces the preset's, except that denials unite.
 */
#pragma once
#include "policy/policy.h"

extern const struct policy preset_all[]; /* ends with a NULL name */
/* The policy of a document that names no preset. */
extern const struct policy preset_none;

const struct policy *preset_find(struct str name); /* NULL: there is none */
