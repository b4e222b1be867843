/* SPDX-License-Identifier: MIT */
/* The records of a snapshot: heads, ids, rows with masks, raw columns. */
#include "snap_draft.h"

#include <string.h>

static void record_heads_are_checked(void **state)
{
    enum { HEAD = 38 }; /* where the first record begins */
    draft d;

    (void)state;
    draft_begin_two(&d, 1, 1);
    draft_record(&d, 3, 1, 1, 2, 0);
    draft_expect(&d, EG_ECORRUPT, HEAD, "bad column count");
    draft_begin_two(&d, 1, 1);
    draft_record(&d, 1, 2, 1, -1, 0);
    draft_expect(&d, EG_ECORRUPT, HEAD + 5,
                 "more rows than the prelude states");
    draft_begin_two(&d, 1, 1);
    draft_record(&d, 1, 1, 0, -1, 0);
    draft_expect(&d, EG_ECORRUPT, HEAD + 10, "component indices do not ascend");
    draft_begin_two(&d, 1, 1);
    draft_record(&d, 1, 1, 3, -1, 0);
    draft_expect(&d, EG_ECORRUPT, HEAD + 10, "bad component index");
    draft_begin_two(&d, 1, 1);
    draft_record(&d, 2, 1, 2, 1, 0);
    draft_expect(&d, EG_ECORRUPT, HEAD + 15, "component indices do not ascend");
    draft_begin_two(&d, 1, 1);
    draft_record(&d, 2, 1, 2, 2, 0);
    draft_expect(&d, EG_ECORRUPT, HEAD + 15, "component indices do not ascend");
    draft_begin_two(&d, 1, 1);
    draft_record(&d, 1, 1, 1, -1, 2);
    draft_expect(&d, EG_ECORRUPT, HEAD + 15, "unknown mode");
    draft_begin_two(&d, 1, 1);
    draft_record(&d, 1, 1, 1, -1, 0);
    draft_expect(&d, EG_ETRUNC, SIZE_MAX, NULL);
    draft_begin_two(&d, 2, 2);
    for (int i = 1; i <= 2; i++) {
        draft_record(&d, 1, 1, 1, -1, 0);
        snap_put_raw_double(&d.w, i);
        egi_put_nil(&d.w);
    }
    egi_put_bool(&d.w, 0);
    draft_expect(&d, EG_ECORRUPT, HEAD + 29,
                 "two archetypes with one set of columns");
}

static void one_set_may_not_come_in_two_modes(void **state)
{
    draft d;

    (void)state;
    draft_begin_two(&d, 1, 2);
    draft_record(&d, 1, 0, 1, -1, 0);
    draft_record(&d, 1, 1, 1, -1, 1);
    egi_put_number(&d.w, 1);
    egi_put_number(&d.w, 1);
    egi_put_nil(&d.w);
    egi_put_bool(&d.w, 0);
    draft_expect(&d, EG_ECORRUPT, SIZE_MAX,
                 "two archetypes with one set of columns");
}

static void forged_ids_are_refused(void **state)
{
    static const uint64_t bits[] = {
        0,                            /* 0: no entity */
        UINT64_C(0x4150000000000000), /* 2^22: slot 0, generation 1 */
        UINT64_C(0xbff0000000000000), /* -1 */
        UINT64_C(0x3ff8000000000000), /* 1.5 */
        UINT64_C(0x3fe0000000000000), /* 0.5 */
        UINT64_C(0x4340000000000000), /* 2^53: generation overflow */
        UINT64_C(0x4340000000000001),
        UINT64_C(0x7ff0000000000000), /* infinity */
        UINT64_C(0xfff0000000000000),
        UINT64_C(0x7ff8000000000000), /* NaN */
        UINT64_C(0xffffffffffffffff),
        1,                            /* the smallest double */
        UINT64_C(0x8000000000000000), /* -0 */
        UINT64_C(0x7fefffffffffffff),
    };

    (void)state;
    for (size_t i = 0; i < sizeof bits / sizeof bits[0]; i++) {
        draft d;

        draft_begin_two(&d, 2, 1);
        draft_record(&d, 0, 2, -1, -1, 0);
        snap_put_raw_double(&d.w, 5);
        egi_put_raw(&d.w, &bits[i], 8);
        egi_put_bool(&d.w, 0);
        draft_expect(&d, EG_ECORRUPT, 61, "not an entity id");
    }
}

