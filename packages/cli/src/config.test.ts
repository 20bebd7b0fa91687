import { describe, expect, it } from "vitest";
import { machineEnvironment, readConfig } from "./config.ts";

describe("readConfig", () => {
  it("takes files from where the user stands, though the package manager runs its script elsewhere", () => {
    const values = { npm_lifecycle_event: "parley", INIT_CWD: "/home/ada/docs" };
    expect(readConfig(values, "/clone")).toMatchObject({ filesDir: "/home/ada/docs", dataDir: "/clone/.parley" });
  });

  it("does not mind where some other script was run from", () => {
    expect(readConfig({ npm_lifecycle_event: "test", INIT_CWD: "/clone" }, "/tmp/x").filesDir).toBe("/tmp/x");
  });

  it("takes an empty value as unset", () => {
    const config = readConfig({ DATA_DIR: "", PARLEY_QUOTA_URL: "", ADMIN_TOKEN: "" }, "/clone");
    expect(config).toMatchObject({ dataDir: "/clone/.parley", adminToken: undefined });
    expect(config.remoteUrls.quota).toBeUndefined();
  });

  it("refuses an address that is none", () => {
    expect(() => readConfig({ PARLEY_LLM_URL: "llm:8087" }, "/")).toThrow("PARLEY_LLM_URL must be a URL");
  });
});

describe("machineEnvironment", () => {
  it("passes on what the machine needs and nothing that is Parley's or its user's", () => {
    const values = { PATH: "/bin", HOME: "/root", ADMIN_TOKEN: "t", OPENAI_API_KEY: "k", SECRET: "s", TZ: "" };
    expect(machineEnvironment(values)).toEqual({ PATH: "/bin", HOME: "/root" });
  });
});
