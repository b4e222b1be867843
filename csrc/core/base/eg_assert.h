/* SPDX-License-Identifier: MIT */
/* Checks of our own reasoning. They are compiled into test and sanitizer
 * builds only; input is never checked with them. */
#ifndef EGI_ASSERT_H
#define EGI_ASSERT_H

#if defined(EG_TEST) || defined(EG_DEBUG)
#include <assert.h>
#define egi_assert(x) assert(x)
#else
#define egi_assert(x) ((void)0)
#endif

#endif
