/* SPDX-License-Identifier: MIT */
#include "oom_script.h"

#include <stdio.h>
#include <string.h>

/* -- components and archetypes -------------------------------------------- */

static int new_registry(oom_script *s, uint32_t n)
{
    (void)n;
    return eg_registry_new(&s->memory.alloc, &s->registry);
}

static int register_component(oom_script *s, uint32_t n)
{
    char name[16];
    eg_field field;
    eg_component_def def;

    memset(&def, 0, sizeof def);
    memset(&field, 0, sizeof field);
    def.name = name;
    def.name_len = (uint32_t)snprintf(name, sizeof name, "C%u", (unsigned)n);
    def.storage = n < 3 ? EG_RAW : n == 3 ? EG_HOST : EG_TAG;
    if (n < 3) {
        def.size = n == 2 ? 1024 : 16;
        def.align = 8;
        field.name = "x";
        field.name_len = 1;
        field.type = EG_F64;
        field.elements = 1;
        def.fields = &field;
        def.field_count = 1;
    }
    return eg_component_register(s->registry, &def, &s->component[n]);
}

static int new_world(oom_script *s, uint32_t n)
{
    (void)n;
    return eg_world_new(s->registry, OOM_IDS, &s->memory.alloc, &s->w);
}

/* Sets of one or two components: sorted scratch, shell, table, set table. */
static int get_archetype(oom_script *s, uint32_t n)
{
    const uint32_t set[] = {s->component[n % OOM_COMPONENTS], s->component[0]};

    return eg_archetype_get(s->w, set, 2, 0, &s->set[n]);
}

static int get_big(oom_script *s, uint32_t n)
{
    (void)n;
    return eg_archetype_get(s->w, &s->component[2], 1, 0, &s->big);
}

static int get_staging(oom_script *s, uint32_t n)
{
    return eg_archetype_get(s->w, &s->component[n], 1, 1, &s->staged[n]);
}

static int follow_edge(oom_script *s, uint32_t n)
{
    uint32_t out = 77;
    int err = n % 2
                  ? eg_archetype_remove(s->w, s->set[n], s->component[n], &out)
                  : eg_archetype_add(s->w, s->set[n], s->component[1], &out);

    assert_true(err != EG_OK ? out == 77 : out != 77);
    return err;
}

static int reserve(oom_script *s, uint32_t n)
{
    return eg_archetype_reserve(s->w, s->set[n], 100);
}

static int make_query(oom_script *s, uint32_t exclude, eg_query **out)
{
    eg_query_def def;

    memset(&def, 0, sizeof def);
    def.include = s->component;
    def.include_count = 1;
    def.exclude = s->component + 1;
    def.exclude_count = exclude;
    return eg_query_new(s->w, &def, out);
}

/* Offered each archetype as it is made. */
static int early_query(oom_script *s, uint32_t n)
{
    return make_query(s, n, &s->q[0]);
}

/* Finds them all there. */
static int late_query(oom_script *s, uint32_t n)
{
    return make_query(s, n, &s->q[1 + n]);
}

/* -- entities ------------------------------------------------------------- */

static void fill(eg_world *w, double id, uint32_t component, double value)
{
    double *cell = eg_entity_get(w, id, component);

    if (cell != NULL)
        cell[0] = cell[1] = value;
}

static int spawn(oom_script *s, uint32_t n)
{
    double id = eg_entity_spawn(s->w, s->set[n % 3]);

    if (id == EG_ENOMEM)
        return EG_ENOMEM;
    assert_true(id > 0);
    s->ids[n] = id;
    fill(s->w, id, s->component[0], n + 1);
    fill(s->w, id, s->component[1], n + 2);
    if (n % 3 == 2)
        memset(core_cell(s->w, id, s->component[2]), 1, 1024);
    return EG_OK;
}

/* Older and newer generations: floors are kept. */
static int spawn_at(oom_script *s, uint32_t n)
{
    double id = 4194304.0 * (n % 2 ? 1 : 9) + (n / 2 + 400);
    int err = eg_entity_spawn_at(s->w, id, s->set[0]);

    if (err != EG_OK)
        return err;
    fill(s->w, id, s->component[0], id);
    if (n % 2 == 0)
        assert_int_equal(eg_entity_despawn(s->w, id), EG_OK);
    return EG_OK;
}

