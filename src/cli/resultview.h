/*
 * resultview - prints the result of a query method for people.
 *
 * A list of objects is a table.  Other members are lines "name  value", without those that only
 * repeat a parameter.  A file or a diff is printed as it is.  That a result is not complete is said
 * on stderr.
 */
#pragma once
#include "core/operation.h"

/* members are those of the result object, as JSON without the brackets. */
int resultview_print(const struct op *method, struct str members, struct err *err);
