import { readFile } from "node:fs/promises";
import { type Logger, ServiceError } from "@parley/service-kit";
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";

export type JwksOptions = {
  /** http(s): a single sign-on's key set; file: the local development issuer's. */
  url: string;
  /** A monotonic clock in milliseconds. */
  now: () => number;
};

export type Jwks = {
  getKey: JWTVerifyGetKey;
  /** Loads the keys, and goes on loading them anew in the background. */
  start(): void;
  stop(): void;
  /** Milliseconds since the keys were loaded; since the start while they never were. */
  ageMs(): number;
};

const FETCH_TIMEOUT_MS = 3_000;
const MAX_LOADS_A_MINUTE = 2;
const MINUTE_MS = 60_000;
const RELOAD_MS = 5 * MINUTE_MS;
const RELOAD_AFTER_FAILURE_MS = 30_000;

/**
 * The keys that access tokens are verified with. Keys once loaded stay in use while the single sign-on is away. A token of an unknown
 * key loads the set again, at most twice a minute however many come; when the set cannot be had the answer is auth_unavailable,
 * since nobody can tell whether the token is good.
 */
export function createJwks(options: JwksOptions, log: Logger): Jwks {
  let keys: ReturnType<typeof createLocalJWKSet> | undefined;
  let loadedAt = options.now();
  let lastLoadFailed = false;
  let loads: number[] = [];
  let loading: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  async function load(): Promise<void> {
    try {
      const set = await fetchJwks(options.url);
      keys = createLocalJWKSet(set);
      loadedAt = options.now();
      lastLoadFailed = false;
    } catch (error) {
      lastLoadFailed = true;
      log.warn({ error }, "the single sign-on's keys cannot be loaded; those already known stay in use");
    }
  }

  function refresh(): Promise<void> {
    loads.push(options.now());
    loading ??= load().finally(() => {
      loading = undefined;
    });
    return loading;
  }

  async function refreshIfAllowed(): Promise<void> {
    if (loading !== undefined) return loading;
    loads = loads.filter((time) => time > options.now() - MINUTE_MS);
    if (loads.length < MAX_LOADS_A_MINUTE) await refresh();
  }

  async function reload(): Promise<void> {
    await refresh();
    if (!stopped) timer = setTimeout(() => void reload(), lastLoadFailed ? RELOAD_AFTER_FAILURE_MS : RELOAD_MS);
  }

  return {
    start: () => void reload(),
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
    ageMs: () => options.now() - loadedAt,
    async getKey(header, token) {
      const known = await lookUp(keys, header, token);
      if (known !== undefined) return known;
      await refreshIfAllowed();
      const loaded = await lookUp(keys, header, token);
      if (loaded !== undefined) return loaded;
      if (lastLoadFailed || keys === undefined)
        throw new ServiceError("unavailable", "auth_unavailable", "the keys cannot be loaded");
      throw new errors.JWKSNoMatchingKey();
    },
  };
}

type KeySet = ReturnType<typeof createLocalJWKSet>;

async function lookUp(keys: KeySet | undefined, ...[header, token]: Parameters<KeySet>) {
  try {
    return await keys?.(header, token);
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) return undefined;
    throw error;
  }
}

async function fetchJwks(url: string): Promise<JSONWebKeySet> {
  if (url.startsWith("file:")) return JSON.parse(await readFile(new URL(url), "utf8")) as JSONWebKeySet;
  const response = await fetch(url, {
    signal: AbortSignal.timeout(FETCH_TIMEOUT_MS),
    headers: { accept: "application/json" },
  });
  if (!response.ok) throw new Error(`the key set answered with status ${response.status}`);
  return (await response.json()) as JSONWebKeySet;
}
