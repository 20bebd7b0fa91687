import { CliError } from "../errors.ts";

/** The message that an answer always holds; protobuf cannot say so. */
export function answered<T>(message: T | undefined): T {
  if (message === undefined)
    throw new CliError("the answer is incomplete: the service is of another version of Parley");
  return message;
}
