import { describe, expect, test } from "vitest";
import { ProviderFailure } from "./failure.ts";
import { computeRetryDelayMs, readRetryAfterMs } from "./retry.ts";

const policy = { maxAttempts: 4, baseDelayMs: 100, maxDelayMs: 300, maxRetryAfterMs: 5_000 };
const failure = (options: { isRetryable?: boolean; retryAfterMs?: number } = {}) =>
  new ProviderFailure("provider_error", "http_503", { isRetryable: true, ...options });

describe("computeRetryDelayMs", () => {
  test("doubles the backoff up to maxDelayMs, and waits 50 to 100 % of the backoff", () => {
    const range = (attempts: number) =>
      [0, 0.999].map((random) => computeRetryDelayMs(failure(), attempts, policy, random));
    expect(range(1)).toEqual([50, expect.closeTo(100, 0)]);
    expect(range(2)).toEqual([100, expect.closeTo(200, 0)]);
    expect(range(3)).toEqual([150, expect.closeTo(300, 0)]);
  });

  test("returns no delay after the last attempt and for a failure that is not retryable", () => {
    expect(computeRetryDelayMs(failure(), 4, policy, 0)).toBeUndefined();
    expect(computeRetryDelayMs(failure({ isRetryable: false }), 1, policy, 0)).toBeUndefined();
  });

  test("waits at least as long as Retry-After, and gives up if Retry-After is above the limit", () => {
    for (const random of [0, 0.5, 0.999]) {
      const delayMs = computeRetryDelayMs(failure({ retryAfterMs: 2_000 }), 1, policy, random);
      expect(delayMs).toBeGreaterThanOrEqual(2_000);
      expect(delayMs).toBeLessThanOrEqual(2_300);
    }
    expect(computeRetryDelayMs(failure({ retryAfterMs: 5_001 }), 1, policy, 0)).toBeUndefined();
  });
});

describe("readRetryAfterMs", () => {
  const now = Date.UTC(2026, 10, 21, 12, 0, 0);
  test.each<[Record<string, string>, number | undefined]>([
    [{ "retry-after": "2" }, 2_000],
    [{ "retry-after": "0.5" }, 500],
    [{ "retry-after-ms": "150", "retry-after": "2" }, 150],
    [{ "retry-after": "Sat, 21 Nov 2026 12:00:07 GMT" }, 7_000],
    [{ "retry-after": "Sat, 21 Nov 2026 11:00:00 GMT" }, 0],
    [{ "retry-after": "soon" }, undefined],
    [{ "retry-after": "-1" }, undefined],
    [{ "retry-after": "+5" }, undefined],
    [{ "retry-after": "wait 60" }, undefined],
    [{ "retry-after": "2026-11-21T12:00:07Z" }, undefined],
    [{ "retry-after": "-1e9" }, undefined],
    [{ "retry-after": "99999999999999999999" }, undefined],
    [{}, undefined],
  ])("reads %j as %s", (headers, expected) => {
    expect(readRetryAfterMs(new Headers(headers), now)).toBe(expected);
  });
});
