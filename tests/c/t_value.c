/* SPDX-License-Identifier: MIT */
/* Walking values: by hand-made cases, and under hostile input. Random values
 * are in t_value_random.c. */
#include "snap_util.h"

#include <string.h>

#include "core/snap/eg_keyset.h"
#include "core/snap/eg_value.h"

#define OF(text) (text), sizeof(text) - 1

/* -- helpers --------------------------------------------------------------- */

typedef struct outcome {
    int error;
    size_t at; /* of the error, else where the value ends */
    const char *why;
} outcome;

static outcome walk(const void *bytes, size_t len, uint32_t depth)
{
    snap_memory m;
    egi_walker w;
    egi_reader r;
    outcome o;

    snap_memory_init(&m);
    egi_walker_init(&w, &m.alloc, depth);
    egi_reader_init(&r, bytes, len);
    o.error = egi_value_skip(&r, &w);
    o.at = o.error == EG_OK ? r.pos : r.error_at;
    o.why = r.why;
    egi_walker_fini(&w);
    snap_memory_fini(&m);
    return o;
}

static void accept(const char *bytes, size_t len)
{
    outcome o = walk(bytes, len, EG_MAX_DEPTH);

    assert_int_equal(o.error, EG_OK);
    assert_int_equal(o.at, len);
}

static void refuse(const char *bytes, size_t len, size_t at, const char *why)
{
    outcome o = walk(bytes, len, EG_MAX_DEPTH);

    assert_int_equal(o.error, EG_ECORRUPT);
    assert_string_equal(o.why, why);
    assert_int_equal(o.at, at);
}

/* -- hand-made cases ------------------------------------------------------- */

#define N5 "\x06\x05\0\0\0"
#define D5 "\x07\0\0\0\0\0\0\x14\x40"
#define ZERO "\x06\0\0\0\0"
#define MINUS_ZERO "\x07\0\0\0\0\0\0\0\x80"
#define ONE "\x06\x01\0\0\0"
#define TWO "\x06\x02\0\0\0"
#define HALF "\x07\0\0\0\0\0\0\xe0\x3f"
#define INF "\x07\0\0\0\0\0\0\xf0\x7f"
#define NOT "\x07\0\0\0\0\0\0\xf8\x7f"
#define T "\x02"

static void values_of_every_kind_are_walked(void **state)
{
    (void)state;
    accept(OF("\0"));
    accept(OF(T));
    accept(OF(N5));
    accept(OF(INF));
    accept(OF(NOT));
    accept(OF("\x10\1\2\3\4\5\6\7\x8"));
    accept(OF("\x25hello"));
    accept(OF("\x08"));
    accept(OF("\x0a\x00"));
    accept(OF("\x0c\x01"));
    accept(OF("\x09\x00"));
    accept(OF("\x0a\x02" T "\0"));
    accept(OF("\x0c\x03" T "\0"));
    accept(OF("\x09\x03"
              "\x21k" T "\x01" T "\x02\x08"));
    accept(OF("\x0d\x03\x01" T T ZERO T));
    accept(OF("\x0b\x02\x01" T T TWO T));
    accept(OF("\x09\x02" INF T HALF "\x0c\x02\x09\x01\x20\0"));
}

static void keys_must_be_scalars(void **state)
{
    (void)state;
    refuse(OF("\x09\x01"
              "\0" T),
           2, "nil as a key");
    refuse(OF("\x09\x01" NOT T), 2, "NaN as a key");
    refuse(OF("\x09\x01"
              "\x08" T),
           2, "table as a key");
    refuse(OF("\x09\x01"
              "\x10\0\0\0\0\0\0\0\0" T),
           2, "64-bit integer as a key");
    refuse(OF("\x09\x01"
              "\x11\0\0\0\0\0\0\0\0" T),
           2, "64-bit integer as a key");
}

