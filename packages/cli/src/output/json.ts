import { type DescMessage, type JsonObject, type MessageShape, ScalarType, toJson } from "@bufbuild/protobuf";

/**
 * Converts a protobuf message to JSON with proto field names. Includes fields with default values, but omits an unset field if its type is a
 * message, or if it is optional or part of a oneof. The int64 fields of the message become numbers, because their values stay below 2^53. Those
 * of nested messages stay strings.
 */
export function messageToJson<S extends DescMessage>(schema: S, message: MessageShape<S>): JsonObject {
  const json = toJson(schema, message, { useProtoFieldName: true, alwaysEmitImplicit: true }) as JsonObject;
  for (const field of schema.fields) {
    const value = json[field.name];
    if (field.fieldKind === "scalar" && field.scalar === ScalarType.INT64 && value !== undefined)
      json[field.name] = Number(value);
  }
  return json;
}
