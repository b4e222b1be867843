/* SPDX-License-Identifier: MIT */
/* The walk over a whole snapshot: prelude, records, data. See eg_wire.h for the
 * layout, eg_snap_verify.h for what holds at the end.
 *
 * Counts are believed only as far as the bytes left can hold what they count,
 * and never beyond the limits. */
#include "core/snap/eg_snap_verify.h"

#include <string.h>

enum {
    COMPONENT_MIN = 3, /* bytes: a name of one byte, no fingerprint */
    RECORD_MIN = 15,   /* three counts */
    ROW_MIN = 8        /* a raw id */
};

static const uint64_t integer_max = (UINT64_C(1) << 53) - 1;

int egi_snap_no_memory(egi_reader *r)
{
    return egi_reader_fail(r, EG_ENOMEM, r->mark, "out of memory", EGI_LINE);
}

/* A count of things of at least `unit` bytes each. */
static int read_bounded(egi_reader *r, size_t unit, uint64_t *v,
                        const char *why)
{
    if (egi_read_count(r, integer_max, v, why) != EG_OK)
        return r->error;
    if (*v > egi_reader_left(r) / unit)
        return EGI_TRUNCATED(r, r->mark,
                             "count needs more bytes than are left");
    return EG_OK;
}

static int read_version(egi_reader *r, double *version)
{
    egi_head h;
    double v;

    /* Text and code of all kinds begin otherwise: say so, not that some count
     * in them is too large. */
    if (r->len > 0 && r->data[0] != EGI_TAG_INT32 &&
        r->data[0] != EGI_TAG_DOUBLE)
        return EGI_CORRUPT_AT(r, 0, "not a snapshot");
    if (egi_read_head(r, &h) != EG_OK)
        return r->error;
    v = egi_head_number(&h);
    if (!(v >= 1.0 && v <= (double)integer_max) || (double)(uint64_t)v != v)
        return EGI_CORRUPT(r, "not a snapshot");
    if (v != EG_SNAPSHOT_VERSION) {
        *version = v;
        return egi_reader_fail(r, EG_EVERSION, r->mark,
                               "unknown format version", EGI_LINE);
    }
    return EG_OK;
}

static int read_entity_count(eg_snap *s, egi_reader *r, const eg_limits *lim)
{
    uint64_t v;

    if (read_bounded(r, ROW_MIN, &v, "bad entity count") != EG_OK)
        return r->error;
    if (v > lim->entities)
        return EGI_OVER_LIMIT(r, r->mark, "more entities than allowed");
    if (v > EG_MAX_ENTITIES)
        return EGI_CORRUPT(r, "more entities than there are slots");
    s->entities = (uint32_t)v;
    return EG_OK;
}

static int read_prelude(eg_snap *s, egi_reader *r, const eg_limits *lim,
                        double *version)
{
    uint64_t next;
    uint64_t records;
    uint64_t components;

    if (read_version(r, version) != EG_OK ||
        egi_read_count(r, integer_max, &next, "bad next id") != EG_OK ||
        read_entity_count(s, r, lim) != EG_OK ||
        read_bounded(r, RECORD_MIN, &records, "bad archetype count") != EG_OK)
        return r->error;
    if (records > UINT32_MAX)
        return EGI_OVER_LIMIT(r, r->mark, "more than 2^32 archetypes");
    if (read_bounded(r, COMPONENT_MIN, &components, "bad component count") !=
        EG_OK)
        return r->error;
    if (components > UINT32_MAX)
        return EGI_OVER_LIMIT(r, r->mark, "more than 2^32 components");
    s->next_id = (double)next;
    s->stated_records = (uint32_t)records;
    return egi_snap_read_table(s, r, (size_t)components);
}

