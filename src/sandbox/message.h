/* message - one datagram with descriptors over a SOCK_SEQPACKET socket. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define MESSAGE_FDS_MAX 16

/* Send all len bytes as one message with n descriptors.  Returns 0 or -errno. */
int message_send(int socket, const void *bytes, size_t len, const int *fds, size_t n);

/* Wait until a descriptor can be read.  Returns 0 or -errno; -ETIMEDOUT after wait_ms. */
int message_wait(int fd, int wait_ms);

/*
 * Receive one message of exactly len bytes.  Waits up to wait_ms.  If wait_ms is -1, the settings
 * of the socket decide how long the call waits.  Each of the n elements of fds becomes a descriptor
 * that belongs to the caller, or -1.  Returns 1, or 0 when the other side has closed, or -errno.
 * The error is -ETIMEDOUT after wait_ms, and -EPROTO for a message of another form.
 */
int message_receive(int socket, void *bytes, size_t len, int *fds, size_t n, int wait_ms);

/*
 * Copy the descriptors that are not -1 to the array 'packed', and set *count to their number.  The
 * array fds has n elements.  Returns a bit for each element that is not -1.
 */
uint32_t message_pack(const int *fds, size_t n, int *packed, size_t *count);
/*
 * Reverse message_pack.  'places' is the result of message_pack, and n is the number of elements
 * that were passed to it.
 */
void message_unpack(const int *packed, uint32_t places, int *fds, size_t n);
