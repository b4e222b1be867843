/* SPDX-License-Identifier: MIT */
/* The registry: what is registered, found, refused, and how it is ordered. */
#include "core_util.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static eg_registry *open_registry(snap_memory *memory)
{
    eg_registry *r = NULL;

    snap_memory_init(memory);
    assert_int_equal(eg_registry_new(&memory->alloc, &r), EG_OK);
    return r;
}

static void close_registry(snap_memory *memory, eg_registry *r)
{
    eg_registry_release(r);
    snap_memory_fini(memory);
}

/* A sound raw definition to spoil. */
static eg_component_def sound_def(const char *name)
{
    eg_component_def def;

    memset(&def, 0, sizeof def);
    def.name = name;
    def.name_len = (uint32_t)strlen(name);
    def.storage = EG_RAW;
    def.size = 8;
    def.align = 8;
    return def;
}

static void ids_count_from_one_and_names_find_them(void **state)
{
    snap_memory memory;
    eg_registry *r = open_registry(&memory);
    char name[32];

    (void)state;
    assert_int_equal(eg_component_find(r, "C1", 2), 0);
    for (uint32_t i = 1; i <= 5000; i++) {
        snprintf(name, sizeof name, "C%u", (unsigned)i);
        assert_int_equal(core_component(r, name, EG_TAG, 0, 0), i);
        assert_int_equal(eg_component_count(r), i);
    }
    for (uint32_t i = 1; i <= 5000; i++) {
        int len = snprintf(name, sizeof name, "C%u", (unsigned)i);

        assert_int_equal(eg_component_find(r, name, (uint32_t)len), i);
        assert_int_equal(eg_component_info(r, i)->name_len, len);
    }
    assert_int_equal(eg_component_find(r, "C5001", 5), 0);
    assert_int_equal(eg_component_find(r, "", 0), 0);
    assert_int_equal(eg_component_find(r, NULL, 0), 0);
    assert_null(eg_component_info(r, 0));
    assert_null(eg_component_info(r, 5001));
    assert_null(eg_component_info(r, UINT32_MAX));
    close_registry(&memory, r);
}

static void a_name_is_its_bytes(void **state)
{
    static const char *const names[] = {"a\0b", "a\0c", "a\0b\0", "a", "\0"};
    static const uint32_t lengths[] = {3, 3, 4, 1, 1};
    snap_memory memory;
    eg_registry *r = open_registry(&memory);

    (void)state;
    for (uint32_t i = 0; i < 5; i++) {
        eg_component_def def = sound_def("x");
        uint32_t id = 0;

        def.name = names[i];
        def.name_len = lengths[i];
        assert_int_equal(eg_component_register(r, &def, &id), EG_OK);
        assert_int_equal(eg_component_register(r, &def, &id), EG_EINVAL);
        assert_int_equal(id, i + 1);
    }
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(eg_component_find(r, names[i], lengths[i]), i + 1);
    close_registry(&memory, r);
}

static void everything_is_copied(void **state)
{
    snap_memory memory;
    eg_registry *r = open_registry(&memory);
    char name[] = "Body", group[] = "Physics", first[] = "x", second[] = "vel";
    eg_field fields[2];
    eg_component_def def = sound_def(name);
    const eg_component_def *info;
    uint32_t id;

    (void)state;
    memset(fields, 0, sizeof fields);
    fields[0].name = first;
    fields[0].name_len = 1;
    fields[0].type = EG_F64;
    fields[0].elements = 1;
    fields[1] = fields[0];
    fields[1].name = second;
    fields[1].name_len = 3;
    fields[1].type = EG_F32;
    fields[1].offset = 8;
    fields[1].dims[0] = 2;
    fields[1].elements = 2;
    def.size = 16;
    def.fields = fields;
    def.field_count = 2;
    def.group = group;
    def.group_len = 7;
    def.group_key = 2.5;
    assert_int_equal(eg_component_register(r, &def, &id), EG_OK);
    memset(name, '?', sizeof name - 1);
    memset(group, '?', sizeof group - 1);
    memset(first, '?', sizeof first - 1);
    memset(second, '?', sizeof second - 1);
    memset(fields, 0xff, sizeof fields);
    info = eg_component_info(r, id);
    assert_memory_equal(info->name, "Body", 4);
    assert_memory_equal(info->group, "Physics", 7);
    assert_true(info->group_key == 2.5);
    assert_int_equal(info->field_count, 2);
    assert_memory_equal(info->fields[0].name, "x", 1);
    assert_memory_equal(info->fields[1].name, "vel", 3);
    assert_int_equal(info->fields[1].name_len, 3);
    assert_int_equal(info->fields[1].type, EG_F32);
    assert_int_equal(info->fields[1].offset, 8);
    assert_int_equal(info->fields[1].elements, 2);
    assert_int_equal(info->size, 16);
    close_registry(&memory, r);
}

static void storage_decides_the_size(void **state)
{
    snap_memory memory;
    eg_registry *r = open_registry(&memory);

    (void)state;
    (void)core_component(r, "Tag", EG_TAG, 0, 0);
    (void)core_component(r, "Host", EG_HOST, 0, 0);
    (void)core_component(r, "Number", EG_NUMBER, 0, 0);
    (void)core_component(r, "Boolean", EG_BOOLEAN, 0, 0);
    (void)core_component(r, "Raw", EG_RAW, 24, 8);
    assert_int_equal(eg_component_info(r, 1)->size, 0);
    assert_int_equal(eg_component_info(r, 2)->size, 0);
    assert_int_equal(eg_component_info(r, 3)->size, 8);
    assert_int_equal(eg_component_info(r, 4)->size, 1);
    assert_int_equal(eg_component_info(r, 5)->size, 24);
    close_registry(&memory, r);
}

