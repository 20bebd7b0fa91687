import { createHmac, randomBytes, randomInt, timingSafeEqual } from "node:crypto";
import { type Challenge as AltchaChallenge, createChallenge, verifySolution } from "altcha-lib";
import { deriveKey } from "altcha-lib/algorithms/pbkdf2";
import Type from "typebox";
import { Check } from "typebox/value";

/** Whom a challenge and a pass are for. A challenge or a pass of another key, session or address is refused. */
export type Challenged = {
  publicKey: string;
  /** In lower case. */
  sessionId: string;
  /** The bucket of the client's address: an IPv4 address, or the /64 of an IPv6 address. */
  clientBucket: string;
};

/** Why a solution is refused, for operators. A challenge for another key, session or address has another signature. */
export type SolutionFault = "malformed" | "expired" | "signature" | "solution";
/** Why a pass is refused, for operators. */
export type PassFault = "invalid" | "expired";

export type Challenges = {
  create(challenged: Challenged): Promise<AltchaChallenge>;
  /** Returns the challenge's signature if the solution is correct. The caller must accept each signature only once. */
  verify(challenged: Challenged, solution: string): Promise<{ signature: string } | SolutionFault>;
  issuePass(challenged: Challenged): { pass: string; expiresAt: Date };
  /** Returns the pass's id, under which its messages are counted. */
  readPass(challenged: Challenged, pass: string): { id: string } | PassFault;
};

/**
 * The work of a challenge: `COUNTERS` keys on average, each of `COST` iterations of PBKDF2, which browsers compute natively in threads of their own.
 * 240,000 iterations take a desktop's browser about 0.1 s and a phone with a sixth of its speed about 0.6 s, which no visitor notices in a chat. A
 * smaller number of larger keys would make the time less even, and creating a challenge, which computes one key, dearer.
 */
const COST = 2_000;
const COUNTERS = { min: 80, max: 160 };
/** The browser solves the challenge at once. The time is for slow devices and connections. */
export const CHALLENGE_TTL_MS = 5 * 60_000;
export const PASS_TTL_MS = 24 * 60 * 60_000;
const PASS_ID_BYTES = 16;

const PASS_PATTERN = /^([\w-]{22})\.(\d{10})\.([\w-]{43})$/;

/** What a solver sends: ALTCHA's payload, before its Base64 encoding. */
const Payload = Type.Object({
  challenge: Type.Object({ parameters: Type.Object({}), signature: Type.String() }),
  solution: Type.Object({ counter: Type.Integer(), derivedKey: Type.String() }),
});

/**
 * Creates and verifies challenges of ALTCHA's protocol, and the passes that their solutions buy. Nothing is stored: challenges and passes are signed.
 * `currentSecret` returns the token for calls between services, which all replicas share. After its rotation, earlier challenges and passes are invalid.
 */
export function createChallenges(currentSecret: () => string): Challenges {
  const sign = (purpose: string, { publicKey, sessionId, clientBucket }: Challenged, ...values: string[]): string =>
    createHmac("sha256", currentSecret())
      .update(JSON.stringify([`parley ${purpose}`, publicKey, sessionId, clientBucket, ...values]))
      .digest("base64url");
  /** The keys with which ALTCHA's library signs belong to one key, session and address. So the challenge need not name them. */
  const altchaOptions = (challenged: Challenged) => ({
    deriveKey,
    hmacSignatureSecret: sign("challenge", challenged),
    hmacKeySignatureSecret: sign("challenge solution", challenged),
  });
  return {
    create: (challenged) =>
      createChallenge({
        ...altchaOptions(challenged),
        algorithm: "PBKDF2/SHA-256",
        cost: COST,
        counter: randomInt(COUNTERS.min, COUNTERS.max + 1),
        expiresAt: new Date(Date.now() + CHALLENGE_TTL_MS),
      }),
    async verify(challenged, text) {
      const payload = decodePayload(text);
      if (payload === undefined) return "malformed";
      const { challenge, solution } = payload;
      const result = await verifySolution({ ...altchaOptions(challenged), challenge, solution });
      if (result.verified) return { signature: challenge.signature };
      if (result.expired) return "expired";
      return result.invalidSignature ? "signature" : "solution";
    },
    issuePass(challenged) {
      const id = randomBytes(PASS_ID_BYTES).toString("base64url");
      const expiresAtSeconds = Math.floor((Date.now() + PASS_TTL_MS) / 1_000);
      const signature = sign("challenge pass", challenged, id, String(expiresAtSeconds));
      return { pass: `${id}.${expiresAtSeconds}.${signature}`, expiresAt: new Date(expiresAtSeconds * 1_000) };
    },
    readPass(challenged, pass) {
      const [, id, expiresAtSeconds, signature] = PASS_PATTERN.exec(pass) ?? [];
      if (id === undefined || expiresAtSeconds === undefined || signature === undefined) return "invalid";
      const expected = sign("challenge pass", challenged, id, expiresAtSeconds);
      if (!timingSafeEqual(Buffer.from(signature), Buffer.from(expected))) return "invalid";
      return Number(expiresAtSeconds) * 1_000 > Date.now() ? { id } : "expired";
    },
  };
}

type DecodedPayload = {
  challenge: AltchaChallenge & { signature: string };
  solution: { counter: number; derivedKey: string };
};

/** Of the parameters, checks nothing: the library uses only those whose signature is valid. */
function decodePayload(text: string): DecodedPayload | undefined {
  let payload: unknown;
  try {
    payload = JSON.parse(Buffer.from(text, "base64").toString());
  } catch {
    return undefined;
  }
  return Check(Payload, payload) ? (payload as unknown as DecodedPayload) : undefined;
}
