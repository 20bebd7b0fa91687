import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { type ApiKey, ApiKeySchema, KeyAdminService } from "@parley/rpc/conversation";
import { requireField } from "../admin/require-field.ts";
import type { Context } from "../context.ts";
import { messageJson } from "../output/json.ts";
import type { Result } from "../output/result.ts";
import { fields, table } from "../output/table.ts";
import { botOption, collect, workspaceOption } from "./options.ts";

export function addKeyCommands(program: CommandUnknownOpts, { admin, report }: Context): void {
  const group = program.command("key").description("Manage public keys.");

  group
    .command("create")
    .description("Create a public key for a bot.")
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .requiredOption("--domain <domain>", "An allowed domain, such as *.example.com; repeatable.", collect)
    .action(({ workspace: workspaceId, bot: botSlug, domain: domains }) =>
      report(
        admin(KeyAdminService, async (service) =>
          toResult(requireField((await service.createKey({ workspaceId, botSlug, domains })).key)),
        ),
      ),
    );

  group
    .command("list")
    .description("List a workspace's keys, including revoked ones.")
    .requiredOption(...workspaceOption)
    .action(({ workspace: workspaceId }) =>
      report(
        admin(KeyAdminService, async (service) => {
          const { keys } = await service.listKeys({ workspaceId });
          return {
            json: keys.map((each) => messageJson(ApiKeySchema, each)),
            text: table(
              ["public key", "bot", "domains", "created", "revoked"],
              keys.map((key) => [
                key.publicKey,
                key.botSlug,
                key.allowedDomains.join(" "),
                key.createdAt,
                key.revokedAt || "–",
              ]),
              "No keys yet. Create one with parley key create --workspace W --bot S --domain D",
            ),
          };
        }),
      ),
    );

  group
    .command("revoke")
    .description("Revoke a key within 5 s.")
    .argument("<key>", "The public key.")
    .action((publicKey) =>
      report(
        admin(KeyAdminService, async (service) => toResult(requireField((await service.revokeKey({ publicKey })).key))),
      ),
    );
}

function toResult(key: ApiKey): Result {
  return {
    json: messageJson(ApiKeySchema, key),
    text: fields([
      ["public key", key.publicKey],
      ["workspace", key.workspaceId],
      ["bot", key.botSlug],
      ["domains", key.allowedDomains.join(" ")],
      ...(key.revokedAt === "" ? [] : [["revoked", key.revokedAt] as const]),
    ]),
  };
}
