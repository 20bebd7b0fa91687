import type { ReadStream, WriteStream } from "node:tty";
import { type CommandUnknownOpts, InvalidArgumentError, Option } from "@commander-js/extra-typings";
import type { Context } from "../context.ts";
import type { Service } from "../top/scrape.ts";
import { live, snapshot, type TopDeps } from "../top/top.ts";
import { wholeNumber } from "./options.ts";

export function addTopCommand(program: CommandUnknownOpts, context: Context): void {
  program
    .command("top")
    .description("watch streams, tokens, first tokens, refusals, breakers and quotas; q or Ctrl-C ends it")
    .option("--once", "one snapshot instead; as --json and without a terminal")
    .addOption(
      new Option("--workspaces <count>", "how many workspaces nearest to their cap")
        .argParser(wholeNumber(1, 100))
        .default(10),
    )
    .addOption(replicas("edge", "the edges"))
    .addOption(replicas("conversation", "the conversation services"))
    .addOption(replicas("quota", "the quota services"))
    .addOption(replicas("llm", "the llm-proxies"))
    .addHelpText(
      "after",
      `
The replicas are those of PARLEY_EDGE_URL, PARLEY_CONVERSATION_URL, PARLEY_QUOTA_URL and PARLEY_LLM_URL, or of this machine; a name with
several addresses is a replica at each. NO_COLOR leaves colours out.`,
    )
    .action(async ({ once = false, workspaces, ...given }) => {
      const { edge, conversation, quota, llm } = (await context.target()).opsUrls;
      const deps: TopDeps = {
        admin: context.admin,
        workspaces,
        urls: {
          edge: given.edge ?? edge,
          conversation: given.conversation ?? conversation,
          quota: given.quota ?? quota,
          "llm-proxy": given.llm ?? llm,
        } satisfies Record<Service, readonly string[]>,
      };
      const { stdout, stdin, config } = context;
      if (once || context.asJson() || !isTerminal(stdout) || !config.terminal) return context.report(snapshot(deps));
      await live(deps, { stdout, stdin: stdin as ReadStream | undefined, color: config.color });
    });
}

function replicas<S extends string>(service: S, whose: string) {
  return new Option(
    `--${service} <urls>` as `--${S} <urls>`,
    `ops ports of ${whose}, with commas in between`,
  ).argParser((text): string[] =>
    text.split(",").map((url) => {
      if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
      throw new InvalidArgumentError('They are written like "http://10.0.0.1:8081,http://10.0.0.2:8081".');
    }),
  );
}

function isTerminal(stream: NodeJS.WritableStream): stream is WriteStream {
  return (stream as Partial<WriteStream>).isTTY === true;
}