static void two_ids_for_one_slot_are_refused(void **state)
{
    draft d;

    (void)state;
    draft_begin_two(&d, 2, 1);
    draft_record(&d, 0, 2, -1, -1, 0);
    snap_put_raw_double(&d.w, snap_id(9, 4));
    snap_put_raw_double(&d.w, snap_id(9, 5));
    egi_put_bool(&d.w, 0);
    draft_expect(&d, EG_ECORRUPT, 61, "two ids for one slot");
    /* across records and modes */
    draft_begin_two(&d, 2, 2);
    draft_record(&d, 0, 1, -1, -1, 0);
    snap_put_raw_double(&d.w, snap_id(9, 4));
    draft_record(&d, 1, 1, 1, -1, 1);
    egi_put_number(&d.w, snap_id(9, 4));
    egi_put_number(&d.w, 0);
    egi_put_bool(&d.w, 0);
    draft_expect(&d, EG_ECORRUPT, SIZE_MAX, "two ids for one slot");
}

/* Ids in runs, as spawning makes them, against a list of slots seen. */
static void runs_of_ids_are_like_single_ones(void **state)
{
    enum { ROUNDS = 400, ROWS = 700, HEAD = 25 + 15 };
    static uint8_t seen[EG_MAX_ENTITIES + 1];
    uint64_t rng = snap_seed();

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        double ids[ROWS];
        size_t bad = SIZE_MAX;
        size_t n = 0;
        draft d;

        while (n < ROWS) {
            uint32_t slot = 1 + snap_below(&rng, round % 2 ? 200000 : 4000);
            uint32_t generation = snap_below(&rng, 3) * 0x3fffffff;
            uint32_t length = 1 + snap_below(&rng, 200);

            if (snap_below(&rng, 20) == 0)
                slot = EG_MAX_ENTITIES - snap_below(&rng, 200);
            for (uint32_t i = 0; i < length && n < ROWS; i++)
                ids[n++] = snap_id(slot, generation) + i;
        }
        if (snap_below(&rng, 4) == 0)
            ids[snap_below(&rng, ROWS)] += 0.5;
        memset(seen, 0, sizeof seen);
        for (size_t i = 0; i < ROWS && bad == SIZE_MAX; i++) {
            uint64_t id = (uint64_t)ids[i];
            uint64_t slot = id % 4194304;

            if ((double)id != ids[i] || slot == 0 || seen[slot] ||
                ids[i] >= 9007199254740992.0)
                bad = HEAD + i * 8;
            seen[slot] = 1;
        }
        draft_begin(&d, ROWS, 1, 0);
        draft_record(&d, 0, ROWS, -1, -1, 0);
        for (size_t i = 0; i < ROWS; i++)
            snap_put_raw_double(&d.w, ids[i]);
        egi_put_bool(&d.w, 0);
        draft_expect(&d, bad == SIZE_MAX ? EG_OK : EG_ECORRUPT, bad, NULL);
    }
}

static void rows_with_masks_are_checked(void **state)
{
    static const double bad_masks[] = {-1, 4, 0.5, 1e300};
    draft d;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        draft_begin_two(&d, 1, 1);
        draft_record(&d, 2, 1, 1, 2, 1);
        egi_put_number(&d.w, 1);
        egi_put_number(&d.w, bad_masks[i]);
        egi_put_bool(&d.w, 0);
        draft_expect(&d, EG_ECORRUPT, 68, "bad presence mask");
    }
    for (int mask = 0; mask < 4; mask++) {
        draft_begin_two(&d, 1, 1);
        draft_record(&d, 2, 1, 1, 2, 1);
        egi_put_number(&d.w, 1);
        egi_put_number(&d.w, mask);
        for (int bits = mask; bits != 0; bits &= bits - 1)
            egi_put_empty_table(&d.w);
        egi_put_bool(&d.w, 0);
        draft_expect(&d, EG_OK, 0, NULL);
    }
    draft_begin_two(&d, 1, 1);
    draft_record(&d, 2, 1, 1, 2, 1);
    egi_put_bool(&d.w, 1); /* no id */
    for (int i = 0; i < 10; i++)
        egi_put_bool(&d.w, 0);
    draft_expect(&d, EG_ECORRUPT, 63, "number expected");
}

static void fifty_two_columns_fit_a_mask(void **state)
{
    (void)state;
    for (int columns = 52; columns <= 53; columns++) {
        draft d;
        char name[3] = "aa";

        draft_begin(&d, 1, 1, columns);
        for (int i = 0; i < columns; i++) {
            name[0] = (char)('a' + i / 26);
            name[1] = (char)('a' + i % 26);
            snap_put_component(&d.w, name, "");
        }
        egi_put_number(&d.w, columns);
        egi_put_number(&d.w, 1);
        for (int i = 1; i <= columns; i++)
            egi_put_number(&d.w, i);
        egi_put_number(&d.w, 1);
        egi_put_number(&d.w, 1);
        egi_put_number(&d.w, 4503599627370495.0);
        for (int i = 0; i < columns; i++)
            egi_put_nil(&d.w);
        egi_put_bool(&d.w, 0);
        draft_expect(&d, columns == 52 ? EG_OK : EG_ECORRUPT, SIZE_MAX,
                     "more than 52 columns by rows");
    }
}

