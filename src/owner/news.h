/*
 * news - sends events to subscribers when nodes have been made, and when HEAD has moved.
 *
 * New nodes are found by reading the history.  So subscribers also get events for nodes that other
 * processes have made.  Such an event is sent when the history is read the next time.
 */
#pragma once

struct owner;

/* Send events after an operation that may have moved HEAD or made a node. */
void news_after_operation(struct owner *owner);
/*
 * Read the history, and send events for new nodes and for a movement of HEAD.  Each node and each
 * movement causes only one event.
 */
void news_send(struct owner *owner);