/* One entry of data, after its `true`. */
static int read_entry(eg_snap *s, egi_reader *r)
{
    egi_snap_entry e;
    const uint8_t *key;
    size_t key_len;

    if (egi_read_string(r, &key, &key_len) != EG_OK)
        return r->error;
    e.key_at = (size_t)(key - r->data);
    e.key_len = (uint32_t)key_len;
    e.kind = egi_snap_key_kind(key, key_len);
    e.value_at = r->pos;
    if (e.kind != EG_ENTRY_PLAIN && e.kind != EG_ENTRY_RESERVED) {
        if (s->reserved & 1u << e.kind)
            return EGI_CORRUPT(r, "reserved entry comes twice");
        s->reserved |= 1u << e.kind;
    }
    if (egi_value_skip(r, &s->walker) != EG_OK)
        return r->error;
    e.value_len = r->pos - e.value_at;
    if (egi_snap_check_reserved(s, r, &e) != EG_OK)
        return r->error;
    if (s->entries.count == UINT32_MAX)
        return EGI_OVER_LIMIT(r, e.key_at, "more than 2^32 entries of data");
    if (egi_pool_reserve(&s->alloc, &s->entries, 1, sizeof e) != EG_OK)
        return egi_snap_no_memory(r);
    egi_snap_entries(s)[s->entries.count++] = e;
    return EG_OK;
}

static int read_data(eg_snap *s, egi_reader *r)
{
    int more;

    for (;;) {
        if (egi_read_bool(r, &more) != EG_OK)
            return r->error;
        if (!more)
            break;
        if (read_entry(s, r) != EG_OK)
            return r->error;
    }
    if (egi_reader_left(r) != 0)
        return EGI_CORRUPT_AT(r, r->pos, "bytes after the end");
    return EG_OK;
}

static int verify(eg_snap *s, egi_reader *r, const eg_limits *lim,
                  unsigned flags, double *version)
{
    if (s->len > lim->bytes)
        return EGI_OVER_LIMIT(r, 0, "snapshot longer than allowed");
    if (read_prelude(s, r, lim, version) != EG_OK)
        return r->error;
    if (flags & EGI_SNAP_PRELUDE)
        return EG_OK;
    if (egi_snap_read_records(s, r, flags) != EG_OK)
        return r->error;
    return read_data(s, r);
}

static void report(eg_snap_error *err, int code, const egi_reader *r,
                   double version)
{
    if (err == NULL)
        return;
    memset(err, 0, sizeof *err);
    err->code = code;
    if (r == NULL)
        return;
    err->line = r->line;
    err->offset = r->error_at;
    err->version = version;
    if (code != EG_ENOMEM)
        err->reason = r->why;
}

int egi_snap_open(const eg_allocator *a, const void *data, size_t len,
                  const eg_limits *lim, unsigned flags, eg_snap **snap,
                  eg_snap_error *err)
{
    eg_limits defaults;
    egi_reader r;
    eg_snap *s = *snap;
    double version = 0.0;

    if (data == NULL && len > 0) {
        report(err, EG_EINVAL, NULL, 0.0);
        return EG_EINVAL;
    }
    if (s == NULL && egi_snap_new(a, &s) != EG_OK) {
        report(err, EG_ENOMEM, NULL, 0.0);
        return EG_ENOMEM;
    }
    eg_limits_init(&defaults);
    if (lim == NULL)
        lim = &defaults;
    egi_snap_reset(s);
    egi_reader_init(&r, data, len);
    s->data = r.data;
    s->len = len;
    s->walker.depth = lim->depth;
    if (verify(s, &r, lim, flags, &version) != EG_OK) {
        report(err, r.error, &r, version);
        if (*snap == NULL)
            eg_snap_close(s);
        else
            egi_snap_reset(s);
        return r.error;
    }
    *snap = s;
    return EG_OK;
}

int eg_snap_open(const eg_allocator *a, const void *data, size_t len,
                 const eg_limits *lim, eg_snap **snap, eg_snap_error *err)
{
    return egi_snap_open(a, data, len, lim, 0, snap, err);
}

int eg_snap_inspect(const eg_allocator *a, const void *data, size_t len,
                    const eg_limits *lim, eg_snap **snap, eg_snap_error *err)
{
    return egi_snap_open(a, data, len, lim, EGI_SNAP_PRELUDE, snap, err);
}
