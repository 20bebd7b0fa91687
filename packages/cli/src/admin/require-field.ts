import { CliError } from "../errors.ts";

/** Returns a field that the service always sets but the generated type marks as optional. */
export function requireField<T>(field: T | undefined): T {
  if (field === undefined)
    throw new CliError("the response lacks a field: run the CLI of the same version as the service");
  return field;
}
