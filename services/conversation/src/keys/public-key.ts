import { crc32 } from "node:zlib";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const RANDOM_LENGTH = 26;
/** 32 bits need 6 base62 digits. */
const CHECKSUM_LENGTH = 6;
const BODY = /^[0-9A-Za-z]{32}$/;

/** Returns a new key: the prefix, 26 random characters (154 bits) and a checksum. `randomInt` must be cryptographically secure. */
export function createPublicKey(prefix: string, randomInt: (below: number) => number): string {
  const random = Array.from({ length: RANDOM_LENGTH }, () => toDigit(randomInt(ALPHABET.length))).join("");
  return `${prefix}${random}${computeChecksum(random)}`;
}

/** Returns whether a text has the format and checksum of a key. If not, no such key exists, and the caller need not look it up. */
export function isPublicKey(prefix: string, text: string): boolean {
  if (!text.startsWith(prefix)) return false;
  const body = text.slice(prefix.length);
  return BODY.test(body) && computeChecksum(body.slice(0, RANDOM_LENGTH)) === body.slice(RANDOM_LENGTH);
}

function computeChecksum(random: string): string {
  let rest = crc32(random);
  let digits = "";
  for (let place = 0; place < CHECKSUM_LENGTH; place++) {
    digits = toDigit(rest % ALPHABET.length) + digits;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return digits;
}

function toDigit(value: number): string {
  return ALPHABET.charAt(value);
}
