import { anySignal } from "../shared/any-signal.ts";
import { Failure } from "../shared/failure.ts";
import { pbkdf2 } from "./pbkdf2.ts";

/** A challenge of ALTCHA's proof of work, version 2: as far as the solver needs it. Byte strings are in hexadecimal digits. */
interface Challenge {
  readonly parameters: {
    readonly nonce: string;
    readonly salt: string;
    /** The iterations of PBKDF2 with SHA-256. */
    readonly cost: number;
    /** The derived key must begin with it. */
    readonly keyPrefix: string;
  };
}

/** What a challenge needs of the panel: see GateRequest. */
interface ChallengeRequest {
  readonly base: string;
  readonly publicKey: string;
  readonly words: { readonly checking: string };
  readonly refusal: Failure;
  readonly session: string;
  readonly signal: AbortSignal;
  readonly box: Pick<HTMLElement, "textContent">;
  announce(...lines: readonly string[]): void;
}

/** The check is shown, and announced to screen readers, if it takes longer. */
const SHOW_AFTER_MS = 2_000;
/** The service refuses a solution with another challenge, for example because the device slept until the first one had expired. */
const MAX_CHALLENGES = 3;
/** A correct counter is far below it. */
const MAX_COUNTER = 100_000;
/** How many keys the browser derives at once, in threads of its own. */
const KEYS_AT_ONCE = 4;
const REDEEM_TIMEOUT_MS = 15_000;
/** Without crypto.subtle, the solver pauses after this time, so that the page can react. */
const SLICE_MS = 8;

/** Solves the challenge of a refused message, and returns the pass for it. */
export async function passChallenge(request: ChallengeRequest): Promise<{ challenge_pass: string }> {
  const { words, announce, signal, box } = request;
  const timer = setTimeout(() => {
    box.textContent = words.checking;
    announce(words.checking);
  }, SHOW_AFTER_MS);
  try {
    let { refusal } = request;
    for (let challenges = 1; ; challenges++) {
      const challenge = refusal.body.challenge as Challenge;
      const solution = await solve(challenge, signal);
      const response = await redeem(request, btoa(JSON.stringify({ challenge, solution })));
      if (response.ok) {
        return { challenge_pass: ((await response.json()) as { challenge_pass: string }).challenge_pass };
      }
      refusal = await Failure.from(response);
      if (refusal.code !== "challenge_required" || challenges === MAX_CHALLENGES) {
        throw refusal;
      }
    }
  } finally {
    clearTimeout(timer);
  }
}

function redeem({ base, publicKey, session, signal }: ChallengeRequest, solution: string): Promise<Response> {
  return fetch(`${base}api/chat/challenge/`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ public_key: publicKey, session_id: session, solution }),
    credentials: "omit",
    signal: anySignal(signal, AbortSignal.timeout(REDEEM_TIMEOUT_MS)),
  }).catch(() => {
    throw new Failure(navigator.onLine ? "network" : "offline");
  });
}

/**
 * Finds the counter whose key begins with the challenge's prefix. Uses no worker: a Content-Security-Policy may forbid workers, and crypto.subtle
 * derives keys outside of the page's thread anyway.
 */
export async function solve(
  { parameters: { nonce, salt, cost, keyPrefix } }: Challenge,
  signal: AbortSignal,
): Promise<{ counter: number; derivedKey: string }> {
  const saltBytes = toBytes(salt);
  let sliceEndsAt = performance.now() + SLICE_MS;
  const derive = async (counter: number): Promise<string> => {
    const password = toBytes(nonce + counter.toString(16).padStart(8, "0"));
    if (crypto.subtle) {
      const key = await crypto.subtle.importKey("raw", password, "PBKDF2", false, ["deriveBits"]);
      const algorithm = { name: "PBKDF2", hash: "SHA-256", salt: saltBytes, iterations: cost };
      return toHex(new Uint8Array(await crypto.subtle.deriveBits(algorithm, key, 256)));
    }
    if (performance.now() > sliceEndsAt) {
      await new Promise((resolve) => setTimeout(resolve));
      sliceEndsAt = performance.now() + SLICE_MS;
    }
    return toHex(pbkdf2(password, saltBytes, cost));
  };
  for (let next = 0; next < MAX_COUNTER; next += KEYS_AT_ONCE) {
    signal.throwIfAborted();
    const keys = await Promise.all(Array.from({ length: KEYS_AT_ONCE }, (_, i) => derive(next + i)));
    const index = keys.findIndex((key) => key.startsWith(keyPrefix));
    if (index >= 0) {
      return { counter: next + index, derivedKey: keys[index] as string };
    }
  }
  throw new Failure("failed");
}

function toBytes(hex: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));
}

function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
