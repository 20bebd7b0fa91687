import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { AdminRole, AdminScope, admin_access } from "./gen/parley/rpc/v1/access_pb.js";

export * from "./gen/parley/rpc/v1/access_pb.js";
export * from "./gen/parley/rpc/v1/audit_log_pb.js";

/** A member's role in a workspace. An owner may do everything that a viewer may. */
export type Role = "viewer" | "owner";

/** Returns whether the method's option admin_access lets a member with this role call the method. Returns false if `role` is undefined. */
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
