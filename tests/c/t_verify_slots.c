/* SPDX-License-Identifier: MIT */
/* The allocator entry: every slot up to the high-water mark is live, free or
 * retired, and only one of these; what is not so is refused. */
#include "snap_util.h"

#include <string.h>

#include "core/snap/eg_snap_verify.h"

#define RUN 0x80000000u

#define FIELDS(...)                                                            \
    (const uint32_t[]){__VA_ARGS__},                                           \
        sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)

/* A snapshot whose live slots are 2, 3 and 5, and this entry. */
static int open_slots(const uint32_t *fields, size_t n, size_t cut,
                      eg_snap_error *err, egi_snap_allocator *out)
{
    egi_buffer b;
    egi_writer w;
    eg_snap *s = NULL;
    snap_memory m;
    int code;

    snap_memory_init(&m);
    egi_buffer_init(&b, &egi_default_allocator);
    egi_writer_init_buffer(&w, &b);
    snap_put_prelude(&w, 1, 3, 1, 0);
    egi_put_number(&w, 0);
    egi_put_number(&w, 3);
    egi_put_number(&w, 0);
    snap_put_raw_double(&w, snap_id(3, 0));
    snap_put_raw_double(&w, snap_id(2, 7));
    snap_put_raw_double(&w, snap_id(5, 0));
    snap_put_key(&w, "__engram.allocator");
    egi_put_string_head(&w, n * 4 - cut);
    for (size_t i = 0; i < n; i++)
        egi_put_u32(&w, fields[i]);
    w.pos -= cut;
    egi_put_bool(&w, 0);
    assert_int_equal(egi_writer_end(&w), EG_OK);
    code = eg_snap_open(&m.alloc, b.data, b.size, NULL, &s, err);
    if (code == EG_OK && out != NULL)
        *out = s->allocator;
    eg_snap_close(s);
    snap_memory_fini(&m);
    egi_buffer_fini(&b);
    return code;
}

static void accept(const uint32_t *fields, size_t n)
{
    eg_snap_error err;
    egi_snap_allocator a;

    assert_int_equal(open_slots(fields, n, 0, &err, &a), EG_OK);
    assert_int_equal(a.present, 1);
    assert_int_equal(a.high, fields[0]);
    assert_int_equal(a.free_count, fields[1]);
    assert_int_equal(a.retired_count, fields[2]);
    assert_int_equal(a.floor_count, fields[3]);
    assert_int_equal(a.retired_at, a.floors_at - 4 * a.retired_count);
}

static void refuse(const uint32_t *fields, size_t n, const char *why)
{
    eg_snap_error err;

    assert_int_equal(open_slots(fields, n, 0, &err, NULL), EG_ECORRUPT);
    assert_string_equal(err.reason, why);
}

static void every_slot_has_one_use(void **state)
{
    (void)state;
    accept(FIELDS(5, 2, 0, 0, 4, 1, 1, 0));
    accept(FIELDS(5, 2, 0, 0, 1, 0, 4, 0x7fffffff));
    accept(FIELDS(5, 1, 1, 0, 1, 0, 4));
    accept(FIELDS(5, 0, 2, 0, 1, 4));
    accept(FIELDS(6, 3, 0, 0, 4, 1, 6, 2, 1, 0));
    accept(FIELDS(9, 6, 0, 0, 6, RUN, 4, 4, 9, 1, 0));
    accept(FIELDS(9, 5, 1, 0, 6, RUN | 5, 2, 8, RUN, 2, 1, 0, 4));
    accept(FIELDS(5, 2, 0, 1, 4, 1, 1, 0, 3, 12));
    accept(FIELDS(5, 2, 0, 3, 4, 1, 1, 0, 2, 0, 3, 12, 5, 0x7fffffff));
    accept(FIELDS(4194303, 4194300, 0, 0, 1, 0, 4, 0, 6, RUN, 4194298));
}

static void numbers_must_add_up(void **state)
{
    static const char why[] = "allocator: slots do not add up";
    static const char count[] = "allocator: bad number of free slots";

    (void)state;
    refuse(FIELDS(5, 1, 0, 0, 4, 1), why);
    refuse(FIELDS(5, 3, 0, 0, 4, 1, 1, 0, 6, 0), why);
    refuse(FIELDS(6, 2, 0, 0, 4, 1, 1, 0), why);
    refuse(FIELDS(5, 2, 1, 0, 4, 1, 1, 0, 4), why);
    refuse(FIELDS(4, 1, 0, 0, 1, 0), "allocator: bad high-water mark");
    refuse(FIELDS(4194304, 4194301, 0, 0, 1, 0),
           "allocator: bad high-water mark");
    refuse(FIELDS(5, 6, 0, 0, 4, 1, 1, 0), count);
    refuse(FIELDS(5, 0xffffffff, 2, 0, 4, 1), count);
    refuse(FIELDS(5, 2, 0xfffffffe, 0, 4, 1, 1, 0), why);
}

