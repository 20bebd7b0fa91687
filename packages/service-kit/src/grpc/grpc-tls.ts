import { ChannelCredentials, experimental, ServerCredentials } from "@grpc/grpc-js";
import { CERTIFICATE_REFRESH_MS } from "../ops/ops-tls.ts";
import { CertificateFiles } from "./certificate-files.ts";

/**
 * Returns credentials for mutual TLS: the server requires a client certificate that a CA in the directory's `ca.crt` signed.
 * Without a directory, returns credentials for plain text. Throws if the files cannot be used.
 */
export function serverCredentials(
  tlsDir: string | undefined,
  refreshIntervalMs = CERTIFICATE_REFRESH_MS,
): ServerCredentials {
  if (tlsDir === undefined) return ServerCredentials.createInsecure();
  const certificates = new CertificateFiles(tlsDir, refreshIntervalMs);
  return experimental.createCertificateProviderServerCredentials(certificates, certificates, true);
}

/** The client's counterpart of `serverCredentials`. Throws if the files cannot be used. */
export function channelCredentials(
  tlsDir: string | undefined,
  refreshIntervalMs = CERTIFICATE_REFRESH_MS,
): ChannelCredentials {
  if (tlsDir === undefined) return ChannelCredentials.createInsecure();
  const certificates = new CertificateFiles(tlsDir, refreshIntervalMs);
  return experimental.createCertificateProviderChannelCredentials(certificates, certificates);
}
