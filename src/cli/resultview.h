/*
 * resultview - prints the result of a query method for people.
 *
 * A list of objects is a table.  Every other member is a line "name value".  Members that only
 * repeat a parameter are left out.  A file or a diff is printed as it is.  A message on stderr says
 * if the result is not complete.
 */
#pragma once
#include "core/operation.h"

/*
 * Print a result.  'members' has the members of the result object as JSON, without the braces of
 * the object.
 */
int resultview_print(const struct op *method, struct str members, struct err *err);
