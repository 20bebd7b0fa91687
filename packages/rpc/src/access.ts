import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { AdminRole, AdminScope, admin_access } from "./gen/parley/rpc/v1/access_pb.js";

export * from "./gen/parley/rpc/v1/access_pb.js";
export * from "./gen/parley/rpc/v1/audit_log_pb.js";

/** A member's role in a workspace. An owner may do everything that a viewer may. */
export type Role = "viewer" | "owner";

/** Returns the least role that the method's option admin_access requires. Returns undefined if no member may call the method. */
export function requiredRole(method: DescMethod): Role | undefined {
  const access = getOption(method, admin_access);
  if (access.scope !== AdminScope.WORKSPACE) return undefined;
  if (access.role === AdminRole.VIEWER) return "viewer";
  return access.role === AdminRole.OWNER ? "owner" : undefined;
}

/** Returns whether a member with this role may call the method. Returns false if `role` is undefined. */
export function mayCall(role: Role | undefined, method: DescMethod): boolean {
  const required = requiredRole(method);
  return required !== undefined && (role === "owner" || role === required);
}
