/* SPDX-License-Identifier: MIT */
/* The invariant walker finds each kind of planted fault: one word of a sound
 * world is changed, the walker must name what is wrong, the word goes back. */
#include "core_util.h"

#include <string.h>

#include "core/cmd/eg_cmd_store.h"

#define PLANT(place, value, text)                                              \
    do {                                                                       \
        unsigned char old_[sizeof(place)];                                     \
        memcpy(old_, &(place), sizeof(place));                                 \
        (place) = (value);                                                     \
        expect_fault(x.c.w, (text), __LINE__);                                 \
        memcpy(&(place), old_, sizeof(place));                                 \
        assert_sound(x.c.w);                                                   \
    } while (0)

#define RETIRED_ID (2147483647.0 * 4194304.0 + 9.0)

typedef struct sample {
    core_world c;
    uint32_t p, pv, sp, sv;
    eg_query *q;
} sample;

static void expect_fault(eg_world *w, const char *text, int line)
{
    const char *fault = eg_world_check(w);

    if (fault == NULL || strcmp(fault, text) != 0)
        fail_msg("line %d: \"%s\" expected, got \"%s\"", line, text,
                 fault ? fault : "no fault");
}

/* Live entities 1, 2, 4 to 8 and 11, free slots 3 and 10, slot 9 retired; 11
 * has a floor. */
static void open_sample(sample *x)
{
    eg_query_def def;
    uint32_t flags, first;

    core_open(&x->c, 20);
    x->p = core_set(x->c.w, 0, x->c.pos, 0, 0);
    assert_int_equal(eg_archetype_add(x->c.w, x->p, x->c.vel, &x->pv), EG_OK);
    x->sp = core_set(x->c.w, 1, x->c.pos, 0, 0);
    x->sv = core_set(x->c.w, 1, x->c.vel, 0, 0);
    memset(&def, 0, sizeof def);
    def.include = &x->c.pos;
    def.include_count = 1;
    assert_int_equal(eg_query_new(x->c.w, &def, &x->q), EG_OK);
    assert_int_equal(eg_entity_spawn_many(x->c.w, x->p, 8, NULL, &first),
                     EG_OK);
    assert_int_equal(eg_entity_despawn(x->c.w, 3), EG_OK);
    assert_int_equal(eg_entity_move(x->c.w, 5, x->pv), EG_OK);
    assert_int_equal(eg_entity_spawn_at(x->c.w, RETIRED_ID, x->p), EG_OK);
    assert_int_equal(eg_entity_despawn(x->c.w, RETIRED_ID), EG_OK);
    assert_int_equal(eg_entity_spawn_at(x->c.w, 4194304.0 * 5 + 11, x->p),
                     EG_OK);
    assert_int_equal(eg_entity_despawn(x->c.w, 4194304.0 * 5 + 11), EG_OK);
    assert_int_equal(eg_entity_spawn_at(x->c.w, 11, x->pv), EG_OK);
    while (eg_archetype_touched(x->c.w, &flags) != 0)
        continue;
    assert_sound(x->c.w);
}

static void faults_of_records_are_found(void **state)
{
    sample x;
    eg_slot *slots;
    egi_content *now;

    (void)state;
    open_sample(&x);
    slots = eg_world_slots(x.c.w);
    now = x.c.w->now;
    PLANT(slots[0].id, 0.0, "record 0 matches an id");
    PLANT(now->high, 21, "the highest used slot is none");
    PLANT(slots[4].id, 5.0, "a record holds an id of another slot");
    PLANT(slots[4].id, 4.5, "a record holds no id");
    PLANT(slots[4].id, -9007199254740993.0 * 2, "a record holds no id");
    PLANT(slots[12].id, 12.0, "a slot above the highest used one was used");
    PLANT(now->live, 7, "slots are miscounted");
    PLANT(now->pending, 1, "slots are miscounted");
    PLANT(now->retired, 0, "slots are miscounted");
    PLANT(slots[4].id, 4194304.0 + 4, "a row holds an id that is not alive");
    PLANT(slots[4].row, 2, "a row and its slot disagree");
    PLANT(slots[4].archetype, (int32_t)x.pv, "a row and its slot disagree");
    core_close(&x.c);
}

