/*
 * news - tells who subscribed of new nodes and of HEAD.
 *
 * Found by looking at the history, not by listening to who writes it: so nodes that other
 * processes made are told as well, if later.
 */
#pragma once

struct owner;

/* An operation that may have moved HEAD or made a node has ended. */
void news_look(struct owner *owner);
/* Look now; what is found is no news any more for who subscribes next. */
void news_gather(struct owner *owner);
