import { HandoffService, type SessionDetails } from "@parley/rpc/conversation";
import { useMutation } from "@tanstack/react-query";
import { errorText } from "../api/error-text.ts";
import { useMayCall } from "../api/session.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Button } from "../components/button.tsx";
import { formatDateTime } from "../components/dates.ts";
import { t } from "../i18n/t.tsx";
import { finishContact } from "./answer-visitor.ts";

/** What the visitor has left for the team because nobody was there. Shows nothing if there is nothing. */
export function ContactMessages({ session, onChanged }: { session: SessionDetails; onChanged: () => void }) {
  const announce = useAnnounce();
  const mayAnswer = useMayCall(HandoffService.method.changeHandoff);
  const { mutate, isPending } = useMutation({
    mutationFn: (contactId: string) => finishContact(session.id, contactId),
    onError: (error) => announce(errorText(error), { isError: true }),
    onSettled: onChanged,
  });
  const last = session.contactMessages.at(-1);
  if (last === undefined) return null;
  return (
    <section className="panel" aria-labelledby="contact-messages">
      <div className="panel-header">
        <h2 id="contact-messages">{t("Message for the team")}</h2>
        {session.contactPending && <span className="badge waiting">{t("Waits for an e-mail")}</span>}
        {session.contactPending && mayAnswer && (
          <Button isDisabled={isPending} onClick={() => mutate(last.id)}>
            {t("Mark as answered")}
          </Button>
        )}
      </div>
      {session.contactMessages.map(({ id, email, message, createdAt }) => (
        <article key={id} className="contact-message" aria-label={formatDateTime(createdAt)}>
          <p>
            <a href={toMailto(email)}>
              <bdi>{email}</bdi>
            </a>{" "}
            <small className="muted">{formatDateTime(createdAt)}</small>
          </p>
          <p dir="auto" className="contact-text">
            {message}
          </p>
        </article>
      ))}
    </section>
  );
}

const toMailto = (email: string) => `mailto:${email.split("@").map(encodeURIComponent).join("@")}`;
