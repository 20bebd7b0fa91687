import { t } from "../i18n/t.tsx";

/** The types of events that a webhook can choose, and when they occur. */
export const EVENT_TYPES: Readonly<Record<string, string>> = {
  "conversation.started": t("A conversation starts"),
  "message.completed": t("An answer is complete"),
  "message.blocked": t("A message or an answer is blocked"),
  "message.rated": t("A visitor rates an answer"),
  "conversation.erased": t("A conversation is erased"),
  "handoff.requested": t("A visitor asks for a person"),
  "handoff.assigned": t("A person takes over"),
  "handoff.message": t("A visitor writes to a person"),
  "handoff.resolved": t("The bot answers again"),
  "handoff.contact": t("A visitor leaves a message"),
  "knowledge.failed": t("A document cannot be added or refreshed"),
  "usage.threshold": t("The usage reaches a warning threshold"),
  "usage.resolved": t("The usage falls below a warning threshold"),
  "usage.month_closed": t("The usage of a month is final"),
  "webhook.disabled": t("A webhook is disabled"),
};

/** Returns what an event of a delivery is about. */
export function nameEventType(type: string): string {
  return type === "test" ? t("Test event") : (EVENT_TYPES[type] ?? type);
}
