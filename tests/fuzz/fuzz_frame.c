/*
 * Input is split into frames.  Each frame has the announced length, none is larger than allowed,
 * and all frames together are the input.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/own.h"
#include "worker/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(frame_reader_release) struct frame_reader reader;
	owned_fd int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct err err = { 0 };
	struct str frame;
	size_t at = 0;
	int r;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) != 0)
		abort();
	frame_reader_init(&reader, fd);
	while ((r = frame_read(&reader, &frame, &err)) > 0) {
		if (frame.len > FRAME_MAX || at + FRAME_PREFIX + frame.len > size ||
			(frame.len && memcmp(frame.ptr, data + at + FRAME_PREFIX, frame.len) != 0))
			abort();
		at += FRAME_PREFIX + frame.len;
	}
	if (r == 0 ? at != size : !err.text[0])
		abort();
	return 0;
}
