import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import { join } from "node:path";
import type { Lifecycle } from "./lifecycle.ts";
import type { Logger } from "./logger.ts";

/** How often the files are read again, so that a renewed certificate needs no restart. */
const REFRESH_INTERVAL_MS = 30_000;

type Certificate = { cert: string; key: string };

export type TlsServerOptions = { tlsDir: string; refreshIntervalMs?: number };

/**
 * Returns an HTTPS server with the certificate in `tls.crt` and `tls.key` of a directory. It does not ask for client certificates. Throws
 * when a file cannot be read or the key does not fit. Later, an unusable pair is logged, and the previous one stays in use.
 */
export function createTlsServer(
  { tlsDir, refreshIntervalMs = REFRESH_INTERVAL_MS }: TlsServerOptions,
  log: Pick<Logger, "warn">,
  lifecycle: Pick<Lifecycle, "onClose">,
): Server {
  let current = readCertificate(tlsDir);
  const server = createServer(current);
  const timer = setInterval(() => {
    try {
      const next = readCertificate(tlsDir);
      if (next.cert === current.cert && next.key === current.key) return;
      server.setSecureContext(next);
      current = next;
    } catch (error) {
      log.warn({ error, dir: tlsDir }, "new certificate cannot be used");
    }
  }, refreshIntervalMs).unref();
  lifecycle.onClose("ops certificate", () => clearInterval(timer));
  return server;
}

function readCertificate(tlsDir: string): Certificate {
  const read = (name: string) => readFileSync(join(tlsDir, name), "utf8");
  const [cert, key] = [read("tls.crt"), read("tls.key")];
  // Node.js accepts an empty key, for example of a file that is just being written, and then fails every handshake.
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)))
    throw new Error("tls.key does not belong to tls.crt");
  return { cert, key };
}
