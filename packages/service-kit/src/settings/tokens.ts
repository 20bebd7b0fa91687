import { timingSafeEqual } from "node:crypto";
import { openSecret, type SecretOptions, type SecretSource } from "./secrets.ts";

/**
 * The tokens that a server accepts for one kind of call, such as admin calls. Clients send the first token. A rotation has three steps: add the
 * new token at the end, move it to the front, remove the old token. Start each step only after every process has read the tokens of the previous step.
 */
export type Tokens = {
  /** The secret's variable, such as INTERNAL_TOKEN; undefined for tokens that only this process knows. */
  name?: string;
  /** Returns the value of the `authorization` header that clients send. */
  authorization(): string;
  /** Returns whether a server accepts a value of the `authorization` header. */
  accepts(authorization: unknown): boolean;
};

/** Splits a text at white space into tokens. Throws if it contains none. */
export function parseTokens(text: string): string[] {
  const tokens = text.split(/\s+/).filter((token) => token !== "");
  if (tokens.length === 0) throw new Error("contains no token");
  return tokens;
}

export function fixedTokens(...tokens: readonly string[]): Tokens {
  return createTokens(() => tokens);
}

/** Returns tokens that follow each change of the secret. */
export function openTokens(source: SecretSource<string[]>, options: SecretOptions): Tokens {
  return { name: source.name, ...createTokens(openSecret(source, options).current) };
}

/** Longer than the time after which every process has read a changed file: 90 s until the kubelet has updated it, and a reload. */
const HANDOVER_MS = 120_000;

/**
 * Like openTokens, for calls between processes that read a changed file at different times. If no token remains in a change, nobody has followed
 * the three steps of a rotation. This process then still sends the previous token for `handoverMs`, until every other process accepts the new
 * one. It accepts the previous tokens for twice as long, until every other process has stopped sending them.
 */
export function openInternalTokens(
  source: SecretSource<string[]>,
  options: SecretOptions,
  handoverMs = HANDOVER_MS,
): Tokens {
  const secret = openSecret(source, options);
  let latest = secret.current();
  let previous: { tokens: readonly string[]; replacedAtMs: number } | undefined;
  secret.onChange(() => {
    const isReplaced = new Set(latest).isDisjointFrom(new Set(secret.current()));
    previous = isReplaced ? { tokens: latest, replacedAtMs: performance.now() } : undefined;
    latest = secret.current();
    if (isReplaced)
      options.log.warn(
        { variable: source.name, sent_for_ms: handoverMs, accepted_for_ms: 2 * handoverMs },
        "token replaced in one step, previous token kept for a while",
      );
  });
  const current = () => {
    const ageMs = previous === undefined ? Number.POSITIVE_INFINITY : performance.now() - previous.replacedAtMs;
    const [own, others] = [secret.current(), previous?.tokens ?? []];
    if (ageMs < handoverMs) return [...others, ...own];
    return ageMs < 2 * handoverMs ? [...own, ...others] : own;
  };
  return { name: source.name, ...createTokens(current) };
}

function createTokens(current: () => readonly string[]): Tokens {
  return {
    authorization: () => `Bearer ${current()[0]}`,
    accepts: (authorization) => current().some((token) => isSameSecret(authorization, Buffer.from(`Bearer ${token}`))),
  };
}

function isSameSecret(value: unknown, expected: Buffer): boolean {
  if (typeof value !== "string") return false;
  const bytes = Buffer.from(value);
  return bytes.length === expected.length && timingSafeEqual(bytes, expected);
}