static void faults_of_floors_are_found(void **state)
{
    sample x;
    egi_map32 *floors;
    const eg_allocator *a;

    (void)state;
    open_sample(&x);
    floors = &x.c.w->now->floors;
    a = &x.c.memory.alloc;
    assert_int_equal(egi_map32_set(floors, a, 3, 7), EG_OK);
    expect_fault(x.c.w, "a free slot has a floor", __LINE__);
    egi_map32_remove(floors, 3);
    assert_int_equal(egi_map32_set(floors, a, 19, 7), EG_OK);
    expect_fault(x.c.w, "a slot that was never used has a floor", __LINE__);
    egi_map32_remove(floors, 19);
    assert_int_equal(eg_entity_spawn_at(x.c.w, 4194304.0 * 9 + 12, x.p), EG_OK);
    assert_int_equal(egi_map32_set(floors, a, 12, 9), EG_OK);
    expect_fault(x.c.w, "a floor is not above its slot's generation", __LINE__);
    egi_map32_remove(floors, 12);
    core_close(&x.c);
}

static void faults_of_the_free_list_are_found(void **state)
{
    sample x;
    eg_slot *slots;
    egi_content *now;

    (void)state;
    open_sample(&x);
    slots = eg_world_slots(x.c.w);
    now = x.c.w->now;
    assert_int_equal(now->free_head, 3);
    PLANT(now->free_head, 1, "the free list holds a slot that is not free");
    PLANT(now->free_head, 9, "the free list holds a slot that is not free");
    PLANT(now->free_head, 22, "the free list leaves the index");
    PLANT(now->free_head, 10,
          "free, live, pending and retired slots do not add up");
    PLANT(slots[3].archetype, -1, "the free list's back link is wrong");
    PLANT(slots[3].archetype, 2, "the free list holds a slot that is not free");
    PLANT(slots[10].row, 5, "the free list's back link is wrong");
    PLANT(slots[12].archetype, 1, "the free list's back link is wrong");
    core_close(&x.c);
}

static void faults_of_rows_are_found(void **state)
{
    sample x;
    egi_rows *p, *sp;

    (void)state;
    open_sample(&x);
    p = egi_rows_of(x.c.w, x.p);
    PLANT(p->ids[0], 2.5, "row count is no integer");
    PLANT(p->ids[0], 99.0, "more rows than capacity");
    PLANT(p->ids[0], 3.0, "live entities and rows differ in number");
    PLANT(p->block, NULL, "rows and their storage disagree");
    PLANT(p->columns[0], p->columns[0] + 8, "row 1 of a column is not aligned");
    PLANT(p->ids[2], 3.0, "a row holds an id that is not alive");
    PLANT(p->ids[2], 1.0, "a row and its slot disagree");
    assert_true(eg_stage_spawn(x.c.w, x.p, x.sp) > 0);
    sp = egi_rows_of(x.c.w, x.sp);
    PLANT(sp->used, 2, "staged rows are miscounted");
    PLANT(sp->ids[1], 0.0, "staged rows are miscounted");
    core_close(&x.c);
}

static void faults_of_shells_are_found(void **state)
{
    sample x;
    egi_archetype *pv, *p;
    uint32_t first;

    (void)state;
    open_sample(&x);
    p = x.c.w->archetypes[x.p];
    pv = x.c.w->archetypes[x.pv];
    first = pv->components[0];
    PLANT(pv->components[1], first, "components of an archetype do not ascend");
    PLANT(pv->canonical[0], x.c.vel,
          "canonical order of an archetype is wrong");
    PLANT(pv->bytes[1].size, 8, "byte columns and components disagree");
    PLANT(pv->byte_count, 1, "byte columns and components disagree");
    PLANT(p->byte_count, 2, "byte columns and components disagree");
    PLANT(p->components[0], x.c.vel, "byte columns and components disagree");
    PLANT(p->staging, 1, "an archetype is not found by its set");
    core_close(&x.c);
}

static struct egi_map32_entry *entry_of(egi_map32 *m, uint32_t key)
{
    for (uint32_t i = 0; i < m->capacity; i++)
        if (m->entries[i].key == key)
            return &m->entries[i];
    fail_msg("no entry %u", (unsigned)key);
    return NULL;
}

static void faults_of_edges_and_totals_are_found(void **state)
{
    sample x;
    egi_archetype *p, *pv;
    struct egi_map32_entry *held;
    eg_world *w;

    (void)state;
    open_sample(&x);
    w = x.c.w;
    p = w->archetypes[x.p];
    pv = w->archetypes[x.pv];
    PLANT(entry_of(&p->add, x.c.vel)->value, x.p,
          "an edge leads to the wrong archetype");
    PLANT(entry_of(&pv->remove, x.c.vel)->value, x.sp,
          "an edge leads to the wrong archetype");
    PLANT(w->set_count, w->set_count + 1,
          "archetypes and sets differ in number");
    PLANT(entry_of(&w->held, x.c.pos)->value, 1,
          "held components are miscounted");
    held = entry_of(&w->held, x.c.vel);
    PLANT(held->key, 99, "a component that is held is not counted");
    PLANT(p->touched, 1, "the list of touched archetypes is broken");
    PLANT(w->touched, x.p, "the list of touched archetypes is broken");
    for (uint32_t i = 0; i < w->set_capacity; i++)
        if (w->sets[i] == x.p)
            PLANT(w->sets[i], 0, "an archetype is not found by its set");
    core_close(&x.c);
}

