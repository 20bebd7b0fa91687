import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { findCommand, isRedisAvailable, isRequirementMet, reportMissingRequirements } from "./requirements.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

describe("on a machine without Redis", () => {
  it("prints one warning for all Vitest projects, with the missing requirements and how to install them", () => {
    vi.stubEnv("PATH", "/nowhere").stubEnv("PARLEY_TEST_REDIS_URL", "").stubEnv("PARLEY_REQUIRE_ALL", "");
    const warnings: string[] = [];
    for (let project = 0; project < 3; project++) reportMissingRequirements((text) => warnings.push(text));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/SUITES ARE SKIPPED.*redis: install redis-server/s);
    expect(isRedisAvailable()).toBe(false);
  });

  it("throws with PARLEY_REQUIRE_ALL=1", () => {
    vi.stubEnv("PATH", "/nowhere").stubEnv("PARLEY_TEST_REDIS_URL", "").stubEnv("PARLEY_REQUIRE_ALL", "1");
    expect(() => reportMissingRequirements()).toThrow(/lacks\n {2}redis:/);
  });

  it("PARLEY_TEST_REDIS_URL meets the requirement redis, but not redis-server", () => {
    vi.stubEnv("PATH", "/nowhere").stubEnv("PARLEY_TEST_REDIS_URL", "redis://127.0.0.1:1");
    expect([isRequirementMet("redis"), isRequirementMet("redis-server")]).toEqual([true, false]);
  });
});

it("with PARLEY_TEST_REDIS_URL, the requirement redis-server is not met even if redis-server is installed", async () => {
  const directory = await mkdtemp(join(tmpdir(), "parley-redis-server-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  await writeFile(join(directory, "redis-server"), "", { mode: 0o755 });
  vi.stubEnv("PATH", directory).stubEnv("PARLEY_TEST_REDIS_URL", "");
  expect(isRequirementMet("redis-server")).toBe(true);
  vi.stubEnv("PARLEY_TEST_REDIS_URL", "redis://127.0.0.1:1");
  expect(isRequirementMet("redis-server")).toBe(false);
});

it("findCommand returns the path of the first command that is on the PATH", () => {
  vi.stubEnv("PATH", "/nowhere:/bin");
  expect(findCommand("no-such-command", "sh")).toBe("/bin/sh");
});
