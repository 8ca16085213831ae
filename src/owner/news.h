/*
 * news - tells subscribers of new nodes and of movements of HEAD.
 *
 * New nodes are found by reading the history.  So subscribers are told of nodes that other
 * processes made, too, though later.
 */
#pragma once

struct owner;

/* Called when an operation has ended that may have moved HEAD or made a node. */
void news_after_operation(struct owner *owner);
/*
 * Read the history, and tell subscribers of new nodes and of a movement of HEAD.  From then on,
 * these count as known.
 */
void news_send(struct owner *owner);
