/* SPDX-License-Identifier: MIT */
/* Whole snapshots, continued: data and its reserved entries, limits, failing
 * allocations, memory in proportion to the input. */
#include "snap_draft.h"

#include <string.h>

/* -- data ------------------------------------------------------------------ */

static void begin_data(draft *d, const char *key)
{
    draft_begin(d, 0, 0, 0);
    snap_put_key(&d->w, key);
}

static void end_data(draft *d, int code, const char *why)
{
    egi_put_bool(&d->w, 0);
    draft_expect(d, code, SIZE_MAX, why);
}

static void data_is_checked(void **state)
{
    draft d;

    (void)state;
    begin_data(&d, "");
    egi_put_nil(&d.w);
    end_data(&d, EG_OK, NULL);
    draft_begin(&d, 0, 0, 0);
    egi_put_bool(&d.w, 1);
    egi_put_number(&d.w, 5);
    egi_put_nil(&d.w);
    end_data(&d, EG_ECORRUPT, "string expected");
    draft_begin(&d, 0, 0, 0);
    egi_put_number(&d.w, 1);
    end_data(&d, EG_ECORRUPT, "boolean expected");
    /* two plain entries may share a key, two reserved ones may not */
    begin_data(&d, "a");
    egi_put_nil(&d.w);
    snap_put_key(&d.w, "a");
    egi_put_nil(&d.w);
    end_data(&d, EG_OK, NULL);
    begin_data(&d, "__engram.states");
    egi_put_empty_table(&d.w);
    snap_put_key(&d.w, "__engram.states");
    egi_put_empty_table(&d.w);
    end_data(&d, EG_ECORRUPT, "reserved entry comes twice");
    begin_data(&d, "__engram.what is this");
    egi_put_number(&d.w, 3);
    snap_put_key(&d.w, "__engram.what is this");
    egi_put_number(&d.w, 3);
    end_data(&d, EG_OK, NULL);
}

static void states_are_a_list_of_names(void **state)
{
    draft d;

    (void)state;
    begin_data(&d, "__engram.states");
    egi_put_empty_table(&d.w);
    end_data(&d, EG_OK, NULL);
    begin_data(&d, "__engram.states");
    egi_put_number(&d.w, 1);
    end_data(&d, EG_ECORRUPT, "states: list of names expected");
    begin_data(&d, "__engram.states");
    egi_put_array(&d.w, 1);
    egi_put_nil(&d.w);
    end_data(&d, EG_ECORRUPT, "string expected");
    begin_data(&d, "__engram.states");
    egi_put_array(&d.w, 1);
    snap_put_text(&d.w, "");
    end_data(&d, EG_ECORRUPT, "states: empty name");
    begin_data(&d, "__engram.states");
    egi_put_hash(&d.w, 1);
    egi_put_number(&d.w, 1);
    snap_put_text(&d.w, "Menu");
    end_data(&d, EG_ECORRUPT, "states: list of names expected");
}

static void versions_are_positive_integers(void **state)
{
    static const double bad[] = {0, -1, 1.5, 9007199254740992.0};
    draft d;

    (void)state;
    begin_data(&d, "__engram.versions");
    egi_put_hash(&d.w, 1);
    snap_put_text(&d.w, "Pos");
    egi_put_number(&d.w, 9007199254740991.0);
    end_data(&d, EG_OK, NULL);
    for (size_t i = 0; i < 4; i++) {
        begin_data(&d, "__engram.versions");
        egi_put_hash(&d.w, 1);
        snap_put_text(&d.w, "Pos");
        egi_put_number(&d.w, bad[i]);
        end_data(&d, EG_ECORRUPT, "versions: positive integer expected");
    }
    begin_data(&d, "__engram.versions");
    egi_put_array(&d.w, 1);
    egi_put_number(&d.w, 1);
    end_data(&d, EG_ECORRUPT, "versions: table expected");
    begin_data(&d, "__engram.versions");
    egi_put_hash(&d.w, 1);
    egi_put_number(&d.w, 1);
    egi_put_number(&d.w, 1);
    end_data(&d, EG_ECORRUPT, "string expected");
}

/* A pipeline entry with one member that is a number. */
static void expect_pipeline(const char *member, double v, int code,
                            const char *why)
{
    draft d;

    begin_data(&d, "__engram.pipeline");
    egi_put_hash(&d.w, 1);
    snap_put_text(&d.w, member);
    egi_put_number(&d.w, v);
    end_data(&d, code, why);
}