static int spawn_many(oom_script *s, uint32_t n)
{
    uint32_t first = 77;
    double ids[10];
    int err = eg_entity_spawn_many(s->w, n ? s->set[1] : s->big, n ? 10 : 250,
                                   n ? ids : NULL, &first);

    assert_true(err != EG_OK ? first == 77 : first != 77);
    return err;
}

static int move(oom_script *s, uint32_t n)
{
    return eg_entity_move(s->w, s->ids[n], s->set[4 + n % 30]);
}

static int add(oom_script *s, uint32_t n)
{
    void *out = s;
    int err = eg_entity_add(s->w, s->ids[n], s->component[10 + n], &out);

    assert_true(err == EG_OK || out == s);
    return err;
}

static int remove_component(oom_script *s, uint32_t n)
{
    return eg_entity_remove(s->w, s->ids[n], s->component[0]);
}

static int despawn(oom_script *s, uint32_t n)
{
    return eg_entity_despawn(s->w, s->ids[50 + n]);
}

static int compact(oom_script *s, uint32_t n)
{
    (void)n;
    (void)eg_world_compact(s->w);
    return EG_OK;
}

static int stats(oom_script *s, uint32_t n)
{
    eg_stats numbers;

    (void)n;
    eg_world_stats(s->w, &numbers);
    return EG_OK;
}

/* -- staged changes ------------------------------------------------------- */

static void fill_staged(oom_script *s, double id, uint32_t staged, double value)
{
    eg_stage_state state;
    double *cell;

    eg_stage_find(s->w, id, &state);
    cell = core_staged(s->w, staged, s->component[staged == s->staged[1]],
                       state.staged_row);
    cell[0] = cell[1] = value;
}

static int stage_spawn(oom_script *s, uint32_t n)
{
    double id = eg_stage_spawn(s->w, s->set[3 + n % 3], s->staged[0]);

    if (id == EG_ENOMEM)
        return EG_ENOMEM;
    assert_true(id > 0);
    fill_staged(s, id, s->staged[0], n);
    return EG_OK;
}

static int stage_spawn_at(oom_script *s, uint32_t n)
{
    double id = 450 + n;
    int err = eg_stage_spawn_at(s->w, id, s->set[0], s->staged[0]);

    if (err == EG_OK)
        fill_staged(s, id, s->staged[0], id);
    return err;
}

static int stage_batch(oom_script *s, uint32_t n)
{
    return eg_stage_batch(s->w, s->set[0], 8, s->batch, n);
}

static int stage_batch_at(oom_script *s, uint32_t n)
{
    const double ids[] = {480 + n * 3, 481 + n * 3, 482 + n * 3};
    uint32_t bad = 77;
    int err = eg_stage_batch_at(s->w, s->set[0], 3, ids, n, &bad);

    assert_int_equal(bad, 77);
    return err;
}

static double changing(const oom_script *s, uint32_t n)
{
    return n % 4 == 3 ? s->batch[n % 8] : s->ids[n];
}

static int stage_change(oom_script *s, uint32_t n)
{
    uint32_t row = 77;
    int err =
        eg_stage_change(s->w, changing(s, n), s->set[1], s->staged[1], &row);

    assert_true(err != EG_OK ? row == 77 : row != 77);
    if (err == EG_OK)
        fill_staged(s, changing(s, n), s->staged[1], n);
    return err;
}

static int unstage(oom_script *s, uint32_t n)
{
    return eg_stage_change(s->w, changing(s, 2 * n), s->set[1], 0, NULL);
}

static int stage_despawn(oom_script *s, uint32_t n)
{
    return eg_stage_despawn(s->w, n < 2 ? 450 + n : s->ids[20 + n]);
}

/* Each step of the drain is reported, and so is one call. */
static int attend(oom_script *s, uint32_t n)
{
    (void)n;
    for (uint32_t id = 1; id <= eg_archetype_count(s->w); id++)
        eg_archetype_attend(s->w, id, 1);
    return EG_OK;
}

