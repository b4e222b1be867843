---@meta engram
-- SPDX-License-Identifier: MIT
-- luacheck: ignore 212 241
-- Types of the public API, for language servers. Annotations only: this file is
-- never required by a running program. The guide explains, this states.

---Entity id: generation * 2^22 + slot. 0 is no entity.
---@alias engram.Id number

---A component value: an instance, a row reference, a scalar wrapper, a tag, or a
---component that stands for a new value with defaults.
---@alias engram.Value any

---A column, indexed by row from 1. FFI: references; others: values.
---@alias engram.Column any

---Bytes of a save: a string, a `string.buffer`, or what `saveSnapshot` returned.
---@alias engram.Source string|string.buffer|engram.Saved

---Why bytes were refused.
---@alias engram.SnapshotCode "truncated"|"corrupt"|"version"|"limit"

---Fills the rows `first` to `last` of a batch through columns of `archetype`.
---@alias engram.Fill fun(archetype: engram.Archetype, first: integer, last: integer, count: integer)

---A registered component. Calling it makes a value, arguments in the order of
---its fields.
---@class engram.Component
---@field componentName string
---@field componentId integer  by order of registration; differs from run to run
---@field componentKind "table"|"ffi"|"scalar"|"tag"
---@field componentType engram.Component  the component itself, on values as well
---@field new fun(data: table): any  makes a value from fields by name
---@field init? function  the option of this name
---@field scalarKind? "number"|"boolean"|"string"  scalars only
---@field scalarDefault? number|boolean|string  scalars only
---@field [any] any  what the container holds
---@overload fun(...: any): any

---@class engram.ComponentOptions
---@field name string  unique and not empty; saves know the component by it
---@field container table  becomes the component; `__index` of instances
---@field fields? string[]  names for positional arguments
---@field defaults? any[]  by position; tables are copied for each value
---@field init? fun(instance: table, ...: any)  after fields and defaults
---@field __call? fun(instance: table, ...: any)  replaces positional arguments
---@field new? fun(data: table): table  replaces the table form
---@field requires? engram.Value[]  values that come along
---@field serialize? fun(instance: table): table  plain values to store
---@field deserialize? fun(world: engram.World, data: table): table
---@field transient? boolean  left out of saves

---@class engram.FFIComponentOptions
---@field name string  unique and not empty; saves know the component by it
---@field container table  becomes the component; methods of instances
---@field fields [string, string][]  `{name, ctype}`
---@field defaults? any[]  by position; without one fields start at zero
---@field init? fun(instance: any, ...: any)  after fields and defaults
---@field __call? fun(instance: any, ...: any)  replaces positional arguments
---@field new? fun(data: table): any  replaces the table form
---@field metatable? table  more methods of instances; copied
---@field requires? engram.Value[]  values that come along
---@field serialize? fun(instance: any): table  plain values to store
---@field deserialize? fun(world: engram.World, data: table): any
---@field transient? boolean  left out of saves

---@class engram.ScalarComponentOptions
---@field name string  unique and not empty; saves know the component by it
---@field kind "number"|"boolean"|"string"
---@field default? number|boolean|string  of that kind; 0, false or ""
---@field requires? engram.Value[]  values that come along
---@field serialize? fun(value: any): table  plain values to store
---@field deserialize? fun(world: engram.World, data: table): any  a wrapper
---@field transient? boolean  left out of saves

---@class engram.TagComponentOptions
---@field name string  unique and not empty; saves know the component by it
---@field container? table  becomes the component
---@field requires? engram.Value[]  values that come along
---@field transient? boolean  left out of saves

---@class engram.WorldOptions
---@field maxEntities? integer  1 to 2^22 - 1; 2^20 by default
---@field timestep? number  seconds per fixed step; 1/60 by default
---@field fixedMaxSteps? integer  1 or more; 10 by default
---@field fixedOverload? "drop"|"accumulate"  "drop" by default

---@class engram.QueryDescriptor
---@field include? engram.Component[]  all of these
---@field exclude? engram.Component[]  none of these
---@field includeAny? engram.Component[]  at least one of these
---@field type? "logic"|"render"  "logic" leaves out `Paused`
---@field name? string  for `tostring`
---@field temp? boolean  a view of what matches now

---@class engram.SaveOptions
---@field format? "binary"
---@field buffer? string.buffer  to reuse; reset first
---@field path? string  file to replace as a whole
---@field customData? table<string, any>  plain values
---@field limits? engram.SaveLimits

---What a save may write; it raises rather than go beyond.
---@class engram.SaveLimits
---@field bytes? integer  length; just below 2^31 by default
---@field depth? integer  tables within tables; 512 by default

