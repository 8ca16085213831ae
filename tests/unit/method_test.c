/*
 * method: the table, the checks of parameters, the limits, and the answer of each method for a
 * small history.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/errcode.h"
#include "history_fixture.h"
#include "query/method.h"
#include "query/strata.h"

#define START (1000 * WHEN_SECOND)

/*
 * The history has three snapshots, one minute apart.  They are called $0, $1 and $2 below, and HEAD
 * is the last:
 *
 *	$0   a: one       b: keep   d/gone: bye   d/same: x
 *	$1   a: one two   b: keep   d/gone: bye   d/same: x
 *	$2   a: two       b: keep                 d/same: x   e: keep   n\xff: raw
 */
static int world_setup(void **state)
{
	static const char *const trees[] = {
		"a=one\n b=keep d/gone=bye d/same=x",
		"a=one\ntwo\n b=keep d/gone=bye d/same=x",
		"a=two\n b=keep d/same=x e=keep n\xff=raw",
	};

	if (past_setup(state) < 0)
		return -1;
	struct past *past = *state;
	for (size_t i = 0; i < COUNT(trees); i++) {
		struct hash tree = past_tree(past, trees[i]);

		past_add(past, i ? past->id[i - 1] : "", &tree,
			START + (int64_t)i * 60 * WHEN_SECOND, i ? "main" : NULL, past->id[i]);
		if (!i)
			past_workspace(past, "main", past->id[0]);
	}
	past_ok(past, history_meta_set(&past->history, "name", "box", past_err(past)));
	return 0;
}

#define world_test(name) cmocka_unit_test_setup_teardown(name, world_setup, past_teardown)

/* Replace $N by the id of a snapshot, and ' by a quotation mark. */
static char *expand(struct past *past, const char *text)
{
	struct buf out = BUF_INIT;

	buf_adds(&out, "");
	for (; *text; text++) {
		if (*text == '$')
			buf_adds(&out, past->id[*++text - '0']);
		else
			buf_addc(&out, *text == '\'' ? '"' : *text);
	}
	return out.data;
}

/* The objects that the calls of a test use. */
struct asking {
	struct past *past;
	struct strata_family family;
	struct provider_ops ops; /* the functions of the provider, which a test may replace */
	struct registry registry;
	struct method_context ctx;
	struct arena arena;
	struct err err;
};

static void asking_init(struct asking *asking, struct past *past)
{
	*asking = (struct asking){ .past = past };
	strata_family_init(&asking->family, &past->history, "box");
	registry_add(&asking->registry, &asking->family.family);
	asking->registry.main = "box";
	asking->ctx = (struct method_context){
		.registry = &asking->registry,
		.arena = &asking->arena,
	};
}

static void asking_release(struct asking *asking)
{
	registry_release(&asking->registry);
	arena_release(&asking->arena);
}

/*
 * Returns the reply of a method, which the caller frees.  On error, returns NULL and sets
 * asking->err.
 */
static char *ask(struct asking *asking, const char *method, const char *params)
{
	owned_mem char *text = expand(asking->past, params);
	owned(jsonread_freep) struct jsonread *given = jsonread_new(str_of(text), &asking->err);
	struct json out = JSON_INIT;

	if (!given)
		fail_msg("%s: %s", text, asking->err.text);
	json_open(&out, NULL, '{');
	if (method_call(&asking->ctx, method, given, &out, &asking->err) < 0) {
		assert_int_equal(out.out.len, 1);
		assert_int_equal(out.depth, 1);
		assert_false(out.comma[1]);
		json_release(&out);
		return NULL;
	}
	json_close(&out);
	assert_int_equal(out.depth, 0);
	return out.out.data;
}

static void expect(
	struct asking *asking, const char *method, const char *params, const char *expected)
{
	owned_mem char *reply = ask(asking, method, params);
	owned_mem char *wanted = expand(asking->past, expected);

	if (!reply)
		fail_msg("%s: %s", method, asking->err.text);
	assert_string_equal(reply, wanted);
}

/* Check that the reply contains the text of part.  The rest of the reply does not matter. */
static void expect_part(
	struct asking *asking, const char *method, const char *params, const char *part)
{
	owned_mem char *reply = ask(asking, method, params);
	owned_mem char *wanted = expand(asking->past, part);

	if (!reply)
		fail_msg("%s: %s", method, asking->err.text);
	if (!strstr(reply, wanted))
		fail_msg("%s: no %s in %s", method, wanted, reply);
}

static void refuse(struct asking *asking, const char *method, const char *params, int code)
{
	owned_mem char *reply = ask(asking, method, params);

	if (reply)
		fail_msg("%s %s: %s", method, params, reply);
	if (errcode_query(&asking->err) != code)
		fail_msg("%s %s: %d: %s", method, params, errcode_query(&asking->err),
			asking->err.text);
	assert_true(asking->err.text[0] != '\0');
}

#define asking_of(state)                                                                           \
	owned(asking_release) struct asking asking;                                                \
	asking_init(&asking, *(state))

/* ----------------------------------------------------------------- the table */

/* Whether name, a list of words with '_' between them, has this word. */
static bool has_word(const char *name, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = name; p; p = strchr(p, '_') ? strchr(p, '_') + 1 : NULL)
		if (!strncmp(p, word, len) && (!p[len] || p[len] == '_'))
			return true;
	return false;
}

/*
 * Only the restores change anything.  A verb of zfs(8), zpool(8), btrfs(8) or strata(1) that
 * changes something must not get into the table by accident.
 */
static void no_method_but_the_restores_changes_anything(void **state)
{
	static const char *const verbs[] = { "add", "allow", "attach", "balance", "bookmark",
		"checkout", "clear", "clone", "commit", "create", "delete", "destroy", "detach",
		"exec", "export", "fork", "gc", "hold", "import", "inherit", "init", "initialize",
		"jail", "labelclear", "load", "mount", "move", "offline", "online", "promote",
		"prune", "put", "receive", "recv", "redact", "redo", "release", "remove", "rename",
		"reopen", "replace", "resilver", "resize", "restore", "retain", "rm", "rollback",
		"run", "scrub", "send", "set", "share", "split", "sync", "tag", "take", "trim",
		"unallow", "undo", "unload", "unmount", "unshare", "update", "upgrade", "write",
		"zero" };
	size_t restores = 0;

	for (size_t i = 0; i < methods_count; i++) {
		const struct op *method = methods[i];

		assert_non_null(method->answer);
		assert_null(method->run);
		if (!strcmp(method->name, "restore_file") || !strcmp(method->name, "restore_dir")) {
			assert_int_equal(method->flags, OP_WRITES);
			restores++;
			continue;
		}
		assert_int_equal(method->flags, 0);
		assert_string_not_equal(method->name, "snapshot");
		for (size_t j = 0; j < COUNT(verbs); j++)
			if (has_word(method->name, verbs[j]))
				fail_msg("method %s", method->name);
	}
	assert_int_equal(restores, 2);
}

