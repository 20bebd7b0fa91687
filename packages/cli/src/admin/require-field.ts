import { CliError } from "../errors.ts";

/** Returns a field that the service always sets. In the generated protobuf types, a field that holds a message is optional. */
export function requireField<T>(field: T | undefined): T {
  if (field === undefined)
    throw new CliError("the response lacks a field: run the CLI of the same version as the service");
  return field;
}
