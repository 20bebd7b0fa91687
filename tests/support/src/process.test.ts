import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { describe, expect, it, vi } from "vitest";
import { killLeftovers } from "./leftovers.ts";
import { nodeFlags, type ProcessOptions, startProcess } from "./process.ts";

function runScript(code: string, options: Partial<ProcessOptions> = {}) {
  return startProcess({ name: "script", command: process.execPath, args: ["-e", code], ...options });
}

const runForever = "setInterval(() => {}, 1000);";

describe("startProcess", () => {
  it("is ready when the output matches, and returns the match", async () => {
    const child = await runScript(`setTimeout(() => console.log("url=http://x:1"), 50); ${runForever}`, {
      ready: /url=(\S+)/,
    });
    expect((await child.waitReady())?.[1]).toBe("http://x:1");
    await child.stop();
  });

  it("is ready when the ready function returns true", async () => {
    let calls = 0;
    const child = await runScript(runForever, { ready: async () => ++calls === 3 });
    await child.waitReady();
    expect(calls).toBe(3);
    await child.stop();
  });

  it("reports the output of a process that exits before it is ready", async () => {
    const child = await runScript(`console.error("no such port"); process.exit(3)`, { ready: /never/ });
    await expect(child.waitReady()).rejects.toThrow(/script exited with 3 before it was ready.*no such port/s);
    expect(await child.exited).toEqual({ code: 3, signal: null });
  });

  it("rejects a command that does not exist", async () => {
    await expect(startProcess({ name: "nothing", command: "/no/such/command" })).rejects.toThrow("ENOENT");
  });

  it("returns standard output and standard error separately and combined", async () => {
    const child = await runScript(`process.stdout.write("a", () => process.stderr.write("b"))`);
    await child.exited;
    expect([child.stdout(), child.stderr(), child.output().length]).toEqual(["a", "b", 2]);
  });

  it("does not inherit variables such as OPENAI_API_KEY, inherits RPC_MULTIPLEX, and gets the variables in `env`", async () => {
    vi.stubEnv("OPENAI_API_KEY", "secret");
    vi.stubEnv("JWT_ISSUER", "somebody");
    vi.stubEnv("RPC_MULTIPLEX", "off");
    try {
      const child = await runScript(
        "const { OPENAI_API_KEY, JWT_ISSUER, PORT, RPC_MULTIPLEX } = process.env;" +
          "console.log(JSON.stringify([OPENAI_API_KEY, JWT_ISSUER, PORT, RPC_MULTIPLEX]))",
        { env: { PORT: "1" } },
      );
      await child.exited;
      expect(JSON.parse(child.stdout())).toEqual([null, null, "1", "off"]);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it("stops with the given signal", async () => {
    const child = await runScript(`process.on("SIGINT", () => process.exit(7)); console.log("up"); ${runForever}`, {
      ready: /up/,
    });
    await child.waitReady();
    expect(await child.stop("SIGINT")).toEqual({ code: 7, signal: null });
    expect(child.isRunning()).toBe(false);
  });

  it("kills a process that does not stop in time, and rejects", async () => {
    const child = await runScript(`process.on("SIGTERM", () => {}); console.log("up"); ${runForever}`, { ready: /up/ });
    await child.waitReady();
    await expect(child.stop("SIGTERM", 100)).rejects.toThrow("script was still running 100 ms after SIGTERM");
    expect(await child.exited).toEqual({ code: null, signal: "SIGKILL" });
  });

  it("starts a process that killLeftovers kills", async () => {
    const child = await runScript(runForever);
    killLeftovers();
    expect(await child.exited).toEqual({ code: null, signal: "SIGKILL" });
  });

  it.each([
    { how: "exits", script: "process.exit();", code: 0 },
    { how: "gets SIGINT", script: "exitOnSignals(); process.kill(process.pid, 'SIGINT');", code: 130 },
    { how: "gets SIGTERM", script: "exitOnSignals(); process.kill(process.pid, 'SIGTERM');", code: 143 },
  ])("leaves no child process running when its parent $how", async ({ script, code }) => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    // The child process keeps a connection to this server open until it exits.
    const childExited = once(server, "connection").then(([socket]: Socket[]) =>
      once(socket?.resume() ?? server, "close"),
    );
    const { port } = server.address() as AddressInfo;
    const childScript = `require("node:net").connect(${port}, "127.0.0.1", () => console.log("up")); ${runForever}`;
    const parent = await startProcess({
      name: "parent",
      command: process.execPath,
      args: [
        ...nodeFlags,
        "--input-type=module",
        "-e",
        `import { exitOnSignals, startProcess } from ${JSON.stringify(new URL("index.ts", import.meta.url).href)};
         const args = ["-e", ${JSON.stringify(childScript)}];
         const child = await startProcess({ name: "child", command: process.execPath, args, ready: /up/ });
         await child.waitReady();
         ${script}`,
      ],
    });
    expect(await parent.exited).toEqual({ code, signal: null });
    await childExited;
    server.close();
  });
});
