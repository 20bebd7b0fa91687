import type { DescMethod } from "@bufbuild/protobuf";
import { mayCall, requiredRole } from "@parley/rpc/access";
import type { Caller } from "@parley/service-kit";
import type { FastifyInstance, FastifyReply } from "fastify";
import {
  type Endpoint,
  endpoint,
  FORBIDDEN,
  HttpError,
  OPERATOR_REFUSALS,
  type Operation,
  type RequestSchema,
  refused,
  type TypedRequest,
} from "../http/index.ts";
import { enforceRateLimit, POLICIES, type Policy, type RateLimiter } from "../rate-limits/index.ts";
import { type AuthDeps, userBucket } from "./authenticate.ts";
import { authenticateOrCountFailure } from "./authorize.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Set when an operator's endpoint has verified the access token. */
    caller?: Caller;
  }
}

type OperatorEndpoint<Schema extends RequestSchema> = Pick<
  Endpoint<Schema>,
  "method" | "url" | "siblings" | "isSibling" | "schema" | "bodyLimit"
> & {
  policy: Policy;
  /** What the policy counts, for the OpenAPI document. */
  counted?: string;
  /** The admin method that the endpoint calls, whose option admin_access names the role that the caller needs. Undefined for any member. */
  calls?: DescMethod;
  operation: Operation;
  handler: (request: TypedRequest<Schema>, reply: FastifyReply, caller: Caller) => Promise<unknown>;
};

/**
 * Registers an endpoint that needs an access token. The checks run in this order: token, role `viewer`, query and body, role `owner`, rate limit.
 */
export function operatorEndpoint<Schema extends RequestSchema>(
  app: FastifyInstance,
  deps: AuthDeps & { limiter: RateLimiter },
  { policy, counted, calls, operation, handler, ...route }: OperatorEndpoint<Schema>,
): void {
  const role = calls && requiredRole(calls);
  const requireRole = (caller: Caller) => {
    if (calls !== undefined && !mayCall(caller.role, calls)) throw new HttpError(403, "forbidden");
  };
  const responses = {
    ...OPERATOR_REFUSALS,
    ...(calls !== undefined && { 403: FORBIDDEN }),
    429: refused(describeLimit(policy, counted), "rate_limited"),
    ...operation.responses,
  };
  endpoint<Schema>(app, {
    ...route,
    config: { errorKey: "detail" },
    operation: { ...operation, responses, isLimited: true },
    onRequest: deps.malformedRequests.refuseOverLimit,
    beforeValidation: async (request, reply) => {
      request.caller = await authenticateOrCountFailure(deps, request, reply, policy);
      if (role === "viewer") requireRole(request.caller);
    },
    handler: async (request, reply) => {
      const caller = request.caller as Caller;
      requireRole(caller);
      await enforceRateLimit(deps.limiter, policy, userBucket(caller), reply);
      return handler(request, reply, caller);
    },
  });
}

/** Describes a policy in the OpenAPI document. */
export function describeLimit({ limit }: Policy, counted = "requests"): string {
  const malformed = `one address sent more than ${POLICIES.malformed.limit} malformed requests in a minute, including requests without a valid token`;
  return `One user, or one address without a valid token, sent more than ${limit} ${counted} in a minute; or ${malformed}.`;
}
