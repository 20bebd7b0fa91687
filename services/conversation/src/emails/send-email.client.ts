import type { Logger } from "@parley/service-kit";
import { createTransport, type NodemailerError } from "nodemailer";
import { type SendResult, toStoredError } from "./email.ts";
import type { Sender, SmtpServer } from "./smtp-settings.ts";

/** The limit of an attempt, from the DNS request to the server's last response. */
const TIMEOUT_MS = 20_000;
const CONNECT_TIMEOUT_MS = 10_000;

/** A message for one recipient. */
export type OutgoingEmail = {
  /** Unique and the same for every attempt, without the domain. */
  id: string;
  to: string;
  /** Where a reply goes; undefined for the sender. */
  replyTo?: string | undefined;
  date: Date;
  subject: string;
  text: string;
  html: string;
};

export type SendEmailDeps = {
  server: SmtpServer;
  sender: Sender;
  log: Pick<Logger, "info">;
  timeoutMs?: number;
};

/**
 * Makes one attempt to send a message, and returns its result. Only a refusal of the recipient or of the message is final: a refused password or
 * sender is the operator's to correct, so the message waits for it.
 */
export async function sendEmail(
  { server, sender, log, timeoutMs = TIMEOUT_MS }: SendEmailDeps,
  { id, to, ...content }: OutgoingEmail,
): Promise<SendResult> {
  const { host, port, secure, isPlain, auth } = server;
  const transport = createTransport({
    ...{ host, port, secure, auth },
    ...(isPlain ? { ignoreTLS: true } : { requireTLS: true }),
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  try {
    await transport.sendMail({
      ...content,
      from: sender,
      to,
      messageId: `<${id}@${sender.address.slice(sender.address.indexOf("@") + 1)}>`,
      // Makes a second copy of the message the same byte by byte. A boundary has at most 70 characters.
      baseBoundary: id.slice(0, 40),
      // Out-of-office programs do not reply to it.
      headers: { "Auto-Submitted": "auto-generated" },
      signal: AbortSignal.timeout(timeoutMs),
    });
    return { status: "sent" };
  } catch (thrown) {
    const error = thrown as NodemailerError;
    const { code, responseCode, command } = error;
    // Without the response, which may contain the address.
    log.info({ host, code, response_code: responseCode, command }, "email attempt failed");
    return { status: isFinal(error) ? "failed" : "retry", error: toStoredError(error.response ?? error.message) };
  }
}

function isFinal({ permanent, command }: NodemailerError): boolean {
  return permanent === true && (command === "RCPT TO" || command === "DATA");
}
