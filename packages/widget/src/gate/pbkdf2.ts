// PBKDF2 with HMAC and SHA-256 (RFC 8018, FIPS 180-4), for pages that are served over plain HTTP. There browsers have no crypto.subtle.

/** The first `count` primes, and the first 32 bits of the fraction of a root of each, as SHA-256 defines its constants. */
function createConstants(count: number, root: (prime: number) => number): Uint32Array {
  const primes: number[] = [];
  for (let n = 2; primes.length < count; n++) {
    if (primes.every((prime) => n % prime > 0)) {
      primes.push(n);
    }
  }
  return Uint32Array.from(primes, (prime) => (root(prime) % 1) * 2 ** 32);
}

const INITIAL_STATE = createConstants(8, Math.sqrt);
const ROUND_CONSTANTS = createConstants(64, Math.cbrt);
const BLOCK_BYTES = 64;
const schedule = new Uint32Array(64);

const rotate = (word: number, bits: number) => (word >>> bits) | (word << (32 - bits));
const at = (words: Uint32Array, index: number) => words[index] as number;

/** Writes the state after `block`, which has 16 words, into `result`. */
function compress(state: Uint32Array, block: Uint32Array, result: Uint32Array): void {
  schedule.set(block);
  for (let i = 16; i < 64; i++) {
    const early = at(schedule, i - 15);
    const late = at(schedule, i - 2);
    schedule[i] =
      at(schedule, i - 16) +
      (rotate(early, 7) ^ rotate(early, 18) ^ (early >>> 3)) +
      at(schedule, i - 7) +
      (rotate(late, 17) ^ rotate(late, 19) ^ (late >>> 10));
  }
  let a = at(state, 0);
  let b = at(state, 1);
  let c = at(state, 2);
  let d = at(state, 3);
  let e = at(state, 4);
  let f = at(state, 5);
  let g = at(state, 6);
  let h = at(state, 7);
  for (let i = 0; i < 64; i++) {
    const first =
      h +
      (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
      ((e & f) ^ (~e & g)) +
      at(ROUND_CONSTANTS, i) +
      at(schedule, i);
    const second = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + second) | 0;
  }
  result[0] = at(state, 0) + a;
  result[1] = at(state, 1) + b;
  result[2] = at(state, 2) + c;
  result[3] = at(state, 3) + d;
  result[4] = at(state, 4) + e;
  result[5] = at(state, 5) + f;
  result[6] = at(state, 6) + g;
  result[7] = at(state, 7) + h;
}

/** Returns the last block of a text that begins with one other block. `bytes` has at most 55 bytes. */
function createLastBlock(bytes: Uint8Array): Uint32Array {
  const block = toWords([...bytes, 0x80]);
  block[15] = (BLOCK_BYTES + bytes.length) * 8;
  return block;
}

function toWords(bytes: ArrayLike<number>): Uint32Array {
  const words = new Uint32Array(BLOCK_BYTES / 4);
  for (let i = 0; i < bytes.length; i++) {
    words[i >> 2] = at(words, i >> 2) | ((bytes[i] as number) << (24 - 8 * (i & 3)));
  }
  return words;
}

/** Derives a key of 32 bytes. `password` has at most 64 bytes, and `salt` at most 51. */
export function pbkdf2(password: Uint8Array, salt: Uint8Array, iterations: number): Uint8Array {
  const secret = toWords(password);
  const [inner, outer] = [0x36363636, 0x5c5c5c5c].map((pad) => {
    const state = new Uint32Array(8);
    compress(
      INITIAL_STATE,
      secret.map((word) => word ^ pad),
      state,
    );
    return state;
  }) as [Uint32Array, Uint32Array];
  /** A digest of 32 bytes with its padding. */
  const digest = createLastBlock(new Uint8Array(32));
  const state = digest.subarray(0, 8);
  compress(inner, createLastBlock(Uint8Array.of(...salt, 0, 0, 0, 1)), state);
  compress(outer, digest, state);
  const sum = state.slice();
  for (let i = 1; i < iterations; i++) {
    compress(inner, digest, state);
    compress(outer, digest, state);
    for (let j = 0; j < 8; j++) {
      sum[j] = at(sum, j) ^ at(state, j);
    }
  }
  const key = new DataView(new ArrayBuffer(32));
  sum.forEach((word, i) => {
    key.setUint32(4 * i, word);
  });
  return new Uint8Array(key.buffer);
}