---@class engram.Saved
---@field format "binary"
---@field buffer string.buffer

---@class engram.LoadOptions
---@field unknown? "error"|"skip"  what to do with unregistered components
---@field limits? engram.Limits

---What a source may ask for.
---@class engram.Limits
---@field entities? integer  rows in all; `maxEntities` of the world by default
---@field bytes? integer  length; 2^30 by default
---@field depth? integer  tables within tables; 512 by default

---@class engram.Prelude
---@field version integer
---@field nextEntityId number  id that the next never-used slot would get
---@field entityCount integer
---@field archetypeCount integer
---@field componentTable { name: string, fingerprint: string }[]
---@field skipped string[]  names left out by `unknown = "skip"`, sorted

---@class engram.Inspection
---@field version integer
---@field nextEntityId number
---@field entityCount integer
---@field archetypeCount integer
---@field componentCount integer
---@field components string[]  sorted names
---@field fingerprints table<string, string>  by name; "" unless FFI

---@class engram.Stats
---@field entities integer
---@field archetypes integer
---@field components integer  distinct ones that archetypes hold

-- ---- world -----------------------------------------------------------------

---@class engram.World
---@field maxEntities integer
local World = {}

---Makes an entity with the given component values; the last of a kind wins.
---@param ... engram.Value
---@return engram.Id id  pending while a scope is open
function World:spawn(...) end

---Makes an entity under a chosen dead id.
---@param id engram.Id
---@param ... engram.Value
function World:spawnAt(id, ...) end

---Makes `count` entities of one archetype. Constructors do not run.
---@param count integer
---@param types engram.Component[]
---@param fill engram.Fill  in the call at depth 0, else in the drain
---@return engram.Id? firstId  when the ids ascend without gaps
---@return engram.Id[]? ids  otherwise
function World:batchSpawn(count, types, fill) end

---As `batchSpawn`, under chosen dead ids, which are all checked first.
---@param ids engram.Id[]
---@param types engram.Component[]
---@param fill engram.Fill
function World:batchSpawnAt(ids, types, fill) end

---Removes an entity; nothing happens when it is dead.
---@param id engram.Id
function World:despawn(id) end

---Whether an id names a committed entity.
---@param id engram.Id
---@return boolean
function World:isAlive(id) end

---Committed value of a component, nil when dead or absent. FFI: a reference
---into the row, good until the row moves.
---@param id engram.Id
---@param component engram.Component
---@return any value
function World:get(id, component) end

---As `get`; marks the component as changed.
---@param id engram.Id
---@param component engram.Component
---@return any value
function World:getMut(id, component) end

---Whether a committed entity has a component.
---@param id engram.Id
---@param component engram.Component
---@return boolean
function World:has(id, component) end

---Adds a component or replaces its value. Raises for a dead id.
---@param id engram.Id
---@param value engram.Value
---@param raw? number|boolean|string  value, when `value` is a scalar component
function World:set(id, value, raw) end

---Removes a component; nothing happens when it is absent.
---@param id engram.Id
---@param component engram.Component
function World:remove(id, component) end

---Marks a component of the entity's archetype as changed.
---@param id engram.Id
---@param component engram.Component
function World:markComponentDirty(id, component) end

---Committed holder of an `EntityKey`.
---@param key string
---@return engram.Id? id
function World:byKey(key) end

---Committed holder of an `EntityKey`; raises when there is none.
---@param key string
---@return engram.Id id
function World:requireKey(key) end

---Makes a query.
---@param descriptor engram.QueryDescriptor
---@return engram.Query
function World:query(descriptor) end

---Another name of `query`.
---@param descriptor engram.QueryDescriptor
---@return engram.Query
function World:newQuery(descriptor) end

---Iterates archetypes that have a component and rows, without a scope.
---@param component engram.Component
---@return fun(): engram.Archetype, integer, any
function World:findArchetypes(component) end

---Opens a scope: changes of structure wait until the outermost one closes.
function World:defer() end

---Closes one scope and applies what waits when it was the outermost.
function World:commit() end

---Closes every scope and applies what waits, after an error as well.
function World:unwind() end

---Saves the world. Raises in an open scope and for values that cannot be saved.
---@param options? engram.SaveOptions
---@return engram.Saved
function World:saveSnapshot(options) end

---Replaces the contents of the world, or raises and changes nothing.
---@param source engram.Source
---@param options? engram.LoadOptions
---@return engram.Prelude
function World:loadSnapshot(source, options) end

