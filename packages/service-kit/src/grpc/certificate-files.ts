import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { experimental } from "@grpc/grpc-js";
import { readCertificateAndKey } from "../ops/ops-tls.ts";

type Certificates = experimental.CaCertificateUpdate & experimental.IdentityCertificateUpdate;
type CaListener = experimental.CaCertificateUpdateListener;
type IdentityListener = experimental.IdentityCertificateUpdateListener;

/**
 * Gives gRPC the certificates in `ca.crt`, `tls.crt` and `tls.key` of a directory, and reads the files again regularly. While the files cannot
 * be used, gRPC keeps the last usable certificates. With grpc-js's own provider, every new connection would then fail.
 */
export class CertificateFiles implements experimental.CertificateProvider {
  readonly #tlsDir: string;
  readonly #refreshIntervalMs: number;
  readonly #caListeners = new Set<CaListener>();
  readonly #identityListeners = new Set<IdentityListener>();
  #current: Certificates;
  #timer: NodeJS.Timeout | undefined;

  /** Throws if the files cannot be used. */
  constructor(tlsDir: string, refreshIntervalMs: number) {
    this.#tlsDir = tlsDir;
    this.#refreshIntervalMs = refreshIntervalMs;
    this.#current = readGrpcCertificates(tlsDir);
  }

  addCaCertificateListener(listener: CaListener): void {
    this.#caListeners.add(listener);
    this.#watchIfUsed();
    process.nextTick(listener, this.#current);
  }

  removeCaCertificateListener(listener: CaListener): void {
    this.#caListeners.delete(listener);
    this.#watchIfUsed();
  }

  addIdentityCertificateListener(listener: IdentityListener): void {
    this.#identityListeners.add(listener);
    this.#watchIfUsed();
    process.nextTick(listener, this.#current);
  }

  removeIdentityCertificateListener(listener: IdentityListener): void {
    this.#identityListeners.delete(listener);
    this.#watchIfUsed();
  }

  #watchIfUsed(): void {
    if (this.#caListeners.size + this.#identityListeners.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    } else if (this.#timer === undefined) {
      // The files may have changed while gRPC had no connection, and so no listener.
      this.#read();
      this.#timer = setInterval(() => this.#readAndNotify(), this.#refreshIntervalMs).unref();
    }
  }

  #readAndNotify(): void {
    this.#read();
    for (const listener of this.#caListeners) listener(this.#current);
    for (const listener of this.#identityListeners) listener(this.#current);
  }

  #read(): void {
    try {
      this.#current = readGrpcCertificates(this.#tlsDir);
    } catch {
      // watchCertificates reports unusable files.
    }
  }
}

/** Returns the certificates for calls between services. Throws if a file cannot be used. */
export function readGrpcCertificates(tlsDir: string): Certificates {
  const { cert, key } = readCertificateAndKey(tlsDir);
  return { caCertificate: readCaCertificate(tlsDir), certificate: Buffer.from(cert), privateKey: Buffer.from(key) };
}

function readCaCertificate(tlsDir: string): Buffer {
  const caCertificate = readFileSync(join(tlsDir, "ca.crt"));
  try {
    new X509Certificate(caCertificate);
  } catch (cause) {
    throw new Error("ca.crt contains no certificate", { cause });
  }
  return caCertificate;
}
