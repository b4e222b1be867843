/* SPDX-License-Identifier: MIT */
/* The C loop that iteration is measured against: -O2, one row at a time. */
#include <stddef.h>

typedef struct pair {
    double x, y;
} pair;

__attribute__((visibility("default"), optimize("no-tree-vectorize"))) void
bench_integrate(pair *p, const pair *v, size_t n, double dt);

void bench_integrate(pair *p, const pair *v, size_t n, double dt)
{
    for (size_t i = 0; i < n; i++) {
        p[i].x += v[i].x * dt;
        p[i].y += v[i].y * dt;
    }
}
