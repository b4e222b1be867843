/* SPDX-License-Identifier: MIT */
/* Single rows: copied, filled, removed, moved. All of it is on the path of
 * every spawn, move and despawn, so it is kept in one file for the compiler to
 * see whole. Nothing here can fail: callers have made room. */
#include "core/store/eg_store.h"

#include <string.h>

/* Small cells are the rule, and calling memcpy with a size known only at run
 * time costs more than they do. So: whole words, the last of which may overlap
 * the one before it. */
static inline void cell_copy(unsigned char *to, const unsigned char *from,
                             uint32_t size)
{
    if (size >= 16) {
        for (uint32_t at = 0; at < size - 16; at += 16)
            memcpy(to + at, from + at, 16);
        memcpy(to + size - 16, from + size - 16, 16);
    } else if (size >= 8) {
        memcpy(to, from, 8);
        memcpy(to + size - 8, from + size - 8, 8);
    } else if (size >= 4) {
        memcpy(to, from, 4);
        memcpy(to + size - 4, from + size - 4, 4);
    } else {
        to[0] = from[0];
        to[size / 2] = from[size / 2];
        to[size - 1] = from[size - 1];
    }
}

static inline unsigned char *cell_at(unsigned char *column, uint32_t row,
                                     uint32_t size)
{
    return column + (size_t)row * size;
}

/* Advances *at to the first byte column not below `component`; is it there? */
static inline int seek(const egi_archetype *a, uint32_t *at, uint32_t component)
{
    uint32_t i = *at, count = a->byte_count;

    while (i < count && a->bytes[i].component < component)
        i++;
    *at = i;
    return i < count && a->bytes[i].component == component;
}

void egi_row_copy(const egi_archetype *from, const egi_rows *fr, uint32_t row,
                  const egi_archetype *to, egi_rows *tr, uint32_t to_row)
{
    uint32_t j = 0;

    for (uint32_t i = 0; i < from->byte_count; i++) {
        uint32_t size = from->bytes[i].size;

        if (seek(to, &j, from->bytes[i].component))
            cell_copy(cell_at(tr->columns[j], to_row, size),
                      cell_at(fr->columns[i], row, size), size);
    }
}

void egi_row_fill(const egi_archetype *staged, const egi_rows *sr, uint32_t row,
                  const egi_archetype *kept, const egi_archetype *to,
                  egi_rows *tr, uint32_t to_row)
{
    uint32_t i = 0, k = 0;

    for (uint32_t j = 0; j < to->byte_count; j++) {
        uint32_t size = to->bytes[j].size, c = to->bytes[j].component;
        unsigned char *cell = cell_at(tr->columns[j], to_row, size);

        if (staged != NULL && seek(staged, &i, c))
            cell_copy(cell, cell_at(sr->columns[i], row, size), size);
        else if (kept == NULL || !seek(kept, &k, c))
            memset(cell, 0, size);
    }
}

/* Takes the id out of a row; the last one fills the hole, its cells follow. */
static inline void id_remove(egi_content *c, double *ids, uint32_t row,
                             uint32_t last)
{
    ids[0] -= 1.0;
    if (row != last) {
        double moved = ids[last];

        ids[row] = moved;
        c->slots[egi_slot_of(moved)].row = (int32_t)row;
    }
}

static inline void row_remove(egi_content *c, const egi_archetype *a,
                              uint32_t row)
{
    const egi_rows *r = &c->rows[a->id];
    unsigned char **columns = r->columns;
    const egi_byte_column *bytes = a->bytes;
    uint32_t last = egi_count(r), count = a->byte_count;

    egi_assert(row >= 1 && row <= last);
    id_remove(c, r->ids, row, last);
    for (uint32_t i = 0; i < count && row != last; i++) {
        uint32_t size = bytes[i].size;

        cell_copy(cell_at(columns[i], row, size),
                  cell_at(columns[i], last, size), size);
    }
}

void egi_row_remove(eg_world *w, const egi_archetype *a, uint32_t row)
{
    row_remove(w->now, a, row);
}

/* One pass over the columns: a cell goes to the new row, and the last one takes
 * its place. What the loop reads is held in locals, because a store of bytes
 * could change anything as far as the compiler knows. */
uint32_t egi_entity_transfer(eg_world *w, eg_slot *slot, egi_archetype *to)
{
    const egi_archetype *from = w->archetypes[slot->archetype];
    egi_rows *fr = egi_rows_of(w, from->id), *tr = egi_rows_of(w, to->id);
    unsigned char **columns = fr->columns, **to_columns = tr->columns;
    const egi_byte_column *bytes = from->bytes;
    uint32_t count = from->byte_count, last = egi_count(fr), j = 0;
    uint32_t row = (uint32_t)slot->row;
    uint32_t to_row = egi_row_append(tr, slot->id);

    for (uint32_t i = 0; i < count; i++) {
        uint32_t size = bytes[i].size;
        unsigned char *cell = cell_at(columns[i], row, size);

        if (seek(to, &j, bytes[i].component))
            cell_copy(cell_at(to_columns[j], to_row, size), cell, size);
        if (row != last)
            cell_copy(cell, cell_at(columns[i], last, size), size);
    }
    id_remove(w->now, fr->ids, row, last);
    slot->archetype = (int32_t)to->id;
    slot->row = (int32_t)to_row;
    return to_row;
}

int eg_entity_despawn(eg_world *w, double id)
{
    eg_slot *slot = egi_find(w, id);

    if (slot == NULL)
        return EG_EDEAD;
    if (w->staged && w->cmd_holds(w, id))
        return EG_EBUSY;
    row_remove(w->now, w->archetypes[slot->archetype], (uint32_t)slot->row);
    egi_slot_release(w->now, id);
    w->now->live--;
    return EG_OK;
}

int eg_entity_move(eg_world *w, double id, uint32_t archetype)
{
    egi_archetype *to = egi_archetype_at(w, archetype);
    eg_slot *slot = egi_find(w, id);

    if (slot == NULL)
        return EG_EDEAD;
    if (to == NULL || to->staging)
        return EG_EINVAL;
    if ((uint32_t)slot->archetype == archetype)
        return EG_OK;
    if (egi_rows_reserve(w, to, 1) != EG_OK)
        return EG_ENOMEM;
    egi_entity_transfer(w, slot, to);
    return EG_OK;
}
