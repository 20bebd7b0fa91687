import { type DescMethod, getOption, type Message } from "@bufbuild/protobuf";
import { createContextKey, type HandlerContext, type Interceptor } from "@connectrpc/connect";
import { type AdminAccess, AdminScope, admin_access, mayCall } from "@parley/rpc/access";
import { isWorkspaceId } from "@parley/rpc/formats";
import type { AuditLog } from "../audit-log/audit-log.admin.ts";
import { describeCall } from "../audit-log/describe-call.ts";
import { notFound, ServiceError } from "../errors.ts";
import type { Tokens } from "../settings/tokens.ts";
import type { Caller, TokenVerifier } from "./access-token.ts";

/** A caller of the admin services: the operator, or a member of a workspace. */
export type AdminCaller = "operator" | Caller;

export type AdminAccessOptions = {
  /** The operator's tokens: the accepted values of ADMIN_TOKEN. */
  tokens: Tokens;
  /** Verifies the members' access tokens. Without it, only ADMIN_TOKEN gives access. */
  verifyToken?: TokenVerifier | undefined;
  /** Records successful changes in the audit log. Without it, methods whose option `changes` is set cannot be called. */
  auditLog?: Pick<AuditLog, "record"> | undefined;
  /**
   * For a deleted workspace, every call by a member fails with workspace_not_found, and so does every change by the operator through a
   * method of the scope `workspace`. The operator may still read its data.
   */
  isDeleted?: ((workspaceId: string) => Promise<boolean>) | undefined;
};

export type AdminGuard = {
  /** Checks the token and the method's declared scope and role, before the request is read. Throws ServiceError. */
  authorize: (context: Pick<HandlerContext, "method" | "requestHeader" | "values">) => Promise<void>;
  /**
   * Restricts a member's request to the member's workspace, and records successful changes in the audit log. If the request has the field
   * `member`, sets it instead, and the handler records the change.
   */
  interceptor: Interceptor;
};

const callerKey = createContextKey<AdminCaller | undefined>(undefined, { description: "admin caller" });

export function adminCallerOf({ values }: Pick<HandlerContext, "values">): AdminCaller {
  const caller = values.get(callerKey);
  if (caller === undefined) throw new Error("authorize has not run for this call");
  return caller;
}

/** A method without a declared scope has the scope `operator`. */
export function adminAccessOf(method: DescMethod): Pick<AdminAccess, "scope" | "role" | "changes"> {
  const { scope, role, changes } = getOption(method, admin_access);
  return { scope: scope === AdminScope.WORKSPACE ? scope : AdminScope.OPERATOR, role, changes };
}

/** Creates the guard of the admin services, which enforces the option admin_access of every method. */
export function createAdminGuard({ tokens, verifyToken, auditLog, isDeleted }: AdminAccessOptions): AdminGuard {
  async function authenticate(authorization: string): Promise<AdminCaller> {
    if (tokens.accepts(authorization)) return "operator";
    if (verifyToken !== undefined) return verifyToken(authorization);
    throw new ServiceError(
      "unauthenticated",
      "authentication_required",
      "admin token missing or wrong: send Authorization: Bearer <ADMIN_TOKEN>",
    );
  }

  async function requireNotDeleted(workspaceId: string): Promise<void> {
    if (isWorkspaceId(workspaceId) && (await isDeleted?.(workspaceId))) throw workspaceNotFound();
  }

  return {
    async authorize({ method, requestHeader, values }) {
      const caller = await authenticate(requestHeader.get("authorization") ?? "");
      if (caller !== "operator" && !mayCall(caller.role, method))
        throw new ServiceError("permission_denied", "forbidden", "your role does not permit this call");
      values.set(callerKey, caller);
    },
    interceptor: (next) => async (request) => {
      const caller = adminCallerOf({ values: request.contextValues });
      const { method } = request;
      const { scope, changes: isChange } = adminAccessOf(method);
      if (caller !== "operator") await requireNotDeleted(caller.workspaceId);
      if (request.stream) {
        if (isChange) throw new Error(`${method.name} changes something, but the audit log cannot record a stream`);
        if (caller === "operator") return next(request);
        return next({ ...request, message: bindEach(method, request.message, caller.workspaceId) });
      }
      if (caller !== "operator") bindWorkspace(method, request.message, caller.workspaceId);
      if (!isChange) return next(request);
      if (scope === AdminScope.WORKSPACE)
        await requireNotDeleted((request.message as { workspaceId?: string }).workspaceId ?? "");
      if (auditLog === undefined) throw new Error(`${method.name} needs an audit log`);
      const member = caller === "operator" ? undefined : caller.userId;
      const message = request.message as { member?: string };
      const isRecordedByHandler = message.member !== undefined;
      if (isRecordedByHandler) message.member = member ?? "";
      const response = await next(request);
      if (!response.stream && !isRecordedByHandler)
        await auditLog.record(describeCall(method, member, request.message, response.message));
      return response;
    },
  };
}

async function* bindEach<T extends Message>(method: DescMethod, messages: AsyncIterable<T>, workspaceId: string) {
  for await (const message of messages) {
    bindWorkspace(method, message, workspaceId);
    yield message;
  }
}

/**
 * Sets an empty workspace_id to the caller's workspace. Throws workspace_not_found if workspace_id or workspace_ids names another
 * workspace, whether or not that workspace exists. The request of every method that members may call has the field workspace_id.
 */
function bindWorkspace(method: DescMethod, message: Message, workspaceId: string): void {
  const request = message as Message & { workspaceId?: string; workspaceIds?: readonly string[] };
  if (request.workspaceId === undefined) throw new Error(`${method.input.typeName} has no field workspace_id`);
  const requestedIds = [request.workspaceId || workspaceId, ...(request.workspaceIds ?? [])];
  if (requestedIds.some((each) => each !== workspaceId)) throw workspaceNotFound();
  request.workspaceId = workspaceId;
}

function workspaceNotFound(): ServiceError {
  return notFound("workspace_not_found", "no such workspace");
}