static void the_pipeline_is_checked(void **state)
{
    static const char accumulator[] = "pipeline: bad accumulator";
    static const char steps[] = "pipeline: bad step count";
    draft d;

    (void)state;
    expect_pipeline("accumulator", 0.25, EG_OK, NULL);
    expect_pipeline("accumulator", -0.25, EG_ECORRUPT, accumulator);
    expect_pipeline("accumulator", 1e308 * 10, EG_ECORRUPT, accumulator);
    expect_pipeline("accumulator", 0.0 / 0.0 * 1.0, EG_ECORRUPT, accumulator);
    expect_pipeline("fixedStepCount", 5, EG_OK, NULL);
    expect_pipeline("fixedStepCount", -5, EG_ECORRUPT, steps);
    expect_pipeline("fixedStepCount", 0.5, EG_ECORRUPT, steps);
    expect_pipeline("phases", 1, EG_ECORRUPT,
                    "pipeline: table of phases expected");
    expect_pipeline("something later", 1, EG_OK, NULL);
    begin_data(&d, "__engram.pipeline");
    egi_put_hash(&d.w, 1);
    snap_put_text(&d.w, "phases");
    egi_put_hash(&d.w, 1);
    snap_put_text(&d.w, "Update");
    egi_put_number(&d.w, 1);
    end_data(&d, EG_ECORRUPT, "boolean expected");
}

/* -- limits, memory -------------------------------------------------------- */

static void limits_are_kept(void **state)
{
    egi_buffer b;
    eg_limits lim;
    eg_snap_error err;

    (void)state;
    egi_buffer_init(&b, &egi_default_allocator);
    snap_sample(&b);
    eg_limits_init(&lim);
    assert_int_equal(lim.depth, 512);
    lim.entities = 6;
    lim.bytes = b.size;
    lim.depth = 3;
    assert_int_equal(draft_open(b.data, b.size, &lim, &err), EG_OK);
    lim.entities = 5;
    assert_int_equal(draft_open(b.data, b.size, &lim, &err), EG_ELIMIT);
    assert_string_equal(err.reason, "more entities than allowed");
    lim.entities = 6;
    lim.bytes--;
    assert_int_equal(draft_open(b.data, b.size, &lim, &err), EG_ELIMIT);
    assert_string_equal(err.reason, "snapshot longer than allowed");
    lim.bytes++;
    lim.depth = 2;
    assert_int_equal(draft_open(b.data, b.size, &lim, &err), EG_ELIMIT);
    assert_string_equal(err.reason, "nested too deep");
    egi_buffer_fini(&b);
}

/* Fails one allocation after the other, once or from then on. */
static void fail_each(const egi_buffer *b, int on)
{
    int done = 0;

    for (long fail = 0; !done; fail++) {
        eg_snap_error err;
        eg_snap *s = NULL;
        snap_memory m;
        int result;

        snap_memory_init(&m);
        m.fail_at = fail;
        m.fail_on = on;
        result = eg_snap_open(&m.alloc, b->data, b->size, NULL, &s, &err);
        done = m.calls <= fail;
        assert_int_equal(result, done ? EG_OK : EG_ENOMEM);
        if (!done) {
            assert_null(s);
            assert_int_equal(err.code, EG_ENOMEM);
        }
        eg_snap_close(s);
        snap_memory_fini(&m);
    }
}

static void lack_of_memory_leaves_nothing_behind(void **state)
{
    enum { ROWS = 600 };
    static const uint8_t row[32] = {0};
    draft d;

    (void)state;
    egi_buffer_init(&d.b, &egi_default_allocator);
    snap_sample(&d.b);
    fail_each(&d.b, 0);
    fail_each(&d.b, 1);
    egi_buffer_fini(&d.b);
    /* With masks, escaped names, more fields than are compared in pairs, and
     * a table that needs a keyset. */
    draft_begin(&d, ROWS, 1, 2);
    snap_put_component(&d.w, "A", "a%25:f64,b:bool|32");
    snap_put_component(&d.w, "B",
                       "a:i8,b:i8,c:i8,d:i8,e:i8,f:i8,g:i8,h:i8,i:i8,j:i8,"
                       "k:i8,l:i8,m:i8,n:i8,o:i8,p:i8,q:i8|17");
    draft_record(&d, 1, ROWS, 1, -1, 0);
    for (uint32_t i = 1; i <= ROWS; i++)
        snap_put_raw_double(&d.w, snap_id(i * 2, 0));
    for (uint32_t i = 0; i < ROWS; i++)
        egi_put_raw(&d.w, row, sizeof row);
    snap_put_key(&d.w, "large");
    egi_put_hash(&d.w, 100);
    for (int i = 0; i < 100; i++) {
        egi_put_number(&d.w, i);
        egi_put_nil(&d.w);
    }
    egi_put_bool(&d.w, 0);
    assert_int_equal(egi_writer_end(&d.w), EG_OK);
    fail_each(&d.b, 0);
    fail_each(&d.b, 1);
    egi_buffer_fini(&d.b);
}

