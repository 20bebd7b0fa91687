import { EmailAdminService, type ListRecipientsResponse } from "@parley/rpc/conversation";
import { useQuery } from "@tanstack/react-query";
import { useMayCall, useSession } from "../api/session.ts";
import { Icon } from "../components/icon.tsx";
import { PageHeader } from "../components/page-header.tsx";
import { Failure, Loading } from "../components/states.tsx";
import { AddRecipient } from "../emails/add-recipient.tsx";
import { recipientsQuery } from "../emails/email-queries.ts";
import { RecipientRow } from "../emails/recipient-row.tsx";
import { t } from "../i18n/t.tsx";
import { EVENT_TYPES } from "../webhooks/event-types.ts";
import "../emails/emails.css";

/** When messages are sent, if that differs from when webhooks get the event. */
const MAILED_EVENTS: Readonly<Record<string, string>> = {
  "knowledge.failed": t("A document cannot be refreshed from its address"),
  "usage.threshold": t("The usage reaches a warning threshold of 80 or 100 %"),
};

export function Emails() {
  const { workspace_id: workspaceId } = useSession();
  const { data, error, refetch } = useQuery(recipientsQuery(workspaceId));
  return (
    <div className="screen">
      <PageHeader title={t("E-mail")}>{t("Parley writes to these people when something needs them.")}</PageHeader>
      {error && !data && <Failure error={error} onRetry={refetch} />}
      {!error && !data && <Loading />}
      {data && <Recipients response={data} />}
    </div>
  );
}

function Recipients({ response }: { response: ListRecipientsResponse }) {
  const { recipients, languages, available, types } = response;
  const mayAdd = useMayCall(EmailAdminService.method.addRecipient);
  return (
    <>
      {!available && (
        <div className="notice" role="note">
          <Icon name="alert" />
          <p>
            {t("This installation has no mail server, so no e-mail is sent. The operator can set one with SMTP_URL.")}
          </p>
        </div>
      )}
      {available && mayAdd && <AddRecipient languages={languages} />}
      <section className="panel" aria-labelledby="recipients">
        <h2 id="recipients">{t("Recipients")}</h2>
        {recipients.length === 0 && <p className="hint">{t("No recipient yet")}</p>}
        {recipients.length > 0 && (
          <ul className="rows" aria-labelledby="recipients">
            {recipients.map((recipient) => (
              <RecipientRow key={recipient.id} recipient={recipient} isAvailable={available} />
            ))}
          </ul>
        )}
      </section>
      <section className="panel" aria-labelledby="mailed-events">
        <h2 id="mailed-events">{t("When Parley writes")}</h2>
        <ul className="mailed-events">
          {types.map((type) => (
            <li key={type}>{MAILED_EVENTS[type] ?? EVENT_TYPES[type] ?? type}</li>
          ))}
        </ul>
      </section>
    </>
  );
}
