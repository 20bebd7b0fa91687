import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { AdminRole, AdminScope, admin_access } from "./gen/parley/rpc/v1/access_pb.js";

export * from "./gen/parley/rpc/v1/access_pb.js";
export * from "./gen/parley/rpc/v1/audit_log_pb.js";

/**
 * A member's role in a workspace. A viewer reads, and an owner may do everything that a viewer or an agent may. An agent answers visitors, adds
 * private notes, reads conversations, manages canned replies, and does nothing else.
 */
export type Role = "viewer" | "agent" | "owner";

/**
 * Returns which of the roles viewer and owner a member needs at least, by the method's option admin_access. Returns undefined if no member may call
 * the method.
 */
export function requiredRole(method: DescMethod): "viewer" | "owner" | undefined {
  const access = getOption(method, admin_access);
  if (access.scope !== AdminScope.WORKSPACE) return undefined;
  if (access.role === AdminRole.VIEWER) return "viewer";
  return access.role === AdminRole.OWNER ? "owner" : undefined;
}

/** Returns whether a member with this role may call the method. Returns false if `role` is undefined. */
export function mayCall(role: Role | undefined, method: DescMethod): boolean {
  const required = requiredRole(method);
  if (required === undefined) return false;
  if (role === "agent") return getOption(method, admin_access).agents;
  return role === "owner" || role === required;
}
