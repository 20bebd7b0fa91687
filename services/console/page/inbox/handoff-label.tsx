import { useSession } from "../api/session.ts";
import { isolate } from "../i18n/language.ts";
import { t } from "../i18n/t.tsx";
import type { HandedOff } from "./handoffs-store.ts";

/** Who answers the visitor. */
export function HandoffLabel({ conversation }: { conversation: HandedOff | undefined }) {
  const { agent_id: agentId } = useSession();
  const { state, agent } = conversation?.handoff ?? { state: "bot" };
  if (state === "requested") return t("A visitor waits for a person");
  if (state !== "assigned" || agent === undefined) return t("The bot answers");
  return agent.id === agentId ? t("You answer") : t("{name} answers", { name: isolate(agent.name) });
}
