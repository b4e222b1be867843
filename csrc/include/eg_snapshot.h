/* SPDX-License-Identifier: MIT */
/* Snapshots: verified documents over bytes from anywhere.
 *
 * eg_snap_open walks a whole bare snapshot without a world and without
 * believing any of it, and yields an index of what lies where. What it accepts,
 * a load refuses only for reasons that need a world or its components. The
 * bytes are borrowed: they must stay as they are while the document is used.
 * Offsets are in bytes from their start; indices are 0-based.
 *
 * Pointers are borrowed for the call and not NULL, unless a function says
 * otherwise; out-parameters are untouched on failure, eg_snap_error aside. One
 * thread at a time per document, per job and per world. docs/format.md
 * describes the bytes. Since 0.1. */
#ifndef EG_SNAPSHOT_H
#define EG_SNAPSHOT_H

#include "include/eg_types.h"

typedef struct eg_snap eg_snap;

/* What a source may ask for; more is EG_ELIMIT. */
typedef struct eg_limits {
    uint64_t entities;     /* rows in all; default EG_MAX_ENTITIES */
    uint64_t bytes;        /* length of the snapshot; default 2^30 */
    uint32_t depth;        /* tables within tables; default EG_MAX_DEPTH */
} eg_limits;

/* Why bytes were refused. */
typedef struct eg_snap_error {
    int32_t code;          /* enum eg_err, what the call returned */
    int32_t line;          /* source line of the report, debug builds */
    uint64_t offset;       /* first bad byte, or first of the part cut off */
    double version;        /* EG_EVERSION: the one found, else 0 */
    const char *reason;    /* static text; NULL for EG_EINVAL, EG_ENOMEM */
} eg_snap_error;

/* The numbers at the start. */
typedef struct eg_snap_prelude {
    double version;
    double next_id;        /* informs only */
    uint32_t entities;
    uint32_t records;      /* as stated; those indexed are fewer after
                            * eg_snap_inspect: none */
    uint32_t components;
    uint32_t entries;      /* of data, indexed */
    uint32_t high_slot;    /* highest slot of an id, 0 without rows */
} eg_snap_prelude;

/* One line of the component table. Texts have no zero at the end. */
typedef struct eg_snap_component {
    const char *name;
    const char *fingerprint;
    const eg_field *fields;    /* parsed fingerprint; NULL without one */
    uint32_t name_len;
    uint32_t fingerprint_len;  /* 0: its values are encoded */
    uint32_t field_count;
    uint32_t size;             /* bytes of a row, 0 without a fingerprint */
} eg_snap_component;

/* The rows of one set of components. */
typedef struct eg_snap_record {
    uint64_t at;           /* mode 0: the raw ids; mode 1: the first row */
    uint64_t end;          /* first byte after the record */
    uint32_t rows;
    uint32_t columns;
    uint32_t mode;         /* 0 by columns, 1 by rows */
} eg_snap_record;

/* One column of a record. In mode 1 offset and length are 0. */
typedef struct eg_snap_column {
    uint64_t offset;
    uint64_t length;
    uint32_t component;    /* index into the component table */
    uint32_t raw;          /* 1: rows x size bytes; 0: one value per row */
} eg_snap_column;

/* What an entry of data is. */
enum eg_snap_entry_kind {
    EG_ENTRY_PLAIN = 0,
    EG_ENTRY_ALLOCATOR = 1,
    EG_ENTRY_STATES = 2,
    EG_ENTRY_PIPELINE = 3,
    EG_ENTRY_VERSIONS = 4,
    EG_ENTRY_RESERVED = 5  /* a reserved key that is not known here */
};

/* One entry of data. */
typedef struct eg_snap_entry {
    const char *key;
    uint64_t value;        /* offset of the encoded value */
    uint64_t value_len;
    uint32_t key_len;
    uint32_t kind;         /* enum eg_snap_entry_kind */
} eg_snap_entry;

/** Fills in the defaults. Never fails.
 *  @param lim  out */
EG_API void eg_limits_init(eg_limits *lim);

