import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import { join } from "node:path";
import type { Lifecycle } from "../process/lifecycle.ts";
import type { Logger } from "../process/logger.ts";
import { runPeriodically } from "../process/periodic.ts";

/** How often the certificate files are read again, so that a renewed certificate needs no restart. */
export const CERTIFICATE_REFRESH_MS = 30_000;

type Certificate = { cert: string; key: string };

export type TlsServerOptions = { tlsDir: string; refreshIntervalMs?: number };

/**
 * Returns an HTTPS server with the certificate in `tls.crt` and `tls.key` of a directory. Throws if a file cannot be read or the key does
 * not belong to the certificate. If a renewed pair has such a fault, logs a warning and keeps the previous pair.
 */
export function createTlsServer(
  { tlsDir, refreshIntervalMs = CERTIFICATE_REFRESH_MS }: TlsServerOptions,
  log: Pick<Logger, "warn">,
  lifecycle: Pick<Lifecycle, "onClose" | "closingSignal">,
): Server {
  let current = readCertificateAndKey(tlsDir);
  const server = createServer(current);
  const renew = async () => {
    const next = readCertificateAndKey(tlsDir);
    if (next.cert === current.cert && next.key === current.key) return;
    server.setSecureContext(next);
    current = next;
  };
  runPeriodically({ name: "renew the ops certificate", intervalMs: refreshIntervalMs, run: renew }, log, lifecycle);
  return server;
}

/** Throws if the certificate or its key cannot be used. */
export function readCertificateAndKey(tlsDir: string): Certificate {
  const read = (name: string) => readFileSync(join(tlsDir, name), "utf8");
  const [cert, key] = [read("tls.crt"), read("tls.key")];
  // Node.js accepts an empty key, for example of a file that is just being written, and then fails every handshake.
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)))
    throw new Error("tls.key does not belong to tls.crt");
  return { cert, key };
}