static void equal_keys_are_found(void **state)
{
    static const char why[] = "key comes twice";

    (void)state;
    refuse(OF("\x09\x02"
              "\x21k" T "\x21k" T),
           5, why);
    refuse(OF("\x09\x02"
              "\x20" T "\x20" T),
           4, why);
    refuse(OF("\x09\x02" T T T T), 4, why);
    refuse(OF("\x09\x02" N5 T N5 T), 8, why);
    refuse(OF("\x09\x02" N5 T D5 T), 8, why);
    refuse(OF("\x09\x02" D5 T N5 T), 12, why);
    refuse(OF("\x09\x02" ZERO T MINUS_ZERO T), 8, why);
    refuse(OF("\x09\x02" INF T INF T), 12, why);
    refuse(OF("\x09\x02"
              "\x28longname" T "\x28longname" T),
           12, why);
    refuse(OF("\x09\x03"
              "\x21k"
              "\x08"
              "\x21j" T "\x21k" T),
           8, why);
    /* Kinds never meet. */
    accept(OF("\x09\x03"
              "\x21"
              "5" T N5 T T T));
    accept(OF("\x09\x02"
              "\x01" T T T));
    accept(OF("\x09\x02"
              "\x27longnam" T "\x28longname" T));
    accept(OF("\x09\x02"
              "\x29longname1" T "\x29longname2" T));
    accept(OF("\x09\x02"
              "\x21\0" T "\x22\0\0" T));
}

static void the_array_part_has_keys_as_well(void **state)
{
    static const char why[] = "key is in the array part as well";

    (void)state;
    refuse(OF("\x0d\x03\x01" T T ONE T), 5, why);
    refuse(OF("\x0d\x03\x01" T T TWO T), 5, why);
    refuse(OF("\x0d\x03\x01" T "\0" TWO T), 5, why);
    refuse(OF("\x0b\x02\x01" T T ZERO T), 5, why);
    refuse(OF("\x0b\x02\x01" T T MINUS_ZERO T), 5, why);
    refuse(OF("\x0b\x02\x01" T T ONE T), 5, why);
    accept(OF("\x0d\x03\x01" T T HALF T));
    accept(OF("\x0d\x03\x01" T T INF T));
    accept(OF("\x0d\x03\x01" T T "\x21"
              "1" T));
}

static void cut_input_is_truncated_where_it_stops(void **state)
{
    static const char bytes[] = "\x09\x02\x21k\x0c\x03" N5 "\x25hello" N5 D5;

    (void)state;
    accept(OF(bytes));
    for (size_t cut = 0; cut < sizeof bytes - 1; cut++) {
        outcome o = walk(bytes, cut, EG_MAX_DEPTH);

        assert_int_equal(o.error, EG_ETRUNC);
        assert_true(o.at <= cut);
    }
}

static void depth_ends_where_the_limit_says(void **state)
{
    static uint8_t bytes[200001];

    (void)state;
    for (size_t i = 0; i < 100000; i++) {
        bytes[2 * i] = 0x0c;
        bytes[2 * i + 1] = 2;
    }
    bytes[200000] = 2;
    assert_int_equal(walk(bytes, sizeof bytes, 512).error, EG_ELIMIT);
    assert_int_equal(walk(bytes, sizeof bytes, 512).at, 1024);
    assert_int_equal(walk(bytes, sizeof bytes, 0).error, EG_ELIMIT);
    assert_int_equal(walk(bytes, sizeof bytes, 99999).error, EG_ELIMIT);
    assert_int_equal(walk(bytes, sizeof bytes, 100000).error, EG_OK);
    bytes[1024] = 2;
    assert_int_equal(walk(bytes, 1025, 512).error, EG_OK);
    bytes[1024] = 8; /* an empty table is a level, too */
    assert_int_equal(walk(bytes, 1025, 512).error, EG_ELIMIT);
    bytes[1024] = 0x0c;
    assert_int_equal(walk("\x02", 1, 0).error, EG_OK);
}

static void many_values_in_a_row(void **state)
{
    static const char bytes[] = T N5 "\x08"
                                     "\x09\x01" T T "\x21x" T;
    egi_walker w;
    egi_reader r;

    (void)state;
    egi_walker_init(&w, &egi_default_allocator, EG_MAX_DEPTH);
    egi_reader_init(&r, OF(bytes));
    assert_int_equal(egi_value_skip_many(&r, &w, 6), EG_OK);
    assert_int_equal(egi_reader_left(&r), 0);
    assert_int_equal(egi_value_skip_many(&r, &w, 0), EG_OK);
    assert_int_equal(egi_value_skip_many(&r, &w, 1), EG_ETRUNC);
    egi_reader_init(&r, OF(bytes));
    assert_int_equal(egi_value_skip_many(&r, &w, SIZE_MAX), EG_ETRUNC);
    assert_int_equal(r.error_at, 0);
    egi_reader_init(&r, OF(bytes));
    assert_int_equal(egi_value_skip_many(&r, &w, 7), EG_ETRUNC);
    assert_int_equal(r.error_at, sizeof bytes - 1);
    egi_walker_fini(&w);
}

