import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { AdminRole, AdminScope, admin_access } from "./gen/parley/rpc/v1/access_pb.js";

export * from "./gen/parley/rpc/v1/access_pb.js";
export * from "./gen/parley/rpc/v1/change_pb.js";

/** A member's role in a workspace. An owner may do everything that a viewer may. */
export type Role = "viewer" | "owner";

/** Applies the method's option admin_access. Returns false without a role. */
export function mayCall(role: Role | undefined, method: DescMethod): boolean {
  const access = getOption(method, admin_access);
  if (access.scope !== AdminScope.WORKSPACE) return false;
  switch (access.role) {
    case AdminRole.VIEWER:
      return role === "viewer" || role === "owner";
    case AdminRole.OWNER:
      return role === "owner";
    default:
      return false;
  }
}
