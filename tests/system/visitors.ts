import { SignJWT } from "jose";
import { type ChatFields, type ChatResult, postChat, readChat } from "./chat.ts";
import type { Tenant } from "./system.ts";

/** The result of one chat request: a stream read to its end, a response that is not a stream, or a broken connection. */
export type VisitResult =
  | { kind: "stream"; chat: ChatResult; finishReason: string }
  | { kind: "plain"; status: number }
  | { kind: "broken" };

let usedAddresses = 0;

/** Returns an unused client address, for the X-Forwarded-For header. */
export function newClientAddress(): string {
  const n = usedAddresses++;
  return `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`;
}

/** Sends one message from a new client address. If the connection fails, returns `broken` instead of throwing. */
export async function visit(baseUrl: string, tenant: Tenant, fields: ChatFields = {}): Promise<VisitResult> {
  try {
    const response = await postChat(baseUrl, tenant, fields, { headers: { "x-forwarded-for": newClientAddress() } });
    if (response.status !== 200) {
      await response.text();
      return { kind: "plain", status: response.status };
    }
    const chat = await readChat(response);
    return { kind: "stream", chat, finishReason: String(chat.done?.finish_reason) };
  } catch {
    return { kind: "broken" };
  }
}

export function outcomeOf(result: VisitResult): string {
  if (result.kind === "stream") return result.finishReason;
  return result.kind === "plain" ? String(result.status) : "broken";
}

export function countOutcomes(results: readonly VisitResult[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const outcome of results.map(outcomeOf)) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}

/** Environment of an edge that trusts the tests' X-Forwarded-For, so that visitors can have different addresses. */
export const TRUST_FORWARDED_FOR = { TRUSTED_PROXIES: "127.0.0.0/8" };

export type SignOptions = { metadata?: object; expiresIn?: string };

/** Signs a visitor token with an HS256 identity key. */
export function signVisitorToken(secret: string, sub: string, { metadata, expiresIn = "1h" }: SignOptions = {}) {
  return new SignJWT({ sub, ...(metadata && { metadata }) })
    .setProtectedHeader({ alg: "HS256" })
    .setExpirationTime(expiresIn)
    .sign(new TextEncoder().encode(secret));
}
