import { hasDecodableUrlCredentials, isEmail, UNDECODABLE_URL_CREDENTIALS } from "@parley/service-kit";

/** How to reach the mail server. */
export type SmtpServer = {
  host: string;
  port: number;
  /** TLS from the first byte (smtps). Otherwise the connection must change to TLS with STARTTLS, unless isPlain is set. */
  secure: boolean;
  isPlain: boolean;
  auth: { user: string; pass: string } | undefined;
};

export type Sender = { name: string; address: string };

const DEFAULT_PORTS = { "smtps:": 465, "smtp:": 587 };

/**
 * Parses SMTP_URL, such as smtps://user:password@smtp.example.com. With smtp, STARTTLS is required, unless the URL ends in ?tls=off. Throws an
 * error that does not contain the URL, because it may hold a password.
 */
export function parseSmtpUrl(text: string): SmtpServer {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined;
  if (url === undefined || !(url.protocol === "smtp:" || url.protocol === "smtps:") || url.hostname === "")
    throw new Error("must be a URL like smtps://user:password@smtp.example.com or smtp://smtp.example.com:587");
  if (!["", "?tls=off"].includes(url.search) || !["", "/"].includes(url.pathname) || url.hash !== "")
    throw new Error("must have no path, and no query other than ?tls=off");
  if ((url.username === "") !== (url.password === "")) throw new Error("needs both a user name and a password");
  if (!hasDecodableUrlCredentials(url.href)) throw new Error(UNDECODABLE_URL_CREDENTIALS);
  const isPlain = url.search !== "";
  const secure = url.protocol === "smtps:";
  if (isPlain && secure) throw new Error("must not have ?tls=off with smtps");
  if (isPlain && url.username !== "")
    throw new Error("must have no password with ?tls=off, which would send it unencrypted");
  const [user, pass] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: Number(url.port) || DEFAULT_PORTS[url.protocol],
    ...{ secure, isPlain },
    auth: user === "" ? undefined : { user, pass },
  };
}

/** Parses MAIL_FROM: an address, or a name and an address in angle brackets. Throws if it is neither. */
export function parseSender(text: string): Sender {
  const [, name = "", address = text.trim()] = /^([^<>"@\r\n]*)<([^<>]*)>$/.exec(text.trim()) ?? [];
  if (!isEmail(address)) throw new Error("must be an e-mail address, such as Parley <parley@example.com>");
  return { name: name.trim(), address };
}