static void restores_are_refused_where_nothing_is_allowed(void **state)
{
	struct asking asking;
	struct restoreroots none = { 0 };

	asking_init(&asking, *state);
	for (int i = 0; i < 2; i++) {
		refuse(&asking, "restore_file",
			"{'snapshot':'$0','snapshot_path':'a','target_path':'/tmp/strata-no'}",
			-32002);
		refuse(&asking, "restore_dir",
			"{'snapshot':'$0','snapshot_path':'d','target_path':'/tmp/strata-no'}",
			-32002);
		refuse(&asking, "restore_dir",
			"{'snapshot':'$0','snapshot_path':'d','target_path':'/tmp/strata-no',"
			"'overwrite':true,'backup':true}",
			-32002);
		asking.ctx.restore = &none;
	}
	assert_int_equal(access("/tmp/strata-no", F_OK), -1);
	asking_release(&asking);
}

static void the_table_is_sorted_and_finds_every_method(void **state)
{
	for (size_t i = 0; i < methods_count; i++) {
		assert_ptr_equal(method_find(methods[i]->name), methods[i]);
		if (i)
			assert_true(strcmp(methods[i - 1]->name, methods[i]->name) < 0);
	}
	assert_null(method_find("destroy_pool"));
	assert_null(method_find(""));
}

static void every_parameter_lies_inside_its_request(void **state)
{
	for (size_t i = 0; i < methods_count; i++)
		for (const struct param *param = methods[i]->params; param && param->name;
			param++) {
			assert_true(param->offset < methods[i]->request_size);
			assert_true(param->type < PARAM_TYPES);
			assert_ptr_equal(param_find(methods[i]->params, param->name), param);
			assert_non_null(param->help);
			if (param->type == PARAM_INT)
				assert_true(param->cap >= param->fallback && param->cap > 0);
			if (param->type == PARAM_SNAPSHOT)
				assert_true(param->flags & PARAM_REQUIRED);
		}
}

