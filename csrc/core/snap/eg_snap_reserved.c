/* SPDX-License-Identifier: MIT */
/* The reserved entries of data: which there are, and whether their values have
 * the form a load relies on. Their bytes have been walked already, so here only
 * types and meaning are looked at. Members that are not known are skipped, so
 * that a later minor version can add some. */
#include <string.h>

#include "core/snap/eg_snap_verify.h"

static const uint64_t integer_max = (UINT64_C(1) << 53) - 1;

static int is_text(const uint8_t *p, size_t len, const char *text)
{
    return strlen(text) == len && memcmp(p, text, len) == 0;
}

uint32_t egi_snap_key_kind(const uint8_t *key, size_t len)
{
    size_t prefix = strlen(EGI_KEY_RESERVED);

    if (len < prefix || memcmp(key, EGI_KEY_RESERVED, prefix) != 0)
        return EG_ENTRY_PLAIN;
    if (is_text(key, len, EGI_KEY_ALLOCATOR))
        return EG_ENTRY_ALLOCATOR;
    if (is_text(key, len, EGI_KEY_STATES))
        return EG_ENTRY_STATES;
    if (is_text(key, len, EGI_KEY_PIPELINE))
        return EG_ENTRY_PIPELINE;
    if (is_text(key, len, EGI_KEY_VERSIONS))
        return EG_ENTRY_VERSIONS;
    return EG_ENTRY_RESERVED;
}

/* {name, ...}: the state stack, bottom first. */
static int check_states(egi_reader *r)
{
    static const char *const why = "states: list of names expected";
    egi_head h;
    const uint8_t *name;
    size_t len;

    if (egi_read_head(r, &h) != EG_OK)
        return r->error;
    if (h.tag == EGI_TAG_TABLE)
        return EG_OK;
    if (h.tag != (EGI_TAG_TABLE | EGI_TAG_ARRAY1))
        return EGI_CORRUPT(r, why);
    for (uint32_t i = 0; i < h.slots; i++) {
        if (egi_read_string(r, &name, &len) != EG_OK)
            return r->error;
        if (len == 0)
            return EGI_CORRUPT(r, "states: empty name");
    }
    return EG_OK;
}

/* The head of a table of string keys: *pairs of them follow. */
static int read_map(egi_reader *r, uint32_t *pairs, const char *why)
{
    egi_head h;

    if (egi_read_head(r, &h) != EG_OK)
        return r->error;
    if (h.tag != EGI_TAG_TABLE && h.tag != (EGI_TAG_TABLE | EGI_TAG_HASH))
        return EGI_CORRUPT(r, why);
    *pairs = h.pairs;
    return EG_OK;
}

/* {component = version, ...} */
static int check_versions(egi_reader *r)
{
    static const char *const why = "versions: positive integer expected";
    const uint8_t *name;
    uint64_t version;
    uint32_t pairs = 0;
    size_t len;

    if (read_map(r, &pairs, "versions: table expected") != EG_OK)
        return r->error;
    for (uint32_t i = 0; i < pairs; i++) {
        if (egi_read_string(r, &name, &len) != EG_OK ||
            egi_read_count(r, integer_max, &version, why) != EG_OK)
            return r->error;
        if (version == 0)
            return EGI_CORRUPT(r, why);
    }
    return EG_OK;
}

/* {phase = enabled, ...} */
static int check_phases(egi_reader *r)
{
    const uint8_t *name;
    uint32_t pairs = 0;
    size_t len;
    int on;

    if (read_map(r, &pairs, "pipeline: table of phases expected") != EG_OK)
        return r->error;
    for (uint32_t i = 0; i < pairs; i++) {
        if (egi_read_string(r, &name, &len) != EG_OK ||
            egi_read_bool(r, &on) != EG_OK)
            return r->error;
    }
    return EG_OK;
}

static int check_accumulator(egi_reader *r)
{
    double v;

    if (egi_read_number(r, &v) != EG_OK)
        return r->error;
    if (!(v >= 0.0 && v <= 1.7976931348623157e308))
        return EGI_CORRUPT(r, "pipeline: bad accumulator");
    return EG_OK;
}

/* {accumulator = seconds, fixedStepCount = n, phases = {...}} */
static int check_pipeline(eg_snap *s, egi_reader *r)
{
    const uint8_t *key;
    uint64_t steps;
    uint32_t pairs = 0;
    size_t len;

    if (read_map(r, &pairs, "pipeline: table expected") != EG_OK)
        return r->error;
    for (uint32_t i = 0; i < pairs; i++) {
        if (egi_read_string(r, &key, &len) != EG_OK)
            return r->error;
        if (is_text(key, len, "accumulator"))
            check_accumulator(r);
        else if (is_text(key, len, "fixedStepCount"))
            egi_read_count(r, integer_max, &steps, "pipeline: bad step count");
        else if (is_text(key, len, "phases"))
            check_phases(r);
        else
            egi_value_skip(r, &s->walker);
        if (r->error != EG_OK)
            return r->error;
    }
    return EG_OK;
}

static int check_allocator(eg_snap *s, egi_reader *r)
{
    const uint8_t *bytes;
    size_t len;

    if (egi_read_string(r, &bytes, &len) != EG_OK)
        return r->error;
    return egi_snap_check_allocator(s, r, (size_t)(bytes - r->data), len);
}

int egi_snap_check_reserved(eg_snap *s, egi_reader *r, const egi_snap_entry *e)
{
    egi_reader again = *r;

    again.pos = e->value_at;
    switch (e->kind) {
    case EG_ENTRY_ALLOCATOR:
        check_allocator(s, &again);
        break;
    case EG_ENTRY_STATES:
        check_states(&again);
        break;
    case EG_ENTRY_PIPELINE:
        check_pipeline(s, &again);
        break;
    case EG_ENTRY_VERSIONS:
        check_versions(&again);
        break;
    default:
        break;
    }
    if (again.error != EG_OK)
        return egi_reader_fail(r, again.error, again.error_at, again.why,
                               again.line);
    return EG_OK;
}
