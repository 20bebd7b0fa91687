import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { replaceFile } from "@parley/test-support";
import { afterEach, beforeEach } from "vitest";
import { Lifecycle } from "../process/lifecycle.ts";
import { createLogger } from "../process/logger.ts";
import { openInternalTokens, openTokens, parseTokens, type Tokens } from "../settings/tokens.ts";

export const REFRESH_MS = 10;

export const tokenSource = (file: string) => ({ name: "INTERNAL_TOKEN", parse: parseTokens, file });

/** Gives each test a folder for token files, and a lifecycle that ends with the test. */
export function useTokenFiles() {
  const log = createLogger("test", "silent");
  const test = {} as { folder: string; lifecycle: Lifecycle };
  beforeEach(async () => {
    test.folder = await mkdtemp(join(tmpdir(), "parley-tokens-"));
    test.lifecycle = new Lifecycle(log);
  });
  afterEach(async () => {
    await test.lifecycle.close();
    await rm(test.folder, { recursive: true });
  });

  async function write(name: string, ...tokens: string[]): Promise<string> {
    const file = join(test.folder, name);
    await replaceFile(file, tokens.join("\n"));
    return file;
  }

  const open = (file: string): Tokens =>
    openTokens(tokenSource(file), { log, lifecycle: test.lifecycle, refreshIntervalMs: REFRESH_MS });

  const openInternal = (file: string, handoverMs: number): Tokens =>
    openInternalTokens(
      tokenSource(file),
      { log, lifecycle: test.lifecycle, refreshIntervalMs: REFRESH_MS },
      handoverMs,
    );

  return Object.assign(test, { write, open, openInternal });
}
