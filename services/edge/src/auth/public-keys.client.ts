import { type RpcClient, RpcError, status } from "@parley/rpc";
import type { BotDisplay, ConversationService } from "@parley/rpc/conversation";
import { LRUCache } from "lru-cache";
import { HttpError, unavailable } from "../http/index.ts";
import { type OriginMatcher, originMatcher } from "./origin.ts";

/** What a public key opens. */
export type Key = { workspaceId: string; botId: string; allowsOrigin: OriginMatcher; configBody: string };

export type KeyResolver = (publicKey: string, clientBucket: string) => Promise<Key>;

const LIFETIME_MS = 4_000;
const MAX_KEYS = 10_000;
const RESOLVE_TIMEOUT_MS = 2_000;
const MAX_VAIN_LOOKUPS = 20;
const VAIN_LOOKUPS_WINDOW_MS = 1_000;
/** No key is longer; anything else is not worth a look-up. */
const POSSIBLE_KEY = /^\w{8,128}$/;

/**
 * Finds what a public key opens, remembering the answer for 4 s, so that a revoked key is refused everywhere within 5 s. Keys that do
 * not exist are remembered apart, and one client may ask for at most 20 new ones a second: nobody can fill the cache or flood
 * the conversation service by guessing. Throws 401 invalid_api_key, 503 unavailable, and 429 rate_limited for a key that a client
 * may not have looked up now: nobody can tell whether it is a good one.
 */
export function createKeyResolver(conversation: RpcClient<typeof ConversationService>): KeyResolver {
  const known = new LRUCache<string, Key>({ max: MAX_KEYS, ttl: LIFETIME_MS });
  const unknown = new LRUCache<string, true>({ max: MAX_KEYS, ttl: LIFETIME_MS });
  const pending = new Map<string, Promise<Key>>();
  // Counted before the question is asked, so that many at once are counted too, and taken back unless the key does not exist.
  const vain = new LRUCache<string, number>({ max: MAX_KEYS, ttl: VAIN_LOOKUPS_WINDOW_MS, noUpdateTTL: true });

  function takeBack(clientBucket: string): void {
    vain.set(clientBucket, Math.max(0, (vain.get(clientBucket) ?? 0) - 1));
  }

  async function look(publicKey: string, clientBucket: string): Promise<Key> {
    // Counted from when the question was asked: the answer may be as old as that.
    const asked = performance.now();
    const taken = vain.get(clientBucket) ?? 0;
    if (taken >= MAX_VAIN_LOOKUPS) throw new HttpError(429, "rate_limited", { "retry-after": "1" });
    vain.set(clientBucket, taken + 1);
    try {
      const { workspaceId, botId, allowedDomains, display } = await conversation.resolveKey(
        { publicKey },
        { timeoutMs: RESOLVE_TIMEOUT_MS },
      );
      const key = { workspaceId, botId, allowsOrigin: originMatcher(allowedDomains), configBody: configBody(display) };
      takeBack(clientBucket);
      known.set(publicKey, key, { ttl: Math.max(1, LIFETIME_MS - (performance.now() - asked)) });
      return key;
    } catch (error) {
      if (!(error instanceof RpcError) || error.status !== status.NOT_FOUND) {
        takeBack(clientBucket);
        throw unavailable(error);
      }
      unknown.set(publicKey, true);
      throw new HttpError(401, "invalid_api_key");
    }
  }

  return async (publicKey, clientBucket) => {
    const hit = known.get(publicKey);
    if (hit !== undefined) return hit;
    if (!POSSIBLE_KEY.test(publicKey) || unknown.has(publicKey)) throw new HttpError(401, "invalid_api_key");
    let answer = pending.get(publicKey);
    if (answer === undefined) {
      answer = look(publicKey, clientBucket).finally(() => pending.delete(publicKey));
      pending.set(publicKey, answer);
    }
    return answer;
  };
}

/** The body of the config endpoint, written once a look-up. */
function configBody(display: BotDisplay | undefined): string {
  return JSON.stringify({
    bot: {
      name: display?.name ?? "",
      welcome_message: display?.welcomeMessage ?? "",
      logo_url: display?.logoUrl ?? "",
      primary_color: display?.primaryColor ?? "",
      position: display?.position ?? "",
      theme_mode: display?.themeMode ?? "",
      font_family: display?.fontFamily ?? "",
      border_radius: display?.borderRadius ?? 0,
      quick_replies: display?.quickReplies ?? [],
      custom_css_vars: display?.customCssVars ?? {},
    },
  });
}
