/* SPDX-License-Identifier: MIT */
/* Rows: alignment, growth, moves, removal by swapping, compaction. */
#include "core_util.h"

#include <string.h>

enum { PAGE_BLOCK = 256 * 1024 }; /* from here on blocks are mapped */

static void row_1_of_every_column_is_aligned(void **state)
{
    core_world c;
    uint32_t a, b;

    (void)state;
    core_open(&c, 10000);
    a = core_set(c.w, 0, c.flag, c.odd, c.wide);
    b = core_set(c.w, 0, c.pos, c.number, c.tag);
    assert_null(eg_archetype_column(c.w, a, c.odd));
    for (uint32_t n = 0; n < 3000; n++) {
        unsigned char *flag, *odd, *wide, *pos, *number;

        assert_true(eg_entity_spawn(c.w, a) > 0);
        assert_true(eg_entity_spawn(c.w, b) > 0);
        flag = eg_archetype_column(c.w, a, c.flag);
        odd = eg_archetype_column(c.w, a, c.odd);
        wide = eg_archetype_column(c.w, a, c.wide);
        pos = eg_archetype_column(c.w, b, c.pos);
        number = eg_archetype_column(c.w, b, c.number);
        assert_int_equal(((uintptr_t)flag + 1) % 64, 0);
        assert_int_equal(((uintptr_t)odd + 12) % 64, 0);
        assert_int_equal(((uintptr_t)wide + 64) % 64, 0);
        assert_int_equal(((uintptr_t)pos + 16) % 64, 0);
        assert_int_equal(((uintptr_t)number + 8) % 64, 0);
    }
    assert_null(eg_archetype_column(c.w, b, c.tag));
    assert_null(eg_archetype_column(c.w, b, c.vel));
    core_close(&c);
}

static void write_pos(core_world *c, double id)
{
    double *cell = core_cell(c->w, id, c->pos);

    cell[0] = id;
    cell[1] = -id;
}

static void expect_pos(core_world *c, double id)
{
    const double *cell = core_cell(c->w, id, c->pos);

    assert_true(cell[0] == id && cell[1] == -id);
}

static void a_move_keeps_what_both_sets_have(void **state)
{
    core_world c;
    uint32_t from, to;
    double id;
    int32_t *odd;

    (void)state;
    core_open(&c, 10);
    from = core_set(c.w, 0, c.pos, c.odd, c.flag);
    to = core_set(c.w, 0, c.odd, c.pos, c.vel);
    id = eg_entity_spawn(c.w, from);
    write_pos(&c, id);
    odd = (int32_t *)(void *)core_cell(c.w, id, c.odd);
    odd[0] = 11;
    odd[2] = 33;
    assert_int_equal(eg_entity_move(c.w, id, to), EG_OK);
    assert_int_equal(core_archetype(c.w, id), to);
    assert_int_equal(core_rows(c.w, from), 0);
    assert_null(eg_entity_get(c.w, id, c.flag));
    expect_pos(&c, id);
    odd = (int32_t *)(void *)core_cell(c.w, id, c.odd);
    assert_int_equal(odd[0], 11);
    assert_int_equal(odd[2], 33);
    assert_int_equal(eg_entity_move(c.w, id, to), EG_OK);
    assert_int_equal(eg_entity_move(c.w, id, 99), EG_EINVAL);
    assert_int_equal(eg_entity_move(c.w, id, core_set(c.w, 1, c.pos, 0, 0)),
                     EG_EINVAL);
    assert_int_equal(core_rows(c.w, to), 1);
    core_close(&c);
}

/* Each size of cell has a path of its own in the copying code. */
static void cells_of_every_size_move_whole(void **state)
{
    static const uint32_t sizes[] = {1,  2,  3,  4,  5,  7,  8,   9,   12,
                                     15, 16, 17, 20, 24, 28, 31,  32,  33,
                                     40, 48, 63, 64, 65, 96, 100, 128, 1000};
    core_world c;

    (void)state;
    core_open(&c, 10);
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        char name[3] = {'S', (char)('a' + (char)k), 0};
        uint32_t raw = core_component(c.registry, name, EG_RAW, sizes[k], 1);
        uint32_t a = core_set(c.w, 0, raw, 0, 0);
        uint32_t b = core_set(c.w, 0, raw, c.flag, 0);
        double ids[3];

        for (uint32_t i = 0; i < 3; i++) {
            ids[i] = eg_entity_spawn(c.w, a);
            memset(eg_entity_get(c.w, ids[i], raw), (int)i + 1, sizes[k]);
        }
        assert_int_equal(eg_entity_move(c.w, ids[0], b), EG_OK);
        assert_int_equal(eg_entity_move(c.w, ids[1], b), EG_OK);
        assert_int_equal(eg_entity_move(c.w, ids[0], a), EG_OK);
        for (uint32_t i = 0; i < 3; i++) {
            const unsigned char *cell = eg_entity_get(c.w, ids[i], raw);

            for (uint32_t n = 0; n < sizes[k]; n++)
                assert_int_equal(cell[n], i + 1);
            assert_int_equal(eg_entity_despawn(c.w, ids[i]), EG_OK);
        }
    }
    core_close(&c);
}