static int drain_begin(oom_script *s, uint32_t n)
{
    (void)n;
    return eg_drain_begin(s->w);
}

static int drain_next(oom_script *s, uint32_t n)
{
    eg_drain_op op;
    int kind = eg_drain_next(s->w, &op);

    (void)n;
    return kind < 0 ? kind : EG_OK;
}

static int clear(oom_script *s, uint32_t n)
{
    (void)n;
    eg_world_clear(s->w);
    return EG_OK;
}

const struct oom_entry oom_steps[] = {
    {new_registry, 1},
    {register_component, OOM_COMPONENTS},
    {new_world, 1},
    {early_query, 1},
    {get_archetype, OOM_SETS},
    {get_big, 1},
    {get_staging, 2},
    {follow_edge, OOM_SETS},
    {late_query, 2},
    {spawn, 120},
    {reserve, 3},
    {spawn_at, 10},
    {spawn_many, 2},
    {move, 30},
    {add, 10},
    {remove_component, 4},
    {despawn, 20},
    {stats, 1},
    {compact, 1},
    {stage_spawn, 40},
    {stage_spawn_at, 3},
    {stage_batch, 2},
    {stage_batch_at, 2},
    {stage_change, 16},
    {unstage, 8},
    {stage_change, 16},
    {stage_despawn, 10},
    {attend, 1},
    {drain_begin, 1},
    {drain_next, 30},
    {stage_spawn, 20},
    {stage_change, 12},
    {drain_next, 60},
    {drain_begin, 1},
    {drain_next, 40},
    {stage_spawn, 4},
    {clear, 1},
    {spawn, 20},
};

const size_t oom_step_count = sizeof oom_steps / sizeof oom_steps[0];

/* -- what can be seen ----------------------------------------------------- */

static void take(uint64_t *hash, const void *bytes, size_t len)
{
    const unsigned char *p = bytes;

    for (size_t i = 0; i < len; i++)
        *hash = (*hash ^ p[i]) * UINT64_C(0x100000001b3);
}

static void take_rows(uint64_t *hash, eg_world *w, uint32_t archetype)
{
    eg_archetype_view view;
    size_t count;

    if (!eg_archetype_read(w, archetype, &view))
        return;
    count = (size_t)view.entities[0];
    if (count == 0)
        return; /* an archetype that stays empty is not seen */
    take(hash, view.entities, (count + 1) * sizeof(double));
    for (uint32_t i = 0; i < view.component_count && !view.staging; i++) {
        uint32_t c = view.components[i];
        const eg_component_def *def = eg_component_info(w->registry, c);
        const char *column = eg_archetype_column(w, archetype, c);

        if (column != NULL)
            take(hash, column + def->size, count * def->size);
    }
}

uint64_t oom_seen(const oom_script *s)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    eg_stats numbers;
    uint32_t pending, count;

    if (s->registry == NULL)
        return hash;
    count = eg_component_count(s->registry);
    take(&hash, &count, sizeof count);
    if (s->w == NULL)
        return hash;
    eg_world_stats(s->w, &numbers);
    take(&hash, &numbers.entities, sizeof numbers.entities);
    take(&hash, &numbers.high_slot, sizeof numbers.high_slot);
    take(&hash, &numbers.retired, sizeof numbers.retired);
    take(&hash, eg_world_slots(s->w) + 1, OOM_IDS * sizeof(eg_slot));
    take(&hash, &s->w->now->free_head, sizeof s->w->now->free_head);
    for (uint32_t id = 1; id <= eg_archetype_count(s->w); id++)
        take_rows(&hash, s->w, id);
    for (uint32_t i = 1; i <= OOM_IDS; i++) {
        eg_stage_state state;
        double id = eg_world_slots(s->w)[i].id;

        eg_stage_find(s->w, id < 0 ? -id : id, &state);
        take(&hash, &state, sizeof state);
    }
    pending = (uint32_t)eg_stage_pending(s->w);
    take(&hash, &pending, sizeof pending);
    for (int i = 0; i < 3; i++) {
        count = s->q[i] != NULL ? eg_query_rows(s->w, s->q[i]) : 0;
        take(&hash, &count, sizeof count);
    }
    return hash;
}
