import { freePort } from "./ports.ts";
import { startProcess } from "./process.ts";
import { findCommand } from "./requirements.ts";

export interface TestRedis {
  url: string;
  stop(): Promise<void>;
  /** Stops it answering, connections stay open (SIGSTOP). */
  pause(): void;
  resume(): void;
  /** As `kill -9`. */
  kill(): Promise<void>;
}

/**
 * A Redis or Valkey server of the test's own on 127.0.0.1, empty and without persistence. With PARLEY_TEST_REDIS_URL
 * that server is used, which cannot be paused or killed. `port` starts one again where another was.
 */
export async function startRedis({ port }: { port?: number } = {}): Promise<TestRedis> {
  const given = process.env.PARLEY_TEST_REDIS_URL;
  if (given && port === undefined) return givenRedis(given);
  const command = findCommand("redis-server", "valkey-server");
  if (!command) throw new Error("no redis-server or valkey-server on the PATH; put the suite into describeWith");
  const listenOn = port ?? (await freePort());
  const settings = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--daemonize", "no", "--dir", "/"];
  const server = await startProcess({
    name: "redis",
    command,
    args: ["--port", String(listenOn), ...settings],
    ready: /Ready to accept connections/,
  });
  await server.waitReady();
  return {
    url: `redis://127.0.0.1:${listenOn}`,
    pause: () => server.signal("SIGSTOP"),
    resume: () => server.signal("SIGCONT"),
    kill: async () => void (await server.kill9()),
    stop: async () => {
      // A paused process takes no SIGTERM.
      server.signal("SIGCONT");
      await server.stop();
    },
  };
}

function givenRedis(url: string): TestRedis {
  const refuse = () => {
    throw new Error('PARLEY_TEST_REDIS_URL is not ours to disturb; use describeWith("redis-server")');
  };
  return { url, stop: async () => undefined, pause: refuse, resume: refuse, kill: async () => refuse() };
}