/* -- large tables ---------------------------------------------------------- */

/* A table of n string keys; the last one repeats key `again` unless n. */
static void put_large(egi_buffer *b, size_t n, size_t again)
{
    egi_writer w;
    uint8_t key[12] = "a key to ";

    egi_buffer_reset(b);
    egi_writer_init_buffer(&w, b);
    egi_put_hash(&w, n + (again < n));
    for (size_t i = 0; i < n + (again < n); i++) {
        size_t k = i < n ? i : again;

        key[9] = (uint8_t)k;
        key[10] = (uint8_t)(k >> 8);
        key[11] = (uint8_t)(k >> 16);
        egi_put_string(&w, key, sizeof key);
        egi_put_bool(&w, 1);
    }
    assert_int_equal(egi_writer_end(&w), EG_OK);
}

static void large_tables_find_equal_keys(void **state)
{
    egi_buffer b;

    (void)state;
    egi_buffer_init(&b, &egi_default_allocator);
    for (size_t n = 14; n < 5000; n = n * 3 / 2) {
        put_large(&b, n, n);
        assert_int_equal(walk(b.data, b.size, 1).error, EG_OK);
        for (size_t again = 0; again < n; again += 1 + n / 7) {
            outcome o;

            put_large(&b, n, again);
            o = walk(b.data, b.size, 1);
            assert_int_equal(o.error, EG_ECORRUPT);
            assert_string_equal(o.why, "key comes twice");
            assert_int_equal(o.at, b.size - 14);
        }
    }
    egi_buffer_fini(&b);
}

static void large_tables_know_that_numbers_are_equal(void **state)
{
    egi_buffer b;
    egi_writer w;

    (void)state;
    egi_buffer_init(&b, &egi_default_allocator);
    for (int twice = 0; twice < 2; twice++) {
        egi_buffer_reset(&b);
        egi_writer_init_buffer(&w, &b);
        egi_put_hash(&w, 40);
        for (int i = 0; i < 39; i++) {
            egi_put_number(&w, i);
            egi_put_nil(&w);
        }
        if (twice)
            egi_put_raw(&w, OF(D5));
        else
            egi_put_raw(&w, OF(HALF));
        egi_put_nil(&w);
        egi_writer_end(&w);
        assert_int_equal(walk(b.data, b.size, 1).error,
                         twice ? EG_ECORRUPT : EG_OK);
    }
    egi_buffer_fini(&b);
}

/* -- hostile input --------------------------------------------------------- */

static void nested_claims_share_the_bytes_there_are(void **state)
{
    enum { LEN = 60000 };
    static uint8_t bytes[LEN];
    snap_memory m;
    egi_walker w;
    egi_reader r;
    uint32_t claim = LEN / 2 - 600;

    (void)state;
    /* 512 tables, one in the other, each claiming half of the input. */
    memset(bytes, 0, sizeof bytes);
    for (size_t i = 0; i < 512; i++) {
        uint8_t head[7] = {0x09, 0xff, 0, 0, 0, 0, 0x01};

        memcpy(head + 2, &claim, 4);
        memcpy(bytes + 7 * i, head, sizeof head);
    }
    snap_memory_init(&m);
    egi_walker_init(&w, &m.alloc, 512);
    egi_reader_init(&r, bytes, sizeof bytes);
    assert_int_equal(egi_value_skip(&r, &w), EG_ETRUNC);
    assert_true(m.peak < 20 * (size_t)LEN);
    egi_walker_fini(&w);
    snap_memory_fini(&m);
}

/* A keyset of the numbers in an array. */
static uint64_t hash_item(const void *ctx, uint64_t item, uint64_t seed)
{
    const uint64_t *v = (const uint64_t *)ctx + item;

    return egi_keyed_hash(v, sizeof *v, seed);
}

static int equal_items(const void *ctx, uint64_t a, uint64_t b)
{
    const uint64_t *v = ctx;

    return v[a] == v[b];
}

