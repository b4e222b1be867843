/* SPDX-License-Identifier: MIT */
/* The map of 32-bit keys against a naive array, and its mixing function. */
#include "snap_util.h"

#include "core/base/eg_hash.h"

#include <string.h>

enum { KEYS = 96 };

/* Values by index; keys[i] is the i-th key. 0: absent. */
typedef struct naive {
    uint32_t keys[KEYS];
    uint32_t values[KEYS];
} naive;

static void expect_same(const egi_map32 *m, const naive *n)
{
    uint32_t count = 0;

    for (int i = 0; i < KEYS; i++) {
        assert_int_equal(egi_map32_get(m, n->keys[i]), n->values[i]);
        count += n->values[i] != 0;
    }
    assert_int_equal(m->count, count);
    assert_true(m->count <= m->capacity);
}

/* Random sets and removals of the keys of `n`. */
static void churn(naive *n, uint64_t *seed, int steps)
{
    snap_memory memory;
    egi_map32 m = {0};

    snap_memory_init(&memory);
    for (int step = 0; step < steps; step++) {
        uint32_t i = snap_below(seed, KEYS);

        if (snap_below(seed, 100) < 55) {
            n->values[i] = 1 + snap_below(seed, UINT32_MAX);
            assert_int_equal(
                egi_map32_set(&m, &memory.alloc, n->keys[i], n->values[i]),
                EG_OK);
        } else {
            n->values[i] = 0;
            egi_map32_remove(&m, n->keys[i]);
        }
        expect_same(&m, n);
    }
    egi_map32_fini(&m, &memory.alloc);
    snap_memory_fini(&memory);
}

/* The next key above `key` whose home in a table of `capacity` is `home`. */
static uint32_t key_at_home(uint32_t key, uint32_t home, uint32_t capacity)
{
    do
        key++;
    while ((egi_mix32(key) & (capacity - 1)) != home);
    return key;
}

static void the_map_agrees_with_an_array(void **state)
{
    uint64_t seed = snap_seed();
    naive n;

    (void)state;
    for (int round = 0; round < 20; round++) {
        memset(&n, 0, sizeof n);
        for (uint32_t i = 0; i < KEYS; i++)
            n.keys[i] = i + 1;
        if (round % 2)
            for (int i = 0; i < KEYS; i++)
                n.keys[i] = 1 + snap_below(&seed, UINT32_MAX);
        n.keys[0] = UINT32_MAX;
        churn(&n, &seed, 400);
    }
}

static void keys_with_one_home_stay_reachable(void **state)
{
    uint64_t seed = snap_seed();
    uint32_t key = 0;
    naive n;

    (void)state;
    memset(&n, 0, sizeof n);
    /* The last place of the table: each run of probes wraps around. */
    for (int i = 0; i < KEYS; i++)
        n.keys[i] = key = key_at_home(key, 127, 128);
    churn(&n, &seed, 2000);
}

/* Two runs of probes that overlap across the end of the table; every order of
 * removal. */
static void a_removal_closes_the_gap_in_any_order(void **state)
{
    snap_memory memory;
    uint32_t keys[5], capacity = 8;

    (void)state;
    snap_memory_init(&memory);
    keys[0] = key_at_home(0, 6, capacity);
    keys[1] = key_at_home(keys[0], 6, capacity);
    keys[2] = key_at_home(keys[1], 7, capacity);
    keys[3] = key_at_home(keys[2], 0, capacity);
    keys[4] = key_at_home(keys[3], 7, capacity);
    for (int order = 0; order < 120; order++) {
        egi_map32 m = {0};
        int left[5] = {0, 1, 2, 3, 4}, code = order;

        for (uint32_t i = 0; i < 5; i++)
            (void)egi_map32_set(&m, &memory.alloc, keys[i], i + 1);
        assert_int_equal(m.capacity, capacity);
        for (int n = 5; n > 0; n--) {
            int pick = code % n;

            code /= n;
            egi_map32_remove(&m, keys[left[pick]]);
            assert_int_equal(egi_map32_get(&m, keys[left[pick]]), 0);
            left[pick] = left[n - 1];
            for (int i = 0; i < n - 1; i++)
                assert_int_equal(egi_map32_get(&m, keys[left[i]]), left[i] + 1);
        }
        assert_int_equal(m.count, 0);
        egi_map32_fini(&m, &memory.alloc);
    }
    snap_memory_fini(&memory);
}

static void removing_an_absent_key_changes_nothing(void **state)
{
    snap_memory memory;
    egi_map32 m = {0};

    (void)state;
    snap_memory_init(&memory);
    egi_map32_remove(&m, 7);
    assert_int_equal(egi_map32_get(&m, 7), 0);
    assert_int_equal(egi_map32_set(&m, &memory.alloc, 7, 70), EG_OK);
    egi_map32_remove(&m, 8);
    egi_map32_remove(&m, 0);
    assert_int_equal(m.count, 1);
    assert_int_equal(egi_map32_get(&m, 7), 70);
    assert_int_equal(egi_map32_get(&m, 0), 0);
    egi_map32_fini(&m, &memory.alloc);
    snap_memory_fini(&memory);
}

