import { countedBuckets, HttpError } from "../http/index.ts";
import type { HashClient } from "./client-hash.ts";
import { rateLimitHeaders, retryAfter } from "./enforce.ts";
import type { Policy, RateLimiter } from "./rate-limiter.ts";

export type VisitorMessage = {
  workspaceId: string;
  botId: string;
  sessionId: string;
  visitorId: string;
  visitorVerified: boolean;
  /** The bucket of the client's address. */
  clientBucket: string;
  /** The same for each attempt to send the message. */
  messageId: string;
};

const DAY_MS = 24 * 60 * 60 * 1_000;

/** The bot's limit of messages per visitor in any 24 hours. */
export const visitorPolicy = (messagesPerDay: number): Policy => ({
  name: "visitor",
  limit: messagesPerDay,
  windowMs: DAY_MS,
});

/**
 * Counts a message against a limit per visitor of a bot. A verified visitor has one count; any other message counts in
 * its session and its client's networks. The counts have hashes of these, because they stay for a day. Throws 429 visitor_limit.
 */
export async function countVisitorMessage(
  { limiter, hashClient }: { limiter: RateLimiter; hashClient: HashClient },
  { workspaceId, botId, sessionId, visitorId, visitorVerified, clientBucket, messageId }: VisitorMessage,
  policy: Policy,
): Promise<void> {
  const hash = (text: string) => Buffer.from(hashClient(workspaceId, text)).toString("base64url");
  const own = visitorVerified
    ? { reason: "visitor", bucket: hash(`visitor ${visitorId}`), factor: 1 }
    : { reason: "session", bucket: hash(`session ${sessionId}`), factor: 1 };
  const networks = visitorVerified ? [] : countedBuckets(clientBucket);
  const buckets = [
    own,
    ...networks.map(({ bucket, factor }) => ({ reason: "address", bucket: hash(`address ${bucket}`), factor })),
  ];
  const decision = await limiter.take(policy, { scope: botId, buckets, id: hash(`message ${messageId}`) });
  if (decision.refusedBucket === undefined) return;
  const { reason = "" } = buckets.find(({ bucket }) => bucket === decision.refusedBucket) ?? {};
  const headers = { ...retryAfter(decision), ...rateLimitHeaders(policy, decision) };
  throw new HttpError(429, "visitor_limit", headers, { reason });
}
