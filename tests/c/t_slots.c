/* SPDX-License-Identifier: MIT */
/* Ids: their order, their reuse, chosen ones, and the end of generations. */
#include "core_util.h"

#include <math.h>

#define GENERATION 4194304.0 /* 2^22 */
#define LAST_GENERATION 2147483647U

static double id_of(uint32_t slot, uint32_t generation)
{
    return (double)generation * GENERATION + (double)slot;
}

static double spawn(core_world *c)
{
    double id = eg_entity_spawn(c->w, core_set(c->w, 0, c->pos, 0, 0));

    assert_sound(c->w);
    return id;
}

static int spawn_at(core_world *c, double id)
{
    int err = eg_entity_spawn_at(c->w, id, core_set(c->w, 0, c->pos, 0, 0));

    assert_sound(c->w);
    if (err == EG_OK)
        assert_true(eg_entity_alive(c->w, id));
    return err;
}

static void despawn(core_world *c, double id)
{
    assert_int_equal(eg_entity_despawn(c->w, id), EG_OK);
    assert_false(eg_entity_alive(c->w, id));
    assert_sound(c->w);
}

static void a_new_world_yields_1_2_3(void **state)
{
    core_world c;

    (void)state;
    core_open(&c, 100);
    for (uint32_t i = 1; i <= 100; i++)
        assert_id(spawn(&c), i);
    core_close(&c);
}

static void the_slot_freed_last_is_reused_first(void **state)
{
    core_world c;

    (void)state;
    core_open(&c, 100);
    for (uint32_t i = 1; i <= 5; i++)
        (void)spawn(&c);
    despawn(&c, 2);
    despawn(&c, 5);
    despawn(&c, 3);
    assert_id(spawn(&c), id_of(3, 1));
    assert_id(spawn(&c), id_of(5, 1));
    despawn(&c, id_of(5, 1));
    assert_id(spawn(&c), id_of(5, 2));
    assert_id(spawn(&c), id_of(2, 1));
    assert_id(spawn(&c), 6);
    core_close(&c);
}

static void what_is_no_id_of_this_world_is_refused(void **state)
{
    static const double bad[] = {
        0,
        -1,
        0.5,
        1.5,
        101,
        4194303,
        4194304,
        -4194305,
        9007199254740992.0,
        1e300,
        -1e300,
        INFINITY,
        -INFINITY,
        NAN,
        4194304.0 * 3,
        4194304.0 * 3 + 1.5,
    };
    core_world c;

    (void)state;
    core_open(&c, 100);
    assert_id(spawn(&c), 1);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(spawn_at(&c, bad[i]), EG_EINVAL);
        assert_false(eg_entity_alive(c.w, bad[i]));
        assert_int_equal(eg_entity_despawn(c.w, bad[i]), EG_EDEAD);
        assert_null(eg_entity_get(c.w, bad[i], c.pos));
        assert_int_equal(eg_entity_move(c.w, bad[i], 1), EG_EDEAD);
    }
    assert_id(spawn(&c), 2);
    core_close(&c);
}

static void a_slot_in_use_is_refused(void **state)
{
    core_world c;

    (void)state;
    core_open(&c, 100);
    assert_id(spawn(&c), 1);
    assert_int_equal(spawn_at(&c, 1), EG_EALIVE);
    assert_int_equal(spawn_at(&c, id_of(1, 7)), EG_EALIVE);
    assert_id(spawn(&c), 2);
    core_close(&c);
}

static void a_chosen_id_above_the_mark_leaves_the_gap_free(void **state)
{
    core_world c;
    eg_stats stats;

    (void)state;
    core_open(&c, 10);
    assert_id(spawn(&c), 1);
    assert_int_equal(spawn_at(&c, id_of(5, 9)), EG_OK);
    assert_int_equal(spawn_at(&c, 10), EG_OK);
    eg_world_stats(c.w, &stats);
    assert_int_equal(stats.high_slot, 10);
    for (uint32_t i = 2; i <= 9; i++)
        if (i != 5)
            assert_id(spawn(&c), i);
    assert_id(spawn(&c), EG_EFULL);
    core_close(&c);
}

/* All orders of taking four freed slots by choice: the list loses its head,
 * its end and its middle, forwards and backwards. */
static void chosen_ids_leave_the_free_list_whole(void **state)
{
    (void)state;
    for (int order = 0; order < 24; order++) {
        uint32_t left[4] = {2, 3, 4, 5};
        int code = order;
        core_world c;

        core_open(&c, 8);
        for (int i = 0; i < 6; i++)
            (void)spawn(&c);
        despawn(&c, 4);
        despawn(&c, 2);
        despawn(&c, 5);
        despawn(&c, 3);
        for (int n = 4; n > 0; n--) {
            int pick = code % n;

            code /= n;
            assert_int_equal(spawn_at(&c, id_of(left[pick], 1)), EG_OK);
            left[pick] = left[n - 1];
        }
        assert_id(spawn(&c), 7);
        assert_id(spawn(&c), 8);
        assert_id(spawn(&c), EG_EFULL);
        core_close(&c);
    }
}

