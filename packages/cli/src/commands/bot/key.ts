import { type CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import { type ApiKey, ApiKeySchema, KeyAdminService } from "@parley/rpc/conversation";
import { requireField } from "../../admin/require-field.ts";
import { requireWorkspace } from "../../admin/require-workspace.ts";
import type { Context } from "../../context.ts";
import { CliError } from "../../errors.ts";
import { messageToJson } from "../../output/json.ts";
import type { Result } from "../../output/result.ts";
import { formatFields, formatTable } from "../../output/table.ts";
import { appendValue, botOption, workspaceOption } from "../options.ts";

export function addKeyCommands(program: CommandUnknownOpts, { callAdmin, report }: Context): void {
  const group = program.command("key").description("Manage public keys.");

  group
    .command("create")
    .description("Create a public key for a bot.")
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .requiredOption("--domain <domain>", "Allow a domain, such as *.example.com; repeatable.", appendValue)
    .option("--name <name>", "Set a name to tell keys apart.", "")
    .addOption(challengeOption())
    .action(({ workspace: workspaceId, bot: botSlug, domain: domains, name, challenge = "" }) =>
      report(
        callAdmin(KeyAdminService, async (service) =>
          toResult(requireField((await service.createKey({ workspaceId, botSlug, domains, name, challenge })).key)),
        ),
      ),
    );

  group
    .command("update")
    .description("Change a key, effective within 5 s.")
    .argument("<key>", "Select the public key.")
    .option("--domain <domain>", "Allow a domain, such as *.example.com; repeatable.", appendValue)
    .option("--name <name>", "Set the name; empty to remove it.")
    .addOption(new Option("--identity <need>", "Set whether visitors need a token.").choices(["optional", "required"]))
    .addOption(challengeOption())
    .action((publicKey, { domain: domains = [], name, identity, challenge }) => {
      if (domains.length === 0 && (name ?? identity ?? challenge) === undefined)
        throw new CliError("give --domain, --name, --identity or --challenge", { exitCode: 2 });
      return report(
        callAdmin(KeyAdminService, async (service) => {
          const changes = {
            ...(name !== undefined && { name }),
            ...(identity !== undefined && { identity }),
            ...(challenge !== undefined && { challenge }),
          };
          const { key } = await service.updateKey({ publicKey, domains, ...changes });
          return toResult(requireField(key));
        }),
      );
    });

  group
    .command("list")
    .description("List a workspace's keys, including revoked ones.")
    .requiredOption(...workspaceOption)
    .action(({ workspace: workspaceId }) =>
      report(
        callAdmin(KeyAdminService, async (service) => {
          const { keys } = await service.listKeys({ workspaceId });
          if (keys.length === 0) await requireWorkspace(callAdmin, workspaceId);
          return {
            json: keys.map((each) => messageToJson(ApiKeySchema, each)),
            text: formatTable(
              ["public key", "name", "bot", "domains", "identity", "challenge", "created", "last used", "revoked"],
              keys.map((key) => [
                key.publicKey,
                key.name || "–",
                key.botSlug,
                key.allowedDomains.join(" "),
                key.identity,
                key.challenge,
                key.createdAt,
                key.lastUsedOn || "–",
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
    .description("Revoke a key, effective within 5 s.")
    .argument("<key>", "Select the public key.")
    .action((publicKey) =>
      report(
        callAdmin(KeyAdminService, async (service) =>
          toResult(requireField((await service.revokeKey({ publicKey })).key)),
        ),
      ),
    );
}

function challengeOption() {
  return new Option("--challenge <when>", "Set when visitors must solve a challenge.").choices([
    "off",
    "suspicious",
    "always",
  ] as const);
}

function toResult(key: ApiKey): Result {
  return {
    json: messageToJson(ApiKeySchema, key),
    text: formatFields([
      ["public key", key.publicKey],
      ...(key.name === "" ? [] : [["name", key.name] as const]),
      ["workspace", key.workspaceId],
      ["bot", key.botSlug],
      ["domains", key.allowedDomains.join(" ")],
      ["identity", key.identity],
      ["challenge", key.challenge],
      ...(key.revokedAt === "" ? [] : [["revoked", key.revokedAt] as const]),
    ]),
  };
}
