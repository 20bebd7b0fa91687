import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { pickSystemVariables, readConfig } from "./config.ts";

describe("readConfig", () => {
  it("resolves files against the directory in which the user ran the package script", () => {
    const values = { npm_lifecycle_event: "parley", INIT_CWD: "/home/ada/docs" };
    expect(readConfig(values, "/clone")).toMatchObject({ filesDir: "/home/ada/docs", dataDir: "/clone/.parley" });
  });

  it("ignores INIT_CWD in a package script other than parley", () => {
    expect(readConfig({ npm_lifecycle_event: "test", INIT_CWD: "/clone" }, "/tmp/x").filesDir).toBe("/tmp/x");
  });

  it("treats an empty value as unset", () => {
    const config = readConfig({ DATA_DIR: "", PARLEY_QUOTA_URL: "", ADMIN_TOKEN: "" }, "/clone");
    expect(config).toMatchObject({ dataDir: "/clone/.parley", adminToken: undefined });
    expect(config.adminUrls.quota).toBeUndefined();
  });

  it("uses the admin URL for replicas unless a _REPLICAS_URL variable is set", () => {
    const values = {
      PARLEY_QUOTA_URL: "http://quota",
      PARLEY_LLM_URL: "http://llm",
      PARLEY_LLM_REPLICAS_URL: "http://all",
    };
    expect(readConfig(values, "/").replicaUrls).toEqual({ quota: "http://quota", llm: "http://all" });
  });

  it("prefers the first token of ADMIN_TOKEN_FILE to ADMIN_TOKEN, and reports a missing file", async () => {
    const file = join(await mkdtemp(join(tmpdir(), "parley-config-")), "ADMIN_TOKEN");
    await writeFile(file, "new\nold\n");
    expect(readConfig({ ADMIN_TOKEN_FILE: file, ADMIN_TOKEN: "other" }, "/").adminToken).toBe("new");
    await rm(dirname(file), { recursive: true });
    expect(() => readConfig({ ADMIN_TOKEN_FILE: file }, "/")).toThrow("ADMIN_TOKEN: ENOENT");
  });

  it("reports a blank ADMIN_TOKEN as one problem, not as two", () => {
    expect(() => readConfig({ ADMIN_TOKEN: " " }, "/")).toThrow(/^ADMIN_TOKEN contains no token$/);
  });

  it("refuses an invalid URL", () => {
    expect(() => readConfig({ PARLEY_LLM_URL: "llm:8087" }, "/")).toThrow("PARLEY_LLM_URL must be a URL");
  });
});

describe("pickSystemVariables", () => {
  it("returns the operating system's variables that are set, and no other variables", () => {
    const values = { PATH: "/bin", HOME: "/root", ADMIN_TOKEN: "t", OPENAI_API_KEY: "k", SECRET: "s", TZ: "" };
    expect(pickSystemVariables(values)).toEqual({ PATH: "/bin", HOME: "/root" });
  });
});
