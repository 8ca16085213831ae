/* registry: families, their datasets, and the provider that a name stands for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/mem.h"
#include "query/registry.h"

/* A family of datasets that have only names. */
struct fake {
	struct family family;
	const char *const *names; /* the names of the datasets; ends with NULL */
	enum err_code failing;    /* the error of open; 0: none */
	struct err probe;
	struct provider provider;
	int probed, opened, closed;
};

static struct fake *fake_of(struct family *family)
{
	return (struct fake *)family;
}

static int probe(struct family *family, struct err *err)
{
	*err = fake_of(family)->probe;
	fake_of(family)->probed++;
	return -(int)err->code;
}

static int datasets(struct family *family, provider_dataset_visit visit, void *arg, struct err *err)
{
	int r = 0;

	for (const char *const *name = fake_of(family)->names; r == 0 && *name; name++) {
		struct provider_dataset dataset = { .name = *name, .type = "folder" };

		r = visit(arg, &dataset, err);
	}
	return r < 0 ? r : 0;
}

static const struct provider_ops no_ops = { .name = "fake" };

static struct provider *open_dataset(struct family *family, const char *dataset, struct err *err)
{
	struct fake *fake = fake_of(family);

	fake->opened++;
	if (fake->failing) {
		err_set(err, fake->failing, "broken");
		return NULL;
	}
	for (const char *const *name = fake->names; *name; name++)
		if (!strcmp(*name, dataset)) {
			fake->provider = (struct provider){ .ops = &no_ops, .dataset = *name };
			return &fake->provider;
		}
	err_set(err, ERR_NOT_FOUND, "none");
	return NULL;
}

static void close_family(struct family *family)
{
	fake_of(family)->closed++;
}

static const struct family_ops fake_ops = {
	.name = "fake",
	.probe = probe,
	.datasets = datasets,
	.open = open_dataset,
	.close = close_family,
};

static const char *const one[] = { "tank", "srv/a b", NULL };
static const char *const two[] = { "tank", " odd", "two", NULL };

static struct fake fake_new(const char *const *names)
{
	return (struct fake){ .family.ops = &fake_ops, .names = names };
}

static int add_name(void *arg, const struct provider_dataset *dataset, struct err *err)
{
	strcat(strcat(arg, dataset->name), ",");
	return 0;
}

static void lists_each_name_once_and_counts_the_rest(void **state)
{
	struct fake a = fake_new(one), b = fake_new(two);
	struct registry registry = { 0 };
	char names[100] = "";
	uint64_t left_out;
	struct err err = { 0 };

	registry_add(&registry, &a.family);
	registry_add(&registry, &b.family);
	assert_int_equal(registry_datasets(&registry, add_name, names, &left_out, &err), 0);
	assert_string_equal(names, "tank,srv/a b,two,");
	assert_int_equal(left_out, 2);
	assert_ptr_equal(registry_find(&registry, STR("tank"), &err), &a.provider);
	assert_ptr_equal(registry_find(&registry, STR("two"), &err), &b.provider);
	registry_release(&registry);
	assert_int_equal(a.closed + b.closed, 2);
}

static void opens_a_dataset_once(void **state)
{
	struct fake a = fake_new(one);
	struct registry registry = { 0 };
	struct err err = { 0 };

	registry_add(&registry, &a.family);
	assert_non_null(registry_find(&registry, STR("tank"), &err));
	assert_non_null(registry_find(&registry, STR("tank"), &err));
	assert_int_equal(a.opened, 1);
	assert_int_equal(a.probed, 1);
	registry_release(&registry);
}

static void asks_no_family_for_what_is_no_name(void **state)
{
	static const struct str bad[] = { { "", 0 }, { " odd", 4 }, { "-f", 2 }, { "a\0b", 3 },
		{ "a@b", 3 }, { "..", 2 } };
	struct fake b = fake_new(two);
	struct registry registry = { 0 };

	registry_add(&registry, &b.family);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err err = { 0 };

		assert_null(registry_find(&registry, bad[i], &err));
		assert_int_equal(err.code, ERR_INVALID);
	}
	assert_int_equal(b.opened, 0);
	/* The main dataset may have a name of any form. */
	struct err err = { 0 };
	registry.main = " odd";
	assert_non_null(registry_find(&registry, STR(" odd"), &err));
	registry_release(&registry);
}

static void skips_a_family_that_cannot_be_used_and_says_why(void **state)
{
	struct fake a = fake_new(one), b = fake_new(two);
	struct registry registry = { 0 };
	char names[100] = "";
	struct err err = { 0 };

	err_set(&a.probe, ERR_UNSUPPORTED, "no program");
	registry_add(&registry, &a.family);
	registry_add(&registry, &b.family);
	assert_false(registry_family_at(&registry, 0)->usable);
	assert_string_equal(registry_family_at(&registry, 0)->why.text, "no program");
	assert_true(registry_family_at(&registry, 1)->usable);
	assert_null(registry_family_at(&registry, 2));
	assert_int_equal(registry_datasets(&registry, add_name, names, NULL, &err), 0);
	assert_string_equal(names, "tank,two,");
	assert_ptr_equal(registry_find(&registry, STR("tank"), &err), &b.provider);
	assert_int_equal(a.opened, 0);
	registry_release(&registry);
}

static void passes_on_why_a_family_failed(void **state)
{
	struct fake a = fake_new(one), b = fake_new(two);
	struct registry registry = { 0 };
	struct err err = { 0 };

	a.failing = ERR_BUSY;
	registry_add(&registry, &a.family);
	registry_add(&registry, &b.family);
	assert_null(registry_find(&registry, STR("two"), &err));
	assert_int_equal(err.code, ERR_BUSY);
	assert_string_equal(err.text, "broken");
	a.failing = 0;
	err = (struct err){ 0 };
	assert_null(registry_find(&registry, STR("none"), &err));
	assert_int_equal(err.code, ERR_NOT_FOUND);
	registry_release(&registry);
}

static void means_the_main_or_the_only_dataset_of_a_family_without_a_name(void **state)
{
	static const char *const single[] = { "only", NULL };
	struct fake a = fake_new(single), b = fake_new(two);
	struct registry registry = { 0 };
	struct err err = { 0 };

	assert_null(registry_default(&registry, &err));
	assert_int_equal(err.code, ERR_INVALID);
	registry_add(&registry, &a.family);
	err = (struct err){ 0 };
	assert_ptr_equal(registry_default(&registry, &err), &a.provider);
	registry_add(&registry, &b.family);
	assert_ptr_equal(registry_default(&registry, &err), &a.provider);
	struct registry other = { 0 };
	registry_add(&other, &b.family);
	registry_add(&other, &a.family);
	assert_null(registry_default(&other, &err));
	assert_int_equal(err.code, ERR_INVALID);
	err = (struct err){ 0 };
	registry.main = "two";
	assert_ptr_equal(registry_default(&registry, &err), &b.provider);
	registry_release(&registry);
	registry_release(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_each_name_once_and_counts_the_rest),
		cmocka_unit_test(opens_a_dataset_once),
		cmocka_unit_test(asks_no_family_for_what_is_no_name),
		cmocka_unit_test(skips_a_family_that_cannot_be_used_and_says_why),
		cmocka_unit_test(passes_on_why_a_family_failed),
		cmocka_unit_test(means_the_main_or_the_only_dataset_of_a_family_without_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
