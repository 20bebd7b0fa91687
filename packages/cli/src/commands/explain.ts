import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import type { Context } from "../context.ts";
import { collect } from "../explain/collect.ts";
import { describe } from "../explain/describe.ts";
import { toDocument } from "../explain/document.ts";
import { timesOf } from "../explain/times.ts";
import type { Result } from "../output/result.ts";
import { wholeNumber, workspaceOption } from "./options.ts";

const DEFAULT_COLUMNS = 80;

export function addExplainCommand(program: CommandUnknownOpts, { admin, report, stdout }: Context): void {
  program
    .command("explain")
    .description("Explain where a reply's time and tokens went.")
    .argument("<message-id>", "The ID of either message of the turn.", wholeNumber(1, Number.MAX_SAFE_INTEGER))
    .requiredOption(...workspaceOption)
    .action((messageId, { workspace }) => {
      const explain = async (): Promise<Result> => {
        const explained = await collect(admin, workspace, messageId);
        const times = timesOf(explained.turn, explained.entry);
        const { columns = DEFAULT_COLUMNS } = stdout as Partial<NodeJS.WriteStream>;
        return { json: toDocument(explained, times), text: describe(explained, times, columns) };
      };
      return report(explain());
    });
}
