import {
  type Database,
  FairQueue,
  type Logger,
  openSecret,
  type Registry,
  type SecretOptions,
  type SecretSource,
} from "@parley/service-kit";
import { createEmailCounter } from "./emails.metrics.ts";
import { type OutgoingEmail, sendEmail } from "./send-email.client.ts";
import { EmailSender } from "./sender.worker.ts";
import type { Sender, SmtpServer } from "./smtp-settings.ts";

/** How many messages a replica sends at once, over all shards. */
const EMAILS_AT_ONCE = 8;

type EmailSettings = {
  /** If undefined, e-mail is off. */
  email: { server: SecretSource<SmtpServer>; sender: Sender } | undefined;
};

type EmailsDeps = { registry: Registry; log: Logger; secretOptions: SecretOptions };

/** Returns a function that creates the sender of a shard. */
export function createEmails({ email }: EmailSettings, { registry, log, secretOptions }: EmailsDeps) {
  const shared = {
    send: email && createSend(email, { log, secretOptions }),
    attempts: new FairQueue({ maxActive: EMAILS_AT_ONCE }),
    metrics: { emails: createEmailCounter(registry) },
    log,
  };
  return (database: Database) => new EmailSender({ ...shared, database });
}

function createSend(
  { server: source, sender }: NonNullable<EmailSettings["email"]>,
  { log, secretOptions }: Pick<EmailsDeps, "log" | "secretOptions">,
) {
  const server = openSecret(source, secretOptions);
  return (message: OutgoingEmail) => sendEmail({ server: server.current(), sender, log }, message);
}
