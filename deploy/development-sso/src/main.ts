import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { exportJWK, generateKeyPair } from "jose";
import type { JWK } from "oidc-provider";
import { ConfigError, readConfig } from "./config.ts";
import { createProvider } from "./provider.ts";

// The identity provider that `pnpm start` and docker-compose.yml run, for development only. It asks for no password.

const config = readConfigOrExit();
const server = createServer(createProvider(config, await readKey(config.keyFile)).callback());
server.listen(config.port, config.host);
for (const event of ["SIGTERM", "SIGINT", "disconnect"]) process.once(event, close);
// The parent process may have exited before these handlers were set.
if (process.connected === false) close();

function close(): void {
  // Exits explicitly, because an open IPC channel keeps the process alive.
  server.close(() => process.exit(0));
  server.closeAllConnections();
}

async function readKey(file: string | undefined): Promise<JWK> {
  if (file !== undefined) return JSON.parse(await readFile(file, "utf8")) as JWK;
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  return { ...(await exportJWK(privateKey)), alg: "RS256", use: "sig" } as JWK;
}

function readConfigOrExit() {
  try {
    // biome-ignore lint/style/noProcessEnv: passes the environment to config.ts
    return readConfig(process.env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const problem of error.problems) process.stderr.write(`development sign-in: ${problem}\n`);
    process.exit(1);
  }
}