static void the_last_row_fills_the_hole(void **state)
{
    core_world c;
    uint32_t a;

    (void)state;
    core_open(&c, 10);
    a = core_set(c.w, 0, c.pos, 0, 0);
    for (int i = 1; i <= 5; i++)
        write_pos(&c, eg_entity_spawn(c.w, a));
    assert_int_equal(eg_entity_despawn(c.w, 2), EG_OK);
    assert_id(core_at(c.w, a, 2), 5);
    assert_int_equal(core_row(c.w, 5), 2);
    assert_int_equal(eg_entity_despawn(c.w, 4), EG_OK);
    assert_int_equal(core_rows(c.w, a), 3);
    assert_int_equal(eg_entity_despawn(c.w, 1), EG_OK);
    assert_id(core_at(c.w, a, 1), 3);
    expect_pos(&c, 3);
    expect_pos(&c, 5);
    assert_int_equal(eg_entity_despawn(c.w, 3), EG_OK);
    assert_int_equal(eg_entity_despawn(c.w, 3), EG_EDEAD);
    assert_int_equal(eg_entity_despawn(c.w, 5), EG_OK);
    assert_int_equal(core_rows(c.w, a), 0);
    core_close(&c);
}

/* From the first block to mapped ones, and back by compaction. */
static void rows_survive_growth_and_compaction(void **state)
{
    enum { N = 3 * PAGE_BLOCK / 24 };
    core_world c;
    uint32_t a, n = 0;
    eg_archetype_view view;

    (void)state;
    core_open(&c, N);
    a = core_set(c.w, 0, c.pos, 0, 0);
    while (c.memory.mapped < (size_t)(N + 2) * sizeof(eg_slot) + PAGE_BLOCK) {
        write_pos(&c, eg_entity_spawn(c.w, a));
        n++;
    }
    for (uint32_t i = 1; i <= n; i++)
        expect_pos(&c, i);
    assert_sound(c.w);
    for (uint32_t i = n; i > 20; i--)
        assert_int_equal(eg_entity_despawn(c.w, i), EG_OK);
    assert_int_equal(eg_world_compact(c.w), 1);
    assert_int_equal(eg_archetype_read(c.w, a, &view), 1);
    assert_int_equal(view.capacity, 20);
    assert_int_equal(c.memory.mapped, (N + 2) * sizeof(eg_slot));
    for (uint32_t i = 1; i <= 20; i++)
        expect_pos(&c, i);
    assert_int_equal(eg_world_compact(c.w), 0);
    core_close(&c);
}

static void compaction_frees_empty_archetypes_and_they_refill(void **state)
{
    core_world c;
    uint32_t a, flags = 0;
    double id;

    (void)state;
    core_open(&c, 100);
    a = core_set(c.w, 0, c.pos, 0, 0);
    id = eg_entity_spawn(c.w, a);
    assert_int_equal(eg_entity_despawn(c.w, id), EG_OK);
    assert_int_equal(eg_archetype_touched(c.w, &flags), a);
    assert_int_equal(eg_world_compact(c.w), 1);
    assert_int_equal(eg_archetype_touched(c.w, &flags), a);
    assert_int_equal(flags, EG_TOUCHED_STORAGE);
    assert_int_equal(eg_archetype_touched(c.w, &flags), 0);
    assert_null(eg_archetype_column(c.w, a, c.pos));
    assert_int_equal(core_rows(c.w, a), 0);
    assert_sound(c.w);
    id = eg_entity_spawn(c.w, a);
    write_pos(&c, id);
    expect_pos(&c, id);
    core_close(&c);
}

