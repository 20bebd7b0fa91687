import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, nodeFlags, startProcess } from "@parley/test-support";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ProcessSpec } from "./process-run.ts";
import { type Notice, type SupervisedProcess, supervise } from "./supervisor.ts";

/** The code of a server that returns its PID. */
const serverScript = (port: number) => `
  const { createServer } = require("node:http");
  const server = createServer((request, response) => {
    if (request.url === "/crash") throw new Error("it broke");
    response.end(String(process.pid));
  });
  server.listen(${port}, "127.0.0.1");
  process.once("disconnect", () => process.exit(0));
`;
const FAST = { readyTimeoutMs: 10_000, firstDelayMs: 20, maxDelayMs: 80, stableAfterMs: 60_000 };

let dir: string;
let port: number;
let notices: Notice[];
let supervised: SupervisedProcess | undefined;

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

async function start(spec: ProcessSpec): Promise<SupervisedProcess> {
  supervised = await supervise(spec, (notice) => notices.push(notice), FAST);
  return supervised;
}

const fetchPid = async () => Number(await (await fetch(`http://127.0.0.1:${port}/`)).text());
const crash = () => fetch(`http://127.0.0.1:${port}/crash`).catch(() => undefined);

describe("supervise", () => {
  it("is ready when the process responds", async () => {
    const { ready } = await start(specOf(serverScript(port)));
    await ready;
    expect(await fetchPid()).toBeGreaterThan(0);
    expect(notices).toEqual([]);
  });

  it("rejects `ready` with the reason when the process exits before it is ready", async () => {
    const { ready } = await start(specOf(`throw new Error("no such table")`));
    await expect(ready).rejects.toThrow(
      /^stand-in did not start \(exit 1: Error: no such table\): see .*stand-in\.log$/,
    );
  });

  it("rejects `ready` when the process is not ready in time", async () => {
    supervised = await supervise(specOf("setInterval(() => {}, 1000)"), () => undefined, {
      ...FAST,
      readyTimeoutMs: 100,
    });
    await expect(supervised.ready).rejects.toThrow(/is not ready/);
  });

  it("restarts a killed process and reports the exit and the restart", async () => {
    const { ready } = await start(specOf(serverScript(port)));
    await ready;
    const first = await fetchPid();
    process.kill(first, "SIGKILL");
    await vi.waitFor(async () => expect(await fetchPid()).not.toBe(first), 5_000);
    await vi.waitFor(() => expect(notices.map(({ text }) => text)).toContain("restarted"), 5_000);
    expect(notices[0]).toEqual({
      name: "stand-in",
      level: "error",
      text: "exited unexpectedly (SIGKILL), restarting in 0.02 s",
    });
  });

  it("doubles the restart delay up to a limit", async () => {
    const { ready } = await start(specOf(serverScript(port)));
    await ready;
    const delays = () => notices.flatMap(({ text }) => /restarting in (\S+) s/.exec(text)?.[1] ?? []);
    for (let crashes = 1; crashes <= 4; crashes++) {
      // Sends only one crash request to each run, because a second one could reach the next run.
      await vi.waitFor(fetchPid, 5_000);
      await crash();
      await vi.waitFor(() => expect(delays()).toHaveLength(crashes), 5_000);
    }
    expect(delays()).toEqual(["0.02", "0.04", "0.08", "0.08"]);
    expect(notices[0]?.text).toContain("exit 1: Error: it broke");
  });

  it("stops a process and does not restart it", async () => {
    const { ready, stop } = await start(specOf(serverScript(port)));
    await ready;
    await stop();
    await expect(fetchPid()).rejects.toThrow();
    expect(notices).toEqual([]);
  });

  it("kills a process that does not stop in time", async () => {
    const unstoppable = `${serverScript(port)} process.on("SIGTERM", () => {});`;
    const { ready, stop } = await start(specOf(unstoppable, 200));
    await ready;
    await stop();
    await expect(fetchPid()).rejects.toThrow();
    expect(notices).toEqual([{ name: "stand-in", level: "warn", text: "did not stop within 0.2 s, killing it" }]);
  });

  it("stops immediately during a restart delay", async () => {
    supervised = await supervise(specOf(serverScript(port)), (notice) => notices.push(notice), {
      ...FAST,
      firstDelayMs: 60_000,
      maxDelayMs: 60_000,
    });
    await supervised.ready;
    await crash();
    await vi.waitFor(() => expect(notices).toHaveLength(1), 5_000);
    await supervised.stop();
    expect(notices).toHaveLength(1);
  });

  it("writes the output to the log file and reports warnings and errors", async () => {
    const talking = `${serverScript(port)}
      setInterval(() => {
        console.log(JSON.stringify({ level: "info", message: "all is well" }));
        console.log(JSON.stringify({ level: "warn", message: "slow", error: { message: "timeout" } }));
        console.log(JSON.stringify({ level: "error", message: "disk full" }));
      }, 20);`;
    const { ready, stop } = await start(specOf(talking));
    await ready;
    const warning = { name: "stand-in", level: "warn", text: "slow: timeout" };
    await vi.waitFor(() => expect(notices).toContainEqual(warning), 5_000);
    const error = { name: "stand-in", level: "error", text: "disk full" };
    await vi.waitFor(() => expect(notices).toContainEqual(error), 5_000);
    await stop();
    expect(await readFile(join(dir, "stand-in.log"), "utf8")).toContain("all is well");
    expect(notices.map(({ text }) => text)).not.toContain("all is well");
  });

  it("keeps the logs of earlier starts", async () => {
    for (const word of ["first", "second"]) {
      const { ready, stop } = await start(specOf(`console.log("${word}"); ${serverScript(port)}`));
      await ready;
      await stop();
    }
    expect(await readFile(join(dir, "stand-in.log"), "utf8")).toBe("second\n");
    expect(await readFile(join(dir, "stand-in.1.log"), "utf8")).toBe("first\n");
  });
});

