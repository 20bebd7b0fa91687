import { accessSync, constants } from "node:fs";
import { join } from "node:path";
import { ChannelCredentials, experimental, ServerCredentials } from "@grpc/grpc-js";

/** How often the certificate files are read again, so that a renewed certificate needs no restart. */
const REFRESH_INTERVAL_MS = 30_000;

/** The file names in cert-manager's Secrets. */
const CERTIFICATE_FILES = { caCertificateFile: "ca.crt", certificateFile: "tls.crt", privateKeyFile: "tls.key" };

/**
 * Returns the credentials of a gRPC server with mutual TLS: it requires a client certificate of the same authority. Without a directory,
 * the credentials are for plain text. Throws when a file cannot be read.
 */
export function serverCredentials(tlsDir: string | undefined): ServerCredentials {
  if (tlsDir === undefined) return ServerCredentials.createInsecure();
  const certificates = readCertificates(tlsDir);
  return experimental.createCertificateProviderServerCredentials(certificates, certificates, true);
}

/**
 * Returns the credentials of a client with mutual TLS. Without a directory, the credentials are for plain text. Throws when a file cannot
 * be read.
 */
export function channelCredentials(tlsDir: string | undefined): ChannelCredentials {
  if (tlsDir === undefined) return ChannelCredentials.createInsecure();
  const certificates = readCertificates(tlsDir);
  return experimental.createCertificateProviderChannelCredentials(certificates, certificates);
}

function readCertificates(tlsDir: string): experimental.FileWatcherCertificateProvider {
  const files = Object.entries(CERTIFICATE_FILES).map(([option, file]) => [option, join(tlsDir, file)] as const);
  // The provider would wait silently for a missing file.
  for (const [, path] of files) accessSync(path, constants.R_OK);
  return new experimental.FileWatcherCertificateProvider({
    ...Object.fromEntries(files),
    refreshIntervalMs: REFRESH_INTERVAL_MS,
  });
}
