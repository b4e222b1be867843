/* SPDX-License-Identifier: MIT */
/* Replays inputs without a fuzzing engine: each argument is a file, or a folder
 * whose files are taken (not deeper). Prints how often each stage of the target
 * was reached and, last, the number of inputs. Fails when a file cannot be
 * read or a stage was never reached. */
#define _POSIX_C_SOURCE 200809L
#include "fz_target.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads a whole file into a block of exactly its size, so that a sanitizer
 * sees its end. Returns 0, or -1 with errno. */
static int read_file(const char *path, uint8_t **data, size_t *size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = NULL;
    long end;

    if (file == NULL)
        return -1;
    if (fseek(file, 0, SEEK_END) != 0 || (end = ftell(file)) < 0 ||
        fseek(file, 0, SEEK_SET) != 0)
        goto fail;
    bytes = malloc(end > 0 ? (size_t)end : 1);
    if (bytes == NULL || fread(bytes, 1, (size_t)end, file) != (size_t)end)
        goto fail;
    fclose(file);
    *data = bytes;
    *size = (size_t)end;
    return 0;
fail:
    free(bytes);
    fclose(file);
    return -1;
}

static int replay_file(const char *path)
{
    uint8_t *data;
    size_t size;

    if (read_file(path, &data, &size) != 0) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return -1;
    }
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 1;
}

/* Number of inputs replayed, or -1. `path` is a folder when it opens as one. */
static int replay(const char *path)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;
    int count = 0;

    if (folder == NULL)
        return replay_file(path);
    while ((entry = readdir(folder)) != NULL) {
        char name[4096];
        int n = snprintf(name, sizeof name, "%s/%s", path, entry->d_name);

        if (entry->d_name[0] == '.')
            continue;
        if (n < 0 || (size_t)n >= sizeof name || replay_file(name) < 0) {
            closedir(folder);
            return -1;
        }
        count++;
    }
    closedir(folder);
    return count;
}

int main(int argc, char **argv)
{
    unsigned long total = 0;
    int missed = 0;

    for (int i = 1; i < argc; i++) {
        int count = replay(argv[i]);

        if (count < 0)
            return 1;
        total += (unsigned long)count;
    }
    for (int i = 0; fz_stages[i] != NULL; i++) {
        printf("%-24s %lu\n", fz_stages[i], fz_reached[i]);
        missed += fz_reached[i] == 0;
    }
    if (missed > 0) {
        fprintf(stderr, "%d stages were never reached\n", missed);
        return 1;
    }
    printf("replayed %lu\n", total);
    return 0;
}
