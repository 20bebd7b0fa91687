import { requiredRole } from "@parley/rpc/access";
import { file_parley_conversation_v1_admin as conversation } from "@parley/rpc/conversation";
import { file_parley_quota_v1_admin as quota } from "@parley/rpc/quota";

const FILES = { conversation, quota };

export type TargetService = keyof typeof FILES;

export type AllowedMethod = { service: TargetService; isStream: boolean };

/**
 * The admin methods that the console forwards: those that members may call. Keyed by full name, such as
 * `parley.quota.v1.WorkspaceAdminService/ShowUsage`.
 */
export const ALLOWED_METHODS: ReadonlyMap<string, AllowedMethod> = new Map(
  (Object.keys(FILES) as TargetService[]).flatMap((service) =>
    FILES[service].services
      .flatMap(({ methods }) => methods)
      .filter((method) => requiredRole(method) !== undefined)
      .map(({ parent, name, methodKind }): [string, AllowedMethod] => [
        `${parent.typeName}/${name}`,
        { service, isStream: methodKind === "server_streaming" },
      ]),
  ),
);
