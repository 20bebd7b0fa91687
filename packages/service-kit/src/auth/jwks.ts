import { readFile } from "node:fs/promises";
import {
  type CryptoKey,
  createLocalJWKSet,
  errors,
  flattenedVerify,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
} from "jose";
import { ServiceError } from "../errors.ts";
import type { Logger } from "../process/logger.ts";

export type JwksOptions = {
  /** The http(s) URL of the identity provider's key set, or a file URL in local development. */
  url: string;
  /** A monotonic clock in milliseconds. */
  now: () => number;
};

export type Jwks = {
  getKey: JWTVerifyGetKey;
  /** Loads the keys in the background, and reloads them periodically until `stop`. */
  start(): void;
  stop(): void;
  /** Milliseconds since the keys were last loaded, or since createJwks if they have not been loaded. */
  ageMs(): number;
};

const FETCH_TIMEOUT_MS = 3_000;
const MAX_CAUSED_LOADS_PER_MINUTE = 2;
const MINUTE_MS = 60_000;
const RELOAD_INTERVAL_MS = 5 * MINUTE_MS;
const RETRY_INTERVAL_MS = 30_000;

/**
 * Caches the keys that verify access tokens. Loaded keys stay in use while the identity provider is unavailable. A token with an unknown
 * key causes a reload, unless tokens caused two in the last minute. If the key stays unknown and the last load failed, getKey throws
 * auth_unavailable, because the token may be valid. Does not use runPeriodically, whose runs end when the process begins to stop: a
 * draining process still needs keys.
 */
export function createJwks(options: JwksOptions, log: Logger): Jwks {
  let keys: readonly PublishedKey[] | undefined;
  let loadedAtMs = options.now();
  let lastLoadFailed = false;
  let causedLoadTimesMs: number[] = [];
  let loading: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  async function load(): Promise<void> {
    try {
      keys = toPublishedKeys(await fetchJwks(options.url));
      loadedAtMs = options.now();
      lastLoadFailed = false;
    } catch (error) {
      lastLoadFailed = true;
      log.warn({ error, has_keys: keys !== undefined }, "key set load failed");
    }
  }

  function refresh(): Promise<void> {
    loading ??= load().finally(() => {
      loading = undefined;
    });
    return loading;
  }

  async function refreshIfAllowed(): Promise<void> {
    if (loading !== undefined) return loading;
    causedLoadTimesMs = causedLoadTimesMs.filter((timeMs) => timeMs > options.now() - MINUTE_MS);
    if (causedLoadTimesMs.length >= MAX_CAUSED_LOADS_PER_MINUTE) return;
    causedLoadTimesMs.push(options.now());
    await refresh();
  }

  async function loadPeriodically(): Promise<void> {
    await refresh();
    if (!isStopped)
      timer = setTimeout(() => void loadPeriodically(), lastLoadFailed ? RETRY_INTERVAL_MS : RELOAD_INTERVAL_MS);
  }

  return {
    start: () => void loadPeriodically(),
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
    ageMs: () => options.now() - loadedAtMs,
    async getKey(header, token) {
      const cached = await findKey(keys, header, token);
      if (cached !== undefined) return cached;
      await refreshIfAllowed();
      const reloaded = await findKey(keys, header, token);
      if (reloaded !== undefined) return reloaded;
      if (lastLoadFailed || keys === undefined)
        throw new ServiceError("unavailable", "auth_unavailable", "key set could not be loaded");
      throw new errors.JWKSNoMatchingKey();
    },
  };
}

/** `forHeader` throws unless the key fits the header's algorithm. */
type PublishedKey = { kid: string | undefined; forHeader: ReturnType<typeof createLocalJWKSet> };
type KeyRequest = Parameters<JWTVerifyGetKey>;

/** Limits the signatures that one token makes a process check. Key sets have about two keys of an algorithm. */
const MAX_TRIED_KEYS = 8;

/** Throws unless the set is well-formed. */
function toPublishedKeys(set: JSONWebKeySet): PublishedKey[] {
  // Checks the set's form. A set without keys is well-formed.
  createLocalJWKSet(set);
  return set.keys.map((jwk) => ({
    kid: jwk.kid || undefined,
    forHeader: createLocalJWKSet({ keys: [jwk] }),
  }));
}

/**
 * Returns the key with the token's `kid`. If the token has no `kid`, or only keys without a `kid` may have signed it, returns the key that
 * verifies the token's signature. Returns undefined if there is no such key. Every key must fit the token's algorithm.
 */
async function findKey(keys: readonly PublishedKey[] | undefined, ...[header, token]: KeyRequest) {
  const { kid: headerKid, ...headerWithoutKid } = header;
  const kid = headerKid || undefined;
  const named = kid === undefined ? [] : (keys ?? []).filter((key) => key.kid === kid);
  const candidates = kid === undefined ? keys : named.length > 0 ? named : keys?.filter((key) => key.kid === undefined);
  const fitting: CryptoKey[] = [];
  for (const { forHeader } of candidates ?? []) {
    // A key that does not fit the algorithm, or that cannot be imported, is not a candidate.
    const key = await forHeader(headerWithoutKid).catch(() => undefined);
    if (key !== undefined) fitting.push(key);
    if (fitting.length === MAX_TRIED_KEYS) break;
  }
  if (named.length > 0 && fitting.length === 1) return fitting[0];
  for (const key of fitting) if (await isSignedWith(key, token)) return key;
  return undefined;
}

function isSignedWith(key: CryptoKey, token: KeyRequest[1]): Promise<boolean> {
  return flattenedVerify(token, key).then(
    () => true,
    () => false,
  );
}

/** Loads the keys at a URL once. Throws if that fails or if there is none. */
export async function loadKeySet(url: string): Promise<void> {
  const set = await fetchJwks(url).catch((cause: unknown) => {
    throw cause instanceof SyntaxError ? new Error("the response is not a key set", { cause }) : cause;
  });
  const keys = toPublishedKeys(set);
  if (keys.length === 0) throw new Error("the key set contains no key");
}

async function fetchJwks(url: string): Promise<JSONWebKeySet> {
  if (url.startsWith("file:")) return JSON.parse(await readFile(new URL(url), "utf8")) as JSONWebKeySet;
  const response = await fetch(url, {
    signal: AbortSignal.timeout(FETCH_TIMEOUT_MS),
    headers: { accept: "application/json" },
  });
  if (!response.ok) throw new Error(`key set request returned status ${response.status}`);
  return (await response.json()) as JSONWebKeySet;
}
