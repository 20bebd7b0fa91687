import { X509Certificate } from "node:crypto";
import { type Counter, Gauge, type Registry } from "prom-client";
import { readGrpcCertificates } from "../grpc/certificate-files.ts";
import type { Lifecycle } from "../process/lifecycle.ts";
import type { Logger } from "../process/logger.ts";
import { runPeriodically } from "../process/periodic.ts";
import type { Reload } from "../settings/secrets.ts";
import { CERTIFICATE_REFRESH_MS, readCertificateAndKey } from "./ops-tls.ts";

export type CertificateWatchOptions = {
  /** The directory with the `ca.crt`, `tls.crt` and `tls.key` of calls between services. Undefined without TLS. */
  grpcTlsDir?: string | undefined;
  /** The directory with the `tls.crt` and `tls.key` of the ops port. Undefined without TLS. */
  opsTlsDir?: string | undefined;
  registry: Registry;
  /** Counts each read of unusable files. */
  reloadRefusals: Counter<"file">;
  /** Called when the files of a directory have changed: accepted, or refused. */
  onReload?: (reload: Reload) => void;
  refreshIntervalMs?: number;
};

/** Reads the certificate files regularly. Measures their earliest expiry, and counts and logs unusable files. */
export function watchCertificates(
  {
    grpcTlsDir,
    opsTlsDir,
    registry,
    reloadRefusals,
    onReload,
    refreshIntervalMs = CERTIFICATE_REFRESH_MS,
  }: CertificateWatchOptions,
  log: Pick<Logger, "warn">,
  lifecycle: Pick<Lifecycle, "onClose" | "closingSignal">,
): void {
  /** For each directory, a function that returns the certificate in tls.crt. It throws if a file of the directory cannot be used. */
  const readers = new Map<string, () => Buffer | string>();
  if (opsTlsDir !== undefined) readers.set(opsTlsDir, () => readCertificateAndKey(opsTlsDir).cert);
  // If grpcTlsDir equals opsTlsDir, this reader replaces the reader above, which does not check ca.crt.
  if (grpcTlsDir !== undefined) readers.set(grpcTlsDir, () => readGrpcCertificates(grpcTlsDir).certificate);
  const expirySeconds = new Map<string, number>();
  new Gauge({
    name: "parley_certificate_expiry_timestamp_seconds",
    help: "Earliest expiry of the certificates that this process serves, in seconds since 1970; no series without TLS.",
    registers: [registry],
    collect() {
      this.reset();
      if (expirySeconds.size > 0) this.set({}, Math.min(...expirySeconds.values()));
      else this.remove({});
    },
  });
  if (readers.size === 0) return;
  // PromQL's increase() misses the first increment of a series that does not exist yet.
  reloadRefusals.inc({ file: "tls.crt" }, 0);
  /** For each directory, the fingerprint of the certificate or the message of the error that the last read had. */
  const lastStates = new Map<string, string>();
  const report = (directory: string, state: string, result: Reload["result"]) => {
    const last = lastStates.get(directory);
    lastStates.set(directory, state);
    if (last !== undefined && last !== state) onReload?.({ file: "tls.crt", result });
  };
  const read = async () => {
    for (const [directory, readCertificate] of readers) {
      try {
        const certificate = new X509Certificate(readCertificate());
        expirySeconds.set(directory, Date.parse(certificate.validTo) / 1_000);
        report(directory, certificate.fingerprint256, "accepted");
      } catch (error) {
        reloadRefusals.inc({ file: "tls.crt" });
        log.warn({ error }, "renewed certificate refused, previous one kept");
        report(directory, String(error), "refused");
      }
    }
  };
  runPeriodically({ name: "read the certificates", intervalMs: refreshIntervalMs, run: read }, log, lifecycle);
}
