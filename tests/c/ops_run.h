/* SPDX-License-Identifier: MIT */
/* Inside of the operation interpreter: one run, and what operations share. */
#ifndef OPS_RUN_H
#define OPS_RUN_H

#include <setjmp.h>

#include "ops_model.h"

typedef struct ops_run_state {
    const uint8_t *data;
    size_t size, at;
    ops_model m;
    ops_world x;
    eg_allocator alloc;
    long requests, fail_at;     /* fail_at -1: none */
    size_t held;                /* bytes not given back */
    int failed;                 /* a request failed in this operation */
    ops_report *report;
    enum ops_kind kind;
    jmp_buf out;
} run;

/* Ends the run. */
void ops_stop(run *r, const char *fault, int line);

#define MUST(x, text) ((x) ? (void)0 : ops_stop(r, (text), __LINE__))
#define MUST_BE(got, want)                                                    \
    MUST((double)(got) == (double)(want), "a call has another result")

/* The next byte, 0 behind the end. */
uint32_t ops_byte(run *r);
/* 1 when the call failed as it was made to; the model then stays. */
int ops_given_up(run *r, double result);
/* Counts an operation that had an effect. */
void ops_did(run *r, enum ops_kind kind);
/* The archetype of a set, 0 when there was no memory for it. */
uint32_t ops_archetype(run *r, uint32_t set, int staging);
/* Reads a set; an id, mostly one that a slot holds or held, sometimes what is
 * no id; an id to choose, dead more often than not, of any generation. */
uint32_t ops_any_set(run *r);
double ops_any_id(run *r);
double ops_chosen_id(run *r);
/* Writes the cells of the components in `which`, in a row and in the model. */
void ops_write(run *r, uint32_t archetype, uint32_t row, uint32_t which,
               ops_cells *model);

/* One operation of that kind (ops_instant.c, ops_staged.c, ops_rest.c). */
void ops_instant(run *r);
void ops_staged(run *r);
void ops_rest(run *r);

#endif