static void maps_errors_to_codes(void **state)
{
	static const struct {
		enum err_code code;
		int errno_value, json_rpc;
	} cases[] = {
		{ ERR_USAGE, 0, -32601 },
		{ ERR_INVALID, 0, -32602 },
		{ ERR_LIMIT, 0, -32602 },
		{ ERR_NOT_FOUND, 0, -32002 },
		{ ERR_DENIED, 0, -32002 },
		{ ERR_CORRUPT, 0, -32001 },
		{ ERR_BUSY, 0, -32001 },
		{ ERR_UNSUPPORTED, 0, -32001 },
		{ ERR_SYSTEM, EIO, -32001 },
		{ ERR_SYSTEM, ETIMEDOUT, -32003 },
		{ 0, 0, -32603 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct err err = { .code = cases[i].code, .errno_value = cases[i].errno_value };

		assert_int_equal(errcode_query(&err), cases[i].json_rpc);
	}
}

/* ---------------------------------------------------------------- parameters */

static void checks_parameters_in_order(void **state)
{
	/* Each call also violates all checks that come later than the one that is tested. */
	static const struct {
		const char *params;
		int code;
		const char *text;
	} cases[] = {
		{ "{'max_results':0,'path':'..','snapshot':'?'}", -32602, "'pattern' is missing" },
		{ "{'pattern':'(','max_results':0,'path':1,'snapshot':'?'}", -32602,
			"'path' must be a string" },
		{ "{'pattern':'(','max_results':'1','path':'..','snapshot':'?'}", -32602,
			"'max_results' must be an integer" },
		{ "{'pattern':'(','max_results':0,'path':'..','snapshot':'?'}", -32602,
			"'max_results' must be positive" },
		{ "{'pattern':'(','path':'..','snapshot':'?'}", -32602, "bad pattern" },
		{ "{'pattern':'x','path':'..','snapshot':'?'}", -32002, "'path' has a '..'" },
		{ "{'pattern':'x','path':'none','snapshot':'?'}", -32602, "a snapshot's name" },
		{ "{'pattern':'x','path':'none','snapshot':'ffffffffffff'}", -32002, "no node" },
		{ "{'pattern':'x','path':'none','snapshot':'$0'}", -32002, "no path 'none'" },
	};
	asking_of(state);

	for (size_t i = 0; i < COUNT(cases); i++) {
		refuse(&asking, "content_grep", cases[i].params, cases[i].code);
		if (!strstr(asking.err.text, cases[i].text))
			fail_msg("%s: %s", cases[i].params, asking.err.text);
	}
}

static void takes_only_integers_for_integers(void **state)
{
	static const char *const bad[] = { "true", "1.0", "'1'", "0", "-1", "[]", "{}" };
	asking_of(state);

	for (size_t i = 0; i < COUNT(bad); i++) {
		char params[100];

		snprintf(params, sizeof(params), "{'snapshot':'$0','path':'','max_entries':%s}",
			bad[i]);
		refuse(&asking, "list_dir", params, -32602);
	}
	expect_part(&asking, "list_dir", "{'snapshot':'$0','path':'','max_entries':null}",
		"'truncated':false");
	expect_part(&asking, "list_dir",
		"{'snapshot':'$0','path':'','max_entries':9223372036854775807}",
		"'truncated':false");
	refuse(&asking, "read_file", "{'snapshot':'$0','path':'a','offset':-1}", -32602);
	expect_part(&asking, "read_file", "{'snapshot':'$0','path':'a','offset':0}",
		"'content':'one\\n'");
}

static void ignores_keys_nobody_knows(void **state)
{
	asking_of(state);

	expect_part(
		&asking, "checksum_file", "{'snapshot':'$0','path':'b','colour':[1]}", "'size':4");
}

static void takes_no_parameters_for_an_empty_object(void **state)
{
	owned(json_release) struct json out = JSON_INIT;
	asking_of(state);

	json_open(&out, NULL, '{');
	assert_int_equal(method_call(&asking.ctx, "list_datasets", NULL, &out, &asking.err), 0);
	owned(jsonread_freep) struct jsonread *list = jsonread_new(STR("[]"), &asking.err);
	assert_true(method_call(&asking.ctx, "list_datasets", list, &out, &asking.err) < 0);
	assert_int_equal(errcode_query(&asking.err), -32602);
	assert_true(method_call(&asking.ctx, "no_method", NULL, &out, &asking.err) < 0);
	assert_int_equal(errcode_query(&asking.err), -32601);
}

static void knows_a_snapshot_by_several_names(void **state)
{
	static const char *const good[] = { "box@$1", "$1", "box@v1", "v1" };
	asking_of(state);
	struct past *past = asking.past;
	char params[100], prefix[6];

	past_ok(past, history_tag_set(&past->history, "v1", past->id[1], past_err(past)));
	for (size_t i = 0; i < COUNT(good); i++) {
		snprintf(params, sizeof(params), "{'snapshot':'%s','path':'a'}", good[i]);
		expect_part(&asking, "checksum_file", params, "{'snapshot':'box@$1',");
	}
	expect_part(&asking, "checksum_file", "{'snapshot':'box@HEAD','path':'a'}",
		"{'snapshot':'box@$2',");
	snprintf(prefix, sizeof(prefix), "%.5s", past->id[1]);
	snprintf(params, sizeof(params), "{'snapshot':'box@%s','path':'a'}", prefix);
	expect_part(&asking, "checksum_file", params, "{'snapshot':'box@$1',");
	refuse(&asking, "checksum_file", "{'snapshot':'@$1','path':'a'}", -32602);
	refuse(&asking, "checksum_file", "{'snapshot':'other@$1','path':'a'}", -32002);
	refuse(&asking, "checksum_file", "{'snapshot':'box@work','path':'a'}", -32002);
	refuse(&asking, "checksum_file", "{'snapshot':'box@','path':'a'}", -32602);
	refuse(&asking, "checksum_file", "{'snapshot':'box@a/b','path':'a'}", -32602);
	refuse(&asking, "checksum_file", "{'snapshot':'HEAD~1','path':'a'}", -32602);
	refuse(&asking, "checksum_file", "{'snapshot':'v1 ','path':'a'}", -32602);
	refuse(&asking, "checksum_file", "{'snapshot':'v1\\u0000','path':'a'}", -32602);
}

static void knows_only_its_own_dataset(void **state)
{
	asking_of(state);

	refuse(&asking, "file_history", "{'dataset':'other','path':'a'}", -32002);
	refuse(&asking, "file_history", "{'dataset':'','path':'a'}", -32602);
	refuse(&asking, "file_history", "{'dataset':' box','path':'a'}", -32602);
	refuse(&asking, "file_history", "{'dataset':null,'path':'a'}", -32602);
	/* Names that were in use before there was a rule for names are still accepted. */
	asking.family.provider.provider.dataset = asking.registry.main = "m\u00fcll";
	expect_part(&asking, "list_dir", "{'snapshot':'m\u00fcll@$0','path':'d'}", "'gone'");
}

static void makes_paths_plain_and_repeats_them_as_given(void **state)
{
	asking_of(state);

	expect_part(&asking, "checksum_file", "{'snapshot':'$0','path':'//d/./same/'}",
		"'path':'//d/./same/','size':1");
	expect_part(&asking, "list_dir", "{'snapshot':'$0','path':'.'}", "'name':'a'");
	refuse(&asking, "list_dir", "{'snapshot':'$0','path':'d/../d'}", -32002);
	refuse(&asking, "list_dir", "{'snapshot':'$0','path':'a\\u0000'}", -32002);
	refuse(&asking, "list_dir", "{'snapshot':'$0','path':'a/b'}", -32002);
	refuse(&asking, "list_dir", "{'snapshot':'$0','path':'a'}", -32002);
	refuse(&asking, "read_file", "{'snapshot':'$0','path':'d'}", -32002);
	/* Two dots have a special meaning only as a whole component. */
	refuse(&asking, "read_file", "{'snapshot':'$0','path':'..a'}", -32002);
	assert_non_null(strstr(asking.err.text, "no path"));
}

static void takes_and_gives_names_that_are_not_utf8(void **state)
{
	asking_of(state);

	expect_part(&asking, "list_dir", "{'snapshot':'$2','path':''}", "'name':'n\\udcff'");
	expect_part(&asking, "read_file", "{'snapshot':'$2','path':'n\\udcff'}",
		"'path':'n\\udcff','size':3,'bytes_returned':3,'encoding':'utf-8','content':'raw'");
	expect_part(&asking, "first_appearance", "{'dataset':'box','path':'n\\udcff'}",
		"'first':{'snapshot':'box@$2'");
	expect_part(&asking, "find_files", "{'snapshot':'$2','pattern':'n?'}",
		"'matches':[{'path':'n\\udcff','name':'n\\udcff'");
	refuse(&asking, "read_file", "{'snapshot':'$2','path':'n\u00ff'}", -32002);
}

/* -------------------------------------------------------------------- limits */

static void goes_on_where_a_cursor_says(void **state)
{
	asking_of(state);

	expect(&asking, "find_files", "{'snapshot':'$2','pattern':'*','max_results':2}",
		"{'snapshot':'box@$2','pattern':'*','base':'',"
		"'matches':[{'path':'a','name':'a','type':'file'},"
		"{'path':'b','name':'b','type':'file'}],'truncated':true,'cursor':'2'}");
	expect(&asking, "find_files",
		"{'snapshot':'$2','pattern':'*','max_results':2,'cursor':'2'}",
		"{'snapshot':'box@$2','pattern':'*','base':'',"
		"'matches':[{'path':'d','name':'d','type':'dir'},"
		"{'path':'d/same','name':'same','type':'file'}],'truncated':true,'cursor':'4'}");
	expect(&asking, "find_files",
		"{'snapshot':'$2','pattern':'*','max_results':2,'cursor':'4'}",
		"{'snapshot':'box@$2','pattern':'*','base':'',"
		"'matches':[{'path':'e','name':'e','type':'file'},"
		"{'path':'n\\udcff','name':'n\\udcff','type':'file'}],'truncated':false}");
	refuse(&asking, "find_files", "{'snapshot':'$2','pattern':'*','cursor':'-1'}", -32602);
	refuse(&asking, "find_files", "{'snapshot':'$2','pattern':'*','cursor':''}", -32602);
	refuse(&asking, "find_files", "{'snapshot':'$2','pattern':'*','cursor':2}", -32602);
	refuse(&asking, "find_files",
		"{'snapshot':'$2','pattern':'*','cursor':'9999999999999999999'}", -32602);
}

static void says_truncated_only_when_something_was_left_out(void **state)
{
	asking_of(state);

	expect_part(&asking, "list_dir", "{'snapshot':'$0','path':'d','max_entries':2}",
		"'truncated':false}");
	expect_part(&asking, "list_dir", "{'snapshot':'$0','path':'d','max_entries':1}",
		"'truncated':true,'cursor':'1'}");
	expect_part(&asking, "content_grep",
		"{'snapshot':'$1','pattern':'o','path':'a','max_results':2}", "'truncated':false}");
	expect_part(&asking, "content_grep",
		"{'snapshot':'$1','pattern':'o','path':'a','max_results':1}", "'truncated':true,");
	expect_part(&asking, "list_snapshots", "{}", "'message':'a moment'}]}");
	expect_part(&asking, "list_snapshots", "{'max_results':3}", "'truncated':false}");
	expect_part(&asking, "list_snapshots", "{'max_results':2}", "'truncated':true,");
}

static void ends_a_reply_that_grows_too_large_and_goes_on_from_there(void **state)
{
	asking_of(state);
	size_t rows = 0;
	char params[100] = "{'snapshot':'$2','pattern':'*'}";

	/* The reply has room for a few rows, besides the members that always follow them. */
	asking.ctx.reply_max = 4096 + 220;
	for (int calls = 0; calls < 10; calls++) {
		owned_mem char *reply = ask(&asking, "find_files", params);

		assert_non_null(reply);
		assert_true(strlen(reply) <= asking.ctx.reply_max);
		for (const char *p = reply; (p = strstr(p, "\"path\"")); p++)
			rows++;
		const char *cursor = strstr(reply, "\"cursor\":");
		if (!cursor)
			break;
		snprintf(params, sizeof(params), "{'snapshot':'$2','pattern':'*','cursor':%.3s}",
			cursor + strlen("\"cursor\":"));
	}
	assert_int_equal(rows, 6);
}

static void cuts_contents_to_what_fits(void **state)
{
	asking_of(state);

	asking.ctx.reply_max = 4096 + 58;
	expect_part(&asking, "read_file", "{'snapshot':'$1','path':'a'}", "'truncated':true");
	expect_part(&asking, "file_diff", "{'snap_a':'$0','snap_b':'$2','path':'a'}",
		"'diff':'','truncated':true");
}

static bool at_once(void *arg)
{
	return true;
}

static void gives_up_when_time_is_up_or_nobody_waits(void **state)
{
	asking_of(state);

	asking.ctx.time_max = 1;
	refuse(&asking, "find_files", "{'snapshot':'$2','pattern':'*'}", -32003);
	refuse(&asking, "list_snapshots", "{}", -32003);
	refuse(&asking, "blame_path", "{'dataset':'box','path':'a'}", -32003);
	refuse(&asking, "size_delta", "{'snap_a':'$0','snap_b':'$2'}", -32003);
	asking.ctx.time_max = 0;
	asking.ctx.cancelled = at_once;
	refuse(&asking, "content_grep", "{'snapshot':'$2','pattern':'x'}", -32003);
}

/* ------------------------------------------------------------------- methods */

static void tells_who_it_is(void **state)
{
	asking_of(state);

	expect_part(&asking, "agent_info", "{}",
		"'protocol_version':'1','methods':['agent_info','bisect_change',");
	expect_part(&asking, "agent_info", "{}",
		"'limits':{'request_bytes':1048576,'request_depth':64,'reply_bytes':8388608,"
		"'seconds':30},'providers':['strata']}");
}

static void lists_datasets_and_snapshots(void **state)
{
	asking_of(state);

	expect_part(&asking, "list_datasets", "{}",
		"{'datasets':[{'name':'box','type':'environment','mountpoint':null,'used':");
	expect(&asking, "list_snapshots", "{'dataset':'box','after':'@1060','before':'@1060'}",
		"{'snapshots':[{'name':'box@$1','dataset':'box','snap':'$1','creation':1060,"
		"'used':null,'refer':16,'kind':'init','message':'a moment'}]}");
	expect(&asking, "list_snapshots", "{'after':'@1121'}", "{'snapshots':[]}");
	refuse(&asking, "list_snapshots", "{'after':'the day before'}", -32602);
	refuse(&asking, "list_snapshots", "{'after':'now\\u0000'}", -32602);
}

static struct hash odd_tree(struct past *past)
{
	struct treebuild *build = mem_alloc(sizeof(*build));
	struct entry entries[] = {
		{ .name = STR("fifo"), .type = ENTRY_FIFO, .mode = 04600, .mtime_sec = 7 },
		{ .name = STR("link"),
			.type = ENTRY_LINK,
			.mode = 0777,
			.mtime_sec = 7,
			.target = STR("a\xff") },
		{ .name = STR("unread"), .type = ENTRY_FILE, .content = ENTRY_UNREAD, .size = 9 },
	};

	treebuild_init(build, past->fixture->store);
	for (size_t i = 0; i < COUNT(entries); i++)
		past_ok(past, treebuild_add(build, &entries[i], past_err(past)));
	struct hash tree = past_root(past, build);
	treebuild_release(build);
	free(build);
	return tree;
}

static void lists_entries_by_their_type(void **state)
{
	asking_of(state);
	struct past *past = asking.past;
	struct hash tree = odd_tree(past);

	past_add(past, past->id[2], &tree, 2000 * WHEN_SECOND, "main", past->id[3]);
	expect(&asking, "list_dir", "{'snapshot':'$3','path':''}",
		"{'snapshot':'box@$3','path':'','entries':["
		"{'name':'fifo','type':'other','mode':2432},"
		"{'name':'link','type':'symlink','target':'a\\udcff','size':2,'mtime':7},"
		"{'name':'unread','type':'file','size':9,'mtime':0,'mode':0,'unread':true}],"
		"'truncated':false}");
	refuse(&asking, "read_file", "{'snapshot':'$3','path':'link'}", -32002);
	refuse(&asking, "read_file", "{'snapshot':'$3','path':'fifo'}", -32002);
	refuse(&asking, "read_file", "{'snapshot':'$3','path':'unread'}", -32002);
	refuse(&asking, "content_grep", "{'snapshot':'$3','pattern':'x','path':'link'}", -32002);
	expect_part(&asking, "last_appearance", "{'dataset':'box','path':'link'}",
		"'size':2,'mtime':7,'is_symlink':true");
	expect_part(&asking, "list_dir", "{'snapshot':'$0','path':'d'}",
		"'entries':[{'name':'gone','type':'file','size':3,'mtime':0,'mode':420}");
}

static void reads_files_whole_and_in_parts(void **state)
{
	asking_of(state);
	struct past *past = asking.past;
	struct hash tree = past_tree(past, "bin=\xff\xfe text=\u00e4\u20ac zero=");

	past_add(past, past->id[2], &tree, 2000 * WHEN_SECOND, "main", past->id[3]);
	expect(&asking, "read_file", "{'snapshot':'$1','path':'a'}",
		"{'snapshot':'box@$1','path':'a','size':8,'bytes_returned':8,"
		"'encoding':'utf-8','content':'one\\ntwo\\n','truncated':false}");
	expect_part(&asking, "read_file", "{'snapshot':'$1','path':'a','offset':4,'max_bytes':3}",
		"'bytes_returned':3,'encoding':'utf-8','content':'two','truncated':true}");
	expect_part(&asking, "read_file", "{'snapshot':'$1','path':'a','offset':99}",
		"'bytes_returned':0,'encoding':'utf-8','content':'','truncated':false}");
	expect_part(&asking, "read_file", "{'snapshot':'$3','path':'bin'}",
		"'encoding':'base64','content':'//4=','truncated':false}");
	expect_part(&asking, "read_file", "{'snapshot':'$3','path':'zero'}",
		"'size':0,'bytes_returned':0,'encoding':'utf-8','content':'','truncated':false}");
	/* If the limit lies within a character, the reply ends before this character. */
	expect_part(&asking, "read_file", "{'snapshot':'$3','path':'text','max_bytes':4}",
		"'bytes_returned':2,'encoding':'utf-8','content':'\u00e4','truncated':true}");
	expect_part(&asking, "read_file", "{'snapshot':'$3','path':'text','max_bytes':1}",
		"'bytes_returned':1,'encoding':'base64','content':'ww==','truncated':true}");
}

static void gives_text_full_of_escapes_as_base64_when_that_fits(void **state)
{
	asking_of(state);
	struct past *past = asking.past;
	struct buf spec = BUF_INIT;

	buf_adds(&spec, "c=");
	for (int i = 0; i < 3000; i++)
		buf_addc(&spec, '\x01');
	struct hash tree = past_tree(past, spec.data);
	buf_release(&spec);
	past_add(past, past->id[2], &tree, 2000 * WHEN_SECOND, "main", past->id[3]);
	asking.ctx.reply_max = 4096 + 8000;
	expect_part(&asking, "read_file", "{'snapshot':'$3','path':'c'}",
		"'bytes_returned':3000,'encoding':'base64','content':'AQEB");
}

static void hashes_files_small_and_large(void **state)
{
	asking_of(state);
	struct past *past = asking.past;
	struct content_piece pieces[] = {
		{ .length = 5 },
		{ .length = 100000, .hole = true },
	};
	struct entry large = {
		.name = STR("large"), .type = ENTRY_FILE, .content = ENTRY_CHUNKS, .size = 100005
	};
	struct entry huge = { .name = STR("z"),
		.type = ENTRY_FILE,
		.content = ENTRY_BLOB,
		.size = ((uint64_t)256 << 20) + 1 };
	struct treebuild *build = mem_alloc(sizeof(*build));
	char bytes[100005] = "hello";
	char hex[HASH_HEX], expected[100];
	struct hash hash;

	pieces[0].hash = fixture_put(past->fixture, "hello", 5);
	past_ok(past, content_put_list(past->fixture->store, pieces, COUNT(pieces), &large.hash,
			      past_err(past)));
	huge.hash = pieces[0].hash;
	treebuild_init(build, past->fixture->store);
	past_ok(past, treebuild_add(build, &large, past_err(past)));
	past_ok(past, treebuild_add(build, &huge, past_err(past)));
	struct hash tree = past_root(past, build);
	treebuild_release(build);
	free(build);
	past_add(past, past->id[2], &tree, 2000 * WHEN_SECOND, "main", past->id[3]);

	hash_of("keep", 4, &hash);
	snprintf(expected, sizeof(expected), "'size':4,'sha256':'%s'}", hash_hex(&hash, hex));
	expect_part(&asking, "checksum_file", "{'snapshot':'$0','path':'b'}", expected);
	hash_of(bytes, sizeof(bytes), &hash);
	snprintf(expected, sizeof(expected), "'size':100005,'sha256':'%s'}", hash_hex(&hash, hex));
	expect_part(&asking, "checksum_file", "{'snapshot':'$3','path':'large'}", expected);
	refuse(&asking, "checksum_file", "{'snapshot':'$3','path':'z'}", -32602);
}

static void finds_files_by_name(void **state)
{
	asking_of(state);

	expect(&asking, "find_files", "{'snapshot':'$0','pattern':'[!abd]*','path':'/d'}",
		"{'snapshot':'box@$0','pattern':'[!abd]*','base':'/d','matches':["
		"{'path':'d/gone','name':'gone','type':'file'},"
		"{'path':'d/same','name':'same','type':'file'}],'truncated':false}");
	refuse(&asking, "find_files", "{'snapshot':'$0','pattern':'*','path':'a'}", -32002);
}

static void finds_lines(void **state)
{
	asking_of(state);
	struct past *past = asking.past;
	struct hash tree = past_tree(past, "end=x latin=x1\n\xe4x2\nx3\n");

	past_add(past, past->id[2], &tree, 2000 * WHEN_SECOND, "main", past->id[3]);
	expect(&asking, "content_grep", "{'snapshot':'$1','pattern':'^t|^k'}",
		"{'snapshot':'box@$1','pattern':'^t|^k','base':'','matches':["
		"{'path':'a','line':2,'text':'two'},{'path':'b','line':1,'text':'keep'}],"
		"'truncated':false}");
	expect_part(&asking, "content_grep", "{'snapshot':'$1','pattern':'.','path':'d/gone'}",
		"'base':'d/gone','matches':[{'path':'d/gone','line':1,'text':'bye'}]");
	/* The search of a file ends at its first line that is not UTF-8. */
	expect_part(&asking, "content_grep", "{'snapshot':'$3','pattern':'x','path':'latin'}",
		"'matches':[{'path':'latin','line':1,'text':'x1'}],'truncated':false");
}

static void sums_up_sizes(void **state)
{
	asking_of(state);

	expect(&asking, "size_breakdown", "{'snapshot':'$0','path':''}",
		"{'snapshot':'box@$0','path':'','total_bytes':12,'entries':["
		"{'name':'a','type':'file','bytes':4,'is_truncated':false},"
		"{'name':'b','type':'file','bytes':4,'is_truncated':false},"
		"{'name':'d','type':'dir','bytes':4,'is_truncated':false}],"
		"'walked_entries':3,'truncated':false}");
	expect(&asking, "size_breakdown", "{'snapshot':'$0','path':'','max_entries':2}",
		"{'snapshot':'box@$0','path':'','total_bytes':8,'entries':["
		"{'name':'a','type':'file','bytes':4,'is_truncated':false},"
		"{'name':'b','type':'file','bytes':4,'is_truncated':false}],"
		"'walked_entries':2,'truncated':true}");
	expect(&asking, "top_consumers", "{'snapshot':'$1','path':'','n':3}",
		"{'snapshot':'box@$1','path':'','entries':["
		"{'path':'a','type':'file','bytes':8},"
		"{'path':'b','type':'file','bytes':4},"
		"{'path':'d','type':'dir','bytes':4}],'walked_entries':5,'truncated':false}");
	/* A directory that cannot be among the largest is not walked. */
	expect_part(&asking, "top_consumers", "{'snapshot':'$1','path':'','n':2}",
		"'walked_entries':3,'truncated':false}");
	expect_part(&asking, "top_consumers", "{'snapshot':'$1','path':'','max_entries':1}",
		"'entries':[{'path':'a','type':'file','bytes':8}],'walked_entries':1,"
		"'truncated':true}");
	refuse(&asking, "size_breakdown", "{'snapshot':'$0','path':'a'}", -32002);
}

static void follows_a_path_through_time(void **state)
{
	asking_of(state);

	expect(&asking, "file_history", "{'dataset':'box','path':'d/gone'}",
		"{'dataset':'box','path':'d/gone','versions':["
		"{'snapshot':'box@$0','creation':1000,'present':true,'size':3,'mtime':0,"
		"'is_symlink':false},"
		"{'snapshot':'box@$1','creation':1060,'present':true,'size':3,'mtime':0,"
		"'is_symlink':false},"
		"{'snapshot':'box@$2','creation':1120,'present':false}]}");
	/* A path below a file does not exist. */
	expect_part(&asking, "file_history", "{'dataset':'box','path':'a/b/c'}",
		"{'snapshot':'box@$1','creation':1060,'present':false}");
	expect(&asking, "snapshots_containing", "{'dataset':'box','path':'d/gone','after':'@1001'}",
		"{'dataset':'box','path':'d/gone','snapshots':["
		"{'snapshot':'box@$1','creation':1060,'present':true,'size':3,'mtime':0,"
		"'is_symlink':false}]}");
	expect(&asking, "first_appearance", "{'dataset':'box','path':'e'}",
		"{'dataset':'box','path':'e','first':{'snapshot':'box@$2','creation':1120,"
		"'present':true,'size':4,'mtime':0,'is_symlink':false}}");
	expect_part(&asking, "last_appearance", "{'dataset':'box','path':'d/gone'}",
		"'last':{'snapshot':'box@$1','creation':1060,");
	expect(&asking, "first_appearance", "{'dataset':'box','path':'none'}",
		"{'dataset':'box','path':'none','first':null}");
	expect(&asking, "last_appearance", "{'dataset':'box','path':'none'}",
		"{'dataset':'box','path':'none','last':null}");
}

/* Add a fourth snapshot in which A exists again. */
static void add_return_of_a(struct past *past)
{
	struct hash tree = past_tree(past, "a=one\n");

	past_add(past, past->id[2], &tree, 2000 * WHEN_SECOND, "main", past->id[3]);
}

static void tells_the_versions_of_a_file(void **state)
{
	asking_of(state);
	struct hash hash;
	char hex[HASH_HEX], expected[1000];

	add_return_of_a(asking.past);
	hash_of("one\n", 4, &hash);
	snprintf(expected, sizeof(expected),
		"{'dataset':'box','path':'a','versions':[{'sha256':'%s','size':4,'truncated':false,"
		"'first_seen':{'snapshot':'box@$0','creation':1000},"
		"'last_seen':{'snapshot':'box@$3','creation':2000},"
		"'snapshots':[{'snapshot':'box@$0','creation':1000},"
		"{'snapshot':'box@$3','creation':2000}]},",
		hash_hex(&hash, hex));
	expect_part(&asking, "versions_of", "{'dataset':'box','path':'a'}", expected);
	/* For a longer file, the hash is that of the part that was read. */
	hash_of("one", 3, &hash);
	snprintf(expected, sizeof(expected), "[{'sha256':'%s','size':4,'truncated':true,",
		hash_hex(&hash, hex));
	expect_part(&asking, "versions_of", "{'dataset':'box','path':'a','max_bytes':3}", expected);
	expect_part(&asking, "versions_of", "{'dataset':'box','path':'b'}",
		"'snapshots':[{'snapshot':'box@$0','creation':1000},"
		"{'snapshot':'box@$1','creation':1060},{'snapshot':'box@$2','creation':1120}]}],"
		"'truncated':false}");
	expect(&asking, "versions_of", "{'dataset':'box','path':'d'}",
		"{'dataset':'box','path':'d','versions':[],'truncated':false}");
}

static void tells_who_changed_a_path(void **state)
{
	asking_of(state);

	expect(&asking, "blame_path", "{'dataset':'box','path':'b'}",
		"{'dataset':'box','path':'b','present':true,'last':{'snapshot':'box@$0',"
		"'creation':1000,'op':'+','kind':'init','message':'a moment'}}");
	expect_part(&asking, "blame_path", "{'dataset':'box','path':'d/gone'}",
		"'present':false,'last':{'snapshot':'box@$2','creation':1120,'op':'-',");
	expect_part(&asking, "blame_path", "{'dataset':'box','path':'a','lines':true}",
		"'op':'M','kind':'init','message':'a moment'},'lines':["
		"{'line':1,'snapshot':'box@$1','creation':1060,'text':'two'}],'truncated':false}");
	expect_part(&asking, "blame_path", "{'dataset':'box','path':'none'}",
		"'present':false,'last':null}");
	refuse(&asking, "blame_path", "{'dataset':'box','path':'a','lines':1}", -32602);
}

static void names_the_command_of_a_node(void **state)
{
	asking_of(state);
	struct past *past = asking.past;
	struct str command[] = { STR("rm"), STR("a\xff") };
	struct node node = {
		.tree = past_tree(past, "b=keep"),
		.time = 2000 * WHEN_SECOND,
		.kind = NODE_EXEC,
		.message = STR("exec"),
		.command = command,
		.n_command = COUNT(command),
		.has_status = true,
		.exit_status = 3,
	};

	memcpy(node.made_from, past->id[2], NODE_ID);
	past_ok(past, history_add(&past->history, &node, "main", "exec", past_err(past)));
	expect_part(&asking, "blame_path", "{'dataset':'box','path':'a'}",
		"'op':'-','kind':'exec','message':'exec','command':['rm','a\\udcff'],"
		"'exit_status':3}");
}

/* Add a branch off $0 that is newer than HEAD and did not change a. */
static void blames_nothing_on_other_branches(void **state)
{
	asking_of(state);
	struct past *past = asking.past;
	struct hash tree = past_tree(past, "a=one\n b=keep d/gone=bye d/same=x");

	past_add(past, past->id[0], &tree, 3000 * WHEN_SECOND, NULL, past->id[3]);
	expect_part(&asking, "blame_path", "{'dataset':'box','path':'a'}",
		"'last':{'snapshot':'box@$2'");
	expect_part(&asking, "bisect_change",
		"{'dataset':'box','path':'d/gone','predicate':{'kind':'exists'}}",
		"'total_snapshots':3");
	expect_part(&asking, "find_deleted", "{'dataset':'box'}", "'to_snapshot':'box@$2'");
	/* For other methods, a snapshot on a branch is a snapshot like any other. */
	expect_part(&asking, "last_appearance", "{'dataset':'box','path':'d/gone'}",
		"'last':{'snapshot':'box@$3'");
}

static void finds_when_a_condition_changed(void **state)
{
	asking_of(state);
	struct hash hash;
	char hex[HASH_HEX], params[200];

	expect(&asking, "bisect_change",
		"{'dataset':'box','path':'a','predicate':{'kind':'contains','needle':'one'}}",
		"{'dataset':'box','path':'a','predicate':{'kind':'contains','needle':'one'},"
		"'transition':{'from_snapshot':'box@$1','from_creation':1060,'from_value':true,"
		"'to_snapshot':'box@$2','to_creation':1120,'to_value':false,"
		"'transition_seconds':60},'evaluated_snapshots':3,'total_snapshots':3,"
		"'earliest_value':true,'latest_value':false}");
	expect(&asking, "bisect_change",
		"{'dataset':'box','path':'b','predicate':{'kind':'exists'}}",
		"{'dataset':'box','path':'b','predicate':{'kind':'exists'},'transition':null,"
		"'evaluated_snapshots':2,'total_snapshots':3,'earliest_value':true,"
		"'latest_value':true,'reason':'the first and the last snapshot have the same "
		"value'}");
	expect_part(&asking, "bisect_change",
		"{'dataset':'box','path':'e','predicate':{'kind':'size_at_least','size':4}}",
		"'from_value':false,'to_snapshot':'box@$2'");
	hash_of("one\n", 4, &hash);
	hash_hex(&hash, hex);
	for (char *p = hex; *p; p++)
		*p = *p >= 'a' ? *p - 32 : *p;
	snprintf(params, sizeof(params),
		"{'dataset':'box','path':'a','predicate':{'kind':'sha256_equals','hash':'%s'}}",
		hex);
	expect_part(&asking, "bisect_change", params, "'to_snapshot':'box@$1'");
}

static void refuses_predicates_it_does_not_know(void **state)
{
	static const char *const bad[] = {
		"{}",
		"{'kind':1}",
		"{'kind':'is_nice'}",
		"{'kind':'contains'}",
		"{'kind':'contains','needle':5}",
		"{'kind':'sha256_equals','hash':'abcd'}",
		"{'kind':'size_at_least','size':0}",
		"{'kind':'size_at_least','size':'4'}",
		"'exists'",
		"null",
	};
	asking_of(state);

	for (size_t i = 0; i < COUNT(bad); i++) {
		char params[200];

		snprintf(params, sizeof(params), "{'dataset':'box','path':'a','predicate':%s}",
			bad[i]);
		refuse(&asking, "bisect_change", params, -32602);
	}
}

static void lists_what_was_deleted(void **state)
{
	asking_of(state);

	expect(&asking, "find_deleted", "{'dataset':'box'}",
		"{'dataset':'box','from_snapshot':'box@$0','to_snapshot':'box@$2',"
		"'deleted':[{'path':'d/gone','type':'file'}],'truncated':false}");
	expect(&asking, "find_deleted", "{'dataset':'box','before':'@1060'}",
		"{'dataset':'box','from_snapshot':'box@$0','to_snapshot':'box@$1','deleted':[],"
		"'truncated':false}");
	expect(&asking, "find_deleted", "{'dataset':'box','before':'@1000'}",
		"{'dataset':'box','from_snapshot':'box@$0','to_snapshot':'box@$0','deleted':[],"
		"'truncated':false}");
	expect(&asking, "find_deleted", "{'dataset':'box','before':'@1'}",
		"{'dataset':'box','from_snapshot':null,'to_snapshot':null,'deleted':[],"
		"'truncated':false}");
}

static void compares_snapshots(void **state)
{
	asking_of(state);

	expect(&asking, "diff_snapshots", "{'snap_a':'$0','snap_b':'$2'}",
		"{'snap_a':'box@$0','snap_b':'box@$2','changes':["
		"{'op':'M','type':'file','path':'a','what':['content']},"
		"{'op':'-','type':'file','path':'d/gone'},"
		"{'op':'+','type':'file','path':'e'},"
		"{'op':'+','type':'file','path':'n\\udcff'}],'truncated':false}");
	expect(&asking, "diff_snapshots",
		"{'snap_a':'$0','snap_b':'$2','max_results':1,'cursor':'1'}",
		"{'snap_a':'box@$0','snap_b':'box@$2','changes':["
		"{'op':'-','type':'file','path':'d/gone'}],'truncated':true,'cursor':'2'}");
	expect(&asking, "diff_snapshots", "{'snap_a':'$1','snap_b':'$1'}",
		"{'snap_a':'box@$1','snap_b':'box@$1','changes':[],'truncated':false}");
	/* The files a, e and n\xff were written. */
	expect(&asking, "size_delta", "{'snap_a':'$0','snap_b':'$2'}",
		"{'snap_a':'box@$0','snap_b':'box@$2','written_bytes':11}");
}

static void tells_renames_and_changes_of_type(void **state)
{
	asking_of(state);
	struct past *past = asking.past;
	struct hash tree = past_tree(past, "a=one\n b/x=1 d/moved=bye d/same=x");

	past_add(past, past->id[2], &tree, 2000 * WHEN_SECOND, "main", past->id[3]);
	expect_part(&asking, "diff_snapshots", "{'snap_a':'$0','snap_b':'$3'}",
		"'changes':[{'op':'M','type':'dir','path':'b','what':['mode','type']},"
		"{'op':'+','type':'file','path':'b/x'},"
		"{'op':'R','type':'file','path':'d/gone','new_path':'d/moved'}]");
	expect_part(&asking, "size_delta", "{'snap_a':'$0','snap_b':'$3'}", "'written_bytes':1}");
}

static void compares_a_file(void **state)
{
	asking_of(state);

	expect(&asking, "file_diff", "{'snap_a':'$0','snap_b':'$2','path':'a'}",
		"{'snap_a':'box@$0','snap_b':'box@$2','path':'a','present_in_a':true,"
		"'present_in_b':true,'size_a':4,'size_b':4,'truncated_a':false,"
		"'truncated_b':false,'identical':false,'encoding':'utf-8',"
		"'diff':'--- a/a\\n+++ b/a\\n@@ -1 +1 @@\\n-one\\n+two\\n'}");
	expect_part(&asking, "file_diff", "{'snap_a':'$0','snap_b':'$2','path':'e'}",
		"'present_in_a':false,'present_in_b':true,'size_a':null,'size_b':4,");
	expect_part(&asking, "file_diff", "{'snap_a':'$0','snap_b':'$2','path':'e'}",
		"'diff':'--- /dev/null\\n+++ b/e\\n@@ -0,0 +1 @@\\n+keep\\n"
		"\\\\ No newline at end of file\\n'}");
	expect_part(&asking, "file_diff", "{'snap_a':'$0','snap_b':'$2','path':'b'}",
		"'identical':true,'encoding':'utf-8','diff':''}");
	expect_part(&asking, "file_diff", "{'snap_a':'$0','snap_b':'$2','path':'none'}",
		"'identical':false,'encoding':'missing','diff':''}");
	expect_part(&asking, "file_diff", "{'snap_a':'$0','snap_b':'$1','path':'a','max_bytes':3}",
		"'truncated_a':true,'truncated_b':true,'identical':false,");
	refuse(&asking, "file_diff", "{'snap_a':'$0','snap_b':'$2','path':'d'}", -32002);
}

static void compares_no_binaries(void **state)
{
	asking_of(state);
	struct past *past = asking.past;
	struct hash tree = past_tree(past, "a=\xff\xfe");

	past_add(past, past->id[2], &tree, 2000 * WHEN_SECOND, "main", past->id[3]);
	expect_part(&asking, "file_diff", "{'snap_a':'$0','snap_b':'$3','path':'a'}",
		"'identical':false,'encoding':'binary','diff':''}");
}

static void finds_lines_through_time(void **state)
{
	asking_of(state);

	expect(&asking, "grep_history", "{'dataset':'box','pattern':'one|two|bye'}",
		"{'dataset':'box','pattern':'one|two|bye','base':'','matches':["
		"{'path':'a','line':1,'text':'one','first':{'snapshot':'box@$0','creation':1000},"
		"'last':{'snapshot':'box@$1','creation':1060}},"
		"{'path':'d/gone','line':1,'text':'bye',"
		"'first':{'snapshot':'box@$0','creation':1000},"
		"'last':{'snapshot':'box@$1','creation':1060}},"
		"{'path':'a','line':2,'text':'two','first':{'snapshot':'box@$1','creation':1060},"
		"'last':{'snapshot':'box@$2','creation':1120}}],"
		"'searched_snapshots':3,'searched_contents':7,'truncated':false}");
	expect_part(&asking, "grep_history",
		"{'dataset':'box','pattern':'.','path':'d','after':'@1060'}",
		"'matches':[{'path':'d/gone','line':1,'text':'bye',"
		"'first':{'snapshot':'box@$1','creation':1060},"
		"'last':{'snapshot':'box@$1','creation':1060}},"
		"{'path':'d/same','line':1,'text':'x',"
		"'first':{'snapshot':'box@$1','creation':1060},"
		"'last':{'snapshot':'box@$2','creation':1120}}],"
		"'searched_snapshots':2,'searched_contents':2,'truncated':false}");
	/* The path exists only in later snapshots. */
	expect_part(&asking, "grep_history", "{'dataset':'box','pattern':'.','path':'e'}",
		"'matches':[{'path':'e','line':1,'text':'keep',"
		"'first':{'snapshot':'box@$2','creation':1120},"
		"'last':{'snapshot':'box@$2','creation':1120}}]");
	expect_part(&asking, "grep_history", "{'dataset':'box','pattern':'x','before':'@1'}",
		"'matches':[],'searched_snapshots':0,'searched_contents':0,'truncated':false}");
}

static void follows_lines_that_come_back_without_reading_them_again(void **state)
{
	asking_of(state);

	add_return_of_a(asking.past);
	expect_part(&asking, "grep_history", "{'dataset':'box','pattern':'.','path':'a'}",
		"'matches':[{'path':'a','line':1,'text':'one',"
		"'first':{'snapshot':'box@$0','creation':1000},"
		"'last':{'snapshot':'box@$3','creation':2000}},"
		"{'path':'a','line':2,'text':'two',"
		"'first':{'snapshot':'box@$1','creation':1060},"
		"'last':{'snapshot':'box@$2','creation':1120}}],"
		"'searched_snapshots':4,'searched_contents':3,'truncated':false}");
	/*
	 * A match is followed to the last snapshot that has it, even if the reply has no room for
	 * further matches.
	 */
	expect_part(&asking, "grep_history",
		"{'dataset':'box','pattern':'.','path':'a','max_results':1}",
		"'matches':[{'path':'a','line':1,'text':'one',"
		"'first':{'snapshot':'box@$0','creation':1000},"
		"'last':{'snapshot':'box@$3','creation':2000}}],"
		"'searched_snapshots':4,'searched_contents':3,'truncated':true}");
}

/* ---------------------------------------------------------- other providers */

static struct view *(*real_open)(struct provider *, const char *, struct err *);

/* Open a view that has no hashes and no sums. */
static struct view *open_plain(struct provider *provider, const char *snapshot, struct err *err)
{
	struct view *view = real_open(provider, snapshot, err);

	if (view)
		view->identified = view->sums = false;
	return view;
}

/* Replace the provider by one with only the functions that every provider must have. */
static void make_plain(struct asking *asking)
{
	struct provider *provider = &asking->family.provider.provider;

	asking->ops = *provider->ops;
	real_open = asking->ops.open;
	asking->ops.open = open_plain;
	asking->ops.mainline = NULL;
	asking->ops.diff = NULL;
	provider->ops = &asking->ops;
}

static void walks_where_there_are_no_sums(void **state)
{
	asking_of(state);

	make_plain(&asking);
	expect(&asking, "size_breakdown", "{'snapshot':'$0','path':''}",
		"{'snapshot':'box@$0','path':'','total_bytes':12,'entries':["
		"{'name':'a','type':'file','bytes':4,'is_truncated':false},"
		"{'name':'b','type':'file','bytes':4,'is_truncated':false},"
		"{'name':'d','type':'dir','bytes':4,'is_truncated':false}],"
		"'walked_entries':5,'truncated':false}");
	expect_part(&asking, "size_breakdown", "{'snapshot':'$0','path':'','max_entries':4}",
		"{'name':'d','type':'dir','bytes':3,'is_truncated':true}],"
		"'walked_entries':4,'truncated':true}");
	expect(&asking, "top_consumers", "{'snapshot':'$1','path':'','n':3}",
		"{'snapshot':'box@$1','path':'','entries':["
		"{'path':'a','type':'file','bytes':8},"
		"{'path':'b','type':'file','bytes':4},"
		"{'path':'d','type':'dir','bytes':4}],'walked_entries':5,'truncated':false}");
	expect_part(&asking, "list_snapshots", "{}", "'refer':null");
}

static void reads_where_there_are_no_hashes(void **state)
{
	asking_of(state);
	struct hash hash;
	char hex[HASH_HEX], expected[200];

	make_plain(&asking);
	hash_of("two\n", 4, &hash);
	snprintf(expected, sizeof(expected), "'sha256':'%s'", hash_hex(&hash, hex));
	expect_part(&asking, "versions_of", "{'dataset':'box','path':'a'}", expected);
	expect_part(&asking, "checksum_file", "{'snapshot':'$2','path':'a'}", expected);
	expect_part(&asking, "file_diff", "{'snap_a':'$0','snap_b':'$2','path':'b'}",
		"'identical':true");
	expect_part(&asking, "blame_path", "{'dataset':'box','path':'a'}", "'box@$2'");
}

static void compares_views_where_a_provider_cannot_compare(void **state)
{
	asking_of(state);

	make_plain(&asking);
	expect_part(&asking, "diff_snapshots", "{'snap_a':'$0','snap_b':'$1'}",
		"'changes':[{'op':'M','type':'file','path':'a','what':['content']}],'truncated':"
		"false");
	expect_part(&asking, "find_deleted", "{'dataset':'box'}",
		"'deleted':[{'path':'d/gone','type':'file'}],'truncated':false");
	expect_part(&asking, "grep_history", "{'dataset':'box','pattern':'two'}",
		"'matches':[{'path':'a','line':2,'text':'two',"
		"'first':{'snapshot':'box@$1','creation':1060},"
		"'last':{'snapshot':'box@$2','creation':1120}}]");
}

static void reports_damage_as_the_providers_failure(void **state)
{
	asking_of(state);
	struct past *past = asking.past;

	past_sql(past, "DELETE FROM fresh");
	past_reopen(past);
	strata_family_init(&asking.family, &past->history, "box");
	refuse(&asking, "read_file", "{'snapshot':'$0','path':'a'}", -32001);
	/* Listing snapshots does not need these functions. */
	expect_part(&asking, "list_snapshots", "{'max_results':1}", "'refer':null");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_is_sorted_and_finds_every_method),
		cmocka_unit_test(no_method_but_the_restores_changes_anything),
		world_test(restores_are_refused_where_nothing_is_allowed),
		cmocka_unit_test(every_parameter_lies_inside_its_request),
		cmocka_unit_test(maps_errors_to_codes),
		world_test(checks_parameters_in_order),
		world_test(takes_only_integers_for_integers),
		world_test(ignores_keys_nobody_knows),
		world_test(takes_no_parameters_for_an_empty_object),
		world_test(knows_a_snapshot_by_several_names),
		world_test(knows_only_its_own_dataset),
		world_test(makes_paths_plain_and_repeats_them_as_given),
		world_test(takes_and_gives_names_that_are_not_utf8),
		world_test(goes_on_where_a_cursor_says),
		world_test(says_truncated_only_when_something_was_left_out),
		world_test(ends_a_reply_that_grows_too_large_and_goes_on_from_there),
		world_test(cuts_contents_to_what_fits),
		world_test(gives_up_when_time_is_up_or_nobody_waits),
		world_test(tells_who_it_is),
		world_test(lists_datasets_and_snapshots),
		world_test(lists_entries_by_their_type),
		world_test(reads_files_whole_and_in_parts),
		world_test(gives_text_full_of_escapes_as_base64_when_that_fits),
		world_test(hashes_files_small_and_large),
		world_test(finds_files_by_name),
		world_test(finds_lines),
		world_test(sums_up_sizes),
		world_test(follows_a_path_through_time),
		world_test(tells_the_versions_of_a_file),
		world_test(tells_who_changed_a_path),
		world_test(names_the_command_of_a_node),
		world_test(blames_nothing_on_other_branches),
		world_test(finds_when_a_condition_changed),
		world_test(refuses_predicates_it_does_not_know),
		world_test(lists_what_was_deleted),
		world_test(compares_snapshots),
		world_test(tells_renames_and_changes_of_type),
		world_test(compares_a_file),
		world_test(compares_no_binaries),
		world_test(finds_lines_through_time),
		world_test(follows_lines_that_come_back_without_reading_them_again),
		world_test(walks_where_there_are_no_sums),
		world_test(reads_where_there_are_no_hashes),
		world_test(compares_views_where_a_provider_cannot_compare),
		world_test(reports_damage_as_the_providers_failure),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
