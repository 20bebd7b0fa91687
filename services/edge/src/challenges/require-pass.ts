import Type from "typebox";
import { countedBuckets, HttpError } from "../http/index.ts";
import type { HashClient, Policy, RateLimiter } from "../rate-limits/index.ts";
import type { ChallengeMetrics } from "./challenge.metrics.ts";
import { CHALLENGE_TTL_MS, type Challenged, type Challenges, PASS_TTL_MS } from "./challenges.ts";

/** When a public key asks its visitors for a solved challenge. */
export type ChallengeSetting = "off" | "suspicious" | "always";

export type ChallengeDeps = {
  limiter: RateLimiter;
  hashClient: HashClient;
  challenges: Challenges;
  /** Returns how many messages a workspace may use in a month; 0 if it is unknown. */
  readMonthlyCap: (workspaceId: string) => Promise<number>;
  challengeMetrics: ChallengeMetrics;
};

/** A message whose key asks for challenges. */
export type ChallengedMessage = {
  setting: "suspicious" | "always";
  challenged: Challenged;
  /** The pass of the request; undefined if it has none. */
  pass: string | undefined;
  workspaceId: string;
  /** The same for each attempt to send the message. */
  messageId: string;
};

export const MESSAGES_OF_PASS = 20;
const MINUTE_MS = 60_000;
const PASS_USES: Policy = { name: "challenge-pass", limit: MESSAGES_OF_PASS, windowMs: PASS_TTL_MS };
/** Twice the lifetime of a challenge, because the clocks of the replicas may differ. */
const SOLUTION_USES: Policy = { name: "challenge-solution", limit: 1, windowMs: 2 * CHALLENGE_TTL_MS };

/** With `suspicious`, the messages of an address, and of a workspace, that need no pass. Each bucket has its limit as its factor. */
const PACE: Policy = { name: "challenge-pace", limit: 1, windowMs: 60 * MINUTE_MS };
const ADDRESS_MESSAGES = 20;
const WORKSPACE_WINDOW_MS = 10 * MINUTE_MS;
const WORKSPACE_SHARE = 0.02;
const MIN_WORKSPACE_MESSAGES = 20;

/** The challenge in the body of a 403 `challenge_required`. */
export const CHALLENGE = Type.Object(
  {
    parameters: Type.Object({
      algorithm: Type.String({ examples: ["PBKDF2/SHA-256"] }),
      nonce: Type.String(),
      salt: Type.String(),
      cost: Type.Integer(),
      keyLength: Type.Integer(),
      keyPrefix: Type.String(),
      keySignature: Type.String(),
      expiresAt: Type.Integer({ description: "In seconds since 1970." }),
    }),
    signature: Type.String(),
  },
  { title: "Challenge", description: "A challenge of ALTCHA's proof of work, version 2." },
);

export const ChallengePass = Type.Optional(
  Type.String({
    description: `The pass of \`/api/chat/challenge/\`, if the key asks for one. It is valid for ${MESSAGES_OF_PASS} messages of one session from one client address.`,
  }),
);

/**
 * Throws 403 challenge_required with a new challenge if the message needs a pass and has no valid one. Otherwise counts the message: with
 * `suspicious`, towards the pace of its address and its workspace, and if it needs a pass, towards the pass.
 */
export async function requirePass(deps: ChallengeDeps, message: ChallengedMessage): Promise<void> {
  const isSuspicious = message.setting === "suspicious";
  if (isSuspicious && (await keepsPace(deps, message))) return;
  const result = await usePass(deps, message);
  deps.challengeMetrics.passes.inc({ result });
  if (result !== "accepted") throw await askForSolution(deps, message.challenged, result);
  // So that the address or the workspace stays suspicious while its messages have passes.
  if (isSuspicious) await countPace(deps, message, NO_PACE_LIMITS);
}

