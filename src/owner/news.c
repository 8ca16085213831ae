#include "owner/news.h"

#include <string.h>

#include "core/own.h"
#include "ops/requests.h"
#include "owner/owner_priv.h"

#define NEWS_MAX 64

struct news {
	char ids[NEWS_MAX][NODE_ID]; /* ids of nodes, from the newest to the oldest */
	size_t n;
	int64_t since, newest;
};

static int add_news(void *arg, const struct node *node, struct err *err)
{
	struct news *news = arg;

	if (node->time <= news->since || news->n == NEWS_MAX)
		return 1;
	if (!news->n)
		news->newest = node->time;
	memcpy(news->ids[news->n++], node->id, NODE_ID);
	return 0;
}

static void send_event(struct owner *owner, struct json *out)
{
	rpc_end(out);
	client_send_all(owner, json_written(out));
	json_release(out);
}

static void send_nodes(struct owner *owner, struct op_context *ctx, struct news *news)
{
	struct err ignored = { 0 };

	/* send the events in the order of time */
	for (size_t i = news->n; i-- > 0;) {
		struct history *history = &ctx->env->history;
		struct json out = JSON_INIT;
		struct noderow row;
		struct node node;

		/* the node may have been deleted since its id was read */
		if (history_get(history, news->ids[i], ctx->arena, &node, &ignored) <= 0 ||
			noderow_fill(ctx, ctx->arena, &node, &row, &ignored) < 0)
			continue;
		rpc_notify(&out, "node.created");
		json_open(&out, "node", '{');
		noderow_json(&out, &row);
		json_close(&out);
		send_event(owner, &out);
	}
}

static bool has_listener(const struct owner *owner)
{
	if (owner->options->tell)
		return true;
	for (const struct client *client = owner->clients; client; client = client->next)
		if (client->subscribed)
			return true;
	return false;
}

void news_send(struct owner *owner)
{
	owned(arena_release) struct arena arena = { 0 };
	struct op_context ctx = { .arena = &arena };
	struct news news = { .since = owner->told };
	struct err ignored = { 0 };
	/*
	 * The first call only stores the time of the newest node, and sends no events about nodes.
	 */
	bool heard = has_listener(owner) && owner->told;
	struct env env;

	if (owner_open_env(owner, &env, &ignored) < 0)
		return;
	ctx.env = &env;
	if (history_each(&env.history, add_news, &news, &ignored) >= 0 && news.n)
		owner->told = news.newest;
	if (heard)
		send_nodes(owner, &ctx, &news);
	if (heard && strcmp(owner->head, env.row.head) != 0) {
		struct json out = JSON_INIT;

		rpc_notify(&out, "head.moved");
		json_text(&out, "from", owner->head);
		json_text(&out, "id", env.row.head);
		send_event(owner, &out);
	}
	memcpy(owner->head, env.row.head, sizeof(owner->head));
	env_close(&env);
}

void news_after_operation(struct owner *owner)
{
	supervisor_restart_if_killed(&owner->supervisor);
	capturer_check_tree(&owner->capturer);
	if (has_listener(owner))
		news_send(owner);
}
