/*
 * schemacheck - check JSON documents against their schema.
 *
 *	schemacheck SCHEMA <DOCUMENT
 *
 * SCHEMA is the output of 'strata help --schema OPERATION'.  Only the parts of JSON Schema that
 * this output uses are supported: type, properties, required, additionalProperties, items.  Prints
 * the first difference.
 */
#include <err.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_of(const json_t *value, const char *type)
{
	return (!strcmp(type, "string") && json_is_string(value)) ||
	       (!strcmp(type, "integer") && json_is_integer(value)) ||
	       (!strcmp(type, "number") && json_is_number(value)) ||
	       (!strcmp(type, "boolean") && json_is_boolean(value)) ||
	       (!strcmp(type, "null") && json_is_null(value)) ||
	       (!strcmp(type, "array") && json_is_array(value)) ||
	       (!strcmp(type, "object") && json_is_object(value));
}

static bool has_type(const json_t *value, const json_t *type)
{
	size_t i;
	const json_t *one;

	if (!type || (json_is_string(type) && is_of(value, json_string_value(type))))
		return true;
	json_array_foreach(type, i, one) if (is_of(value, json_string_value(one))) return true;
	return false;
}

static void check(const char *path, json_t *value, const json_t *schema)
{
	json_t *properties = json_object_get(schema, "properties"), *item;
	char below[4096];
	const char *key;
	size_t i;

	if (!has_type(value, json_object_get(schema, "type")))
		errx(1, "%s: %s is not as the schema says", path,
			json_dumps(value, JSON_ENCODE_ANY));
	if (json_is_object(value) && properties) {
		json_object_foreach(value, key, item)
		{
			snprintf(below, sizeof(below), "%s.%s", path, key);
			if (!json_object_get(properties, key))
				errx(1, "%s is not in the schema", below);
			check(below, item, json_object_get(properties, key));
		}
		json_array_foreach(json_object_get(schema, "required"), i, item)
		{
			if (!json_object_get(value, json_string_value(item)))
				errx(1, "%s.%s is missing", path, json_string_value(item));
		}
	}
	if (json_is_array(value))
		json_array_foreach(value, i, item)
		{
			snprintf(below, sizeof(below), "%s[%zu]", path, i);
			check(below, item, json_object_get(schema, "items"));
		}
}

int main(int argc, char **argv)
{
	json_error_t error;
	json_t *schema = argc == 2 ? json_load_file(argv[1], 0, &error) : NULL;

	if (!schema)
		errx(2, "usage: schemacheck SCHEMA <DOCUMENT");
	json_t *value = json_loadf(stdin, JSON_DISABLE_EOF_CHECK, &error);
	if (!value)
		errx(1, "no JSON: %s", error.text);
	check("result", value, json_object_get(schema, "result"));
	json_decref(value);
	json_decref(schema);
	return 0;
}
