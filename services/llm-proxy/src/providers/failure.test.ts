import { describe, expect, test } from "vitest";
import { failureFromStatus, toProviderCode } from "./failure.ts";

describe("failureFromStatus", () => {
  test.each([
    [400, "provider_error", false, false],
    [401, "provider_auth", false, false],
    [403, "provider_auth", false, false],
    [404, "provider_error", false, false],
    [408, "provider_timeout", true, true],
    [409, "provider_error", true, false],
    [429, "provider_rate_limited", true, false],
    [302, "provider_error", false, false],
    [500, "provider_error", true, true],
    [502, "provider_error", true, true],
    [504, "provider_timeout", true, true],
  ])("status %i: code %s, retryable: %s, provider's fault: %s", (status, code, retryable, fault) => {
    expect(failureFromStatus(status)).toMatchObject({
      code,
      isRetryable: retryable,
      isProviderFault: fault,
      reason: `http_${status}`,
    });
  });

  test("a 429 because of an account without credit is not retryable", () => {
    expect(failureFromStatus(429, { providerCode: "insufficient_quota" })).toMatchObject({
      code: "provider_rate_limited",
      isRetryable: false,
    });
  });

  test("keeps the delay of Retry-After", () => {
    expect(failureFromStatus(503, { retryAfterMs: 1_500 }).retryAfterMs).toBe(1_500);
  });
});

test("toProviderCode keeps a machine-readable code, but no message or key", () => {
  expect(toProviderCode("model_not_found")).toBe("model_not_found");
  for (const text of ["Incorrect API key provided: sk-abc", "sk-AbC123", "", 42, null, undefined, {}, "x".repeat(65)]) {
    expect(toProviderCode(text)).toBeUndefined();
  }
});
