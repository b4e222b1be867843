/* SPDX-License-Identifier: MIT */
/* Any bytes, loaded into a world that is not empty: refused, and then the world
 * is what it was; or loaded, and then it is sound, survives more work, and what
 * it saves loads again into an equal world. Values of host components are left
 * undecoded: their column is saved back as the bytes that came. */
#include "fz_target.h"

#include <stdlib.h>
#include <string.h>

#include "core/store/eg_store.h"
#include "include/eg.h"

/* Also in release builds: a fuzzer must stop at what is wrong. */
#define MUST(x)                                                                \
    do {                                                                       \
        if (!(x))                                                              \
            abort();                                                           \
    } while (0)

enum {
    REFUSED_BYTES,
    REFUSED_LOAD,
    UNKNOWN,
    LOADED,
    HOSTED,
    WORKED,
    RELOADED,
    STAGES
};

const char *const fz_stages[STAGES + 1] = {
    "bytes refused", "load refused", "unknown component",  "loaded",
    "host column",   "worked on",    "saved and reloaded", NULL};
unsigned long fz_reached[STAGES];

enum { MAX_ENTITIES = 4096, NAMES = 8 };

typedef struct bed {
    eg_registry *registry;
    eg_world *w;
    uint32_t ids[NAMES];
    eg_load *load;
    eg_save *save;
    eg_snap *snap;
} bed;

static const eg_field pair_fields[] = {
    {"x", 1, EG_F64, 0, {0, 0}, 1},
    {"y", 1, EG_F64, 8, {0, 0}, 1},
};
static const eg_field mixed_fields[] = {
    {"a", 1, EG_F32, 0, {0, 0}, 1},
    {"b", 1, EG_BOOL, 4, {0, 0}, 1},
    {"c", 1, EG_I16, 6, {3, 0}, 3},
    {"d", 1, EG_ENTITY, 16, {0, 0}, 1},
};

static uint32_t add(eg_registry *r, const char *name, int storage,
                    const eg_field *fields, uint32_t count, uint32_t size)
{
    eg_component_def def;
    uint32_t id = 0;

    memset(&def, 0, sizeof def);
    def.name = name;
    def.name_len = (uint32_t)strlen(name);
    def.storage = storage;
    def.fields = fields;
    def.field_count = count;
    def.size = size;
    def.align = size > 0 ? 8 : 0;
    MUST(eg_component_register(r, &def, &id) == EG_OK);
    return id;
}

static void open_bed(bed *b)
{
    uint32_t set;

    memset(b, 0, sizeof *b);
    MUST(eg_registry_new(NULL, &b->registry) == EG_OK);
    b->ids[0] = add(b->registry, "Position", EG_RAW, pair_fields, 2, 16);
    b->ids[1] = add(b->registry, "Mixed", EG_RAW, mixed_fields, 4, 24);
    b->ids[2] = add(b->registry, "Score", EG_NUMBER, NULL, 0, 0);
    b->ids[3] = add(b->registry, "Flag", EG_BOOLEAN, NULL, 0, 0);
    b->ids[4] = add(b->registry, "Enemy", EG_TAG, NULL, 0, 0);
    b->ids[5] = add(b->registry, "Bag", EG_HOST, NULL, 0, 0);
    MUST(eg_world_new(b->registry, MAX_ENTITIES, NULL, &b->w) == EG_OK);
    MUST(eg_archetype_get(b->w, b->ids, 3, 0, &set) == EG_OK);
    for (int i = 0; i < 5; i++)
        MUST(eg_entity_spawn(b->w, set) > 0);
    MUST(eg_entity_despawn(b->w, 2.0) == EG_OK);
}

static void close_bed(bed *b)
{
    eg_load_free(b->load);
    eg_save_free(b->save);
    eg_snap_close(b->snap);
    eg_world_free(b->w);
    eg_registry_release(b->registry);
}

/* Maps names to components, and records to archetypes of what is known. */
static int make_map(bed *b, eg_load_map *map)
{
    eg_snap_prelude p;
    uint32_t *components, *archetypes;

    eg_snap_prelude_of(b->snap, &p);
    components = calloc(p.components + 1, sizeof *components);
    archetypes = calloc(p.records + 1, sizeof *archetypes);
    MUST(components != NULL && archetypes != NULL);
    map->components = components;
    map->archetypes = archetypes;
    map->defaults = NULL;
    for (uint32_t i = 0; i < p.components; i++) {
        eg_snap_component c;

        MUST(eg_snap_component_at(b->snap, i, &c) == EG_OK);
        components[i] = eg_component_find(b->registry, c.name, c.name_len);
        fz_reached[UNKNOWN] += components[i] == 0;
    }
    for (uint32_t i = 0; i < p.records; i++) {
        eg_snap_record r;
        uint32_t set[NAMES], n = 0;

        MUST(eg_snap_record_at(b->snap, i, &r) == EG_OK);
        for (uint32_t k = 0; k < r.columns; k++) {
            eg_snap_column col;

            MUST(eg_snap_column_at(b->snap, i, k, &col) == EG_OK);
            if (components[col.component] != 0)
                set[n++] = components[col.component];
        }
        MUST(eg_archetype_get(b->w, set, n, 0, &archetypes[i]) == EG_OK);
    }
    return p.records > 0;
}

