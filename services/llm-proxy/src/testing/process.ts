import { fileURLToPath } from "node:url";
import { freePorts, nodeFlags, startProcess, type TestDatabase } from "@parley/test-support";

export const TOKEN = "test-token";

/** Starts a script of the service in a child process. `file` is relative to `src`. */
export function startScript(file: string, env: Record<string, string>, ready?: RegExp) {
  const args = [...nodeFlags, fileURLToPath(new URL(`../${file}`, import.meta.url))];
  return startProcess({ name: file, command: process.execPath, args, env, ...(ready && { ready }) });
}

/** Returns the environment variables of a service on free ports. */
export async function environment(database: TestDatabase) {
  const [grpcPort = 0, opsPort = 0] = await freePorts(2);
  return {
    GRPC_PORT: String(grpcPort),
    OPS_PORT: String(opsPort),
    DATABASE_URL: database.url,
    INTERNAL_TOKEN: TOKEN,
    ADMIN_TOKEN: TOKEN,
    DRAIN_MS: "500",
  };
}
