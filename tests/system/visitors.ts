import { type ChatFields, type ChatResult, postChat, readChat } from "./chat.ts";
import type { Tenant } from "./system.ts";

/** What a visitor saw: a stream to its end, a plain answer, or a connection that broke. */
export type Seen =
  | { kind: "stream"; result: ChatResult; finish: string }
  | { kind: "plain"; status: number }
  | { kind: "broken" };

let visitors = 0;

/** An address nobody else has, for edges that trust the tests as their proxy. */
export function newAddress(): string {
  const n = visitors++;
  return `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`;
}

/** One message from an address of its own; whatever happens to the connection is seen, never thrown. */
export async function visit(baseUrl: string, tenant: Tenant, fields: ChatFields = {}): Promise<Seen> {
  try {
    const response = await postChat(baseUrl, tenant, fields, { headers: { "x-forwarded-for": newAddress() } });
    if (response.status !== 200) {
      await response.text();
      return { kind: "plain", status: response.status };
    }
    const result = await readChat(response);
    return { kind: "stream", result, finish: String(result.done?.finish_reason) };
  } catch {
    return { kind: "broken" };
  }
}

/** How often each end was seen. */
export function countEnds(seen: readonly Seen[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const each of seen) {
    const end = each.kind === "stream" ? each.finish : each.kind === "plain" ? String(each.status) : "broken";
    counts[end] = (counts[end] ?? 0) + 1;
  }
  return counts;
}

/** Behind edges that trust the tests as their proxy, each visitor has an address of its own. */
export const TRUST_THE_TESTS = { TRUSTED_PROXIES: "127.0.0.0/8" };
