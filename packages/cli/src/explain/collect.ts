import { TurnAdminService, type TurnRecord } from "@parley/rpc/conversation";
import { type Call, CallLedgerAdminService } from "@parley/rpc/llm";
import { BooksAdminService, type TurnEntry } from "@parley/rpc/quota";
import { answered } from "../admin/answered.ts";
import type { Admin } from "../admin/call.ts";
import { CliError } from "../errors.ts";

/** What every service has recorded of one turn; what could not be had is missing, with the reason. */
export type Explained = {
  workspaceId: string;
  turn: TurnRecord;
  /** The calls to providers; undefined when they are missing. */
  calls: readonly Call[] | undefined;
  /** What the books say; undefined when it is missing. */
  entry: TurnEntry | undefined;
  missing: readonly { service: "quota" | "llm"; why: string }[];
};

/** Asks the conversation service for the turn of a message, and then the others for theirs. Throws CliError without the turn. */
export async function collect(admin: Admin, workspaceId: string, messageId: number): Promise<Explained> {
  const { turn } = await admin(TurnAdminService, (service) =>
    service.getTurn({ workspaceId, messageId: BigInt(messageId) }),
  );
  const record = answered(turn);
  const named = { workspaceId, turnId: record.turnId };
  const missing: { service: "quota" | "llm"; why: string }[] = [];
  const orMissing = async <T>(service: "quota" | "llm", answer: Promise<T>): Promise<T | undefined> => {
    try {
      return await answer;
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      missing.push({ service, why: error.message });
      return undefined;
    }
  };
  const [entry, calls] = await Promise.all([
    orMissing(
      "quota",
      admin(BooksAdminService, (service) => service.getTurnEntry(named)).then((answer) => answered(answer.entry)),
    ),
    orMissing(
      "llm",
      admin(CallLedgerAdminService, (service) => service.listCalls(named)).then((answer) => answer.calls),
    ),
  ]);
  return { workspaceId, turn: record, calls, entry, missing };
}
