/* SPDX-License-Identifier: MIT */
/* Walking random values, whole and damaged: a naive checker must agree. */
#include "snap_util.h"

#include <stdlib.h>
#include <string.h>

#include "core/snap/eg_value.h"

enum { RANDOM_VALUES = 3000, DAMAGES = 40, NAIVE_PAIRS = 256 };

/* -- a naive checker ------------------------------------------------------- */

/* A key as type and comparable bytes. */
typedef struct naive_key {
    int type; /* 0 other, 1 number, 2 string, 3 boolean */
    double number;
    const uint8_t *bytes;
    size_t len;
} naive_key;

static size_t naive_u(const uint8_t *p, size_t n, uint32_t *v)
{
    if (n >= 1 && p[0] < 0xe0) {
        *v = p[0];
        return 1;
    }
    if (n >= 2 && p[0] != 0xff) {
        *v = (uint32_t)(p[0] - 0xe0) * 256 + p[1] + 0xe0;
        return 2;
    }
    if (n >= 5 && p[0] == 0xff) {
        memcpy(v, p + 1, 4);
        return *v >= 0x1fe0 ? 5 : 0;
    }
    return 0;
}

static int naive_same(const naive_key *a, const naive_key *b)
{
    if (a->type != b->type)
        return 0;
    if (a->type == 2)
        return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
    return a->number == b->number;
}

static size_t naive(const uint8_t *p, size_t n, int depth, naive_key *key);

static size_t naive_table(const uint8_t *p, size_t n, int depth)
{
    naive_key keys[NAIVE_PAIRS];
    uint32_t slots = 0;
    uint32_t pairs = 0;
    double first = 0;
    size_t at = 1;
    size_t used;

    if (depth == 0)
        return 0;
    if (p[0] & 6) {
        used = naive_u(p + at, n - at, &slots);
        at += used;
        if (used == 0 || (p[0] & 4 && slots == 0))
            return 0;
        first = p[0] & 4 ? 1 : 0;
        slots -= p[0] & 4 ? 1 : 0;
    }
    if (p[0] & 1) {
        used = naive_u(p + at, n - at, &pairs);
        at += used;
        if (used == 0)
            return 0;
    }
    for (uint32_t i = 0; i < slots; i++) {
        used = naive(p + at, n - at, depth - 1, &keys[0]);
        at += used;
        if (used == 0)
            return 0;
    }
    for (uint32_t i = 0; i < pairs; i++) {
        if (i >= NAIVE_PAIRS)
            return 0;
        used = naive(p + at, n - at, depth - 1, &keys[i]);
        at += used;
        if (used == 0 || keys[i].type == 0 || keys[i].number != keys[i].number)
            return 0;
        for (uint32_t j = 0; j < slots; j++) {
            if (keys[i].type == 1 && keys[i].number == first + j)
                return 0;
        }
        for (uint32_t j = 0; j < i; j++) {
            if (naive_same(&keys[i], &keys[j]))
                return 0;
        }
        used = naive(p + at, n - at, depth - 1, &keys[NAIVE_PAIRS - 1]);
        at += used;
        if (used == 0)
            return 0;
    }
    return at;
}

/* Size of the value at p, or 0. The last key slot is scratch, so tables of
 * NAIVE_PAIRS - 1 pairs are the largest. */
static size_t naive(const uint8_t *p, size_t n, int depth, naive_key *key)
{
    uint64_t bits;
    uint32_t tag;
    int32_t i;
    size_t used = naive_u(p, n, &tag);

    memset(key, 0, sizeof *key);
    if (used == 0)
        return 0;
    if (tag >= 0x20) {
        key->type = 2;
        key->bytes = p + used;
        key->len = tag - 0x20;
        return key->len <= n - used ? used + key->len : 0;
    }
    if (tag <= 2) {
        key->type = tag == 0 ? 0 : 3;
        key->number = tag;
        return 1;
    }
    if (tag == 6 && n >= 5) {
        memcpy(&i, p + 1, 4);
        key->type = 1;
        key->number = i;
        return 5;
    }
    if (tag == 7 && n >= 9) {
        memcpy(&bits, p + 1, 8);
        memcpy(&key->number, p + 1, 8);
        key->type = 1;
        if (key->number != key->number && bits != 0x7ff8000000000000)
            return 0;
        return 9;
    }
    if ((tag == 0x10 || tag == 0x11) && n >= 9)
        return 9;
    if (tag >= 8 && tag <= 0x0d && used == 1)
        return naive_table(p, n, depth);
    return 0;
}

