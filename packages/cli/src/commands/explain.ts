import { type CommandUnknownOpts, InvalidArgumentError } from "@commander-js/extra-typings";
import { RefusalSchema } from "@parley/rpc/edge";
import { AdminError } from "../admin/call.ts";
import type { Context } from "../context.ts";
import { CliError } from "../errors.ts";
import { findRefusal, formatRefusal } from "../explain/explain-refusal.ts";
import { explainTurn, type TurnReference } from "../explain/explain-turn.ts";
import { toExplanationJson } from "../explain/explanation-json.ts";
import { formatExplanation } from "../explain/format.ts";
import { computeTurnTimes } from "../explain/turn-times.ts";
import { messageToJson } from "../output/json.ts";
import { type Result, terminalColumns } from "../output/result.ts";
import { workspaceOption } from "./options.ts";

const DEFAULT_COLUMNS = 80;

export function addExplainCommand(program: CommandUnknownOpts, { callAdmin, report, stdout }: Context): void {
  program
    .command("explain")
    .description("Explain a reply, or why a request was refused.")
    .argument("<id>", "ID of a message, a turn or a request.", parseReference)
    .requiredOption(...workspaceOption)
    .action((reference, { workspace }) => {
      const explain = async (): Promise<Result> => {
        const explained = await explainTurn(callAdmin, workspace, reference);
        const times = computeTurnTimes(explained.turn, explained.entry);
        const columns = terminalColumns(stdout) ?? DEFAULT_COLUMNS;
        return { json: toExplanationJson(explained, times), text: formatExplanation(explained, times, columns) };
      };
      /** Explains a request that opened no turn. Throws `error` if it was not refused either. */
      const explainRefusal = async (error: unknown): Promise<Result> => {
        if (!("turnId" in reference && error instanceof AdminError && error.code === "turn_not_found")) throw error;
        const refusal = await findRefusal(callAdmin, workspace, reference.turnId).catch((cause: unknown) => {
          if (!(cause instanceof CliError)) throw cause;
          throw new CliError(`no such turn, and refused requests cannot be read: ${cause.message}`, { cause });
        });
        if (refusal === undefined) throw error;
        return { json: messageToJson(RefusalSchema, refusal), text: formatRefusal(refusal) };
      };
      return report(explain().catch(explainRefusal));
    });
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function parseReference(text: string): TurnReference {
  if (UUID.test(text)) return { turnId: text.toLowerCase() };
  const messageId = Number(text);
  if (/^\d+$/.test(text) && messageId > 0 && Number.isSafeInteger(messageId)) return { messageId: BigInt(text) };
  throw new InvalidArgumentError(
    "It must be a message ID, which is a number, or a turn's or a request's ID, which is a UUID.",
  );
}
