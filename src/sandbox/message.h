/*
 * message - one datagram with descriptors over a SOCK_SEQPACKET socket.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MESSAGE_FDS_MAX 16

/* Send all of bytes as one message with n descriptors; 0 or -errno. */
int message_send(int socket, const void *bytes, size_t len, const int *fds, size_t n);

/*
 * Receive one message of exactly len bytes, waiting up to wait_ms (-1: for
 * ever).  fds gets n slots filled, -1 where none came; they are owned.  Returns
 * 1, 0 when the other side is gone, or -errno: -ETIMEDOUT, -EPROTO when it is
 * no such message.
 */
int message_receive(int socket, void *bytes, size_t len, int *fds, size_t n, int wait_ms);

/*
 * Descriptors that have places, of which some are empty (-1): those that are there go to packed,
 * whose number comes in count, and the result has a bit for each place.
 */
uint32_t message_pack(const int *fds, size_t n, int *packed, size_t *count);
/* And back. */
void message_unpack(const int *packed, uint32_t places, int *fds, size_t n);
