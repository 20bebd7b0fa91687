import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import type { Context } from "../context.ts";
import { explainTurn } from "../explain/explain-turn.ts";
import { toExplanationJson } from "../explain/explanation-json.ts";
import { formatExplanation } from "../explain/format.ts";
import { computeTurnTimes } from "../explain/turn-times.ts";
import { type Result, terminalColumns } from "../output/result.ts";
import { wholeNumberParser, workspaceOption } from "./options.ts";

const DEFAULT_COLUMNS = 80;

export function addExplainCommand(program: CommandUnknownOpts, { callAdmin, report, stdout }: Context): void {
  program
    .command("explain")
    .description("Explain where a reply's time and tokens went.")
    .argument("<message-id>", "ID of the message or its reply.", wholeNumberParser(1, Number.MAX_SAFE_INTEGER))
    .requiredOption(...workspaceOption)
    .action((messageId, { workspace }) => {
      const explain = async (): Promise<Result> => {
        const explained = await explainTurn(callAdmin, workspace, messageId);
        const times = computeTurnTimes(explained.turn, explained.entry);
        const columns = terminalColumns(stdout) ?? DEFAULT_COLUMNS;
        return { json: toExplanationJson(explained, times), text: formatExplanation(explained, times, columns) };
      };
      return report(explain());
    });
}
