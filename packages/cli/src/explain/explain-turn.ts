import { TurnAdminService, type TurnRecord } from "@parley/rpc/conversation";
import { type Call, CallLogAdminService } from "@parley/rpc/llm";
import { BooksAdminService, type TurnEntry } from "@parley/rpc/quota";
import type { CallAdmin } from "../admin/call.ts";
import { requireField } from "../admin/require-field.ts";
import { CliError } from "../errors.ts";

/** The records of one turn from all services. `missing` lists the services that could not be read. */
export type TurnExplanation = {
  workspaceId: string;
  turn: TurnRecord;
  /** The call log's rows; undefined if `missing` contains llm. */
  calls: readonly Call[] | undefined;
  /** The entry of the usage accounting; undefined if `missing` contains quota. */
  entry: TurnEntry | undefined;
  missing: readonly { service: "quota" | "llm"; why: string }[];
};

/** The id of a message, or of a turn, which is also the id of the request that opened it. */
export type TurnReference = { messageId: bigint } | { turnId: string };

/** Reads a turn, then its records in the other services. Throws CliError when the turn cannot be read. */
export async function explainTurn(
  callAdmin: CallAdmin,
  workspaceId: string,
  reference: TurnReference,
): Promise<TurnExplanation> {
  const { turn } = await callAdmin(TurnAdminService, (service) => service.getTurn({ workspaceId, ...reference }));
  const record = requireField(turn);
  const turnKey = { workspaceId, turnId: record.turnId };
  const missing: { service: "quota" | "llm"; why: string }[] = [];
  const readOrMissing = async <T>(service: "quota" | "llm", response: Promise<T>): Promise<T | undefined> => {
    try {
      return await response;
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      missing.push({ service, why: error.message });
      return undefined;
    }
  };
  const [entry, calls] = await Promise.all([
    readOrMissing(
      "quota",
      // Books is an older word for the usage accounting.
      callAdmin(BooksAdminService, (service) => service.getTurnEntry(turnKey)).then((response) =>
        requireField(response.entry),
      ),
    ),
    readOrMissing(
      "llm",
      callAdmin(CallLogAdminService, (service) => service.listCalls(turnKey)).then((response) => response.calls),
    ),
  ]);
  return { workspaceId, turn: record, calls, entry, missing };
}