static int load(bed *b, const uint8_t *data, size_t size, unsigned flags)
{
    eg_load_map map;
    eg_snap_error err;
    eg_limits limits;
    uint32_t mark = eg_archetype_count(b->w);
    int code;

    eg_limits_init(&limits);
    limits.entities = MAX_ENTITIES;
    code = eg_load_open(NULL, data, size, &limits, &b->snap, &err);
    if (code != EG_OK) {
        MUST(err.code == code && err.offset <= size);
        fz_reached[REFUSED_BYTES]++;
        return code;
    }
    (void)make_map(b, &map);
    code = eg_load_begin(b->w, b->snap, &map, mark, flags, &b->load, &err);
    free((void *)(uintptr_t)map.components);
    free((void *)(uintptr_t)map.archetypes);
    if (code != EG_OK) {
        MUST(eg_archetype_count(b->w) >= mark);
        fz_reached[REFUSED_LOAD]++;
    }
    return code;
}

/* Saves into fresh memory. Host columns: a nil per row. */
static uint8_t *save(bed *b, size_t *size)
{
    eg_save_column *hosted;
    uint64_t total;
    uint8_t *bytes;
    static uint8_t nils[MAX_ENTITIES];

    MUST(eg_save_begin(b->w, &b->save) == EG_OK);
    for (uint32_t i = eg_save_hosted(b->save, &hosted); i > 0; i--) {
        hosted[i - 1].data = nils;
        hosted[i - 1].size = hosted[i - 1].rows;
    }
    MUST(eg_save_measure(b->save, NULL, 0, &total) == EG_OK);
    bytes = malloc((size_t)total);
    MUST(bytes != NULL);
    MUST(eg_save_write(b->save, bytes, total) == EG_OK);
    *size = (size_t)total;
    return bytes;
}

static void check_hosted(bed *b, const uint8_t *data, size_t size)
{
    const eg_load_column *cols;
    uint32_t n = eg_load_hosted(b->load, &cols);

    for (uint32_t i = 0; i < n; i++) {
        MUST(cols[i].offset + cols[i].size <= size);
        MUST(memcmp(cols[i].data, data + cols[i].offset,
                    (size_t)cols[i].size) == 0);
        MUST(cols[i].first >= 1);
        fz_reached[HOSTED]++;
    }
}

/* Entities of a loaded world take every kind of change. */
static void work(bed *b)
{
    eg_archetype_view v;
    double ids[64];
    uint32_t n = 0;

    for (uint32_t a = 1; a <= eg_archetype_count(b->w); a++) {
        if (!eg_archetype_read(b->w, a, &v) || v.staging)
            continue;
        for (uint32_t row = 1; row <= (uint32_t)v.entities[0] && n < 64; row++)
            ids[n++] = v.entities[row];
    }
    for (uint32_t i = 0; i < n; i++) {
        int err = i % 4 == 0 ? eg_entity_despawn(b->w, ids[i])
                             : eg_entity_add(b->w, ids[i], b->ids[i % 6], NULL);

        MUST(err == EG_OK);
        MUST(eg_world_check(b->w) == NULL);
        if (i % 3 == 0) {
            uint32_t set;

            MUST(eg_archetype_get(b->w, b->ids, 2, 0, &set) == EG_OK);
            double id = eg_entity_spawn(b->w, set);
            MUST(id > 0 || id == EG_EFULL);
        }
    }
    MUST(eg_world_check(b->w) == NULL);
    fz_reached[WORKED]++;
}

/* What a world saves, another one loads, and saves as the same bytes. */
static void reload(bed *b)
{
    size_t size, again;
    uint8_t *bytes = save(b, &size), *second;
    bed other;

    open_bed(&other);
    MUST(load(&other, bytes, size, 0) == EG_OK);
    eg_load_commit(other.w);
    MUST(eg_world_check(other.w) == NULL);
    second = save(&other, &again);
    MUST(size == again && memcmp(bytes, second, size) == 0);
    fz_reached[RELOADED]++;
    free(bytes);
    free(second);
    close_bed(&other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bed b;
    size_t before, after;
    uint8_t *old, *now;

    open_bed(&b);
    old = save(&b, &before);
    if (load(&b, data, size, size & 1 ? EG_LOAD_COPY : 0) != EG_OK) {
        now = save(&b, &after);
        MUST(before == after && memcmp(old, now, before) == 0);
        free(now);
    } else {
        fz_reached[LOADED]++;
        check_hosted(&b, data, size);
        MUST(eg_world_check(b.w) == NULL);
        if (size % 3 == 0) {
            eg_load_rollback(b.w, 1);
            now = save(&b, &after);
            MUST(before == after && memcmp(old, now, before) == 0);
            free(now);
        } else {
            eg_load_commit(b.w);
            work(&b);
            reload(&b);
        }
    }
    MUST(eg_world_check(b.w) == NULL);
    free(old);
    close_bed(&b);
    return 0;
}