/* -- random values ------------------------------------------------------- */

static void put_random(egi_writer *w, uint64_t *rng, unsigned depth);

static void put_random_key(egi_writer *w, uint64_t *rng)
{
    static const char text[] = "abcdefghijklmnop";
    double half = snap_below(rng, 60) / 2.0;

    switch (snap_below(rng, 8)) {
    case 0:
        egi_put_bool(w, (int)snap_below(rng, 2));
        break;
    case 1:
    case 2:
        egi_put_number(w, half);
        break;
    case 3:
        egi_put_raw(w, "\x07", 1);
        egi_put_raw(w, &half, 8);
        break;
    case 4:
        put_random(w, rng, 0);
        break;
    default:
        egi_put_string(w, text + snap_below(rng, 4), snap_below(rng, 13));
        break;
    }
}

static void put_random_table(egi_writer *w, uint64_t *rng, unsigned depth)
{
    uint8_t tag = (uint8_t)(8 + snap_below(rng, 6));
    uint32_t slots = snap_below(rng, 5);
    uint32_t pairs = snap_below(rng, snap_below(rng, 12) == 0 ? 60 : 6);

    egi_put_raw(w, &tag, 1);
    if (tag & 6)
        egi_put_u(w, slots + (tag & 4 ? 1 : 0));
    else
        slots = 0;
    if (tag & 1)
        egi_put_u(w, pairs);
    else
        pairs = 0;
    for (uint32_t i = 0; i < slots; i++)
        put_random(w, rng, depth - 1);
    for (uint32_t i = 0; i < pairs; i++) {
        put_random_key(w, rng);
        put_random(w, rng, depth - 1);
    }
}

static void put_random(egi_writer *w, uint64_t *rng, unsigned depth)
{
    static const char text[260] = "text";
    uint64_t bits = snap_random(rng);

    switch (snap_below(rng, depth > 0 ? 12 : 7)) {
    case 0:
        egi_put_nil(w);
        break;
    case 1:
        egi_put_bool(w, (int)(bits & 1));
        break;
    case 2:
        egi_put_number(w, (double)(int32_t)bits);
        break;
    case 3:
        egi_put_raw(w, "\x07", 1);
        egi_put_raw(w, &bits, 8);
        break;
    case 4:
        egi_put_int64(w, (int64_t)bits);
        break;
    case 5:
        egi_put_uint64(w, bits);
        break;
    case 6:
        egi_put_string(w, text, bits % 20 == 0 ? 250 : bits % 12);
        break;
    default:
        put_random_table(w, rng, depth);
        break;
    }
}

static void compare(const uint8_t *bytes, size_t len)
{
    naive_key key;
    size_t size = naive(bytes, len, 5, &key);
    snap_memory m;
    egi_walker w;
    egi_reader r;
    int err;

    snap_memory_init(&m);
    egi_walker_init(&w, &m.alloc, 5);
    egi_reader_init(&r, bytes, len);
    err = egi_value_skip(&r, &w);
    if (size > 0) {
        assert_int_equal(err, EG_OK);
        assert_int_equal(r.pos, size);
    } else {
        assert_true(err == EG_ECORRUPT || err == EG_ETRUNC || err == EG_ELIMIT);
        assert_true(r.error_at <= len);
        assert_non_null(r.why);
    }
    egi_walker_fini(&w);
    snap_memory_fini(&m);
}

static void a_naive_checker_agrees_on_random_values(void **state)
{
    uint64_t rng = snap_seed();
    egi_buffer b;

    (void)state;
    egi_buffer_init(&b, &egi_default_allocator);
    for (int i = 0; i < RANDOM_VALUES; i++) {
        egi_writer w;
        uint8_t *copy;

        egi_buffer_reset(&b);
        egi_writer_init_buffer(&w, &b);
        put_random(&w, &rng, 5);
        assert_int_equal(egi_writer_end(&w), EG_OK);
        copy = malloc(b.size);
        assert_non_null(copy);
        memcpy(copy, b.data, b.size);
        compare(copy, b.size);
        for (int d = 0; d < DAMAGES; d++) {
            size_t at = snap_below(&rng, (uint32_t)b.size);
            uint8_t was = copy[at];

            copy[at] = (uint8_t)(snap_below(&rng, 2) ? snap_random(&rng)
                                                     : snap_below(&rng, 0x24));
            compare(copy, b.size);
            copy[at] = was;
        }
        free(copy);
    }
    egi_buffer_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_naive_checker_agrees_on_random_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
