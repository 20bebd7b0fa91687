import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, nodeFlags, startProcess } from "@parley/test-support";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ProcessSpec } from "./process-life.ts";
import { type Notice, type Supervised, supervise } from "./supervisor.ts";

/** Answers on a port with its process id; what else it does depends on the test. */
const answering = (port: number) => `
  const { createServer } = require("node:http");
  const server = createServer((request, response) => {
    if (request.url === "/crash") throw new Error("it broke");
    response.end(String(process.pid));
  });
  server.listen(${port}, "127.0.0.1");
  process.once("disconnect", () => process.exit(0));
`;
const BRIEF = { readyTimeoutMs: 10_000, firstPauseMs: 20, maxPauseMs: 80, calmMs: 60_000 };

let dir: string;
let port: number;
let notices: Notice[];
let supervised: Supervised | undefined;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "parley-supervisor-"));
  port = await freePort();
  notices = [];
});

afterEach(async () => {
  supervised?.kill();
  await supervised?.stop();
  supervised = undefined;
  await rm(dir, { recursive: true, force: true });
});

function specOf(code: string, stopTimeoutMs = 5_000): ProcessSpec {
  return {
    name: "stand-in",
    args: ["-e", code],
    env: {},
    readyUrl: `http://127.0.0.1:${port}/`,
    logPath: join(dir, "stand-in.log"),
    stopTimeoutMs,
  };
}

async function start(spec: ProcessSpec): Promise<Supervised> {
  supervised = await supervise(spec, (notice) => notices.push(notice), BRIEF);
  return supervised;
}

const pidThere = async () => Number(await (await fetch(`http://127.0.0.1:${port}/`)).text());
const crash = () => fetch(`http://127.0.0.1:${port}/crash`).catch(() => undefined);

describe("supervise", () => {
  it("is ready when the process answers", async () => {
    const { ready } = await start(specOf(answering(port)));
    await ready;
    expect(await pidThere()).toBeGreaterThan(0);
    expect(notices).toEqual([]);
  });

  it("gives up on a process that ends before it was ever ready, and says why", async () => {
    const { ready } = await start(specOf(`throw new Error("no such table")`));
    await expect(ready).rejects.toThrow(
      /^stand-in did not start \(exit 1: Error: no such table\): see .*stand-in\.log$/,
    );
  });

  it("gives up on a process that is never ready", async () => {
    supervised = await supervise(specOf("setInterval(() => {}, 1000)"), () => undefined, {
      ...BRIEF,
      readyTimeoutMs: 100,
    });
    await expect(supervised.ready).rejects.toThrow(/is not ready/);
  });

  it("starts a killed process again and tells of both", async () => {
    const { ready } = await start(specOf(answering(port)));
    await ready;
    const first = await pidThere();
    process.kill(first, "SIGKILL");
    await vi.waitFor(async () => expect(await pidThere()).not.toBe(first), 5_000);
    await vi.waitFor(() => expect(notices.map(({ text }) => text)).toContain("is back"), 5_000);
    expect(notices[0]).toEqual({
      name: "stand-in",
      level: "error",
      text: "ended by itself (SIGKILL); starting it again in 0.02 s",
    });
  });

  it("waits longer each time a process ends, up to a limit", async () => {
    const { ready } = await start(specOf(answering(port)));
    await ready;
    const pauses = () => notices.flatMap(({ text }) => /again in (\S+) s/.exec(text)?.[1] ?? []);
    for (let crashes = 1; crashes <= 4; crashes++) {
      await vi.waitFor(async () => {
        await crash();
        expect(pauses()).toHaveLength(crashes);
      }, 5_000);
    }
    expect(pauses()).toEqual(["0.02", "0.04", "0.08", "0.08"]);
    expect(notices[0]?.text).toContain("exit 1: Error: it broke");
  });

  it("ends a process that is told to, and does not start it again", async () => {
    const { ready, stop } = await start(specOf(answering(port)));
    await ready;
    await stop();
    await expect(pidThere()).rejects.toThrow();
    expect(notices).toEqual([]);
  });

  it("kills a process that does not end in its time", async () => {
    const deaf = `${answering(port)} process.on("SIGTERM", () => {});`;
    const { ready, stop } = await start(specOf(deaf, 200));
    await ready;
    await stop();
    await expect(pidThere()).rejects.toThrow();
    expect(notices).toEqual([{ name: "stand-in", level: "warn", text: "did not end within 0.2 s and is killed" }]);
  });

  it("stops at once while it waits to start a process again", async () => {
    supervised = await supervise(specOf(answering(port)), (notice) => notices.push(notice), {
      ...BRIEF,
      firstPauseMs: 60_000,
      maxPauseMs: 60_000,
    });
    await supervised.ready;
    await crash();
    await vi.waitFor(() => expect(notices).toHaveLength(1), 5_000);
    await supervised.stop();
    expect(notices).toHaveLength(1);
  });

  it("keeps what a process prints and shows its warnings and errors", async () => {
    const talking = `${answering(port)}
      setInterval(() => {
        console.log(JSON.stringify({ level: "info", message: "all is well" }));
        console.log(JSON.stringify({ level: "warn", message: "slow", error: { message: "timeout" } }));
      }, 20);`;
    const { ready, stop } = await start(specOf(talking));
    await ready;
    await vi.waitFor(() => expect(notices).toContainEqual({ name: "stand-in", level: "warn", text: "slow: timeout" }));
    await stop();
    expect(await readFile(join(dir, "stand-in.log"), "utf8")).toContain("all is well");
    expect(notices.map(({ text }) => text)).not.toContain("all is well");
  });

  it("keeps the logs of earlier starts beside the new one", async () => {
    for (const word of ["first", "second"]) {
      const { ready, stop } = await start(specOf(`console.log("${word}"); ${answering(port)}`));
      await ready;
      await stop();
    }
    expect(await readFile(join(dir, "stand-in.log"), "utf8")).toBe("second\n");
    expect(await readFile(join(dir, "stand-in.1.log"), "utf8")).toBe("first\n");
  });
});

describe("a process that supervises", () => {
  const supervising = () => `
    import { supervise } from ${JSON.stringify(new URL("supervisor.ts", import.meta.url).href)};
    const { ready } = await supervise(${JSON.stringify(specOf(answering(port)))}, () => {});
    await ready;
    process.on("SIGINT", () => console.log("interrupted"));
    console.log("up");
  `;
  const startSupervising = async () => {
    const args = [...nodeFlags, "--input-type=module", "-e", supervising()];
    const parent = await startProcess({ name: "supervisor", command: process.execPath, args, ready: /up/ });
    await parent.waitReady();
    return parent;
  };

  it("takes its process along when it is killed", async () => {
    const parent = await startSupervising();
    const child = await pidThere();
    await parent.kill9();
    await vi.waitFor(() => expect(() => process.kill(child, 0)).toThrow("ESRCH"), 5_000);
  });

  it("alone gets the terminal's signals", async () => {
    const parent = await startSupervising();
    const child = await pidThere();
    process.kill(-parent.pid, "SIGINT");
    await vi.waitFor(() => expect(parent.stdout()).toContain("interrupted"), 5_000);
    expect(await pidThere()).toBe(child);
    expect(notices).toEqual([]);
    await parent.kill9();
  });
});