/** Verifies a snapshot and indexes it. Safe on untrusted bytes.
 *  @param a      allocator, NULL for the process's; must outlive the document;
 *                the same for each use of one document
 *  @param data   snapshot; borrowed as long as the document is used
 *  @param len    length of data, bytes
 *  @param lim    limits, or NULL for the defaults; borrowed for the call
 *  @param snap   in: NULL, or a document whose memory is used again; out: the
 *                document, owned by the caller. On failure a given one stays
 *                usable for another call but is empty, and NULL stays NULL
 *  @param err    out, may be NULL: details of a failure; untouched on EG_OK
 *  @return EG_OK; EG_ETRUNC input ends early; EG_ECORRUPT damaged, or no
 *          snapshot; EG_EVERSION a version not known; EG_ELIMIT more than lim
 *          allows; EG_EINVAL data is NULL and len is not 0; EG_ENOMEM
 *  About linear in len. Memory: 512 KiB of address space, and less than 100
 *  bytes per byte of input, typically far below 1. Since 0.1. */
EG_API int eg_snap_open(const eg_allocator *a, const void *data, size_t len,
                        const eg_limits *lim, eg_snap **snap,
                        eg_snap_error *err);
/** The same for the prelude and the component table alone; what follows is not
 *  looked at, and may be missing. O(component table). */
EG_API int eg_snap_inspect(const eg_allocator *a, const void *data, size_t len,
                           const eg_limits *lim, eg_snap **snap,
                           eg_snap_error *err);
/** Frees a document; pointers taken from it are invalid then. The bytes it was
 *  opened on are the caller's. NULL is ignored. */
EG_API void eg_snap_close(eg_snap *snap);

/** The numbers of a document; all zero for an empty one. Never fails. O(1).
 *  @param out  out */
EG_API void eg_snap_prelude_of(const eg_snap *snap, eg_snap_prelude *out);
/** One component, record, column or entry. Pointers in the result hold until
 *  the document is closed or used again. O(1).
 *  @param index, record, column  from 0
 *  @param out                    out
 *  @return EG_OK; EG_EINVAL no such index, and *out is untouched */
EG_API int eg_snap_component_at(const eg_snap *snap, uint32_t index,
                                eg_snap_component *out);
EG_API int eg_snap_record_at(const eg_snap *snap, uint32_t index,
                             eg_snap_record *out);
EG_API int eg_snap_column_at(const eg_snap *snap, uint32_t record,
                             uint32_t column, eg_snap_column *out);
EG_API int eg_snap_entry_at(const eg_snap *snap, uint32_t index,
                            eg_snap_entry *out);

/* -- saving ---------------------------------------------------------------- */

typedef struct eg_save eg_save;

/* A column whose values the host encodes: one encoded value per row, in row
 * order. The host fills in data and size. */
typedef struct eg_save_column {
    const void *data;      /* borrowed until eg_save_write has returned */
    uint64_t size;         /* bytes */
    uint32_t archetype;
    uint32_t component;
    uint32_t rows;
    uint32_t reserved;
} eg_save_column;

/** Plans a save of everything a world holds but transient components. Calls
 *  come in this order: begin, the host fills in its columns, measure, write.
 *  Until eg_save_write has returned the world's structure must not change;
 *  changes may be staged, and are not in the save.
 *  @param job  in: NULL, or a job of the same world whose memory is used again;
 *              out: the job, owned by the caller; set on failure as well when
 *              there is one to be freed, which can be used for another call
 *  @return EG_OK; EG_EBUSY spawns are staged; EG_EINVAL a raw component has a
 *          pointer field, or none that a fingerprint can tell; EG_ENOMEM
 *  O(archetypes log archetypes + columns + slots ever used). */
EG_API int eg_save_begin(eg_world *w, eg_save **job);
/** Columns that the host must fill in before eg_save_measure, in writing order:
 *  those with EG_HOST storage or EG_HOST_CODEC. O(1).
 *  @param out  out: the columns; owned by the job, valid until it is used again
 *  @return their number */
EG_API uint32_t eg_save_hosted(const eg_save *s, eg_save_column **out);
/** Adds up the exact size. O(columns + rows of numbers).
 *  @param data      entries to add to the data part, each encoded as true, key,
 *                   value; borrowed until eg_save_write has returned; may be
 *                   NULL when data_len is 0
 *  @param data_len  length of data, bytes
 *  @param size      out: bytes of the snapshot
 *  @return EG_OK; EG_EINVAL a raw component without fields, or with a pointer;
 *          EG_ENOMEM */
EG_API int eg_save_measure(eg_save *s, const void *data, size_t data_len,
                           uint64_t *size);
/** Writes the snapshot in one pass. Allocates nothing. O(bytes).
 *  @param to    out: the bytes, any alignment; undefined on failure
 *  @param size  room in to, bytes: at least what eg_save_measure gave
 *  @return EG_OK; EG_ELIMIT there is less room than that */
