/** PostgreSQL's HASH_PARTITION_SEED. */
const SEED_HIGH = 0x7a5b2236;
const SEED_LOW = 0x7996dcfd;
/** The constant of PostgreSQL's hash_combine64. */
const COMBINE = 0x49a0f4dd15e5a8e3n;

type State = [a: number, b: number, c: number];

/**
 * Returns the shard of a key: the remainder of PostgreSQL's hash partition for a text column. PgDog uses the same function, so shard `n` has
 * the rows that partition `n` would have.
 */
export function shardOf(key: string, shards: number): number {
  return Number(BigInt.asUintN(64, hashText(key) + COMBINE) % BigInt(shards));
}

/** PostgreSQL's hashtextextended with the seed of partitions, which is Bob Jenkins' lookup3. */
function hashText(key: string): bigint {
  const bytes = Buffer.from(key);
  const start = (0x9e3779b9 + bytes.length + 3_923_095) | 0;
  let state = mix([(start + SEED_HIGH) | 0, (start + SEED_LOW) | 0, start]);
  let offset = 0;
  for (; bytes.length - offset >= 12; offset += 12)
    state = mix(add(state, [bytes.readInt32LE(offset), bytes.readInt32LE(offset + 4), bytes.readInt32LE(offset + 8)]));
  // The last bytes, padded. The lowest byte of the third word has no data.
  const rest = Buffer.alloc(12);
  rest.set(bytes.subarray(offset, offset + 8));
  rest.set(bytes.subarray(offset + 8), 9);
  const [, b, c] = finish(add(state, [rest.readInt32LE(0), rest.readInt32LE(4), rest.readInt32LE(8)]));
  return (BigInt(b >>> 0) << 32n) | BigInt(c >>> 0);
}

const rotate = (word: number, bits: number) => (word << bits) | (word >>> (32 - bits));

const add = ([a, b, c]: State, [x, y, z]: State): State => [(a + x) | 0, (b + y) | 0, (c + z) | 0];

function mix([a, b, c]: State): State {
  for (const [first, second, third] of [
    [4, 6, 8],
    [16, 19, 4],
  ] as const) {
    a = (a - c) ^ rotate(c, first);
    c = (c + b) | 0;
    b = (b - a) ^ rotate(a, second);
    a = (a + c) | 0;
    c = (c - b) ^ rotate(b, third);
    b = (b + a) | 0;
  }
  return [a, b, c];
}

function finish([a, b, c]: State): State {
  c = ((c ^ b) - rotate(b, 14)) | 0;
  a = ((a ^ c) - rotate(c, 11)) | 0;
  b = ((b ^ a) - rotate(a, 25)) | 0;
  c = ((c ^ b) - rotate(b, 16)) | 0;
  a = ((a ^ c) - rotate(c, 4)) | 0;
  b = ((b ^ a) - rotate(a, 14)) | 0;
  c = ((c ^ b) - rotate(b, 24)) | 0;
  return [a, b, c];
}
