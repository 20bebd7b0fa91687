import { Code, ConnectError } from "@connectrpc/connect";

/** Reads the body of a response that is not OK. */
export async function toConnectError(response: Response): Promise<ConnectError> {
  const text = await response.text().catch(() => "");
  return errorOf(response.status, text, response.headers.get("parley-code"));
}

/**
 * Returns the error of a response. The Connect code comes from the status. The sender of the response determines where the Parley code is:
 * - an admin service: in the header parley-code;
 * - the console: in `error`, such as `{"error": "payload_too_large"}`;
 * - the edge: in `detail`, such as `{"detail": "rate_limited"}`.
 */
export function errorOf(status: number, text: string, codeInHeader: string | null = null): ConnectError {
  const { error, detail, message } = parse(text);
  const code = codeInHeader ?? error ?? detail ?? (status === 413 ? "payload_too_large" : undefined);
  const metadata = code === undefined ? undefined : { "parley-code": code };
  return new ConnectError(message ?? `the console answered ${status}`, connectCodeOf(status), metadata);
}

type ErrorBody = Partial<Record<"error" | "detail" | "message", string>>;

function parse(text: string): ErrorBody {
  try {
    return (JSON.parse(text) as ErrorBody | null) ?? {};
  } catch {
    // A proxy sent this response.
    return {};
  }
}

function connectCodeOf(status: number): Code {
  if (status >= 500) return Code.Unavailable;
  switch (status) {
    case 400:
      return Code.InvalidArgument;
    case 401:
      return Code.Unauthenticated;
    case 403:
      return Code.PermissionDenied;
    default:
      return Code.Unknown;
  }
}
