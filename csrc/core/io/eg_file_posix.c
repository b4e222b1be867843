/* SPDX-License-Identifier: MIT */
/* Replacing a file, POSIX. The order is what makes it safe: data reaches the
 * disk before the name does, and the name before success is reported. */
#define _POSIX_C_SOURCE 200809L
#include "core/base/eg_alloc.h"
#include "include/eg_io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRIES = 100, SUFFIX = 40, WRITE_MAX = 1 << 30 };

typedef struct job {
    const char *path;
    char *temp;             /* name of the temporary file */
    size_t temp_size;
    const char *step;
} job;

static int fail(job *j, const char *step)
{
    j->step = step;
    return EG_EIO;
}

/* Makes every folder on the way to the file that is not there. */
static int make_folders(job *j)
{
    char *p = j->temp;
    size_t len = strlen(j->path);

    memcpy(p, j->path, len + 1);
    for (size_t i = 1; i < len; i++) {
        struct stat st;

        if (p[i] != '/')
            continue;
        p[i] = '\0';
        if (stat(p, &st) != 0) {
            if (mkdir(p, 0777) != 0 && errno != EEXIST)
                return fail(j, "making a folder");
        } else if (!S_ISDIR(st.st_mode)) {
            errno = ENOTDIR;
            return fail(j, "making a folder");
        }
        p[i] = '/';
    }
    return EG_OK;
}

/* A name no other process uses: O_EXCL decides, the numbers only help. */
static int open_temp(job *j)
{
    unsigned long seed = (unsigned long)getpid();

    for (unsigned long i = 0; i < TRIES; i++) {
        int fd;

        (void)snprintf(j->temp, j->temp_size, "%s.%lx-%lx.tmp", j->path, seed,
                       i);
        fd = open(j->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static int write_all(int fd, const unsigned char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len > WRITE_MAX ? WRITE_MAX : len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

/* The rename itself must reach the disk. */
static int flush_folder(job *j)
{
    char *slash;
    int fd, bad;

    memcpy(j->temp, j->path, strlen(j->path) + 1);
    slash = strrchr(j->temp, '/');
    if (slash == j->temp)
        slash[1] = '\0';
    else if (slash != NULL)
        *slash = '\0';
    fd = open(slash != NULL ? j->temp : ".", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail(j, "opening the folder");
    /* Some file systems know no such flush; there is nothing else to do. */
    bad = fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP;
    if (close(fd) != 0 || bad)
        return fail(j, "flushing the folder");
    return EG_OK;
}

static int replace(job *j, const void *data, size_t len)
{
    int fd, kept, err = EG_OK;

    if (make_folders(j) != EG_OK)
        return EG_EIO;
    fd = open_temp(j);
    if (fd < 0)
        return fail(j, "making a temporary file");
    if (write_all(fd, data, len) != 0)
        err = fail(j, "writing");
    else if (fsync(fd) != 0)
        err = fail(j, "flushing");
    kept = errno;
    if (close(fd) != 0 && err == EG_OK) {
        kept = errno;
        err = fail(j, "closing");
    }
    if (err == EG_OK && rename(j->temp, j->path) != 0) {
        kept = errno;
        err = fail(j, "renaming");
    }
    if (err != EG_OK) {
        (void)unlink(j->temp);
        errno = kept;
        return err;
    }
    return flush_folder(j);
}

int eg_file_replace(const char *path, const void *data, size_t len,
                    const char **step, int *os)
{
    job j = {path, NULL, 0, NULL};
    int err;

    if (path == NULL || path[0] == '\0' || (data == NULL && len > 0))
        return EG_EINVAL;
    j.temp_size = strlen(path) + SUFFIX;
    j.temp = egi_alloc(&egi_default_allocator, j.temp_size);
    if (j.temp == NULL)
        return EG_ENOMEM;
    errno = 0;
    err = replace(&j, data, len);
    if (os != NULL)
        *os = errno;
    if (step != NULL)
        *step = j.step;
    egi_free(&egi_default_allocator, j.temp, j.temp_size);
    return err;
}

void eg_os_text(int os, char *to, size_t cap)
{
    if (strerror_r(os, to, cap) != 0)
        to[0] = '\0';
}
