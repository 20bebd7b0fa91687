import { accessSync, constants } from "node:fs";
import { join } from "node:path";
import { ChannelCredentials, experimental, ServerCredentials } from "@grpc/grpc-js";

/** A renewed certificate is in use within this time, without a restart. */
const REREAD_MS = 30_000;

/** The names that cert-manager gives its files, which any other issuer's can be given too. */
const FILES = { caCertificateFile: "ca.crt", certificateFile: "tls.crt", privateKeyFile: "tls.key" };

/**
 * What a gRPC server shows its callers: its certificate, and it refuses callers that show none of the same authority. Plain text
 * without a directory. Throws when a file cannot be read.
 */
export function serverCredentials(tlsDir: string | undefined): ServerCredentials {
  if (tlsDir === undefined) return ServerCredentials.createInsecure();
  const certificates = readCertificates(tlsDir);
  return experimental.createCertificateProviderServerCredentials(certificates, certificates, true);
}

/** What a client shows its peer, and asks of it. Plain text without a directory. Throws when a file cannot be read. */
export function channelCredentials(tlsDir: string | undefined): ChannelCredentials {
  if (tlsDir === undefined) return ChannelCredentials.createInsecure();
  const certificates = readCertificates(tlsDir);
  return experimental.createCertificateProviderChannelCredentials(certificates, certificates);
}

function readCertificates(tlsDir: string): experimental.FileWatcherCertificateProvider {
  const files = Object.entries(FILES).map(([name, file]) => [name, join(tlsDir, file)] as const);
  // The provider itself would wait for a missing file without a word.
  for (const [, path] of files) accessSync(path, constants.R_OK);
  return new experimental.FileWatcherCertificateProvider({
    ...Object.fromEntries(files),
    refreshIntervalMs: REREAD_MS,
  });
}
