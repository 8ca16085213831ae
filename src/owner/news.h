/*
 * news - tells subscribers of new nodes and of movements of HEAD.
 *
 * New nodes are found by reading the history.  So nodes that other processes made are told as
 * well, if later.
 */
#pragma once

struct owner;

/* An operation that may have moved HEAD or made a node has ended. */
void news_after_operation(struct owner *owner);
/* Read the history now: tell subscribers what is new, and count it as known from here on. */
void news_send(struct owner *owner);
