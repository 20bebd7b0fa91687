import type { FastifyReply, FastifyRequest } from "fastify";
import { addressBucket, HttpError } from "../http/index.ts";
import { enforceRateLimit, POLICIES, type Policy, type RateLimiter } from "../rate-limits/index.ts";
import type { KeyResolver, ResolvedKey } from "./public-keys.client.ts";

export type AdmissionDeps = { limiter: RateLimiter; resolveKey: KeyResolver };
export type VisitorRequest = {
  request: Pick<FastifyRequest, "ip" | "headers" | "publicKey">;
  reply: FastifyReply;
  publicKey: string;
};

/**
 * Counts a visitor's request against the policy's limit for its address, and returns its resolved public key with the bucket of the address.
 * Throws an HttpError, in this order: 429 over the limit; what the resolver throws; 403 if the key does not allow the request's origin.
 */
export async function admitVisitor(
  { limiter, resolveKey }: AdmissionDeps,
  { request, reply, publicKey }: VisitorRequest,
  policy: Policy = POLICIES.chat,
): Promise<ResolvedKey & { bucket: string }> {
  request.publicKey = publicKey;
  const bucket = addressBucket(request.ip);
  await enforceRateLimit(limiter, policy, bucket, reply);
  const key = await resolveKey(publicKey, bucket);
  if (!key.allowsOrigin(request.headers.origin)) throw new HttpError(403, "origin_not_allowed");
  return { ...key, bucket };
}