/** Returns the 403 with a new challenge. */
export async function askForSolution(
  { challenges, challengeMetrics }: Pick<ChallengeDeps, "challenges" | "challengeMetrics">,
  challenged: Challenged,
  reason: string,
): Promise<HttpError> {
  challengeMetrics.challenges.inc({ result: "asked" });
  return new HttpError(
    403,
    "challenge_required",
    {},
    { reason, fields: { challenge: await challenges.create(challenged) } },
  );
}

/** Returns a pass for a solved challenge. Throws 403 challenge_required with a new challenge if the solution is not accepted. */
export async function redeemSolution(
  deps: Pick<ChallengeDeps, "challenges" | "challengeMetrics" | "limiter">,
  challenged: Challenged,
  solution: string,
): Promise<{ pass: string; expiresAt: Date }> {
  const { challenges, challengeMetrics } = deps;
  const verified = await challenges.verify(challenged, solution);
  const fault = typeof verified === "string" ? verified : await useSolution(deps, verified.signature);
  challengeMetrics.challenges.inc({ result: fault ?? "solved" });
  if (fault !== undefined) throw await askForSolution(deps, challenged, fault);
  return challenges.issuePass(challenged);
}

async function useSolution(
  { limiter }: Pick<ChallengeDeps, "limiter">,
  signature: string,
): Promise<"used" | undefined> {
  const { refusedBucket } = await limiter.take(SOLUTION_USES, { buckets: [{ bucket: signature, factor: 1 }] });
  return refusedBucket === undefined ? undefined : "used";
}

async function usePass(
  { limiter, hashClient, challenges }: ChallengeDeps,
  { challenged, pass, workspaceId, messageId }: ChallengedMessage,
): Promise<string> {
  if (pass === undefined) return "missing";
  const valid = challenges.readPass(challenged, pass);
  if (typeof valid === "string") return valid;
  const id = hash(hashClient, workspaceId, `message ${messageId}`);
  const { refusedBucket } = await limiter.take(PASS_USES, { buckets: [{ bucket: valid.id, factor: 1 }], id });
  return refusedBucket === undefined ? "accepted" : "used-up";
}

/** Counts the message if it keeps the pace of its address and its workspace. Otherwise returns false. */
async function keepsPace(deps: ChallengeDeps, message: ChallengedMessage): Promise<boolean> {
  const cap = await deps.readMonthlyCap(message.workspaceId);
  const workspaceMessages = Math.max(MIN_WORKSPACE_MESSAGES, Math.floor(WORKSPACE_SHARE * cap));
  return countPace(deps, message, { addressMessages: ADDRESS_MESSAGES, workspaceMessages });
}

const NO_PACE_LIMITS = { addressMessages: Number.MAX_SAFE_INTEGER, workspaceMessages: Number.MAX_SAFE_INTEGER };

/**
 * Counts the message if neither its address nor its workspace has reached its limit. Otherwise it counts in none of them: one address above its limit
 * must not make the whole workspace suspicious, nor the workspace an address. The counts of addresses have hashes of them, because they stay for an
 * hour.
 */
async function countPace(
  { limiter, hashClient }: ChallengeDeps,
  { challenged, workspaceId, messageId }: ChallengedMessage,
  { addressMessages, workspaceMessages }: typeof NO_PACE_LIMITS,
): Promise<boolean> {
  const addresses = countedBuckets(challenged.clientBucket).map(({ bucket, factor }) => ({
    bucket: hash(hashClient, workspaceId, `address ${bucket}`),
    factor: addressMessages * factor,
  }));
  const workspace = { bucket: "workspace", factor: workspaceMessages, windowMs: WORKSPACE_WINDOW_MS };
  const id = hash(hashClient, workspaceId, `message ${messageId}`);
  const { refusedBucket } = await limiter.take(PACE, { scope: workspaceId, buckets: [...addresses, workspace], id });
  return refusedBucket === undefined;
}

function hash(hashClient: HashClient, workspaceId: string, text: string): string {
  return Buffer.from(hashClient(workspaceId, text)).toString("base64url");
}
