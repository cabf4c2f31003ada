import type { JsonObject, JsonValue } from '@palimpsest/session'
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import { Ajv, type Options, type ValidateFunction } from 'ajv'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { Ajv2020 } from 'ajv/dist/2020.js'

/** Draft-07, 2019-09 or 2020-12; without `$schema` the newest draft that it fits. `format` is an annotation. */
export type JsonSchema = JsonObject

/** What the tool gets, or what does not fit, in words for the model. */
export type Checked = { value: unknown; problem?: undefined } | { problem: string }

/** May keep `input` or parts of it in its answer. What it throws is a problem too. */
export type Check = (input: JsonValue) => Checked | Promise<Checked>

/** Throws what the library throws where the schema itself is wrong. */
export function createCheck(schema: JsonSchema | StandardSchemaV1): Check {
  return isStandardSchema(schema) ? checkByStandard(schema) : checkByJsonSchema(schema)
}

/**
 * What the model is told. A Standard Schema says it itself where its library can (`~standard.jsonSchema`);
 * one that cannot is described as any object.
 */
export function describeSchema(schema: JsonSchema | StandardSchemaV1): JsonObject {
  if (!isStandardSchema(schema)) return schema
  const { jsonSchema } = schema['~standard'] as Partial<StandardJSONSchemaV1.Props>
  for (const target of jsonSchema ? ['draft-2020-12', 'draft-07'] : []) {
    try {
      return plain(jsonSchema!.input({ target }))
    } catch {
      // The library cannot say it in this draft.
    }
  }
  return { type: 'object' }
}

// --- internal ---

function isStandardSchema<I>(
  schema: JsonSchema | StandardSchemaV1<unknown, I>,
): schema is StandardSchemaV1<unknown, I> {
  return '~standard' in Object(schema)
}

/** Without what a library hangs on its answer beside the JSON. */
function plain(schema: Record<string, unknown>): JsonObject {
  return JSON.parse(JSON.stringify(schema)) as JsonObject
}

/** Nothing that writes to the input: no defaults, no coercion, no removal. Inherited properties do not count. */
const OPTIONS: Options = {
  allErrors: true,
  strict: false,
  ownProperties: true,
  addUsedSchema: false,
  logger: false,
}

/** Each schema is compiled by an instance of its own, so that an `$id` of one tool is no word to another. */
const COMPILER: Options = { ...OPTIONS, meta: false, validateSchema: false }

const DRAFTS = { '2020-12': Ajv2020, '2019-09': Ajv2019, 'draft-07': Ajv }
type Draft = keyof typeof DRAFTS

/** The drafts' own schemas, compiled when first needed and then kept: that is dear. */
const judges = new Map<Draft, Ajv>()

function checkByJsonSchema(schema: JsonSchema): Check {
  const validate = compile(schema)
  return input => (validate(input) ? { value: input } : { problem: problemOf(validate) })
}

function compile(schema: JsonSchema): ValidateFunction {
  // An asynchronous schema would answer with a promise, which is always true.
  const { $schema, $async: _, ...rest } = schema
  const drafts = Object.keys(DRAFTS) as Draft[]
  const draft =
    drafts.find(name => String($schema).includes(name)) ?? (isFitFor('2020-12', rest) ? '2020-12' : 'draft-07')
  if (!isFitFor(draft, rest)) throw new TypeError(judges.get(draft)!.errorsText(undefined, { dataVar: 'inputSchema' }))
  return new DRAFTS[draft](COMPILER).compile(rest)
}

function isFitFor(draft: Draft, schema: JsonObject): boolean {
  const judge = judges.get(draft) ?? new DRAFTS[draft](OPTIONS)
  judges.set(draft, judge)
  return judge.validateSchema(schema) === true
}

function problemOf({ errors }: ValidateFunction): string {
  const lines = (errors ?? []).map(({ instancePath, message, params }) => {
    const extra = params.additionalProperty === undefined ? '' : ` (${params.additionalProperty})`
    return `${instancePath || 'the arguments'} ${message}${extra}`
  })
  return lines.slice(0, 10).join('; ')
}

function checkByStandard(schema: StandardSchemaV1): Check {
  return async input => {
    const result = await schema['~standard'].validate(input)
    return result.issues ? { problem: result.issues.map(lineOf).slice(0, 10).join('; ') } : { value: result.value }
  }
}

function lineOf({ message, path = [] }: StandardSchemaV1.Issue): string {
  const keys = path.map(segment => String(typeof segment === 'object' ? segment.key : segment))
  return keys.length > 0 ? `/${keys.join('/')} ${message}` : message
}