static void free_lists_name_free_slots_once(void **state)
{
    static const char twice[] = "allocator: slot has two uses";
    static const char above[] = "allocator: slot above the high-water mark";

    (void)state;
    refuse(FIELDS(5, 2, 0, 0, 3, 1, 1, 0), twice);
    refuse(FIELDS(5, 2, 0, 0, 4, 1, 4, 1), twice);
    refuse(FIELDS(5, 2, 0, 0, 4, RUN, 2), twice);
    refuse(FIELDS(5, 1, 1, 0, 4, 0, 4), twice);
    refuse(FIELDS(5, 0, 2, 0, 1, 2), twice);
    refuse(FIELDS(5, 2, 0, 0, 0, 1, 1, 0), above);
    refuse(FIELDS(5, 2, 0, 0, 6, 1, 1, 0), above);
    refuse(FIELDS(5, 2, 0, 0, 0xffffffff, RUN, 2), above);
    refuse(FIELDS(5, 2, 0, 0, 0xffffffff, 1, 1, 0), above);
    refuse(FIELDS(5, 0, 2, 0, 4, 6), above);
}

static void runs_have_at_least_two_slots(void **state)
{
    (void)state;
    refuse(FIELDS(5, 2, 0, 0, 4, RUN, 1, 1, 0),
           "allocator: run of less than two slots");
    refuse(FIELDS(5, 2, 0, 0, 4, RUN, 0, 1, 0),
           "allocator: run of less than two slots");
    refuse(FIELDS(5, 2, 0, 0, 4, RUN, 3),
           "allocator: more free slots than stated");
    refuse(FIELDS(5, 2, 0, 0, 4, RUN, 0xffffffff),
           "allocator: more free slots than stated");
    refuse(FIELDS(5, 2, 0, 0, 4, RUN), "allocator: free list is cut off");
}

static void retired_slots_ascend(void **state)
{
    (void)state;
    refuse(FIELDS(5, 0, 2, 0, 4, 1), "allocator: retired slots do not ascend");
    refuse(FIELDS(5, 0, 2, 0, 4, 4), "allocator: retired slots do not ascend");
    refuse(FIELDS(5, 0, 2, 0, 0, 4), "allocator: retired slots do not ascend");
    refuse(FIELDS(5, 0, 2, 0, 1),
           "allocator: list of retired slots is cut off");
}

static void floors_name_live_slots(void **state)
{
    static const char dead[] = "allocator: floor of a slot that is not live";

    (void)state;
    refuse(FIELDS(5, 2, 0, 1, 4, 1, 1, 0, 4, 9), dead);
    refuse(FIELDS(5, 2, 0, 1, 4, 1, 1, 0, 6, 9), dead);
    refuse(FIELDS(5, 2, 0, 1, 4, 1, 1, 0, 0xffffffff, 9), dead);
    refuse(FIELDS(5, 2, 0, 2, 4, 1, 1, 0, 3, 9, 2, 9),
           "allocator: floors do not ascend");
    refuse(FIELDS(5, 2, 0, 2, 4, 1, 1, 0, 3, 9, 3, 9),
           "allocator: floors do not ascend");
    refuse(FIELDS(5, 2, 0, 1, 4, 1, 1, 0, 0, 9),
           "allocator: floors do not ascend");
    refuse(FIELDS(5, 2, 0, 1, 4, 1, 1, 0, 3, 0x80000000),
           "allocator: generation out of range");
    refuse(FIELDS(5, 2, 0, 0x20000000, 4, 1, 1, 0),
           "allocator: list of floors is cut off");
}

static void length_is_exact(void **state)
{
    static const uint32_t fields[] = {5, 1, 1, 1, 1, 0, 4, 3, 12};
    eg_snap_error err;

    (void)state;
    assert_int_equal(open_slots(fields, 9, 0, &err, NULL), EG_OK);
    for (size_t cut = 1; cut <= sizeof fields; cut++)
        assert_int_equal(open_slots(fields, 9, cut, &err, NULL), EG_ECORRUPT);
    refuse(FIELDS(5, 2, 0, 0, 4, 1, 1, 0, 0), "allocator: leftover bytes");
    refuse(FIELDS(5, 2, 0, 0, 4, 1, 1, 0, 0, 0), "allocator: leftover bytes");
}

static void the_value_is_a_string(void **state)
{
    egi_buffer b;
    egi_writer w;
    eg_snap *s = NULL;
    eg_snap_error err;

    (void)state;
    egi_buffer_init(&b, &egi_default_allocator);
    egi_writer_init_buffer(&w, &b);
    snap_put_prelude(&w, 1, 0, 0, 0);
    snap_put_key(&w, "__engram.allocator");
    egi_put_empty_table(&w);
    egi_put_bool(&w, 0);
    egi_writer_end(&w);
    assert_int_equal(eg_snap_open(NULL, b.data, b.size, NULL, &s, &err),
                     EG_ECORRUPT);
    assert_string_equal(err.reason, "string expected");
    egi_buffer_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_slot_has_one_use),
        cmocka_unit_test(numbers_must_add_up),
        cmocka_unit_test(free_lists_name_free_slots_once),
        cmocka_unit_test(runs_have_at_least_two_slots),
        cmocka_unit_test(retired_slots_ascend),
        cmocka_unit_test(floors_name_live_slots),
        cmocka_unit_test(length_is_exact),
        cmocka_unit_test(the_value_is_a_string),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
