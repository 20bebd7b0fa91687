import type { SampleShopOptions } from "./shop.ts";

/** Reads the environment. Throws if EDGE_URL or PUBLIC_KEY is missing, or if a value is invalid. */
export function readConfig(env: NodeJS.ProcessEnv = process.env): SampleShopOptions {
  const edgeUrl = env.EDGE_URL || "";
  const publicKey = env.PUBLIC_KEY || "";
  const port = Number(env.PORT || 8089);
  if (!URL.canParse(edgeUrl) || !publicKey || !Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new Error(
      "EDGE_URL must be the edge's origin, PUBLIC_KEY a public key, and PORT an integer from 0 to 65535 if it is set",
    );
  }
  return { edgeUrl: new URL(edgeUrl).origin, publicKey, port, host: env.HOST || "127.0.0.1" };
}
