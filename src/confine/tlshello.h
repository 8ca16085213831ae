/*
 * tlshello - the name of the server that a program asks for when it begins TLS (RFC 8446, 6066).
 *
 * The hello is the first message of the program, and not encrypted.  It may be split into several
 * records, and these into several packets.  The extension for encrypted names hides a second name
 * from us; browsers send it always, filled with noise.  The name that is looked at is the outer
 * one, by which the server chooses who decrypts.
 */
#pragma once
#include "confine/hostname.h"
#include "core/str.h"

#define TLSHELLO_MAX 16384 /* bytes of the message; those of browsers have 2000 */
#define TLSHELLO_BYTES_MAX (2 * TLSHELLO_MAX) /* the same in records */

enum tlshello {
	TLSHELLO_OTHER,   /* the bytes are not the beginning of TLS */
	TLSHELLO_PARTIAL, /* more bytes are needed */
	TLSHELLO_WHOLE,
	TLSHELLO_BAD,
};

/*
 * Read the bytes that a program has sent so far.  If the hello is whole, *name has the text that
 * hostname_read gives, and is empty if the hello has no name.
 */
enum tlshello tlshello_read(struct str bytes, char name[HOSTNAME_MAX + 1]);
