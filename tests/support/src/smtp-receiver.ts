import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";

export type ReceivedEmail = {
  to: string;
  /** Whether the connection was encrypted. */
  isSecure: boolean;
  user: string | undefined;
  headers: Record<string, string>;
  /** The message as it arrived. */
  raw: string;
};

/** The response to a refused command, such as 451 or 550. */
export type Refusal = { code: number; text: string };

export type SmtpReceiver = {
  port: number;
  /** The accepted messages. */
  received: ReceivedEmail[];
  /** The messages that a client sent completely, also those that were refused. */
  attempts: ReceivedEmail[];
  /** Decides about a recipient. By default, accepts it. */
  onRecipient: (address: string) => Refusal | undefined;
  /** Decides about a message. By default, accepts it. */
  onMessage: (email: ReceivedEmail) => Promise<Refusal | undefined> | Refusal | undefined;
  close(): Promise<void>;
};

export type SmtpReceiverOptions = {
  /** With a certificate, clients can use STARTTLS. */
  certificate?: { key: string; cert: string };
  /** If set, clients must sign in. */
  user?: { name: string; password: string };
};

/** Starts an SMTP server on a free port of 127.0.0.1. */
export async function startSmtpReceiver({ certificate, user }: SmtpReceiverOptions = {}): Promise<SmtpReceiver> {
  const receiver: SmtpReceiver = {
    port: 0,
    received: [],
    attempts: [],
    onRecipient: () => undefined,
    onMessage: () => undefined,
    close: () => new Promise((closed) => server.close(() => closed())),
  };
  const server = new SMTPServer({
    ...certificate,
    ...(certificate === undefined && { hideSTARTTLS: true }),
    ...(user === undefined && { disabledCommands: ["AUTH"], authOptional: true }),
    disableReverseLookup: true,
    onAuth: ({ username, password }, _session, done) => {
      if (username === user?.name && password === user?.password) done(null, { user: username ?? "" });
      else done(toError({ code: 535, text: "wrong password" }));
    },
    onRcptTo: ({ address }, _session, done) => {
      const refusal = receiver.onRecipient(address);
      done(refusal && toError(refusal));
    },
    onData: async (stream, session, done) => {
      // Fails if the client is killed while it sends.
      const raw = (await stream.toArray().catch(() => undefined))?.join("");
      if (raw === undefined) return;
      const email = {
        to: session.envelope.rcptTo.map(({ address }) => address).join(),
        isSecure: session.secure === true,
        user: typeof session.user === "string" ? session.user : undefined,
        headers: headersOf(raw),
        raw,
      };
      receiver.attempts.push(email);
      const refusal = await receiver.onMessage(email);
      if (refusal === undefined) receiver.received.push(email);
      done(refusal && toError(refusal));
    },
  });
  // A client that is killed resets its connection.
  server.on("error", () => undefined);
  server.listen(0, "127.0.0.1");
  await once(server.server, "listening");
  receiver.port = (server.server.address() as AddressInfo).port;
  return receiver;
}

function toError({ code, text }: Refusal): Error {
  return Object.assign(new Error(text), { responseCode: code });
}

/** The headers by name in lower case. */
function headersOf(raw: string): Record<string, string> {
  const head = raw.split("\r\n\r\n", 1)[0] ?? "";
  const lines = head.replace(/\r\n[ \t]+/g, " ").split("\r\n");
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]),
  );
}
