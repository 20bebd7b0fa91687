import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "@parley/test-support";
import { expect, onTestFinished, test, vi } from "vitest";
import { saveProfiles } from "./turn-cost.ts";

test("saveProfiles removes its temporary directory if the services do not start", async () => {
  const dir = await mkdtemp(join(tmpdir(), "parley-bench-"));
  onTestFinished(() => rm(dir, { recursive: true }));
  vi.stubEnv("TMPDIR", dir);
  vi.stubEnv("PARLEY_TEST_DATABASE_URL", `postgres://nobody@127.0.0.1:${await freePort()}/none`);
  onTestFinished(() => void vi.unstubAllEnvs());
  const shape = { callers: 1, turns: 1, warmUpTurns: 0 };
  await expect(saveProfiles("tokens-1", shape, join(dir, "target"), () => undefined)).rejects.toThrow("ECONNREFUSED");
  expect((await readdir(dir)).filter((name) => name.startsWith("parley-profile-"))).toEqual([]);
});