static void the_rest_of_the_list_keeps_its_order(void **state)
{
    core_world c;

    (void)state;
    core_open(&c, 8);
    for (int i = 0; i < 5; i++)
        (void)spawn(&c);
    for (uint32_t i = 1; i <= 5; i++)
        despawn(&c, i);
    assert_int_equal(spawn_at(&c, id_of(3, 1)), EG_OK); /* middle */
    assert_int_equal(spawn_at(&c, id_of(5, 1)), EG_OK); /* head */
    assert_int_equal(spawn_at(&c, 7), EG_OK);           /* never used */
    assert_id(spawn(&c), id_of(4, 1));
    despawn(&c, id_of(3, 1));
    assert_id(spawn(&c), id_of(3, 2));
    assert_id(spawn(&c), id_of(2, 1));
    assert_id(spawn(&c), id_of(1, 1));
    assert_id(spawn(&c), 6);
    assert_id(spawn(&c), 8);
    assert_id(spawn(&c), EG_EFULL);
    core_close(&c);
}

static void a_generation_follows_the_highest_ever_held(void **state)
{
    core_world c;

    (void)state;
    core_open(&c, 8);
    assert_int_equal(spawn_at(&c, id_of(1, 50)), EG_OK);
    despawn(&c, id_of(1, 50));
    /* An older id lives once more; the slot does not forget. */
    assert_int_equal(spawn_at(&c, id_of(1, 7)), EG_OK);
    despawn(&c, id_of(1, 7));
    assert_id(spawn(&c), id_of(1, 51));
    despawn(&c, id_of(1, 51));
    assert_int_equal(spawn_at(&c, id_of(1, 0)), EG_OK);
    despawn(&c, id_of(1, 0));
    assert_int_equal(spawn_at(&c, id_of(1, 52)), EG_OK);
    despawn(&c, id_of(1, 52));
    assert_int_equal(spawn_at(&c, id_of(1, 52)), EG_OK);
    despawn(&c, id_of(1, 52));
    assert_id(spawn(&c), id_of(1, 53));
    assert_id(spawn(&c), 2);
    core_close(&c);
}

static void a_floor_outlives_the_clearing_of_the_world(void **state)
{
    core_world c;

    (void)state;
    core_open(&c, 8);
    assert_int_equal(spawn_at(&c, id_of(2, 9)), EG_OK);
    despawn(&c, id_of(2, 9));
    assert_int_equal(spawn_at(&c, id_of(2, 3)), EG_OK);
    eg_world_clear(c.w);
    assert_sound(c.w);
    assert_id(spawn(&c), 1);
    assert_id(spawn(&c), id_of(2, 10));
    core_close(&c);
}

static void a_slot_out_of_generations_is_retired(void **state)
{
    core_world c;
    eg_stats stats;
    double last = id_of(2, LAST_GENERATION);

    (void)state;
    core_open(&c, 4);
    assert_int_equal(spawn_at(&c, last), EG_OK);
    assert_id(last, 9007199254740991.0 - 4194303.0 + 2.0);
    despawn(&c, last);
    eg_world_stats(c.w, &stats);
    assert_int_equal(stats.retired, 1);
    assert_int_equal(spawn_at(&c, last), EG_ERETIRED);
    assert_int_equal(spawn_at(&c, id_of(2, 5)), EG_ERETIRED);
    assert_id(spawn(&c), 1);
    assert_id(spawn(&c), 3);
    assert_id(spawn(&c), 4);
    assert_id(spawn(&c), EG_EFULL);
    eg_world_clear(c.w);
    assert_sound(c.w);
    assert_id(spawn(&c), id_of(1, 1));
    assert_id(spawn(&c), id_of(3, 1));
    eg_world_stats(c.w, &stats);
    assert_int_equal(stats.retired, 1);
    core_close(&c);
}

/* The last generation but one is issued, then the last, then none. */
static void the_last_generation_is_issued_once(void **state)
{
    core_world c;

    (void)state;
    core_open(&c, 1);
    assert_int_equal(spawn_at(&c, id_of(1, LAST_GENERATION - 2)), EG_OK);
    despawn(&c, id_of(1, LAST_GENERATION - 2));
    assert_id(spawn(&c), id_of(1, LAST_GENERATION - 1));
    despawn(&c, id_of(1, LAST_GENERATION - 1));
    assert_id(spawn(&c), id_of(1, LAST_GENERATION));
    despawn(&c, id_of(1, LAST_GENERATION));
    assert_id(spawn(&c), EG_EFULL);
    eg_world_clear(c.w);
    assert_id(spawn(&c), EG_EFULL);
    core_close(&c);
}