EG_API int eg_save_write(eg_save *s, void *to, uint64_t size);
/** Frees a job, before or after its world, but not after the context of the
 *  world's allocator. NULL is ignored. */
EG_API void eg_save_free(eg_save *s);

/* -- loading --------------------------------------------------------------- */

typedef struct eg_load eg_load;

enum eg_load_flags {
    EG_LOAD_COPY = 1   /* the source may go away after eg_load_begin */
};

/* What to make of the components and records of a document. Arrays are
 * borrowed for the call. */
typedef struct eg_load_map {
    const uint32_t *components;  /* per component of the document: the id it
                                  * has here, 0 to leave its columns out */
    const uint32_t *archetypes;  /* per record: where its rows go. It has all
                                  * components kept, and may have more, whose
                                  * bytes start as zeros */
    const void *const *defaults; /* per component: a row of default bytes, or
                                  * NULL for zeros; for fields and values the
                                  * document lacks */
} eg_load_map;

/* A column the host must decode into rows first .. first + rows - 1. */
typedef struct eg_load_column {
    const void *data;      /* valid until the load ends */
    uint64_t size;         /* bytes */
    uint64_t offset;       /* of the first byte in the document */
    uint32_t archetype;
    uint32_t component;    /* id here */
    uint32_t index;        /* into the component table of the document */
    uint32_t first;        /* 1-based row */
    uint32_t rows;
    uint32_t raw;          /* 1: structs of the saved layout, checked;
                            * 0: one encoded value per row */
} eg_load_column;

/** Opens a document for eg_load_begin: as eg_snap_open in all else, but values
 *  in raw columns are checked later, while they are copied. Only for a load. */
EG_API int eg_load_open(const eg_allocator *a, const void *data, size_t len,
                        const eg_limits *lim, eg_snap **snap,
                        eg_snap_error *err);
/** Puts a world's content aside and builds the document's in its place: ids,
 *  slots, raw columns, numbers, booleans, tags. Afterwards every saved id is
 *  alive; the host decodes the columns of eg_load_hosted, then calls
 *  eg_load_commit or eg_load_rollback. Safe on untrusted bytes. O(bytes).
 *  Addresses taken from the world, the slot index too, are invalid then.
 *  @param snap   of eg_load_open; used until the load has ended
 *  @param map    what becomes of its components and records
 *  @param mark   eg_archetype_count before archetypes were made for this load;
 *                a rollback drops those above it
 *  @param flags  enum eg_load_flags, or 0
 *  @param job    in: NULL, or a job whose memory is used again; out: the job,
 *                owned by the caller; set on failure as well when there is one
 *                to be freed
 *  @param err    out, may be NULL: code, offset and reason of a failure
 *  @return EG_OK; EG_EBUSY spawns are staged, or a load is under way;
 *          EG_ECORRUPT a bad value in a raw column; EG_ELIMIT a slot above
 *          max_entities; EG_ESCHEMA a saved layout or value cannot become the
 *          present one; EG_EINVAL a bad map; EG_ENOMEM. On failure the world
 *          is as it was, and archetypes above mark are gone, unless EG_EBUSY */
EG_API int eg_load_begin(eg_world *w, eg_snap *snap, const eg_load_map *map,
                         uint32_t mark, uint32_t flags, eg_load **job,
                         eg_snap_error *err);
/** Columns the host decodes, in file order. O(1).
 *  @param out  out: the columns; owned by the job, valid until the load ends
 *  @return their number */
EG_API uint32_t eg_load_hosted(const eg_load *l, const eg_load_column **out);
/** The component (index into the table) that a failed eg_load_begin blames, and
 *  the fields: indices into the saved and the present ones. Each may be
 *  UINT32_MAX: none. */
EG_API void eg_load_clash(const eg_load *l, uint32_t *index, uint32_t *from,
                          uint32_t *to);
/** Ends a load and keeps the new content; the old storage serves the next one.
 *  Without a load under way nothing happens. Never fails. O(1). */
EG_API void eg_load_commit(eg_world *w);
/** Puts the old content back, when there is any, and drops archetypes with ids
 *  above `mark`, which must have no rows then. Staged work of the load is
 *  forgotten. Addresses taken since eg_load_begin are invalid, those from
 *  before it are good again. Neither allocates nor fails. O(archetypes). */
EG_API void eg_load_rollback(eg_world *w, uint32_t mark);
/** Frees a job that no load is using. It may outlive its world, but not the
 *  context of the world's allocator. NULL is ignored. */
EG_API void eg_load_free(eg_load *l);

#endif
