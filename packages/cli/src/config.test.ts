import { describe, expect, it } from "vitest";
import { machineEnvironment, readConfig } from "./config.ts";

describe("readConfig", () => {
  it("resolves files against the directory in which the user ran the package script", () => {
    const values = { npm_lifecycle_event: "parley", INIT_CWD: "/home/ada/docs" };
    expect(readConfig(values, "/clone")).toMatchObject({ filesDir: "/home/ada/docs", dataDir: "/clone/.parley" });
  });

  it("ignores the directory in which another package script was run", () => {
    expect(readConfig({ npm_lifecycle_event: "test", INIT_CWD: "/clone" }, "/tmp/x").filesDir).toBe("/tmp/x");
  });

  it("treats an empty value as unset", () => {
    const config = readConfig({ DATA_DIR: "", PARLEY_QUOTA_URL: "", ADMIN_TOKEN: "" }, "/clone");
    expect(config).toMatchObject({ dataDir: "/clone/.parley", adminToken: undefined });
    expect(config.remoteUrls.quota).toBeUndefined();
  });

  it("refuses an invalid URL", () => {
    expect(() => readConfig({ PARLEY_LLM_URL: "llm:8087" }, "/")).toThrow("PARLEY_LLM_URL must be a URL");
  });
});

describe("machineEnvironment", () => {
  it("keeps only the listed machine variables that are set", () => {
    const values = { PATH: "/bin", HOME: "/root", ADMIN_TOKEN: "t", OPENAI_API_KEY: "k", SECRET: "s", TZ: "" };
    expect(machineEnvironment(values)).toEqual({ PATH: "/bin", HOME: "/root" });
  });
});
