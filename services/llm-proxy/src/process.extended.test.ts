import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDatabase, type TestDatabase } from "@parley/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { environment, startScript } from "./testing/process.ts";

let database: TestDatabase;
let folder: string;
beforeAll(async () => {
  database = await createDatabase();
  folder = mkdtempSync(join(tmpdir(), "llm-proxy-"));
});
afterAll(async () => {
  await database.drop();
  rmSync(folder, { recursive: true });
});

describe("a start", () => {
  test.each([
    [
      "a missing LLM_CONFIG file",
      async () => ({ LLM_CONFIG: "/nowhere/llm.yaml" }),
      /LLM_CONFIG cannot be read \(ENOENT\)/,
    ],
    [
      "an invalid LLM_CONFIG file",
      async () => {
        const path = join(folder, "bad.yaml");
        writeFileSync(path, "providers: { groq: { preset: groq } }\ndefault_model: unknown:x\n");
        return { LLM_CONFIG: path };
      },
      /GROQ_API_KEY is not set; the default model unknown:x/,
    ],
    [
      "an unknown default model",
      async () => ({ DEFAULT_MODEL: "openai:x" }),
      /openai:x is not a model of a configured/,
    ],
    [
      "a missing key file",
      async () => ({ OPENAI_API_KEY_FILE: "/nowhere/OPENAI_API_KEY" }),
      /ENOENT: no such file or directory, open '\/nowhere\/OPENAI_API_KEY'/,
    ],
  ])("with %s prints the problems and exits 1", async (_, overrides, message) => {
    const service = await startScript("main.ts", { ...(await environment(database)), ...(await overrides()) });
    expect((await service.exited).code).toBe(1);
    expect(service.output()).toMatch(message);
  });
});