describe("a supervising process", () => {
  const supervisorScript = (code: string) => `
    import { supervise } from ${JSON.stringify(new URL("supervisor.ts", import.meta.url).href)};
    const { ready } = await supervise(${JSON.stringify(specOf(code))}, ({ text }) => console.log(text));
    await ready;
    process.on("SIGINT", () => console.log("interrupted"));
    console.log("up");
  `;
  const startSupervisorProcess = async (code = serverScript(port), shell = 'exec "$@"') => {
    const node = [process.execPath, ...nodeFlags, "--input-type=module", "-e", supervisorScript(code)];
    const args = ["-c", shell, "sh", ...node];
    const parent = await startProcess({ name: "supervisor", command: "sh", args, ready: /^up$/m });
    await parent.waitReady();
    return parent;
  };

  it("leaves no child when it is killed", async () => {
    const parent = await startSupervisorProcess();
    const child = await fetchPid();
    await parent.kill9();
    await vi.waitFor(() => expect(() => process.kill(child, 0)).toThrow("ESRCH"), 5_000);
  });

  it("reports that the child's log cannot be written, and continues", async () => {
    const code = `for (let n = 0; n < 2_000; n++) console.log("x".repeat(1_000)); ${serverScript(port)}`;
    const parent = await startSupervisorProcess(code, "trap '' XFSZ; ulimit -f 64; exec \"$@\"");
    expect(await fetchPid()).toBeGreaterThan(0);
    await vi.waitFor(() => expect(parent.stdout()).toContain(`logging to ${join(dir, "stand-in.log")} stopped`), 5_000);
    await parent.kill9();
  });

  it("runs its child in another process group, so that Ctrl+C does not stop the child", async () => {
    const parent = await startSupervisorProcess();
    const child = await fetchPid();
    process.kill(-parent.pid, "SIGINT");
    await vi.waitFor(() => expect(parent.stdout()).toContain("interrupted"), 5_000);
    expect(await fetchPid()).toBe(child);
    await parent.kill9();
  });
});