static void faults_of_queries_are_found(void **state)
{
    sample x;
    uint32_t *list;

    (void)state;
    open_sample(&x);
    assert_int_equal(eg_query_list(x.q, (const uint32_t **)&list), 2);
    PLANT(list[0], x.pv, "a query's archetypes are out of order");
    PLANT(list[1], x.sp, "a query lists an archetype that does not match");
    PLANT(list[1], 99, "a query lists an archetype that does not match");
    egi_archetype_drop(x.c.w, core_set(x.c.w, 0, x.c.wide, 0, 0));
    core_close(&x.c);
}

static void faults_of_staged_work_are_found(void **state)
{
    sample x;
    egi_cmd *cmd;
    double spawned, ids[2];

    (void)state;
    open_sample(&x);
    spawned = eg_stage_spawn(x.c.w, x.p, x.sp);
    assert_int_equal(eg_stage_change(x.c.w, 4, x.pv, x.sv, NULL), EG_OK);
    assert_int_equal(eg_stage_despawn(x.c.w, 6), EG_OK);
    assert_int_equal(eg_stage_batch(x.c.w, x.p, 2, ids, 1), EG_OK);
    assert_sound(x.c.w);
    cmd = x.c.w->cmd;
    PLANT(cmd->change_list.to, 3, "a list of staged work is out of bounds");
    PLANT(cmd->batch_list.from, 1, "a list of staged work is out of bounds");
    PLANT(x.c.w->staged, 0, "staged work is not announced");
    PLANT(cmd->changes[1].seq, 0, "staged changes are out of order");
    PLANT(cmd->changes[1].id, 3.0, "a change is staged for a dead id");
    PLANT(cmd->changes[1].id, 5.0,
          "a staged change is not the one of its entity");
    PLANT(cmd->changes[1].kind, EGI_SPAWN,
          "a staged change takes a live entity for a pending one");
    PLANT(cmd->changes[0].kind, EGI_CHANGE,
          "a staged change takes a live entity for a pending one");
    PLANT(cmd->changes[1].target, x.sv, "a staged change leads nowhere");
    PLANT(cmd->changes[1].row, 2, "a staged change has not the row it says");
    PLANT(cmd->changes[1].staged, x.p,
          "a staged change has not the row it says");
    PLANT(cmd->changes[1].staged, 0, "a staged change has not the row it says");
    PLANT(cmd->despawns[0], 7.0, "a staged despawn is not marked");
    PLANT(cmd->of_slot[6], 0, "a staged despawn is not marked");
    PLANT(cmd->of_slot[7], EGI_MARK_GONE,
          "marks of staged despawns are miscounted");
    PLANT(cmd->of_slot[7], 2, "a mark leads to no staged change");
    PLANT(cmd->of_slot[7], 9, "a mark leads to no staged change");
    PLANT(cmd->of_slot[7], EGI_MARK_BATCH, "a mark leads to no batch");
    PLANT(cmd->of_slot[egi_slot_of(ids[0])], EGI_MARK_BATCH - 1,
          "a mark leads to no batch");
    PLANT(cmd->of_slot[egi_slot_of(ids[0])], 0,
          "nothing is staged for a pending id");
    assert_true(spawned > 0);
    core_close(&x.c);
}

static void a_staged_row_of_no_change_is_found(void **state)
{
    sample x;

    (void)state;
    open_sample(&x);
    assert_true(eg_stage_spawn(x.c.w, x.p, x.sp) > 0);
    (void)egi_staged_take(x.c.w, x.sp, 4);
    expect_fault(x.c.w, "staged rows belong to no change", __LINE__);
    egi_staged_free(x.c.w, x.sp, 2);
    core_close(&x.c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_of_records_are_found),
        cmocka_unit_test(faults_of_floors_are_found),
        cmocka_unit_test(faults_of_the_free_list_are_found),
        cmocka_unit_test(faults_of_rows_are_found),
        cmocka_unit_test(faults_of_shells_are_found),
        cmocka_unit_test(faults_of_edges_and_totals_are_found),
        cmocka_unit_test(faults_of_queries_are_found),
        cmocka_unit_test(faults_of_staged_work_are_found),
        cmocka_unit_test(a_staged_row_of_no_change_is_found),
    };

    return cmocka_run_group_tests_name("check", tests, NULL, NULL);
}
