import type { ReadStream, WriteStream } from "node:tty";
import { type CommandUnknownOpts, InvalidArgumentError, Option } from "@commander-js/extra-typings";
import type { Context } from "../context.ts";
import type { ReplicaTarget } from "../top/scrape.ts";
import { reportSnapshot, showLive, type TopDeps } from "../top/top.ts";
import { wholeNumberParser } from "./options.ts";

export function addTopCommand(program: CommandUnknownOpts, context: Context): void {
  program
    .command("top")
    .description("Watch live activity; press q to quit.")
    .option("--once", "Print one snapshot and exit.")
    .addOption(
      new Option("--workspaces <count>", "Show this many workspaces nearest their cap.")
        .argParser(wholeNumberParser(1, 100))
        .default(10),
    )
    .addOption(createReplicaOption("edge", "the edge"))
    .addOption(createReplicaOption("conversation", "the conversation service"))
    .addOption(createReplicaOption("quota", "the quota service"))
    .addOption(createReplicaOption("llm", "llm-proxy"))
    .addHelpText(
      "after",
      `
If PARLEY_CONVERSATION_URL, PARLEY_QUOTA_URL or PARLEY_LLM_URL is set, the URLs come from these variables and PARLEY_EDGE_URL. If
PARLEY_CONVERSATION_REPLICAS_URL, PARLEY_QUOTA_REPLICAS_URL or PARLEY_LLM_REPLICAS_URL is set too, it replaces the URL of its service.
If none of the first three is set, the URLs are those of the installation on this machine. --edge, --conversation, --quota and --llm
take precedence over all of these URLs.
If a host name has several addresses, each address is one replica. PARLEY_EDGE_MIN_REPLICAS, PARLEY_CONVERSATION_MIN_REPLICAS,
PARLEY_QUOTA_MIN_REPLICAS and PARLEY_LLM_MIN_REPLICAS are the numbers of replicas below which a replica is missing.
NO_COLOR turns colours off.`,
    )
    .action(async ({ once = false, workspaces, ...options }) => {
      const { edge, conversation, quota, llm } = (await context.target()).replicas;
      const deps: TopDeps = {
        callAdmin: context.callAdmin,
        workspaceLimit: workspaces,
        targets: {
          edge: options.edge ?? edge,
          conversation: options.conversation ?? conversation,
          quota: options.quota ?? quota,
          "llm-proxy": options.llm ?? llm,
        },
      };
      const { stdout, stdin, config } = context;
      if (once || context.isJsonOutput() || !isTerminal(stdout) || !config.canMoveCursor)
        return context.report(reportSnapshot(deps));
      await showLive(deps, { stdout, stdin: stdin as ReadStream | undefined, color: config.isColorEnabled });
    });
}

function createReplicaOption<S extends string>(service: S, serviceName: string) {
  return new Option(
    `--${service} <urls>` as `--${S} <urls>`,
    `Set the ops URLs of ${serviceName}, comma-separated.`,
  ).argParser((text): ReplicaTarget => {
    const urls = text.split(",");
    if (urls.every((url) => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol))) return { urls };
    throw new InvalidArgumentError('Write them like "http://10.0.0.1:8081,http://10.0.0.2:8081".');
  });
}

function isTerminal(stream: NodeJS.WritableStream): stream is WriteStream {
  return (stream as Partial<WriteStream>).isTTY === true;
}