static void after_a_reserve_sets_cannot_fail(void **state)
{
    static const uint32_t sizes[] = {1, 6, 7, 100, 5000};
    snap_memory memory;

    (void)state;
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        egi_map32 m = {0};

        snap_memory_init(&memory);
        assert_int_equal(egi_map32_set(&m, &memory.alloc, 1, 1), EG_OK);
        assert_int_equal(egi_map32_reserve(&m, &memory.alloc, sizes[k]), EG_OK);
        memory.fail_at = memory.calls;
        for (uint32_t i = 0; i < sizes[k]; i++)
            assert_int_equal(egi_map32_set(&m, &memory.alloc, i + 2, 9), EG_OK);
        assert_int_equal(m.count, sizes[k] + 1);
        egi_map32_fini(&m, &memory.alloc);
        snap_memory_fini(&memory);
    }
}

static void a_failed_set_leaves_the_map_as_it_was(void **state)
{
    snap_memory memory;
    egi_map32 m = {0};
    uint32_t n = 0;

    (void)state;
    snap_memory_init(&memory);
    memory.fail_at = 3;
    memory.fail_on = 1;
    while (egi_map32_set(&m, &memory.alloc, n + 1, n + 1) == EG_OK)
        n++;
    assert_in_range(n, 7, 1000);
    assert_int_equal(m.count, n);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(egi_map32_get(&m, i + 1), i + 1);
    assert_int_equal(egi_map32_get(&m, n + 1), 0);
    assert_int_equal(egi_map32_reserve(&m, &memory.alloc, UINT32_MAX),
                     EG_ENOMEM);
    assert_int_equal(m.count, n);
    egi_map32_fini(&m, &memory.alloc);
    snap_memory_fini(&memory);
}

static void clearing_keeps_the_room(void **state)
{
    snap_memory memory;
    egi_map32 m = {0};

    (void)state;
    snap_memory_init(&memory);
    egi_map32_clear(&m);
    for (uint32_t i = 1; i <= 100; i++)
        (void)egi_map32_set(&m, &memory.alloc, i, i);
    memory.fail_at = memory.calls;
    egi_map32_clear(&m);
    assert_int_equal(m.count, 0);
    for (uint32_t i = 1; i <= 100; i++) {
        assert_int_equal(egi_map32_get(&m, i), 0);
        assert_int_equal(egi_map32_set(&m, &memory.alloc, i, i), EG_OK);
    }
    egi_map32_fini(&m, &memory.alloc);
    egi_map32_fini(&m, &memory.alloc);
    snap_memory_fini(&memory);
}

/* The inverse exists, so no two ids meet by mixing alone. */
static uint32_t unmix(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x43021123U;
    x ^= x >> 15 ^ x >> 30;
    x *= 0x1d69e2a5U;
    x ^= x >> 16;
    return x;
}

static void mixing_loses_nothing(void **state)
{
    uint64_t seed = snap_seed();

    (void)state;
    for (uint32_t i = 0; i < 100000; i++) {
        uint32_t x = (uint32_t)snap_random(&seed);

        assert_int_equal(unmix(egi_mix32(x)), x);
        assert_int_equal(unmix(egi_mix32(i)), i);
    }
}

static void every_byte_enters_the_hash(void **state)
{
    unsigned char bytes[32];
    uint32_t plain;

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 37);
    plain = egi_hash_bytes(bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] ^= 0x10;
        assert_int_not_equal(egi_hash_bytes(bytes, sizeof bytes), plain);
        bytes[i] ^= 0x10;
        assert_int_not_equal(egi_hash_bytes(bytes, i), plain);
    }
    assert_int_equal(egi_hash_bytes(bytes, sizeof bytes), plain);
    assert_int_not_equal(egi_hash_bytes("ab", 2), egi_hash_bytes("ba", 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_map_agrees_with_an_array),
        cmocka_unit_test(keys_with_one_home_stay_reachable),
        cmocka_unit_test(a_removal_closes_the_gap_in_any_order),
        cmocka_unit_test(removing_an_absent_key_changes_nothing),
        cmocka_unit_test(after_a_reserve_sets_cannot_fail),
        cmocka_unit_test(a_failed_set_leaves_the_map_as_it_was),
        cmocka_unit_test(clearing_keeps_the_room),
        cmocka_unit_test(mixing_loses_nothing),
        cmocka_unit_test(every_byte_enters_the_hash),
    };

    return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
