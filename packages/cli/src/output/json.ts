import { type DescMessage, type JsonObject, type MessageShape, ScalarType, toJson } from "@bufbuild/protobuf";

/** A message as a JSON object: every field, named as in its proto; ids are numbers, since they stay below 2^53. */
export function messageJson<S extends DescMessage>(schema: S, message: MessageShape<S>): JsonObject {
  const json = toJson(schema, message, { useProtoFieldName: true, alwaysEmitImplicit: true }) as JsonObject;
  for (const field of schema.fields) {
    if (field.fieldKind === "scalar" && field.scalar === ScalarType.INT64) json[field.name] = Number(json[field.name]);
  }
  return json;
}