---Removes all entities and staged work, closes all scopes.
function World:clearEntities() end

---Gives back spare memory. Raises in an open scope.
---@return integer pruned
---@return integer compacted  archetypes whose storage shrank
function World:compact() end

---@param fill? table  filled and returned when given
---@return engram.Stats
function World:getStats(fill) end

---Frees the world now; again: nothing happens.
function World:close() end

-- ---- query, cursor, archetype ----------------------------------------------

---@class engram.Query
---@field descriptor engram.QueryDescriptor  a copy, for reading
local Query = {}

---`for archetype, count, entities in query:iter()`; opens a scope until the end
---of the loop.
---@return fun(query: engram.Query, last?: engram.Archetype): engram.Archetype, integer, any
---@return engram.Query
function Query:iter() end

---Number of matching entities.
---@return integer
function Query:count() end

---Makes a cursor: one traversal that can be ended early.
---@return engram.Cursor
function Query:cursor() end

---Another name of `cursor`.
---@return engram.Cursor
function Query:newCursor() end

---@class engram.Cursor
local Cursor = {}

---As `query:iter()`, once.
---@return fun(cursor: engram.Cursor, last?: engram.Archetype): engram.Archetype, integer, any
---@return engram.Cursor
function Cursor:iter() end

---Ends the traversal and its scope; may be called again.
function Cursor:close() end

---@class engram.Archetype
---@field id integer  unique in its world
---@field entities any  ids by row from 1; [0] is the number of rows
---@field componentList engram.Component[]  sorted by name
local Archetype = {}

---Column of a component, nil when absent.
---@param component engram.Component
---@return engram.Column
function Archetype:get(component) end

---The same column; marks the component as changed.
---@param component engram.Component
---@return engram.Column
function Archetype:getMut(component) end

---Replaces the value of one row and marks it.
---@param row integer
---@param value engram.Value
function Archetype:set(row, value) end

---@param component engram.Component
function Archetype:markComponentDirty(component) end

function Archetype:markAllComponentsDirty() end

---@param component engram.Component
---@return boolean
function Archetype:isComponentDirty(component) end

---@return boolean
function Archetype:anyComponentDirty() end

---@return fun(): engram.Component
function Archetype:dirtyComponents() end

-- ---- saves -----------------------------------------------------------------

---@class engram.Snapshot
---@field VERSION integer  format version that is written
local snapshot = {}

---Checks a whole save without a world. Safe on any bytes.
---@param bytes engram.Source
---@return true? ok
---@return string? message
---@return engram.SnapshotCode? code
---@return integer? offset  of the first bad byte, from 0
function snapshot.verify(bytes) end

---Reads counts and the component table of a save.
---@param bytes engram.Source
---@return engram.Inspection? info
---@return string? message
---@return engram.SnapshotCode? code
---@return integer? offset  of the first bad byte, from 0
function snapshot.inspect(bytes) end

-- ---- module ----------------------------------------------------------------

---@class engram.Builtins
---@field Name engram.Component
---@field EntityKey engram.Component
---@field Key engram.Component  another name of `EntityKey`
---@field Disabled engram.Component
---@field Paused engram.Component

---@class engram
---@field MAX_ENTITIES integer  2^22 - 1
---@field DEFAULT_MAX_ENTITIES integer  2^20
---@field Name engram.Component  string scalar, not unique
---@field EntityKey engram.Component  string scalar, unique in a world
---@field Disabled engram.Component  tag: out of queries that do not include it
---@field Paused engram.Component  tag: out of queries of type "logic"
---@field builtins engram.Builtins
---@field snapshot engram.Snapshot
---@field ecs engram  the module itself
local engram = {}

---Makes an empty world.
---@param options? engram.WorldOptions
---@return engram.World
function engram.newWorld(options) end

---Registers a component whose values are Lua tables.
---@param options engram.ComponentOptions
---@return engram.Component
function engram.newComponent(options) end

---Registers a component whose values are C structs.
---@param options engram.FFIComponentOptions
---@return engram.Component
function engram.newFFIComponent(options) end

---Registers a component of one number, boolean or string.
---@param options engram.ScalarComponentOptions
---@return engram.Component
function engram.newScalarComponent(options) end

---Registers a component without data.
---@param options engram.TagComponentOptions
---@return engram.Component
function engram.newTagComponent(options) end

---@param name string
---@return engram.Component?
function engram.componentByName(name) end

---@param id integer
---@return engram.Component?
function engram.getComponentById(id) end

---@return table<string, engram.Component>  new table, by name
function engram.declaredComponents() end

return engram
