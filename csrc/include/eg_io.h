/* SPDX-License-Identifier: MIT */
/* Files: replacing one as a whole. Any thread; no state is kept between calls.
 * Since 0.1. */
#ifndef EG_IO_H
#define EG_IO_H

#include "include/eg_types.h"

/** Replaces a file by new contents, or makes it: writes a temporary file in the
 *  same folder, flushes it to the disk, renames it over the old one and flushes
 *  the folder. A kill at any point leaves the old file or the new one, whole,
 *  and perhaps a temporary file (<path>.<numbers>.tmp). Missing folders are
 *  made. What is there and no regular file is refused.
 *  @param path   zero-terminated, in the encoding of the file system; borrowed
 *                for the call
 *  @param data   contents; borrowed for the call; may be NULL when len is 0
 *  @param len    length of data, bytes
 *  @param step   out, may be NULL: static name of the step that failed; NULL
 *                on success
 *  @param os     out, may be NULL: the system's error number
 *                (step and os are set on EG_OK and EG_EIO only)
 *  @return EG_OK; EG_EINVAL no path, or no data; EG_ENOMEM; EG_EIO, and the old
 *          file is as it was, unless the last step alone, flushing the folder,
 *          has failed: then the new one is in place and whole, but may be gone
 *          after a power failure
 *  O(len), and as slow as the disk: it waits until the bytes are on it. */
EG_API int eg_file_replace(const char *path, const void *data, size_t len,
                           const char **step, int *os);

/** Text of a system error number, cut to fit, zero-terminated.
 *  @param to   out: the text; empty when the system has none
 *  @param cap  room in to, bytes, above 0 */
EG_API void eg_os_text(int os, char *to, size_t cap);

#endif
