/* SPDX-License-Identifier: MIT */
/* Files: replacing one as a whole. Since 0.1. */
#ifndef EG_IO_H
#define EG_IO_H

#include "include/eg_types.h"

/** Replaces a file by new contents, or makes it: writes a temporary file in the
 *  same folder, flushes it to the disk, renames it over the old one and flushes
 *  the folder. A kill at any point leaves the old file or the new one, whole.
 *  Missing folders are made.
 *  @param path   zero-terminated, in the encoding of the file system
 *  @param step   out, may be NULL: static name of the step that failed
 *  @param os     out, may be NULL: the system's error number
 *  @return EG_OK; EG_EIO, and the old file is as it was; EG_ENOMEM */
EG_API int eg_file_replace(const char *path, const void *data, size_t len,
                           const char **step, int *os);

/** Text of a system error number, cut to fit, zero-terminated. cap > 0. */
EG_API void eg_os_text(int os, char *to, size_t cap);

#endif
