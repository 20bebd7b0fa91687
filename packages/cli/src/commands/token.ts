import { type CommandUnknownOpts, InvalidArgumentError, Option } from "@commander-js/extra-typings";
import { requireInstance } from "../admin/target.ts";
import type { Context } from "../context.ts";
import { CliError } from "../errors.ts";
import { ROLES, signToken, type TokenRequest } from "../local/issuer.ts";
import type { Result } from "../output/result.ts";
import { parseSeconds, workspaceOption } from "./options.ts";

const DEFAULT_TTL_SECONDS = 3_600;
const MAX_TTL_SECONDS = 365 * 86_400;
const NO_DEVELOPMENT_TOKENS = "this installation accepts no development tokens: get a token from its identity provider";

export function addTokenCommand(program: CommandUnknownOpts, context: Context): void {
  program
    .command("token")
    .description("Create a development access token.")
    .requiredOption(...workspaceOption)
    .option("--user <id>", "Set the user ID in the token.", "developer")
    .addOption(new Option("--role <role>", "Choose the workspace role (default: none).").choices(ROLES))
    .option("--ttl <time>", "Set the lifetime: 90s, 30m, 1h or 7d.", parseTtl, DEFAULT_TTL_SECONDS)
    .action(({ workspace, user, role, ttl }) =>
      context.report(createToken(context, { workspaceId: workspace, userId: user, role, ttlSeconds: ttl })),
    );
}

async function createToken({ config }: Context, request: Omit<TokenRequest, "nowSeconds">): Promise<Result> {
  if (Object.values(config.adminUrls).some((url) => url !== undefined)) throw new CliError(NO_DEVELOPMENT_TOKENS);
  const { issuerSettings } = await requireInstance(config.dataDir);
  if (!issuerSettings) throw new CliError(NO_DEVELOPMENT_TOKENS);
  const nowSeconds = Math.floor(Date.now() / 1_000);
  const token = await signToken(config.dataDir, issuerSettings, { ...request, nowSeconds });
  return { json: { access_token: token, expires_in: request.ttlSeconds }, text: `${token}\n` };
}

function parseTtl(text: string): number {
  const seconds = parseSeconds(text);
  if (seconds > 0 && seconds <= MAX_TTL_SECONDS) return seconds;
  throw new InvalidArgumentError("Write it like 90s, 30m, 1h or 7d; the maximum is 365d.");
}
