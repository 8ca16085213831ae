/*
 * connection - the connection of a program to the proxy, and the proxy's connection to the server.
 *
 * A connection that has ended keeps its memory until connection_free_ended, because its functions
 * may still be running.
 */
#pragma once
#include "confine/proxy_priv.h"

/* Serve an accepted connection. The descriptor fd is taken over. */
void connection_take(struct proxy *proxy, enum proxy_service service, int fd);
/* End all connections whose server the policy no longer allows. */
void connection_check_all(struct proxy *proxy);
void connection_end_all(struct proxy *proxy);
void connection_free_ended(struct proxy *proxy);
