import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { type Provider, ProviderAdminService, ProviderSchema } from "@parley/rpc/llm";
import type { Admin } from "../admin/call.ts";
import type { Context } from "../context.ts";
import { CliError } from "../errors.ts";
import { messageJson } from "../output/json.ts";
import type { Result } from "../output/result.ts";
import { table } from "../output/table.ts";

export function addProviderCommands(program: CommandUnknownOpts, context: Context): void {
  const group = program.command("provider").description("the model providers");

  group
    .command("list")
    .description("list the configured providers; never their keys")
    .action(() => context.report(list(context.admin)));

  group
    .command("check")
    .description("ask each provider one real question and time it; exit 1 when one failed")
    .argument("[name]", "one provider; every one unless given")
    .action((name) => context.report(check(context, name)));
}

function list(admin: Admin): Promise<Result> {
  return admin(ProviderAdminService, async (service) => {
    const { providers, defaultModel } = await service.listProviders({});
    const rows = providers.map((each) => [
      each.name,
      each.baseUrl || "built in",
      each.checkModel || "–",
      each.isDefault ? defaultModel : "–",
    ]);
    return {
      json: { providers: providers.map((each) => messageJson(ProviderSchema, each)), default_model: defaultModel },
      text: table(["name", "base URL", "model checked", "default"], rows, "No providers."),
    };
  });
}

async function check({ admin, progress }: Context, name: string | undefined): Promise<Result> {
  const { providers } = await admin(ProviderAdminService, (service) => service.listProviders({}));
  const chosen = providers.filter((each) => name === undefined || each.name === name);
  if (chosen.length === 0)
    throw new CliError(`no provider is named ${name}: parley provider list shows those there are`);
  const checks = [];
  for (const provider of chosen) {
    progress(`asking ${provider.name} …`);
    checks.push(await ask(admin, provider));
  }
  return {
    json: checks,
    text: table(
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

async function ask(admin: Admin, { name, checkModel }: Provider) {
  if (checkModel === "") {
    return { provider: name, model: "", result: "no_model", first_token_ms: 0, total_ms: 0, tokens_out: 0 };
  }
  const { result, firstTokenMs, totalMs, tokensOut } = await admin(ProviderAdminService, (service) =>
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
