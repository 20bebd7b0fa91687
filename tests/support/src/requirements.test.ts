import { afterEach, describe, expect, it, vi } from "vitest";
import { findCommand, isMet, redisAvailable, reportMissing } from "./requirements.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

describe("on a machine without Redis", () => {
  it("says once and loudly what is missing and what helps", () => {
    vi.stubEnv("PATH", "/nowhere").stubEnv("PARLEY_TEST_REDIS_URL", "").stubEnv("PARLEY_REQUIRE_ALL", "");
    const said: string[] = [];
    reportMissing((text) => said.push(text));
    expect(said).toHaveLength(1);
    expect(said[0]).toMatch(/SUITES ARE LEFT OUT.*redis: install redis-server/s);
    expect(redisAvailable()).toBe(false);
  });

  it("fails when everything is required", () => {
    vi.stubEnv("PATH", "/nowhere").stubEnv("PARLEY_TEST_REDIS_URL", "").stubEnv("PARLEY_REQUIRE_ALL", "1");
    expect(() => reportMissing()).toThrow(/lacks\n {2}redis:/);
  });

  it("is content with a server that is given, but not where it must be paused", () => {
    vi.stubEnv("PATH", "/nowhere").stubEnv("PARLEY_TEST_REDIS_URL", "redis://127.0.0.1:1");
    expect([isMet("redis"), isMet("redis-server")]).toEqual([true, false]);
  });
});

it("finds a command on the PATH", () => {
  vi.stubEnv("PATH", "/nowhere:/bin");
  expect(findCommand("no-such-command", "sh")).toBe("/bin/sh");
});
