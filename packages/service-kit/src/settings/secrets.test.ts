import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { replaceFile } from "@parley/test-support";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createServiceMetrics } from "../ops/metrics.ts";
import { Lifecycle } from "../process/lifecycle.ts";
import { createLogger } from "../process/logger.ts";
import { Environment } from "./environment.ts";
import { openSecret, parseSecretText, type Reload, readSecret, type SecretSource } from "./secrets.ts";

const SERIES = 'parley_reloads_refused_total{file="API_KEY",service="test"}';

let folder: string;
let lifecycle: Lifecycle;
let lines: string[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "parley-secrets-"));
  lines = [];
  lifecycle = new Lifecycle(createLogger("test", "silent"));
});
afterEach(async () => {
  await lifecycle.close();
  await rm(folder, { recursive: true });
});

const path = () => join(folder, "API_KEY");

const write = (text: string) => replaceFile(path(), text);

/** Accepts only keys that begin with `sk-`. */
function parseKey(text: string): string {
  const key = parseSecretText(text);
  if (!key.startsWith("sk-")) throw new Error("has an unknown format");
  return key;
}

const source = (): SecretSource<string> => ({ name: "API_KEY", parse: parseKey, file: path() });

function open() {
  const { registry, reloadRefusals } = createServiceMetrics("test");
  const log = createLogger("test", "info", { write: (line) => void lines.push(line) });
  const reloads: string[] = [];
  const onReload = ({ file, result }: Reload) => reloads.push(`${file} ${result}`);
  const secret = openSecret(source(), { log, lifecycle, reloadRefusals, onReload, refreshIntervalMs: 10 });
  const changes: string[] = [];
  secret.onChange(() => changes.push(secret.current()));
  const countRefusals = async () => {
    const line = (await registry.metrics()).split("\n").find((each) => each.startsWith(SERIES));
    return Number(line?.slice(SERIES.length));
  };
  return { secret, changes, reloads, countRefusals };
}

describe("a secret in a file", () => {
  it("reports each reload once: accepted, or refused for a new reason", async () => {
    await write("sk-old");
    const { secret, reloads, countRefusals } = open();
    await write("");
    await expect.poll(countRefusals).toBeGreaterThan(3);
    await write("sk-new");
    await expect.poll(secret.current).toBe("sk-new");
    await write("");
    await expect.poll(() => reloads).toEqual(["API_KEY refused", "API_KEY accepted", "API_KEY refused"]);
  });

  it("is read again when the file changes, and the listeners are called once", async () => {
    await write("sk-old\n");
    const { secret, changes, countRefusals } = open();
    expect(secret.current()).toBe("sk-old");
    await write("sk-new\n");
    await expect.poll(secret.current).toBe("sk-new");
    await expect.poll(() => lines.join("")).toContain("secret reloaded");
    expect(changes).toEqual(["sk-new"]);
    expect(await countRefusals()).toBe(0);
  });

  it("calls the other listeners if one throws, and logs and counts its error", async () => {
    await write("sk-old");
    const { secret, changes, countRefusals } = open();
    const changesOfLast: string[] = [];
    secret.onChange(() => {
      throw new Error("cannot use it");
    });
    secret.onChange(() => changesOfLast.push(secret.current()));
    await write("sk-new");
    await expect.poll(() => lines.join("")).toContain("cannot use it");
    expect([changes, changesOfLast, await countRefusals()]).toEqual([["sk-new"], ["sk-new"], 1]);
  });

  it.each([
    ["the file is empty", () => write(" \n"), "is empty"],
    ["the parser refuses the file's content", () => write("marker-of-a-wrong-file"), "has an unknown format"],
    ["the file is missing", () => rm(path()), "ENOENT"],
  ])("keeps its old content if %s, counts the refusal, and logs it without the secret", async (_, damage, reason) => {
    await write("sk-old");
    const { secret, changes, countRefusals } = open();
    await damage();
    await expect.poll(countRefusals).toBeGreaterThan(0);
    expect(secret.current()).toBe("sk-old");
    expect(changes).toEqual([]);
    expect(lines.join("")).toContain("secret refused, previous one kept");
    expect(lines.join("")).toContain(reason);
    await write("sk-new");
    await expect.poll(secret.current).toBe("sk-new");
    expect(lines.join("")).not.toMatch(/sk-old|sk-new|marker-of/);
  });

  it("cannot be opened if its file is missing or empty", async () => {
    expect(open).toThrow("ENOENT");
    await write("");
    expect(open).toThrow(`${path()} is empty`);
  });

  it("has priority over the variable", async () => {
    await write("sk-file");
    const variables = { API_KEY: "sk-variable", API_KEY_FILE: path() };
    const keySource = new Environment(variables).requiredSecret("API_KEY", parseKey, "the key");
    expect(readSecret(keySource)).toBe("sk-file");
  });
});

describe("a secret in a variable", () => {
  it("is parsed, and errors name the variable but do not contain its value", () => {
    const environment = new Environment({ API_KEY: "sk-1", OTHER_KEY: "marker" });
    const keySource = environment.requiredSecret("API_KEY", parseKey, "the key");
    expect(openSecret(keySource, { log: createLogger("test", "silent"), lifecycle }).current()).toBe("sk-1");
    expect(environment.optionalSecret("NO_KEY", parseKey)).toBeUndefined();
    environment.requiredSecret("NO_KEY", parseKey, "another key");
    environment.optionalSecret("OTHER_KEY", parseKey);
    expect(() => environment.finish({})).toThrow("NO_KEY is not set: another key; OTHER_KEY has an unknown format");
    expect(() => environment.finish({})).not.toThrow("marker");
  });
});
