/* SPDX-License-Identifier: MIT */
/* The way to a value as text, for messages: inventory[3].owner.
 *
 * A message is one line of bounded length: long strings are cut, control bytes
 * are escaped, and of a deep way only the start and the end are shown. Numbers
 * with a fraction are written by the host, not by the C library, which follows
 * the locale of the process. */
#include "lua/eg_lua.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    HEAD_LEVELS = 8,  /* levels shown at the start of a deep way */
    TAIL_LEVELS = 4,  /* and at its end */
    KEY_BYTES = 40,   /* bytes shown of a string */
    TEXT_BYTES = 4096 /* above (HEAD + TAIL) * (4 * KEY_BYTES + 16) */
};

typedef struct text {
    char bytes[TEXT_BYTES];
    size_t len;
} text;

static void add(text *t, const char *bytes, size_t len)
{
    if (len > TEXT_BYTES - t->len)
        len = TEXT_BYTES - t->len;
    memcpy(t->bytes + t->len, bytes, len);
    t->len += len;
}

static void add_string(text *t, const char *s)
{
    add(t, s, strlen(s));
}

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int is_identifier(const char *s, size_t len)
{
    if (len == 0 || len > KEY_BYTES || !is_letter(s[0]))
        return 0;
    for (size_t i = 1; i < len; i++) {
        if (!is_letter(s[i]) && !(s[i] >= '0' && s[i] <= '9'))
            return 0;
    }
    return 1;
}

static void add_quoted(text *t, const char *s, size_t len)
{
    size_t shown = len < KEY_BYTES ? len : KEY_BYTES;

    add_string(t, "[\"");
    for (size_t i = 0; i < shown; i++) {
        unsigned char c = (unsigned char)s[i];

        if (c < 0x20 || c == 0x7f || c == '"' || c == '\\') {
            char escape[8];

            snprintf(escape, sizeof escape, "\\%03u", (unsigned)c);
            add_string(t, escape);
        } else {
            add(t, s + i, 1);
        }
    }
    add_string(t, shown < len ? "...\"]" : "\"]");
}

static void add_number(lua_State *L, text *t, double v)
{
    char digits[32];
    size_t len;
    const char *s;

    if (v >= -9007199254740992.0 && v <= 9007199254740992.0 &&
        (double)(int64_t)v == v) {
        snprintf(digits, sizeof digits, "[%" PRId64 "]", (int64_t)v);
        add_string(t, digits);
        return;
    }
    lua_pushnumber(L, v);
    s = lua_tolstring(L, -1, &len);
    add_string(t, "[");
    add(t, s, len);
    add_string(t, "]");
    lua_pop(L, 1);
}

static void add_level(lua_State *L, text *t, const eg_lua_level *level)
{
    size_t len;
    const char *s;

    if (level->key == 0) {
        if (level->index != 0)
            add_number(L, t, level->index);
        return;
    }
    switch (lua_type(L, level->key)) {
    case LUA_TSTRING:
        s = lua_tolstring(L, level->key, &len);
        if (is_identifier(s, len)) {
            add_string(t, t->len > 0 ? "." : "");
            add(t, s, len);
        } else {
            add_quoted(t, s, len);
        }
        return;
    case LUA_TNUMBER:
        add_number(L, t, lua_tonumber(L, level->key));
        return;
    default:
        add_string(t, lua_toboolean(L, level->key) ? "[true]" : "[false]");
        return;
    }
}

void eg_lua_push_path(lua_State *L, const eg_lua_level *levels, int depth)
{
    text t;

    t.len = 0;
    luaL_checkstack(L, 4, "path");
    for (int i = 0; i < depth; i++) {
        if (i == HEAD_LEVELS && depth > HEAD_LEVELS + TAIL_LEVELS) {
            add_string(&t, "...");
            i = depth - TAIL_LEVELS;
        }
        add_level(L, &t, &levels[i]);
    }
    lua_pushlstring(L, t.bytes, t.len);
}
