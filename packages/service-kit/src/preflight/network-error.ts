import { listErrorAndCauses } from "../errors.ts";

/** Codes of Node.js for a certificate that no trusted authority has signed. */
const UNKNOWN_AUTHORITY =
  /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_(VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT(_LOCALLY)?))$/;

export type NetworkProblem = {
  /** The layer at which the connection failed. */
  layer: "dns" | "connection" | "tls";
  message: string;
};

/** Describes why a connection to `address` (`host:port`) failed. Returns undefined if DNS, the network and TLS are not the reason. */
export function describeNetworkError(error: unknown, address: string): NetworkProblem | undefined {
  const host = address.replace(/:\d+$/, "");
  const code = findCode(error);
  const problem = (layer: NetworkProblem["layer"], message: string) => ({ layer, message });
  switch (code) {
    case "ENOTFOUND":
    case "ENODATA":
      return problem("dns", `the host ${host} has no address in DNS`);
    case "EAI_AGAIN":
      return problem("dns", `DNS does not answer for the host ${host}`);
    case "ECONNREFUSED":
      return problem("connection", `${address} refuses connections`);
    case "EHOSTUNREACH":
    case "ENETUNREACH":
      return problem("connection", `there is no route to ${address}`);
    case "ECONNRESET":
    case "EPIPE":
      return problem("connection", `${address} closed the connection`);
    case "ETIMEDOUT":
    case "TIMEOUT":
      return problem("connection", `${address} does not answer; check firewalls and network policies`);
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return problem("tls", `the certificate of ${address} is not for the name ${host}`);
    case "CERT_HAS_EXPIRED":
      return problem("tls", `the certificate of ${address} has expired`);
    case "CERT_NOT_YET_VALID":
      return problem("tls", `the certificate of ${address} is not valid yet; check the clocks`);
    case "ERR_SSL_WRONG_VERSION_NUMBER":
    case "ERR_SSL_PACKET_LENGTH_TOO_LONG":
    case "EPROTO":
      return problem("tls", `${address} does not use TLS`);
    default:
      if (code === undefined || !UNKNOWN_AUTHORITY.test(code)) return undefined;
      return problem("tls", `the certificate of ${address} is from an authority that is not trusted`);
  }
}

/** Returns the code of an error or of the first of its causes that has one; `TIMEOUT` for an AbortSignal's and for pg's timeout. */
function findCode(error: unknown): string | undefined {
  // Node.js tries all addresses of a name, and collects their errors.
  const first = error instanceof AggregateError ? error.errors[0] : error;
  for (const each of listErrorAndCauses(first)) {
    const { code } = each as { code?: unknown };
    if (typeof code === "string") return code;
    if (each.name === "TimeoutError" || each.message === "timeout expired") return "TIMEOUT";
  }
  return undefined;
}
