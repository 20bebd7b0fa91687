import { expect, test } from "vitest";
import { parseRetryAfter, pauseSeconds, retrySeconds } from "./retry-schedule.ts";
import { createWebhookSecret, parseEncryptionKeys, SecretBox } from "./secret-box.ts";
import { MAX_ATTEMPTS } from "./webhook.ts";

const ENDPOINT = { workspaceId: "w", endpointId: "e" };
const KEYS = ["a".repeat(32), "b".repeat(32)];
const failed = { startedAt: new Date(), durationMs: 1, status: 500 };

test("12 attempts take about 72 hours", () => {
  const waits = Array.from({ length: MAX_ATTEMPTS }, (_, n) => retrySeconds(n + 1, failed));
  expect(waits.at(-1)).toBeUndefined();
  const hours = waits.reduce<number>((sum, seconds = 0) => sum + seconds, 0) / 3_600;
  expect(hours).toBeGreaterThan(72 * 0.7);
  expect(hours).toBeLessThan(72 * 1.3);
});

test("Retry-After delays an attempt, for at most a day, and never makes it earlier", () => {
  expect(retrySeconds(1, { ...failed, retryAfterSeconds: 3_000 })).toBe(3_000);
  expect(retrySeconds(1, { ...failed, retryAfterSeconds: 10_000_000 })).toBe(86_400);
  expect(retrySeconds(5, { ...failed, retryAfterSeconds: 1 })).toBeGreaterThan(1_000);
  expect(pauseSeconds({ ...failed, retryAfterSeconds: 30 })).toBe(0);
});

test("Retry-After is a number of seconds or a date in the future", () => {
  const now = Date.parse("2026-11-01T00:00:00Z");
  expect(parseRetryAfter("120", now)).toBe(120);
  expect(parseRetryAfter("Sun, 01 Nov 2026 00:01:00 GMT", now)).toBe(60);
  for (const text of [undefined, "soon", "-5", "Sun, 01 Nov 2020 00:00:00 GMT"])
    expect(parseRetryAfter(text, now)).toBeUndefined();
});

test("an encrypted secret belongs to one endpoint, and is decrypted with any of the keys", () => {
  const secret = createWebhookSecret();
  const encrypted = new SecretBox(() => KEYS).encrypt(secret, ENDPOINT);
  expect(new SecretBox(() => KEYS.toReversed()).decrypt(encrypted, ENDPOINT)).toBe(secret);
  expect(() => new SecretBox(() => KEYS).decrypt(encrypted, { ...ENDPOINT, workspaceId: "v" })).toThrow();
  expect(() => new SecretBox(() => KEYS.slice(1)).decrypt(encrypted, ENDPOINT)).toThrow("ENCRYPTION_KEY lacks the key");
});

test("ENCRYPTION_KEY refuses a short key", () => {
  expect(parseEncryptionKeys(KEYS.join("\n"))).toEqual(KEYS);
  for (const text of ["", "short", `${KEYS[0]} short`]) expect(() => parseEncryptionKeys(text)).toThrow();
});
