#include "trace/putback.h"

#include "core/own.h"
#include "trace/putback_priv.h"

static const char *const action_names[] = {
	[PUTBACK_NOTHING] = "nothing",
	[PUTBACK_ATTRIBUTES] = "attributes",
	[PUTBACK_WRITE] = "write",
	[PUTBACK_MAKE_DIR] = "mkdir",
	[PUTBACK_MAKE_LINK] = "symlink",
	[PUTBACK_MAKE_NODE] = "node",
	[PUTBACK_DELETE] = "delete",
	[PUTBACK_MOVE] = "move",
	[PUTBACK_SKIP] = "skip",
	[PUTBACK_CONFLICT] = "conflict",
	[PUTBACK_MISSING] = "missing",
};

const char *putback_action_name(enum putback_action action)
{
	return action_names[action];
}

void putback_free(struct putback *putback)
{
	if (!putback)
		return;
	struct putback_priv *priv = putback->priv;
	for (size_t i = 0; i < priv->n_touched; i++)
		free(priv->touched[i].dir);
	free(priv->touched);
	free(priv->made);
	free(priv->sync.systems);
	free(priv->slots);
	buf_release(&priv->dir);
	close_fd(&priv->dirfd);
	arena_release(&priv->arena);
	free(priv);
	free(putback->moves);
	free(putback->steps);
	free(putback);
}

void putback_freep(struct putback **putback)
{
	putback_free(*putback);
}
