import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { NODE_FLAGS } from "@parley/cli";
import type { Config } from "./config.ts";
import { LOOPBACK } from "./processes/ports.ts";
import type { ProcessSpec } from "./processes/process-run.ts";

export type SampleShopInputs = { config: Config; port: number; edgeUrl: string; publicKey: string };

/** Describes the process of the sample shop. The shop's pages embed the widget and have another origin than the edge. */
export function buildShopSpec({ config, port, edgeUrl, publicKey }: SampleShopInputs): ProcessSpec {
  const script = fileURLToPath(new URL("./sample-shop/src/main.ts", import.meta.url));
  return {
    name: "sample shop",
    args: [...NODE_FLAGS, script],
    env: { ...config.systemVariables, PORT: String(port), HOST: LOOPBACK, EDGE_URL: edgeUrl, PUBLIC_KEY: publicKey },
    readyUrl: `http://${LOOPBACK}:${port}/`,
    logPath: join(config.dataDir, "logs", "sample-shop.log"),
    stopTimeoutMs: 5_000,
  };
}
