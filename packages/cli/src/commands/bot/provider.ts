import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import {
  type Call,
  CallLogAdminService,
  CallSchema,
  type Provider,
  ProviderAdminService,
  ProviderSchema,
} from "@parley/rpc/llm";
import { readPages } from "@parley/rpc/pages";
import type { CallAdmin } from "../../admin/call.ts";
import type { Context } from "../../context.ts";
import { CliError } from "../../errors.ts";
import { messageToJson } from "../../output/json.ts";
import { formatProviderError } from "../../output/provider-error.ts";
import type { Result } from "../../output/result.ts";
import { formatTable } from "../../output/table.ts";
import { monthOption, wholeNumberParser, workspaceOption } from "../options.ts";

export function addProviderCommands(program: CommandUnknownOpts, context: Context): void {
  const group = program.command("provider").description("Manage the model providers.");

  group
    .command("list")
    .description("List the configured providers.")
    .action(() => context.report(listProviders(context.callAdmin)));

  group
    .command("check")
    .description("Send each provider a timed test request.")
    .argument("[name]", "Select the provider (default: all).")
    .action((name) => context.report(checkProviders(context, name)));

  group
    .command("calls")
    .description("List calls from the call log.")
    .requiredOption(...workspaceOption)
    .addOption(monthOption().conflicts("turn"))
    .option("--turn <id>", "List the calls of this turn only.")
    .option("--limit <n>", "Limit the number of calls.", wholeNumberParser(1, 100_000), 100)
    .action(({ workspace, month = "", turn, limit }) =>
      context.report(
        turn === undefined
          ? listCallsOfMonth(context.callAdmin, workspace, month, limit)
          : listCallsOfTurn(context.callAdmin, workspace, turn, limit),
      ),
    );
}

function listProviders(callAdmin: CallAdmin): Promise<Result> {
  return callAdmin(ProviderAdminService, async (service) => {
    const { providers, defaultModel } = await service.listProviders({});
    const rows = providers.map((each) => [
      each.name,
      each.baseUrl || "built in",
      each.checkModel || "–",
      each.isDefault ? defaultModel : "–",
    ]);
    return {
      json: { providers: providers.map((each) => messageToJson(ProviderSchema, each)), default_model: defaultModel },
      text: formatTable(["name", "base URL", "check model", "default"], rows, "No providers."),
    };
  });
}

async function checkProviders({ callAdmin, progress }: Context, name: string | undefined): Promise<Result> {
  const { providers } = await callAdmin(ProviderAdminService, (service) => service.listProviders({}));
  const selected = providers.filter((each) => name === undefined || each.name === name);
  if (selected.length === 0)
    throw new CliError(`no provider is named ${name}: list providers with parley provider list`);
  const checks = [];
  for (const provider of selected) {
    progress(`checking ${provider.name} …`);
    checks.push(await checkProvider(callAdmin, provider));
  }
  return {
    json: checks,
    text: formatTable(
      ["provider", "model", "result", "first token (ms)", "total (ms)", "tokens"],
      checks.map((each) => [
        each.provider,
        each.model,
        each.result,
        each.first_token_ms,
        each.total_ms,
        each.tokens_out,
      ]),
      "No providers.",
    ),
    exitCode: checks.every(({ result }) => result === "ok") ? 0 : 1,
  };
}

async function checkProvider(callAdmin: CallAdmin, { name, checkModel }: Provider) {
  if (checkModel === "") {
    return { provider: name, model: "", result: "no_model", first_token_ms: 0, total_ms: 0, tokens_out: 0 };
  }
  const { result, firstTokenMs, totalMs, tokensOut } = await callAdmin(ProviderAdminService, (service) =>
    service.checkProvider({ model: checkModel }),
  );
  return {
    provider: name,
    model: checkModel,
    result,
    first_token_ms: firstTokenMs,
    total_ms: totalMs,
    tokens_out: tokensOut,
  };
}

const PAGE_SIZE = 1_000;

async function listCallsOfMonth(
  callAdmin: CallAdmin,
  workspaceId: string,
  month: string,
  limit: number,
): Promise<Result> {
  const calls: Call[] = [];
  const pageSize = Math.min(PAGE_SIZE, limit);
  const pages = readPages((pageToken) =>
    callAdmin(CallLogAdminService, (service) => service.listCallsOfMonth({ workspaceId, month, pageSize, pageToken })),
  );
  for await (const page of pages) if (calls.push(...page.calls) >= limit) break;
  return describeCalls(calls.slice(0, limit));
}

async function listCallsOfTurn(
  callAdmin: CallAdmin,
  workspaceId: string,
  turnId: string,
  limit: number,
): Promise<Result> {
  const { calls } = await callAdmin(CallLogAdminService, (service) => service.listCalls({ workspaceId, turnId }));
  return describeCalls(calls.slice(0, limit));
}

function describeCalls(calls: readonly Call[]): Result {
  return {
    json: calls.map((each) => messageToJson(CallSchema, each)),
    text: formatTable(
      [
        "started",
        "turn",
        "model",
        "outcome",
        "attempts",
        "queue (ms)",
        "first token (ms)",
        "total (ms)",
        "in",
        "cached",
        "out",
        "cost",
        "provider's error",
      ],
      calls.map((each) => [
        each.startedAt,
        each.turnId,
        each.model || "–",
        each.reason === "" ? each.outcome : `${each.outcome} (${each.reason})`,
        each.failovers === 0 ? `${each.attempts}×` : `${each.attempts}×, ${each.failovers} failed over`,
        each.queueMs,
        each.firstTokenMs,
        each.latencyMs,
        each.tokensIn,
        each.tokensCached,
        each.tokensEstimated ? `≈ ${each.tokensOut}` : each.tokensOut,
        each.cost || "–",
        formatLastError(each) || "–",
      ]),
      "No calls.",
    ),
  };
}

/** Formats the provider's error of the last failed attempt. */
function formatLastError({ tries }: Call): string {
  return tries.map(formatProviderError).findLast((text) => text !== "") ?? "";
}