static void a_document_is_used_again_without_allocating(void **state)
{
    egi_buffer b;
    eg_snap *s = NULL;
    eg_snap *same;
    snap_memory m;
    eg_snap_prelude p;

    (void)state;
    egi_buffer_init(&b, &egi_default_allocator);
    snap_sample(&b);
    snap_memory_init(&m);
    assert_int_equal(eg_snap_open(&m.alloc, b.data, b.size, NULL, &s, NULL),
                     EG_OK);
    same = s;
    m.fail_at = m.calls;
    m.fail_on = 1;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(eg_snap_open(&m.alloc, b.data, b.size, NULL, &s, NULL),
                         EG_OK);
        assert_ptr_equal(s, same);
        draft_walk(s, b.size);
        /* A failure empties it and leaves it usable. */
        assert_int_equal(
            eg_snap_open(&m.alloc, b.data, b.size - 1, NULL, &s, NULL),
            EG_ETRUNC);
        assert_ptr_equal(s, same);
        eg_snap_prelude_of(s, &p);
        assert_true(p.version == 0.0);
        assert_int_equal(p.components + p.records + p.entries, 0);
    }
    eg_snap_close(s);
    eg_snap_close(NULL);
    snap_memory_fini(&m);
    egi_buffer_fini(&b);
}

static void inspecting_stops_after_the_table(void **state)
{
    egi_buffer b;
    eg_snap *s = NULL;
    eg_snap_prelude p;
    size_t table = 0;

    (void)state;
    egi_buffer_init(&b, &egi_default_allocator);
    snap_sample(&b);
    while (eg_snap_inspect(NULL, b.data, table, NULL, &s, NULL) != EG_OK)
        table++;
    assert_true(table < b.size);
    eg_snap_prelude_of(s, &p);
    assert_int_equal(p.components, 4);
    assert_int_equal(p.records, 3);
    assert_int_equal(p.entities, 6);
    assert_int_equal(p.entries, 0);
    assert_int_equal(eg_snap_record_at(s, 0, &(eg_snap_record){0}), EG_EINVAL);
    /* What follows may be anything. */
    memset(b.data + table, 0xff, b.size - table);
    assert_int_equal(eg_snap_inspect(NULL, b.data, b.size, NULL, &s, NULL),
                     EG_OK);
    eg_snap_close(s);
    egi_buffer_fini(&b);
}

/* Opens the draft and holds its memory against its size. */
static void expect_frugal(draft *d)
{
    snap_memory m;
    eg_snap *s = NULL;

    egi_writer_end(&d->w);
    snap_memory_init(&m);
    eg_snap_open(&m.alloc, d->b.data, d->b.size, NULL, &s, NULL);
    assert_true(m.peak <= 2048 + 100 * d->b.size);
    eg_snap_close(s);
    snap_memory_fini(&m);
    egi_buffer_fini(&d->b);
}

static void memory_stays_in_proportion_to_the_input(void **state)
{
    static char commas[50000];
    char name[4] = {0};
    draft d;

    (void)state;
    memset(commas, ',', sizeof commas - 1);
    draft_begin(&d, 0, 0, 1);
    snap_put_component(&d.w, "A", commas);
    expect_frugal(&d);
    draft_begin(&d, 0, 0, 30000);
    for (int i = 0; i < 30000; i++) {
        name[0] = (char)(1 + i % 200);
        name[1] = (char)(1 + i / 200);
        snap_put_component(&d.w, name, "");
    }
    egi_put_bool(&d.w, 0);
    expect_frugal(&d);
    draft_begin(&d, 0, 0, 20000);
    for (int i = 0; i < 20000; i++) {
        name[0] = (char)(1 + i % 200);
        name[1] = (char)(1 + i / 200);
        snap_put_component(&d.w, name, "a:i8|1");
    }
    egi_put_bool(&d.w, 0);
    expect_frugal(&d);
    draft_begin(&d, 0, 0, 0);
    for (int i = 0; i < 50000; i++) {
        snap_put_key(&d.w, "");
        egi_put_nil(&d.w);
    }
    egi_put_bool(&d.w, 0);
    expect_frugal(&d);
    draft_begin(&d, 0, 3000, 3000);
    for (int i = 0; i < 3000; i++) {
        name[0] = (char)(1 + i % 200);
        name[1] = (char)(1 + i / 200);
        snap_put_component(&d.w, name, "");
    }
    for (int i = 1; i <= 3000; i++)
        draft_record(&d, 1, 0, i, -1, 0);
    egi_put_bool(&d.w, 0);
    expect_frugal(&d);
    draft_begin(&d, 0, 0, 0);
    snap_put_key(&d.w, "deep");
    for (int i = 0; i < 500; i++)
        egi_put_raw(&d.w, "\x09\x01\x21k", 4);
    egi_put_hash(&d.w, 20000);
    for (int i = 0; i < 20000; i++) {
        egi_put_raw(&d.w, "\x06", 1);
        egi_put_u32(&d.w, (uint32_t)i);
        egi_put_nil(&d.w);
    }
    egi_put_bool(&d.w, 0);
    expect_frugal(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_is_checked),
        cmocka_unit_test(states_are_a_list_of_names),
        cmocka_unit_test(versions_are_positive_integers),
        cmocka_unit_test(the_pipeline_is_checked),
        cmocka_unit_test(limits_are_kept),
        cmocka_unit_test(lack_of_memory_leaves_nothing_behind),
        cmocka_unit_test(a_document_is_used_again_without_allocating),
        cmocka_unit_test(inspecting_stops_after_the_table),
        cmocka_unit_test(memory_stays_in_proportion_to_the_input),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
