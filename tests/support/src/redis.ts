import { freePort } from "./ports.ts";
import { startProcess } from "./process.ts";
import { findCommand } from "./requirements.ts";

export interface TestRedis {
  url: string;
  stop(): Promise<void>;
  /** Stops the process with SIGSTOP. Connections stay open. */
  pause(): void;
  resume(): void;
  kill(): Promise<void>;
}

export interface RedisOptions {
  /** By default a free port. */
  port?: number;
  /** Further command-line arguments. */
  args?: string[];
}

/**
 * Starts an empty Redis or Valkey server without persistence on 127.0.0.1. If PARLEY_TEST_REDIS_URL is set and there are no options, returns
 * the server at that URL instead, which tests cannot pause or kill.
 */
export async function startRedis({ port, args }: RedisOptions = {}): Promise<TestRedis> {
  const existingUrl = process.env.PARLEY_TEST_REDIS_URL;
  if (existingUrl && port === undefined && args === undefined) return useExistingRedis(existingUrl);
  const command = findCommand("redis-server", "valkey-server");
  if (!command) throw new Error('no redis-server or valkey-server on the PATH; use describeWith("redis")');
  const listenPort = port ?? (await freePort());
  const settings = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--daemonize", "no", "--dir", "/"];
  const server = await startProcess({
    name: "redis",
    command,
    args: ["--port", String(listenPort), ...settings, ...(args ?? [])],
    ready: /Ready to accept connections/,
  });
  await server.waitReady();
  return {
    url: `redis://127.0.0.1:${listenPort}`,
    pause: () => server.signal("SIGSTOP"),
    resume: () => server.signal("SIGCONT"),
    kill: async () => void (await server.kill9()),
    stop: async () => {
      // A paused process does not handle SIGTERM.
      server.signal("SIGCONT");
      await server.stop();
    },
  };
}

function useExistingRedis(url: string): TestRedis {
  const refuse = () => {
    throw new Error('cannot pause or kill the server in PARLEY_TEST_REDIS_URL; use describeWith("redis-server")');
  };
  return { url, stop: async () => undefined, pause: refuse, resume: refuse, kill: async () => refuse() };
}
