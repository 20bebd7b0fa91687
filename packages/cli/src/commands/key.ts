import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { type ApiKey, ApiKeySchema, KeyAdminService } from "@parley/rpc/conversation";
import { answered } from "../admin/answered.ts";
import type { Context } from "../context.ts";
import { messageJson } from "../output/json.ts";
import type { Result } from "../output/result.ts";
import { fields, table } from "../output/table.ts";
import { botOption, collect, workspaceOption } from "./options.ts";

export function addKeyCommands(program: CommandUnknownOpts, { admin, report }: Context): void {
  const group = program.command("key").description("public keys and the domains that may use them");

  group
    .command("create")
    .description("make a public key for a bot")
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .requiredOption("--domain <domain>", "a domain that may use it: example.com, *.example.com; repeatable", collect)
    .action(({ workspace: workspaceId, bot: botSlug, domain: domains }) =>
      report(
        admin(KeyAdminService, async (service) =>
          one(answered((await service.createKey({ workspaceId, botSlug, domains })).key)),
        ),
      ),
    );

  group
    .command("list")
    .description("list a workspace's keys, revoked ones too")
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
              "No keys yet: parley key create --workspace W --bot S --domain D",
            ),
          };
        }),
      ),
    );

  group
    .command("revoke")
    .description("end a key; it is refused everywhere within 5 s")
    .argument("<key>", "the public key")
    .action((publicKey) =>
      report(admin(KeyAdminService, async (service) => one(answered((await service.revokeKey({ publicKey })).key)))),
    );
}

function one(key: ApiKey): Result {
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
