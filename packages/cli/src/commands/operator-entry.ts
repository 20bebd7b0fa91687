import { userInfo } from "node:os";
import { AdminError } from "../admin/call.ts";
import { CliError } from "../errors.ts";

/** The error codes after which the entry may have been stored. */
const UNCERTAIN_CODES = new Set(["unreachable", "unavailable", "failed", "internal_error"]);

/** Stores an entry that is idempotent by its request id. If its result is unknown, the error names the id with which to repeat the command. */
export async function storeEntry<T>(noun: string, requestId: string, store: () => Promise<T>): Promise<T> {
  try {
    return await store();
  } catch (error) {
    if (!(error instanceof AdminError && UNCERTAIN_CODES.has(error.code))) throw error;
    const repeat = `repeat the command with --request-id ${requestId}`;
    throw new CliError(`${error.message}; the ${noun} may have been made; ${repeat}`, { cause: error });
  }
}

export function readSystemUserName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container's user may have no entry in /etc/passwd.
    throw new CliError("the operating system has no name for this user; name the person with --operator", {
      exitCode: 2,
    });
  }
}
