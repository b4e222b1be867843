/* SPDX-License-Identifier: MIT */
/* Types shared by every public header: ids, error codes, field types, limits.
 *
 * The headers of this folder are the single source of the cdef that Lua reads:
 * a tool strips guards, EG_API and preprocessor lines. So constants are enums,
 * there are no inline functions, bit fields or nested includes beyond the two
 * below, and every struct is declared once.
 *
 * An entity id is a double that holds generation * 2^22 + slot exactly. Slot 0
 * is never an entity, so id 0 means "none". Rows are 1-based everywhere. */
#ifndef EG_TYPES_H
#define EG_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifndef EG_API
#if defined(_WIN32)
#define EG_API __declspec(dllexport)
#else
#define EG_API __attribute__((visibility("default")))
#endif
#endif

enum eg_constants {
    EG_ABI = 1,                  /* grows with every incompatible change */
    EG_SLOT_BITS = 22,           /* slots 1 .. 2^22 - 1 */
    EG_MAX_ENTITIES = 4194303,   /* 2^22 - 1 */
    EG_SNAPSHOT_VERSION = 1,
    EG_MAX_DEPTH = 512           /* nesting of one encoded value */
};

/* Every function that can fail returns 0 or one of these. Values are pinned. */
enum eg_err {
    EG_OK = 0,
    EG_EINVAL = -10,    /* bug of the caller: a bad argument */
    EG_EBUSY = -11,     /* not allowed now: open scope, load under way */
    EG_ENOMEM = -20,    /* the allocation hook returned NULL */
    EG_EIO = -21,       /* the operating system refused; errno tells */
    EG_EFULL = -30,     /* no free entity slot */
    EG_EDEAD = -31,     /* id is not alive */
    EG_EALIVE = -32,    /* id or its slot is in use */
    EG_ERETIRED = -33,  /* the slot has used up its generations */
    EG_ETRUNC = -40,    /* input ends early */
    EG_ECORRUPT = -41,  /* input is damaged */
    EG_EVERSION = -42,  /* unknown format version */
    EG_ELIMIT = -43,    /* input or output exceeds a limit */
    EG_ESCHEMA = -44    /* saved and present layout cannot be mapped */
};

/* Types of the fields of a raw component. */
enum eg_field_type {
    EG_I8 = 1, EG_U8, EG_I16, EG_U16, EG_I32, EG_U32, EG_I64, EG_U64,
    EG_F32, EG_F64, EG_BOOL,
    EG_ENTITY,          /* a double that holds an entity id */
    EG_POINTER          /* never saved */
};

/* How the rows of a component are stored. */
enum eg_storage {
    EG_TAG = 0,         /* no data */
    EG_RAW = 1,         /* a struct of `size` bytes, saved as a raw column */
    EG_NUMBER = 2,      /* one double */
    EG_BOOLEAN = 3,     /* one byte, 0 or 1 */
    EG_HOST = 4         /* values live in the host language; C keeps no bytes */
};

enum eg_component_flags {
    EG_TRANSIENT = 1,   /* left out of snapshots */
    EG_HOST_CODEC = 2   /* has bytes, but the host encodes its saved values */
};

/* The one gate for memory. Sizes are in bytes.
 *   resize  allocates (p NULL, old_size 0), resizes, or frees (new_size 0, the
 *           result is ignored) a block aligned for any scalar. NULL when it
 *           cannot, and then p is as it was
 *   map     gives a zeroed, page-aligned block that may be backed lazily;
 *           NULL when it cannot
 *   unmap   gives one back, with the size it was mapped with
 * All three are called on the thread that uses the object, with `ctx` first,
 * and must not call back into it. */
typedef struct eg_allocator {
    void *(*resize)(void *ctx, void *p, size_t old_size, size_t new_size);
    void *(*map)(void *ctx, size_t size);
    void (*unmap)(void *ctx, void *p, size_t size);
    void *ctx;
} eg_allocator;

/* One field of a raw component. `elements` is the product of the dimensions.
 * The fields of a component ascend by offset and do not overlap; what they do
 * not cover is padding. */
typedef struct eg_field {
    const char *name;     /* stored name, `name_len` bytes, no zero needed */
    uint32_t name_len;
    int32_t type;         /* enum eg_field_type */
    uint32_t offset;      /* bytes from the start of the struct */
    uint32_t dims[2];     /* array lengths, 0 where there is none */
    uint32_t elements;    /* 1 for a plain field */
} eg_field;

typedef struct eg_registry eg_registry;
typedef struct eg_world eg_world;

/** The EG_ABI this library was built with; compare before anything else. Any
 *  thread. O(1). Since 0.1. */
EG_API uint32_t eg_abi_version(void);
/** Size of a public struct as this library knows it. Any thread. O(structs).
 *  @param name  of the type, such as "eg_slot"; borrowed, zero-terminated
 *  @return bytes, or 0 for a name it does not know. Since 0.1. */
EG_API size_t eg_abi_sizeof(const char *name);

#endif
