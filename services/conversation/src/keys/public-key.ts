import { crc32 } from "node:zlib";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BODY = /^([0-9A-Za-z]{26})([0-9A-Za-z]{6})$/;
/** The characters before the checksum, which has 6, because 32 bits need 6 base62 digits. */
const CHECKED_LENGTH = 26;
const CHECKSUM_LENGTH = 6;
const SHARD = /\d\d$/;
/** Part of the checksum of a key with a shard. CRC-32 is linear, so no text has the same checksum with and without it. */
const SHARD_MARK = "shard";

/**
 * Returns a new key: the prefix, 26 random characters (154 bits) and a checksum. With several shards, the number of the workspace's shard replaces the last
 * two random characters, so that the key can be looked up on its shard alone. `randomInt` must be cryptographically secure.
 */
export function createPublicKey(prefix: string, randomInt: (below: number) => number, shard?: number): string {
  const random = Array.from({ length: CHECKED_LENGTH }, () => toDigit(randomInt(ALPHABET.length))).join("");
  if (shard === undefined) return `${prefix}${random}${computeChecksum(random)}`;
  const checked = random.slice(0, -2) + String(shard).padStart(2, "0");
  return `${prefix}${checked}${computeChecksum(SHARD_MARK + checked)}`;
}

/**
 * Returns the number of the shard that a key names, if it names one. Returns undefined if a text does not have the format and checksum of a key: no such
 * key exists then, and the caller need not look it up.
 */
export function parsePublicKey(prefix: string, text: string): { shard: number | undefined } | undefined {
  const [, checked = "", checksum] = (text.startsWith(prefix) && BODY.exec(text.slice(prefix.length))) || [];
  if (checksum === computeChecksum(checked)) return { shard: undefined };
  const isOfShard = SHARD.test(checked) && checksum === computeChecksum(SHARD_MARK + checked);
  return isOfShard ? { shard: Number(checked.slice(-2)) } : undefined;
}

function computeChecksum(text: string): string {
  let rest = crc32(text);
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
