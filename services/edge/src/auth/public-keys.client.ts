import { isParleyError, type RpcClient, status } from "@parley/rpc";
import type { ConversationService } from "@parley/rpc/conversation";
import { LRUCache } from "lru-cache";
import type { ChallengeSetting } from "../challenges/index.ts";
import { type CountedBucket, countedBuckets, HttpError, unavailableError } from "../http/index.ts";
import {
  createTokenVerifier,
  createVisitorIdentifier,
  type IdentifyVisitor,
  type TokenVerifier,
} from "../visitors/index.ts";
import { serializeConfigBody } from "../widget/index.ts";
import { createOriginMatcher, type OriginMatcher } from "./origin.ts";

/** A resolved public key. `configBody` is the body of the config endpoint, serialized once per lookup. */
export type ResolvedKey = {
  workspaceId: string;
  botId: string;
  allowsOrigin: OriginMatcher;
  verifyVisitorToken: TokenVerifier;
  identifyVisitor: IdentifyVisitor;
  /** Whether the workspace has identity keys, and so verified visitors. */
  hasIdentityKeys: boolean;
  /** How many messages a visitor may send in any 24 hours; 0 for no limit. */
  visitorMessagesPerDay: number;
  challenge: ChallengeSetting;
  configBody: string;
};

/** Resolves a public key. `clientBucket` identifies the client whose lookups are limited. */
export type KeyResolver = (publicKey: string, clientBucket: string) => Promise<ResolvedKey>;

export type KeyResolution = {
  resolveKey: KeyResolver;
  /** Returns the workspace of a key that was valid when this process last looked it up. Makes no call. */
  findWorkspaceId: (publicKey: string) => string | undefined;
};

const CACHE_TTL_MS = 4_000;
const MAX_KEYS = 10_000;
const RESOLVE_TIMEOUT_MS = 2_000;
const MAX_UNKNOWN_KEYS = 20;
const UNKNOWN_KEYS_WINDOW_MS = 1_000;
/** What a client that reaches this limit did, for the OpenAPI document. */
export const TOO_MANY_UNKNOWN_KEYS = `more than ${MAX_UNKNOWN_KEYS} nonexistent keys in a second`;
/** Every issued key matches. */
const KEY_PATTERN = /^\w{8,128}$/;

/**
 * Creates a resolver of public keys that caches results for 4 s, so that a revoked key is refused everywhere within 5 s. Keys that do not
 * exist have a cache of their own. Each client may look up at most 20 of them a second, and its IPv6 networks a multiple of that. Guessing keys
 * can therefore neither evict valid keys nor flood the conversation service. The resolver throws
 * - 401 invalid_api_key if the key does not exist or is revoked,
 * - 429 rate_limited if the key is not cached and the client has reached this limit,
 * - 503 unavailable if the call to the conversation service fails.
 *
 * Calls `onShard` with the shard of each key's workspace, if there are several.
 */
export function createKeyResolver(
  conversation: RpcClient<typeof ConversationService>,
  onShard: (workspaceId: string, shard: number) => void = () => undefined,
): KeyResolution {
  // Keeps expired entries, so that a refusal of a revoked key can be attributed to its workspace.
  const validKeys = new LRUCache<string, ResolvedKey>({ max: MAX_KEYS, noDeleteOnStaleGet: true });
  const unknownKeys = new LRUCache<string, true>({ max: MAX_KEYS });
  const pendingLookups = new Map<string, Promise<ResolvedKey>>();
  /**
   * The number of unknown keys that each client has looked up in its current window. A lookup is counted when it starts, so that concurrent
   * lookups are limited too. If the key exists or the call fails, the count of the same window is decremented.
   */
  const lookupWindows = new LRUCache<string, { count: number }>({ max: MAX_KEYS, ttl: UNKNOWN_KEYS_WINDOW_MS });

  function currentWindow(bucket: string): { count: number } {
    const current = lookupWindows.get(bucket);
    if (current !== undefined) return current;
    const started = { count: 0 };
    lookupWindows.set(bucket, started);
    return started;
  }

  /** Counts a lookup in all of the client's buckets. Returns the windows in which it is counted. Throws if one of them is full. */
  function countLookup(clientBucket: string): { count: number }[] {
    const buckets = countedBuckets(clientBucket);
    const isFull = ({ bucket, factor }: CountedBucket) =>
      (lookupWindows.get(bucket)?.count ?? 0) >= MAX_UNKNOWN_KEYS * factor;
    if (buckets.some(isFull))
      throw new HttpError(429, "rate_limited", { "retry-after": "1" }, { reason: "unknown-keys" });
    return buckets.map(({ bucket }) => {
      const window = currentWindow(bucket);
      window.count++;
      return window;
    });
  }

  async function lookUp(publicKey: string, clientBucket: string): Promise<ResolvedKey> {
    // The TTL counts from the start of the lookup, because the key may be revoked before the response arrives.
    const startedAtMs = performance.now();
    const computeTtlMs = () => Math.max(1, CACHE_TTL_MS - (performance.now() - startedAtMs));
    const windows = countLookup(clientBucket);
    const uncount = () => {
      for (const window of windows) window.count--;
    };
    try {
      const found = await conversation.resolveKey({ publicKey }, { timeoutMs: RESOLVE_TIMEOUT_MS });
      const { workspaceId, botId, allowedDomains, display, verificationKeys, visitorMessagesPerDay, challenge } = found;
      if (found.shard !== undefined) onShard(workspaceId, found.shard);
      const verifyVisitorToken = createTokenVerifier(verificationKeys);
      const key: ResolvedKey = {
        workspaceId,
        botId,
        allowsOrigin: createOriginMatcher(allowedDomains),
        verifyVisitorToken,
        identifyVisitor: createVisitorIdentifier(verifyVisitorToken, found.identity),
        hasIdentityKeys: verificationKeys.length > 0,
        visitorMessagesPerDay,
        challenge: challenge === "suspicious" || challenge === "always" ? challenge : "off",
        configBody: serializeConfigBody(display, found.handoffEnabled),
      };
      uncount();
      validKeys.set(publicKey, key, { ttl: computeTtlMs() });
      return key;
    } catch (error) {
      if (!isParleyError(error, status.NOT_FOUND)) {
        uncount();
        throw unavailableError(error);
      }
      unknownKeys.set(publicKey, true, { ttl: computeTtlMs() });
      throw new HttpError(401, "invalid_api_key");
    }
  }

  const resolveKey: KeyResolver = async (publicKey, clientBucket) => {
    const cached = validKeys.get(publicKey);
    if (cached !== undefined) return cached;
    if (!KEY_PATTERN.test(publicKey) || unknownKeys.has(publicKey)) throw new HttpError(401, "invalid_api_key");
    let lookup = pendingLookups.get(publicKey);
    if (lookup === undefined) {
      lookup = lookUp(publicKey, clientBucket).finally(() => pendingLookups.delete(publicKey));
      pendingLookups.set(publicKey, lookup);
    }
    return lookup;
  };
  return { resolveKey, findWorkspaceId: (publicKey) => validKeys.peek(publicKey, { allowStale: true })?.workspaceId };
}