static void a_floor_at_the_last_generation_retires_too(void **state)
{
    core_world c;

    (void)state;
    core_open(&c, 2);
    assert_int_equal(spawn_at(&c, id_of(1, LAST_GENERATION - 1)), EG_OK);
    despawn(&c, id_of(1, LAST_GENERATION - 1));
    assert_int_equal(spawn_at(&c, 1), EG_OK);
    despawn(&c, 1);
    assert_id(spawn(&c), id_of(1, LAST_GENERATION));
    /* As high as it goes, and cleared while alive. */
    eg_world_clear(c.w);
    assert_sound(c.w);
    assert_int_equal(spawn_at(&c, 1), EG_ERETIRED);
    assert_id(spawn(&c), 2);
    core_close(&c);
}

static void clearing_hands_out_the_lowest_first(void **state)
{
    core_world c;

    (void)state;
    core_open(&c, 8);
    for (int i = 0; i < 6; i++)
        (void)spawn(&c);
    despawn(&c, 2);
    despawn(&c, 4);
    eg_world_clear(c.w);
    assert_sound(c.w);
    for (uint32_t i = 1; i <= 6; i++)
        assert_id(spawn(&c), id_of(i, 1));
    assert_id(spawn(&c), 7);
    assert_false(eg_entity_alive(c.w, 2));
    core_close(&c);
}

static void a_full_world_says_so_and_recovers(void **state)
{
    core_world c;
    uint32_t first = 77, a;
    double ids[3];

    (void)state;
    core_open(&c, 3);
    a = core_set(c.w, 0, c.pos, 0, 0);
    assert_int_equal(eg_entity_spawn_many(c.w, a, 4, ids, &first), EG_EFULL);
    assert_int_equal(first, 77);
    assert_int_equal(eg_entity_spawn_many(c.w, a, 3, ids, &first), EG_OK);
    assert_int_equal(first, 1);
    assert_id(spawn(&c), EG_EFULL);
    assert_int_equal(eg_entity_spawn_many(c.w, a, 1, NULL, &first), EG_EFULL);
    assert_int_equal(eg_entity_spawn_many(c.w, a, 0, NULL, &first), EG_OK);
    assert_int_equal(first, 4);
    assert_int_equal(core_rows(c.w, a), 3);
    despawn(&c, 2);
    assert_id(spawn(&c), id_of(2, 1));
    assert_id(spawn(&c), EG_EFULL);
    core_close(&c);
}

static void a_world_has_one_entity_at_least(void **state)
{
    core_world c;
    eg_world *w = NULL;

    (void)state;
    core_open(&c, 1);
    assert_int_equal(eg_world_new(c.registry, 0, NULL, &w), EG_EINVAL);
    assert_int_equal(eg_world_new(c.registry, EG_MAX_ENTITIES + 1, NULL, &w),
                     EG_EINVAL);
    assert_null(w);
    assert_int_equal(eg_world_new(c.registry, EG_MAX_ENTITIES, NULL, &w),
                     EG_OK);
    assert_int_equal(
        eg_entity_spawn_at(w, EG_MAX_ENTITIES, core_set(w, 0, 0, 0, 0)), EG_OK);
    eg_world_free(w);
    assert_id(spawn(&c), 1);
    assert_id(spawn(&c), EG_EFULL);
    despawn(&c, 1);
    assert_int_equal(spawn_at(&c, 1), EG_OK);
    core_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_world_yields_1_2_3),
        cmocka_unit_test(the_slot_freed_last_is_reused_first),
        cmocka_unit_test(what_is_no_id_of_this_world_is_refused),
        cmocka_unit_test(a_slot_in_use_is_refused),
        cmocka_unit_test(a_chosen_id_above_the_mark_leaves_the_gap_free),
        cmocka_unit_test(chosen_ids_leave_the_free_list_whole),
        cmocka_unit_test(the_rest_of_the_list_keeps_its_order),
        cmocka_unit_test(a_generation_follows_the_highest_ever_held),
        cmocka_unit_test(a_floor_outlives_the_clearing_of_the_world),
        cmocka_unit_test(a_slot_out_of_generations_is_retired),
        cmocka_unit_test(the_last_generation_is_issued_once),
        cmocka_unit_test(a_floor_at_the_last_generation_retires_too),
        cmocka_unit_test(clearing_hands_out_the_lowest_first),
        cmocka_unit_test(a_full_world_says_so_and_recovers),
        cmocka_unit_test(a_world_has_one_entity_at_least),
    };

    return cmocka_run_group_tests_name("slots", tests, NULL, NULL);
}
