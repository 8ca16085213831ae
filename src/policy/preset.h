/*
 * preset - named policies, as data.  Reading a document starts with its preset.  A value in the
 * document replaces the preset's value for the same key.  Only lists of denials are united.
 */
#pragma once
#include "policy/policy.h"

extern const struct policy preset_all[]; /* the list ends with a NULL name */
/* The policy of a document that names no preset. */
extern const struct policy preset_none;

const struct policy *preset_find(struct str name); /* NULL if there is none */
