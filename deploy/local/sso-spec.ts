import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { NODE_FLAGS } from "@parley/cli";
import type { Config } from "./config.ts";
import { DEMO } from "./demo.ts";
import { LOOPBACK, type Ports } from "./processes/ports.ts";
import type { ProcessSpec } from "./processes/process-run.ts";

/** Describes the process of the development sign-in: the identity provider through which the demo workspace's owner signs in to the console. */
export function buildSsoSpec(config: Config, ports: Ports): ProcessSpec {
  const script = fileURLToPath(new URL("../development-sso/src/main.ts", import.meta.url));
  const issuer = `http://localhost:${ports.sso}`;
  return {
    name: "development sign-in",
    args: [...NODE_FLAGS, script],
    env: {
      ...config.systemVariables,
      HOST: LOOPBACK,
      PORT: String(ports.sso),
      ISSUER: issuer,
      // The development sign-in and `parley token` sign tokens with the same key, which the services trust.
      KEY_FILE: join(config.dataDir, "issuer-key.json"),
      WORKSPACE: DEMO.workspaceId,
      WORKSPACE_CLAIM: config.workspaceClaim,
      CONSOLE_URL: `http://localhost:${ports.console}`,
    },
    readyUrl: `${issuer}/.well-known/openid-configuration`,
    logPath: join(config.dataDir, "logs", "development-sso.log"),
    stopTimeoutMs: 5_000,
  };
}