static void refuse(eg_registry *r, const eg_component_def *def)
{
    uint32_t id = 99, count = eg_component_count(r);

    assert_int_equal(eg_component_register(r, def, &id), EG_EINVAL);
    assert_int_equal(id, 99);
    assert_int_equal(eg_component_count(r), count);
}

static void a_bad_layout_is_refused(void **state)
{
    snap_memory memory;
    eg_registry *r = open_registry(&memory);
    eg_component_def def;

    (void)state;
#define REFUSE(change) (def = sound_def("Bad"), (void)(change), refuse(r, &def))
    REFUSE(def.name = NULL);
    REFUSE(def.name_len = 0);
    REFUSE(def.storage = -1);
    REFUSE(def.storage = EG_HOST + 1);
    REFUSE(def.size = 0);
    REFUSE(def.size = (1U << 20) + 8);
    REFUSE(def.align = 0);
    REFUSE(def.align = 3);
    REFUSE(def.align = 128);
    REFUSE(def.align = 16);
    REFUSE(def.field_count = 1);
    REFUSE(def.storage = EG_NUMBER);
    REFUSE(def.storage = EG_TAG);
    REFUSE(def.group_key = NAN);
    def = sound_def("Good");
    def.size = 1U << 20;
    def.align = 64;
    assert_int_equal(eg_component_register(r, &def, &(uint32_t){0}), EG_OK);
    refuse(r, &def);
    assert_int_equal(eg_component_register(r, NULL, &(uint32_t){0}), EG_EINVAL);
    assert_int_equal(eg_component_register(NULL, &def, &(uint32_t){0}),
                     EG_EINVAL);
    assert_int_equal(eg_component_register(r, &def, NULL), EG_EINVAL);
    close_registry(&memory, r);
}

static void a_bad_field_is_refused(void **state)
{
    snap_memory memory;
    eg_registry *r = open_registry(&memory);
    eg_component_def def = sound_def("Bad");
    eg_field sound, f;
    uint32_t id;

    (void)state;
    memset(&sound, 0, sizeof sound);
    sound.name = "x";
    sound.name_len = 1;
    sound.type = EG_F64;
    sound.elements = 1;
    def.fields = &f;
    def.field_count = 1;
#define BAD_FIELD(change) (f = sound, (void)(change), refuse(r, &def))
    BAD_FIELD(f.name = NULL);
    BAD_FIELD(f.name_len = 0);
    BAD_FIELD(f.elements = 0);
    BAD_FIELD(f.type = 0);
    BAD_FIELD(f.type = EG_POINTER + 1);
    BAD_FIELD(f.offset = 8);
    f = sound;
    assert_int_equal(eg_component_register(r, &def, &id), EG_OK);
    close_registry(&memory, r);
}

static int before(const eg_registry *r, uint32_t a, uint32_t b)
{
    int order = egi_component_compare(r, a, b);

    assert_true((order < 0) == (egi_component_compare(r, b, a) > 0));
    return order < 0;
}

static void order_is_by_group_then_key_then_name(void **state)
{
    static const struct {
        const char *name, *group;
        double key;
    } sorted[] = {
        {"A", NULL, 0},        {"ab", "A", 1},          {"aa", "A", 2},
        {"a", "A", 10},        {"b", "A", 10},          {"AA", NULL, 0},
        {"Link>9", "Link", 9}, {"Link>10", "Link", 10}, {"M", NULL, 0},
        {"\xff", NULL, 0},
    };
    enum { N = sizeof sorted / sizeof sorted[0] };
    snap_memory memory;
    eg_registry *r = open_registry(&memory);
    uint32_t ids[N];

    (void)state;
    for (uint32_t i = N; i-- > 0;) {
        eg_component_def def = sound_def(sorted[i].name);

        def.group = sorted[i].group;
        def.group_len = def.group ? (uint32_t)strlen(def.group) : 0;
        def.group_key = sorted[i].key;
        assert_int_equal(eg_component_register(r, &def, &ids[i]), EG_OK);
    }
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(egi_component_compare(r, ids[i], ids[i]), 0);
        for (uint32_t k = i + 1; k < N; k++)
            assert_true(before(r, ids[i], ids[k]));
    }
    close_registry(&memory, r);
}

static void the_last_reference_frees(void **state)
{
    snap_memory memory;
    eg_registry *r = open_registry(&memory);
    eg_world *w[2];

    (void)state;
    (void)core_component(r, "Pos", EG_RAW, 16, 8);
    assert_int_equal(eg_world_new(r, 10, &memory.alloc, &w[0]), EG_OK);
    assert_int_equal(eg_world_new(r, 10, &memory.alloc, &w[1]), EG_OK);
    eg_registry_release(r);
    eg_world_free(w[0]);
    assert_int_equal(eg_component_find(r, "Pos", 3), 1);
    assert_int_equal(core_set(w[1], 0, 1, 0, 0), 1);
    eg_world_free(w[1]);
    eg_registry_release(NULL);
    eg_world_free(NULL);
    snap_memory_fini(&memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_count_from_one_and_names_find_them),
        cmocka_unit_test(a_name_is_its_bytes),
        cmocka_unit_test(everything_is_copied),
        cmocka_unit_test(storage_decides_the_size),
        cmocka_unit_test(a_bad_layout_is_refused),
        cmocka_unit_test(a_bad_field_is_refused),
        cmocka_unit_test(order_is_by_group_then_key_then_name),
        cmocka_unit_test(the_last_reference_frees),
    };

    return cmocka_run_group_tests_name("component", tests, NULL, NULL);
}
