import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { freePorts, scrubbedEnv } from "@parley/test-support";
import { ADMIN_TOKEN } from "../system/processes.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FILES = ["--file", "docker-compose.yml", "--file", "tests/images/compose.yml"];
/** A little less than the tests' `hookTimeout`, because the error of a hook timeout does not name the command. */
const COMPOSE_TIMEOUT_MS = 850_000;
/** Longer than the `stop_grace_period` of docker-compose.yml, after which `docker stop` kills a container. */
const DOCKER_TIMEOUT_MS = 90_000;

function run(
  command: string,
  args: readonly string[],
  env: Record<string, string>,
  timeoutMs: number,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { cwd: ROOT, env: scrubbedEnv(env), maxBuffer: 64 * 1024 * 1024, timeout: timeoutMs };
    execFile(command, args, options, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout);
      const isTimeout = error.killed && !error.code;
      const reason = isTimeout ? `timed out after ${timeoutMs / 1_000} s\n${stderr}` : stderr || error.message;
      reject(new Error(`${command} ${args.join(" ")}: ${reason}`, { cause: error }));
    });
  });
}

export function docker(...args: string[]): Promise<string> {
  return run("docker", args, {}, DOCKER_TIMEOUT_MS);
}

export async function isDockerAvailable(): Promise<boolean> {
  return docker("info").then(
    () => true,
    () => false,
  );
}

/** The containers of docker-compose.yml. */
export type Composition = {
  /** The edge's URL. */
  url: string;
  /** Ports of the services' admin calls. */
  ports: { conversation: number; quota: number; llm: number };
  ssoUrl: string;
  compose(...args: string[]): Promise<string>;
  /** Returns the id of a service's first container. */
  container(service: string): Promise<string>;
};

/** Returns a composition that has its own project name and ports and uses the fake provider. Does not build or start anything. */
export async function defineComposition(): Promise<Composition> {
  // The ports are consecutive.
  const [edge = 0] = await freePorts(9);
  const [sso, conversation, quota, llm] = [edge + 1, edge + 2, edge + 4, edge + 6];
  const env = {
    PORT: String(edge),
    SSO_PORT: String(sso),
    CONSOLE_PORT: String(edge + 8),
    // Two ports, because each of these services has two replicas.
    CONVERSATION_OPS_PORT: `${conversation}-${conversation + 1}`,
    QUOTA_OPS_PORT: `${quota}-${quota + 1}`,
    LLM_OPS_PORT: `${llm}-${llm + 1}`,
    ADMIN_TOKEN,
  };
  const project = `parley-test-${process.pid}`;
  const compose = (...args: string[]) =>
    run("docker", ["compose", "--project-name", project, ...FILES, ...args], env, COMPOSE_TIMEOUT_MS);
  return {
    url: `http://127.0.0.1:${edge}`,
    ports: { conversation, quota, llm },
    ssoUrl: `http://127.0.0.1:${sso}`,
    compose,
    container: async (service) => (await compose("ps", "--all", "--quiet", service)).split("\n")[0] ?? "",
  };
}