static void reserved_rows_need_no_memory(void **state)
{
    core_world c;
    uint32_t a, flags;
    eg_archetype_view view;
    const void *before;

    (void)state;
    core_open(&c, 1000);
    a = core_set(c.w, 0, c.pos, c.vel, 0);
    assert_int_equal(eg_archetype_reserve(c.w, a, 500), EG_OK);
    assert_int_equal(eg_archetype_touched(c.w, &flags), a);
    before = eg_archetype_column(c.w, a, c.pos);
    c.memory.fail_at = c.memory.calls;
    for (int i = 0; i < 500; i++)
        assert_true(eg_entity_spawn(c.w, a) > 0);
    assert_ptr_equal(eg_archetype_column(c.w, a, c.pos), before);
    assert_int_equal(eg_archetype_touched(c.w, &flags), 0);
    assert_int_equal(eg_archetype_reserve(c.w, a, UINT32_MAX), EG_ENOMEM);
    assert_int_equal(eg_archetype_reserve(c.w, a, UINT32_MAX / 2 - 600),
                     EG_ENOMEM);
    c.memory.fail_at = -1;
    assert_int_equal(eg_archetype_read(c.w, a, &view), 1);
    assert_int_equal((uint32_t)view.entities[0], 500);
    core_close(&c);
}

static void new_cells_are_zero_where_the_call_says_so(void **state)
{
    core_world c;
    uint32_t a, first;
    double id;
    double *cell;
    void *out = &c;

    (void)state;
    core_open(&c, 100);
    a = core_set(c.w, 0, c.pos, 0, 0);
    for (int i = 0; i < 3; i++)
        write_pos(&c, eg_entity_spawn(c.w, a));
    for (int i = 1; i <= 3; i++)
        assert_int_equal(eg_entity_despawn(c.w, i), EG_OK);
    assert_int_equal(eg_entity_spawn_many(c.w, a, 3, NULL, &first), EG_OK);
    for (uint32_t row = 1; row <= 3; row++) {
        cell = core_cell(c.w, core_at(c.w, a, row), c.pos);
        assert_true(cell[0] == 0 && cell[1] == 0);
        cell[0] = 5;
    }
    id = core_at(c.w, a, 3);
    assert_int_equal(eg_entity_remove(c.w, id, c.pos), EG_OK);
    assert_int_equal(eg_entity_remove(c.w, id, c.pos), EG_OK);
    assert_null(eg_entity_get(c.w, id, c.pos));
    assert_int_equal(eg_entity_add(c.w, id, c.pos, &out), EG_OK);
    cell = out;
    assert_ptr_equal(cell, core_cell(c.w, id, c.pos));
    assert_true(cell[0] == 0 && cell[1] == 0);
    cell[1] = 7;
    assert_int_equal(eg_entity_add(c.w, id, c.pos, &out), EG_OK);
    assert_true(((double *)out)[1] == 7);
    assert_int_equal(eg_entity_add(c.w, id, c.tag, &out), EG_OK);
    assert_null(out);
    assert_int_equal(eg_entity_add(c.w, id, c.tag, NULL), EG_OK);
    assert_int_equal(eg_entity_add(c.w, id, 99, NULL), EG_EINVAL);
    assert_int_equal(eg_entity_remove(c.w, id, 99), EG_EINVAL);
    assert_int_equal(eg_entity_add(c.w, 99, c.tag, NULL), EG_EDEAD);
    assert_int_equal(eg_entity_remove(c.w, 99, c.tag), EG_EDEAD);
    core_close(&c);
}

static void a_refused_spawn_leaves_addresses_alone(void **state)
{
    core_world c;
    uint32_t a, flags;
    const void *before;

    (void)state;
    core_open(&c, 16);
    a = core_set(c.w, 0, c.pos, 0, 0);
    for (int i = 0; i < 16; i++)
        assert_true(eg_entity_spawn(c.w, a) > 0);
    while (eg_archetype_touched(c.w, &flags) != 0)
        continue;
    before = eg_archetype_column(c.w, a, c.pos);
    assert_id(eg_entity_spawn(c.w, a), EG_EFULL);
    assert_int_equal(eg_entity_spawn_at(c.w, 3, a), EG_EALIVE);
    assert_int_equal(eg_entity_spawn_many(c.w, a, 1, NULL, &flags), EG_EFULL);
    assert_ptr_equal(eg_archetype_column(c.w, a, c.pos), before);
    assert_int_equal(eg_archetype_touched(c.w, &flags), 0);
    core_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_1_of_every_column_is_aligned),
        cmocka_unit_test(a_move_keeps_what_both_sets_have),
        cmocka_unit_test(cells_of_every_size_move_whole),
        cmocka_unit_test(the_last_row_fills_the_hole),
        cmocka_unit_test(rows_survive_growth_and_compaction),
        cmocka_unit_test(compaction_frees_empty_archetypes_and_they_refill),
        cmocka_unit_test(reserved_rows_need_no_memory),
        cmocka_unit_test(new_cells_are_zero_where_the_call_says_so),
        cmocka_unit_test(a_refused_spawn_leaves_addresses_alone),
    };

    return cmocka_run_group_tests_name("rows", tests, NULL, NULL);
}