/* -- raw columns ----------------------------------------------------------- */

static void raw_columns_are_checked(void **state)
{
    enum { ROWS = 1000, FIRST = 38 + 20 + ROWS * 8 };
    static const size_t places[] = {0, 1, 63, 500, ROWS - 1};

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        uint64_t foreign = UINT64_C(0xfff8000000000000);
        eg_snap_error err;
        eg_snap *s = NULL;
        draft d;

        draft_begin_two(&d, ROWS, 1);
        draft_record(&d, 1, ROWS, 2, -1, 0);
        for (uint32_t row = 1; row <= ROWS; row++)
            snap_put_raw_double(&d.w, snap_id(row, 0));
        for (uint32_t row = 0; row < ROWS; row++)
            snap_put_raw_double(&d.w, row);
        egi_put_bool(&d.w, 0);
        egi_writer_end(&d.w);
        assert_int_equal(draft_open(d.b.data, d.b.size, NULL, &err), EG_OK);
        memcpy(d.b.data + FIRST + places[i] * 8, &foreign, 8);
        assert_int_equal(egi_snap_open(NULL, d.b.data, d.b.size, NULL,
                                       EGI_SNAP_DEFER, &s, &err),
                         EG_OK);
        eg_snap_close(s);
        draft_expect(&d, EG_ECORRUPT, FIRST + places[i] * 8,
                     "bad value in a raw column");
    }
}

/* Two masked columns, so that the pool of masks moves, used in two records. */
static void masks_are_shared_by_records(void **state)
{
    enum { ROWS = 700 };
    static const uint8_t row[16] = {0, 0, 0, 0, 0, 0, 0xf8, 0x7f, 1};
    static const uint8_t small[8] = {0, 0, 0xc0, 0x7f, 1};

    (void)state;
    for (int bad = -1; bad < 4; bad++) {
        draft d;
        uint32_t slot = 1;
        size_t at = 0;

        draft_begin(&d, 2 * ROWS, 2, 3);
        snap_put_component(&d.w, "A", "x:f64,on:bool|16");
        snap_put_component(&d.w, "B", "x:f32,on:bool|8");
        snap_put_component(&d.w, "C", "");
        for (int rec = 0; rec < 2; rec++) {
            draft_record(&d, 2 + rec, ROWS, 1, 2, rec ? 3 : 0);
            if (rec)
                egi_put_number(&d.w, 0);
            for (uint32_t i = 0; i < ROWS; i++)
                snap_put_raw_double(&d.w, snap_id(slot++, 0));
            for (uint32_t i = 0; i < ROWS; i++) {
                egi_put_raw(&d.w, row, sizeof row);
                if (bad == rec && i == 650) {
                    at = d.w.pos - 8;
                    d.w.data[at] = 2;
                }
            }
            for (uint32_t i = 0; i < ROWS; i++) {
                egi_put_raw(&d.w, small, sizeof small);
                if (bad == 2 + rec && i == 3) {
                    at = d.w.pos - 8;
                    d.w.data[at] = 1;
                }
            }
            for (uint32_t i = 0; rec && i < ROWS; i++)
                egi_put_bool(&d.w, 1);
        }
        egi_put_bool(&d.w, 0);
        draft_expect(&d, bad < 0 ? EG_OK : EG_ECORRUPT, at,
                     "bad value in a raw column");
    }
}

static void a_column_longer_than_the_input_is_truncated(void **state)
{
    draft d;

    (void)state;
    draft_begin(&d, 1, 1, 1);
    snap_put_component(&d.w, "A", "x:f64|2147483647");
    draft_record(&d, 1, 1, 1, -1, 0);
    snap_put_raw_double(&d.w, 1);
    snap_put_raw_double(&d.w, 1);
    egi_put_bool(&d.w, 0);
    draft_expect(&d, EG_ETRUNC, SIZE_MAX, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(record_heads_are_checked),
        cmocka_unit_test(one_set_may_not_come_in_two_modes),
        cmocka_unit_test(forged_ids_are_refused),
        cmocka_unit_test(two_ids_for_one_slot_are_refused),
        cmocka_unit_test(runs_of_ids_are_like_single_ones),
        cmocka_unit_test(rows_with_masks_are_checked),
        cmocka_unit_test(fifty_two_columns_fit_a_mask),
        cmocka_unit_test(raw_columns_are_checked),
        cmocka_unit_test(masks_are_shared_by_records),
        cmocka_unit_test(a_column_longer_than_the_input_is_truncated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
