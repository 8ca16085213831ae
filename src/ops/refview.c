#include "ops/refview.h"

bool refview_is_work(const char *text)
{
	struct str ref, path;

	if (!text)
		return false;
	ref_split(str_of(text), &ref, &path);
	return str_eq(ref, STR("work"));
}

struct str refview_path(struct op_context *ctx, struct str path)
{
	for (;;) {
		if (path.len && path.ptr[0] == '/')
			path.ptr++, path.len--;
		else if (path.len >= 2 && path.ptr[0] == '.' && path.ptr[1] == '/')
			path.ptr += 2, path.len -= 2;
		else
			break;
	}
	while (path.len && path.ptr[path.len - 1] == '/')
		path.len--;
	return arena_str(ctx->arena, str_eq(path, STR(".")) ? STR("") : path);
}

struct view *refview_open(struct op_context *ctx, const char *text, struct str *path,
	const char **id, struct err *err)
{
	struct str name = STR("HEAD"), rest = STR("");
	struct ref ref;
	struct hash tree;

	if (text)
		ref_split(str_of(text), &name, &rest);
	if (path)
		*path = refview_path(ctx, rest);
	else if (rest.len) {
		err_set(err, ERR_INVALID, "'%s' names a path where a node is meant", text);
		return NULL;
	}
	const char *ref_text = arena_str(ctx->arena, name.len ? name : STR("HEAD")).ptr;
	if (env_resolve(ctx->env, ref_text, &ref, err) < 0 ||
		env_tree(ctx->env, &ref, &tree, err) < 0)
		return NULL;
	if (id)
		*id = ref.work ? "work" : arena_strdup(ctx->arena, ref.id);
	return strata_view(
		ctx->env->store, &tree, ref.work ? workspace_live(ctx->env->workspace) : -1);
}
