/**
 * The messages whose JSON form is not that of their fields. Each has a codec that reads the content of one message,
 * writes it, and says what an API server prints for a message without content.
 */
import { parseJson, parseRawJson } from './json.ts'
import type { SpecialCodec } from './special-codec.ts'
import { schemaOrArray, schemaOrBool, schemaOrStringArray } from './special-schemas.ts'
import { duration, intOrString, microTime, quantity, rawCodec, time } from './special-values.ts'

export function specialCodec(fullName: string): SpecialCodec {
  const codec = codecs.get(fullName)
  if (codec === undefined) throw new Error(`no codec for the special message ${fullName}`)
  return codec
}

const meta = 'k8s.io.apimachinery.pkg.apis.meta.v1'
const extensions = 'k8s.io.apiextensions_apiserver.pkg.apis.apiextensions'
const rawJson = rawCodec(parseRawJson)

const codecs = new Map<string, SpecialCodec>([
  ['k8s.io.apimachinery.pkg.api.resource.Quantity', quantity],
  ['k8s.io.apimachinery.pkg.api.resource.QuantityValue', quantity],
  ['k8s.io.apimachinery.pkg.util.intstr.IntOrString', intOrString],
  ['k8s.io.apimachinery.pkg.runtime.RawExtension', rawJson],
  ['k8s.io.apimachinery.pkg.runtime.Unknown', rawJson],
  [`${meta}.Time`, time],
  [`${meta}.MicroTime`, microTime],
  [`${meta}.Duration`, duration],
  // Written by API servers alone and always plain: not worth the comparison that other raw JSON gets.
  [`${meta}.FieldsV1`, rawCodec(parseJson)],
  ...['v1', 'v1beta1'].flatMap((version): [string, SpecialCodec][] => {
    const home = `${extensions}.${version}`
    const schema = `${home}.JSONSchemaProps`
    return [
      [`${home}.JSON`, rawJson],
      [`${home}.JSONSchemaPropsOrBool`, schemaOrBool(schema)],
      [`${home}.JSONSchemaPropsOrArray`, schemaOrArray(schema)],
      [`${home}.JSONSchemaPropsOrStringArray`, schemaOrStringArray(schema)],
    ]
  }),
])
