import { CliError } from "../errors.ts";

/** Returns a message field that the service always sets; protobuf types every message field as optional. */
export function requireField<T>(message: T | undefined): T {
  if (message === undefined)
    throw new CliError("the response lacks a field: run the CLI of the same version as the service");
  return message;
}