static void keys_made_to_collide_change_the_hash(void **state)
{
    enum { N = 600, CAPACITY = 2 * N };
    static const egi_keyset_ops ops = {hash_item, equal_items};
    static uint64_t items[N + 1];
    static uint64_t slots[CAPACITY];
    egi_keyset set = {&ops, items, &egi_default_allocator, slots, CAPACITY,
                      0,    0};
    uint64_t seed = UINT64_C(0x656e6772616d0000);
    uint64_t next = 0;

    (void)state;
    for (size_t i = 0; i < N; i++) {
        while (egi_keyed_hash(&next, sizeof next, seed) % CAPACITY != 7)
            next++;
        items[i] = next++;
    }
    items[N] = items[N / 2];
    egi_keyset_init(&set);
    for (uint64_t i = 0; i < N; i++)
        assert_int_equal(egi_keyset_add(&set, i), EGI_KEYSET_NEW);
    assert_int_equal(set.key, 1);
    assert_int_equal(egi_keyset_add(&set, N), EGI_KEYSET_TWICE);
}

static uint64_t hash_nothing(const void *ctx, uint64_t item, uint64_t seed)
{
    (void)ctx;
    (void)item;
    (void)seed;
    return 0;
}

static void keys_that_always_collide_are_given_up(void **state)
{
    enum { N = 600 };
    static const egi_keyset_ops ops = {hash_nothing, equal_items};
    static uint64_t items[N];
    static uint64_t slots[2 * N];
    egi_keyset set = {&ops, items, &egi_default_allocator, slots, 2 * N, 0, 0};
    int result = EGI_KEYSET_NEW;

    (void)state;
    for (uint64_t i = 0; i < N; i++)
        items[i] = i;
    egi_keyset_init(&set);
    for (uint64_t i = 0; i < N && result == EGI_KEYSET_NEW; i++)
        result = egi_keyset_add(&set, i);
    assert_int_equal(result, EG_ELIMIT);
}

static void the_hash_spreads_single_bits(void **state)
{
    uint64_t seen[65]; /* no two may be alike */

    (void)state;
    for (unsigned i = 0; i <= 64; i++) {
        uint64_t v = i < 64 ? UINT64_C(1) << i : 0;

        seen[i] = egi_keyed_hash(&v, sizeof v, 1);
        assert_true(seen[i] != egi_keyed_hash(&v, sizeof v, 2));
        assert_true(seen[i] != egi_keyed_hash(&v, 7, 1));
        for (unsigned j = 0; j < i; j++)
            assert_true(seen[i] != seen[j]);
    }
}

static void lack_of_memory_is_reported(void **state)
{
    egi_buffer b;
    int done = 0;

    (void)state;
    egi_buffer_init(&b, &egi_default_allocator);
    put_large(&b, 500, 500);
    for (long fail = 0; !done; fail++) {
        snap_memory m;
        egi_walker w;
        egi_reader r;
        int err;

        snap_memory_init(&m);
        m.fail_at = fail;
        egi_walker_init(&w, &m.alloc, EG_MAX_DEPTH);
        egi_reader_init(&r, b.data, b.size);
        err = egi_value_skip(&r, &w);
        done = m.calls <= fail;
        assert_int_equal(err, done ? EG_OK : EG_ENOMEM);
        egi_walker_fini(&w);
        snap_memory_fini(&m);
    }
    egi_buffer_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_every_kind_are_walked),
        cmocka_unit_test(keys_must_be_scalars),
        cmocka_unit_test(equal_keys_are_found),
        cmocka_unit_test(the_array_part_has_keys_as_well),
        cmocka_unit_test(cut_input_is_truncated_where_it_stops),
        cmocka_unit_test(depth_ends_where_the_limit_says),
        cmocka_unit_test(many_values_in_a_row),
        cmocka_unit_test(large_tables_find_equal_keys),
        cmocka_unit_test(large_tables_know_that_numbers_are_equal),
        cmocka_unit_test(nested_claims_share_the_bytes_there_are),
        cmocka_unit_test(keys_made_to_collide_change_the_hash),
        cmocka_unit_test(keys_that_always_collide_are_given_up),
        cmocka_unit_test(the_hash_spreads_single_bits),
        cmocka_unit_test(lack_of_memory_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
