/* SPDX-License-Identifier: MIT */
/* engram, the C core: one include for everything public. */
#ifndef EG_H
#define EG_H

#define EG_VERSION_MAJOR 0
#define EG_VERSION_MINOR 1
#define EG_VERSION_PATCH 0

#include "include/eg_types.h"

#include "include/eg_cmd.h"
#include "include/eg_io.h"
#include "include/eg_query.h"
#include "include/eg_snapshot.h"
#include "include/eg_world.h"

#endif
