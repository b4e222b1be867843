/* SPDX-License-Identifier: MIT */
/* Checked sizes, growing arrays and the default allocator. */
#include "snap_util.h"

#include "core/base/eg_alloc.h"

#include <string.h>

static void a_product_that_does_not_fit_is_refused(void **state)
{
    size_t out = 77;

    (void)state;
    assert_int_equal(egi_mul_size(SIZE_MAX, 2, &out), EG_ENOMEM);
    assert_int_equal(egi_mul_size(2, SIZE_MAX, &out), EG_ENOMEM);
    assert_int_equal(egi_mul_size(SIZE_MAX / 2 + 1, 2, &out), EG_ENOMEM);
    assert_int_equal(out, 77);
    assert_int_equal(egi_mul_size(SIZE_MAX / 2, 2, &out), EG_OK);
    assert_int_equal(out, SIZE_MAX - 1);
    assert_int_equal(egi_mul_size(SIZE_MAX, 1, &out), EG_OK);
    assert_int_equal(out, SIZE_MAX);
    assert_int_equal(egi_mul_size(SIZE_MAX, 0, &out), EG_OK);
    assert_int_equal(out, 0);
    assert_int_equal(egi_mul_size(0, SIZE_MAX, &out), EG_OK);
    assert_int_equal(out, 0);
}

static void a_sum_that_does_not_fit_is_refused(void **state)
{
    size_t out = 77;

    (void)state;
    assert_int_equal(egi_add_size(SIZE_MAX, 1, &out), EG_ENOMEM);
    assert_int_equal(egi_add_size(1, SIZE_MAX, &out), EG_ENOMEM);
    assert_int_equal(out, 77);
    assert_int_equal(egi_add_size(SIZE_MAX - 1, 1, &out), EG_OK);
    assert_int_equal(out, SIZE_MAX);
    assert_int_equal(egi_add_size(0, SIZE_MAX, &out), EG_OK);
}

static void an_array_doubles_and_keeps_its_elements(void **state)
{
    snap_memory memory;
    uint32_t *items = NULL, capacity = 0;

    (void)state;
    snap_memory_init(&memory);
    for (uint32_t n = 0; n < 1000; n++) {
        assert_int_equal(egi_grow(&memory.alloc, (void **)&items, &capacity,
                                  n + 1, sizeof *items),
                         EG_OK);
        assert_true(capacity > n);
        items[n] = n * 3;
    }
    for (uint32_t n = 0; n < 1000; n++)
        assert_int_equal(items[n], n * 3);
    assert_int_equal(capacity, 1024);
    assert_int_equal(memory.calls, 8);
    assert_int_equal(memory.live, 1024 * sizeof *items);
    egi_free(&memory.alloc, items, capacity * sizeof *items);
    snap_memory_fini(&memory);
}

static void an_array_that_has_room_asks_for_nothing(void **state)
{
    snap_memory memory;
    char *items = NULL;
    uint32_t capacity = 0;

    (void)state;
    snap_memory_init(&memory);
    assert_int_equal(egi_grow(&memory.alloc, (void **)&items, &capacity, 0, 1),
                     EG_OK);
    assert_null(items);
    assert_int_equal(
        egi_grow(&memory.alloc, (void **)&items, &capacity, 100, 1), EG_OK);
    assert_int_equal(capacity, 128);
    memory.fail_at = memory.calls;
    assert_int_equal(
        egi_grow(&memory.alloc, (void **)&items, &capacity, 128, 1), EG_OK);
    egi_free(&memory.alloc, items, capacity);
    snap_memory_fini(&memory);
}

static void an_array_that_cannot_grow_stays(void **state)
{
    snap_memory memory;
    uint32_t *items = NULL, capacity = 0;
    void *before;

    (void)state;
    snap_memory_init(&memory);
    assert_int_equal(
        egi_grow(&memory.alloc, (void **)&items, &capacity, 8, sizeof *items),
        EG_OK);
    before = items;
    for (uint32_t n = 0; n < 8; n++)
        items[n] = n;
    memory.fail_at = memory.calls;
    assert_int_equal(
        egi_grow(&memory.alloc, (void **)&items, &capacity, 9, sizeof *items),
        EG_ENOMEM);
    /* More bytes than size_t counts: refused before anyone is asked. */
    memory.fail_at = -1;
    assert_int_equal(egi_grow(&memory.alloc, (void **)&items, &capacity,
                              UINT32_MAX, SIZE_MAX / 2),
                     EG_ENOMEM);
    assert_ptr_equal(items, before);
    assert_int_equal(capacity, 8);
    for (uint32_t n = 0; n < 8; n++)
        assert_int_equal(items[n], n);
    assert_int_equal(memory.calls, 2);
    egi_free(&memory.alloc, items, capacity * sizeof *items);
    snap_memory_fini(&memory);
}

/* Doubling stops where 32 bits end. */
static void the_largest_array_is_as_long_as_asked(void **state)
{
    snap_memory memory;
    char *items = NULL;
    uint32_t capacity = 0x80000001U;

    (void)state;
    snap_memory_init(&memory);
    /* snap_memory refuses such a block; the count must not have wrapped. */
    assert_int_equal(
        egi_grow(&memory.alloc, (void **)&items, &capacity, UINT32_MAX, 1),
        EG_ENOMEM);
    assert_int_equal(capacity, 0x80000001U);
    assert_int_equal(memory.calls, 1);
    snap_memory_fini(&memory);
}

static void freeing_nothing_calls_nobody(void **state)
{
    eg_allocator none;

    (void)state;
    memset(&none, 0, sizeof none);
    egi_free(&none, NULL, 0);
    egi_unmap(&none, NULL, 0);
}

static void blocks_and_pages_come_from_the_process(void **state)
{
    const eg_allocator *a = &egi_default_allocator;
    unsigned char *p = egi_zalloc(a, 100), *pages;
    size_t size = (size_t)5 << 20;

    (void)state;
    assert_non_null(p);
    for (int i = 0; i < 100; i++)
        assert_int_equal(p[i], 0);
    memset(p, 7, 100);
    p = egi_resize(a, p, 100, 100000);
    assert_non_null(p);
    for (int i = 0; i < 100; i++)
        assert_int_equal(p[i], 7);
    egi_free(a, p, 100000);
    pages = egi_map(a, size);
    assert_non_null(pages);
    assert_int_equal((uintptr_t)pages % 4096, 0);
    for (size_t i = 0; i < size; i += 1000)
        assert_int_equal(pages[i], 0);
    pages[0] = pages[size - 1] = 1;
    egi_unmap(a, pages, size);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_product_that_does_not_fit_is_refused),
        cmocka_unit_test(a_sum_that_does_not_fit_is_refused),
        cmocka_unit_test(an_array_doubles_and_keeps_its_elements),
        cmocka_unit_test(an_array_that_has_room_asks_for_nothing),
        cmocka_unit_test(an_array_that_cannot_grow_stays),
        cmocka_unit_test(the_largest_array_is_as_long_as_asked),
        cmocka_unit_test(freeing_nothing_calls_nobody),
        cmocka_unit_test(blocks_and_pages_come_from_the_process),
    };

    return cmocka_run_group_tests_name("alloc", tests, NULL, NULL);
}
