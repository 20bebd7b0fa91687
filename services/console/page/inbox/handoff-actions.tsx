import { useMutation } from "@tanstack/react-query";
import { errorText } from "../api/error-text.ts";
import { useSession } from "../api/session.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Button } from "../components/button.tsx";
import { isolate } from "../i18n/language.ts";
import { t } from "../i18n/t.tsx";
import { changeHandoff } from "./answer-visitor.ts";
import { HandOver } from "./hand-over.tsx";
import type { HandedOff } from "./handoffs-store.ts";

type ActionsProps = { sessionId: string; conversation: HandedOff | undefined; onChanged: () => void };

/** Takes the conversation, takes it over from another agent, hands it to a colleague, or gives it back to the bot. */
export function HandoffActions({ sessionId, conversation, onChanged }: ActionsProps) {
  const announce = useAnnounce();
  const { agent_id: agentId } = useSession();
  const { mutate, isPending } = useMutation({
    mutationFn: (action: "take" | "assign" | "resolve") => changeHandoff(sessionId, action),
    onError: (error) => announce(errorText(error), { isError: true }),
    onSettled: onChanged,
  });
  const agent = conversation?.handoff.state === "assigned" ? conversation.handoff.agent : undefined;
  const isOwn = agent?.id === agentId;
  return (
    <>
      {agent === undefined && (
        <Button className="button primary" isDisabled={isPending} onClick={() => mutate("take")}>
          {t("Take")}
        </Button>
      )}
      {agent !== undefined && !isOwn && (
        <Button isDisabled={isPending} onClick={() => mutate("assign")}>
          {t("Take over from {name}", { name: isolate(agent.name) })}
        </Button>
      )}
      <HandOver sessionId={sessionId} current={agent} onChanged={onChanged} />
      {conversation !== undefined && conversation.handoff.state !== "bot" && (
        <Button isDisabled={isPending} onClick={() => mutate("resolve")}>
          {t("Back to the bot")}
        </Button>
      )}
    </>
  );
}
