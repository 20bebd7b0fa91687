import { resolve } from "node:path";
import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { IdentityKeyAdminService, IdentityKeySchema } from "@parley/rpc/conversation";
import { requireField } from "../admin/require-field.ts";
import { requireWorkspace } from "../admin/require-workspace.ts";
import type { Context } from "../context.ts";
import { CliError } from "../errors.ts";
import { messageToJson } from "../output/json.ts";
import { formatFields, formatTable } from "../output/table.ts";
import { workspaceOption } from "./options.ts";
import { readInputFile } from "./read-input-file.ts";

export function addIdentityKeyCommands(program: CommandUnknownOpts, { callAdmin, report, config }: Context): void {
  const group = program.command("identity-key").description("Manage the keys that verify visitors.");

  group
    .command("create")
    .description("Create a secret, or add a public key.")
    .requiredOption(...workspaceOption)
    .option("--public-key <file>", "Add this public key, PEM or JWK.")
    .action(({ workspace: workspaceId, publicKey: file }) =>
      report(
        callAdmin(IdentityKeyAdminService, async (service) => {
          const pemOrJwk = file === undefined ? "" : await readKeyFile(resolve(config.filesDir, file));
          const { key: created, secret } = await service.createIdentityKey({ workspaceId, pemOrJwk });
          const key = requireField(created);
          return {
            json: { ...messageToJson(IdentityKeySchema, key), ...(secret !== "" && { secret }) },
            text: formatFields([
              ["kid", key.kid],
              ["algorithm", key.algorithm],
              ["workspace", key.workspaceId],
              ...(secret === "" ? [] : [["secret", `${secret} (shown only now)`] as const]),
            ]),
          };
        }),
      ),
    );

  group
    .command("list")
    .description("List a workspace's identity keys.")
    .requiredOption(...workspaceOption)
    .action(({ workspace: workspaceId }) =>
      report(
        callAdmin(IdentityKeyAdminService, async (service) => {
          const { keys } = await service.listIdentityKeys({ workspaceId });
          if (keys.length === 0) await requireWorkspace(callAdmin, workspaceId);
          return {
            json: keys.map((each) => messageToJson(IdentityKeySchema, each)),
            text: formatTable(
              ["kid", "algorithm", "created"],
              keys.map(({ kid, algorithm, createdAt }) => [kid, algorithm, createdAt]),
              "No identity keys yet. Create one with parley identity-key create --workspace W",
            ),
          };
        }),
      ),
    );

  group
    .command("revoke")
    .description("Revoke an identity key, effective within 5 s.")
    .argument("<kid>", "Select the key by its kid.")
    .requiredOption(...workspaceOption)
    .action((kid, { workspace: workspaceId }) =>
      report(
        callAdmin(IdentityKeyAdminService, async (service) => {
          await service.revokeIdentityKey({ workspaceId, kid });
          return { json: { kid, revoked: true }, text: `Revoked ${kid}.\n` };
        }),
      ),
    );
}

async function readKeyFile(path: string): Promise<string> {
  const text = (await readInputFile(path)).toString();
  // The service creates a secret if it gets no key.
  if (text === "") throw new CliError(`${path} is empty`);
  return text;
}
