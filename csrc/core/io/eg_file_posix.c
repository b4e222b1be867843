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
#include <time.h>
#include <unistd.h>

enum { TRIES = 100, SUFFIX = 64, NAME_BYTES = 255, WRITE_MAX = 1 << 30 };

typedef struct job {
    const char *path;
    char *temp; /* name of the temporary file */
    size_t temp_size;
    const char *step;
} job;

static int fail(job *j, const char *step)
{
    j->step = step;
    return EG_EIO;
}

/* The folder of a path, in the memory of j->temp. */
static const char *folder_of(job *j, const char *path, size_t len)
{
    while (len > 0 && path[len - 1] != '/')
        len--;
    while (len > 1 && path[len - 1] == '/')
        len--;
    if (len == 0)
        return ".";
    memmove(j->temp, path, len);
    j->temp[len] = '\0';
    return j->temp;
}

static int open_folder(const char *path)
{
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Brings what was made or renamed in a folder to the disk, and closes it. */
static int flush_folder(int fd)
{
    /* Some file systems know no such flush; there is nothing else to do. */
    int bad = fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP;
    int kept = errno;

    if (close(fd) != 0 && !bad)
        return -1;
    errno = kept;
    return bad ? -1 : 0;
}

/* Makes one folder, and sees to it that it stays there. */
static int make_folder(job *j, size_t len)
{
    int fd;

    if (mkdir(j->temp, 0777) != 0)
        return errno == EEXIST ? EG_OK : fail(j, "making a folder");
    fd = open_folder(folder_of(j, j->path, len));
    /* A folder that may be written but not read cannot be flushed. */
    if (fd >= 0 && flush_folder(fd) != 0)
        return fail(j, "flushing a new folder");
    return EG_OK;
}

/* Makes every folder on the way to the file that is not there. */
static int make_folders(job *j)
{
    size_t len = strlen(j->path);

    for (size_t i = 1; i < len; i++) {
        struct stat st;

        if (j->path[i] != '/' || j->path[i - 1] == '/')
            continue;
        memcpy(j->temp, j->path, i);
        j->temp[i] = '\0';
        if (stat(j->temp, &st) != 0) {
            if (make_folder(j, i) != EG_OK)
                return EG_EIO;
        } else if (!S_ISDIR(st.st_mode)) {
            errno = ENOTDIR;
            return fail(j, "making a folder");
        }
    }
    return EG_OK;
}

/* What is there already must be a file: renaming would replace a device, too,
 * where the process may. */
static int check_target(job *j)
{
    struct stat st;

    if (stat(j->path, &st) != 0 || S_ISREG(st.st_mode))
        return EG_OK;
    errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
    return fail(j, S_ISDIR(st.st_mode) ? "replacing a folder"
                                       : "replacing what is no regular file");
}

/* A name no other process uses: O_EXCL decides, the numbers only help. The
 * name of the file is a part of it where that does not make it too long. */
static int open_temp(job *j)
{
    const char *slash = strrchr(j->path, '/');
    size_t folder = slash != NULL ? (size_t)(slash - j->path) + 1 : 0;
    size_t len = strlen(j->path);
    struct timespec now = {0, 0};

    if (len - folder + SUFFIX > NAME_BYTES)
        len = folder;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    for (unsigned long i = 0; i < TRIES; i++) {
        int fd;

        (void)snprintf(j->temp, j->temp_size, "%.*s.%lx-%lx.tmp", (int)len,
                       j->path, (unsigned long)getpid(),
                       (unsigned long)now.tv_sec * 1000000000UL +
                           (unsigned long)now.tv_nsec + i);
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

/* Writes the temporary file and puts it in place of the old one. */
static int write_and_rename(job *j, const void *data, size_t len)
{
    int kept, err = EG_OK;
    int fd = open_temp(j);

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
    }
    return err;
}

/* The folder is opened first, so that nothing but the disk itself can fail
 * once the old file is gone. */
static int replace(job *j, const void *data, size_t len)
{
    int folder, kept, err;

    if (make_folders(j) != EG_OK || check_target(j) != EG_OK)
        return EG_EIO;
    folder = open_folder(folder_of(j, j->path, strlen(j->path)));
    if (folder < 0)
        return fail(j, "opening the folder");
    err = write_and_rename(j, data, len);
    if (err == EG_OK)
        return flush_folder(folder) == 0 ? EG_OK
                                         : fail(j, "flushing the folder");
    kept = errno;
    (void)close(folder);
    errno = kept;
    return err;
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
