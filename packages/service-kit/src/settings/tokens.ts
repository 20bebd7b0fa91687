import { timingSafeEqual } from "node:crypto";
import { openSecret, type SecretOptions, type SecretSource } from "./secrets.ts";

/**
 * The tokens that a server accepts for one kind of call, such as admin calls. Clients send the first token. A rotation has three steps: add the
 * new token at the end, move it to the front, remove the old token. Start each step only after every process has read the tokens of the previous step.
 */
export type Tokens = {
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
  return createTokens(openSecret(source, options).current);
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
