import * as Menu from "@radix-ui/react-dropdown-menu";
import { useMutation } from "@tanstack/react-query";
import { errorText } from "../api/error-text.ts";
import { useSession } from "../api/session.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { getDirection, isolate } from "../i18n/language.ts";
import { t } from "../i18n/t.tsx";
import { handTo } from "./answer-visitor.ts";
import { type Colleague, useHandoffs } from "./handoffs-store.ts";

type HandOverProps = { sessionId: string; current: { id: string } | undefined; onChanged: () => void };

/** A menu of the colleagues to whom the agent can hand the conversation. Those whose inbox is open come first. */
export function HandOver({ sessionId, current, onChanged }: HandOverProps) {
  const { agent_id: agentId } = useSession();
  const announce = useAnnounce();
  const { agents } = useHandoffs();
  const { mutate, isPending } = useMutation({
    mutationFn: (colleague: Colleague) => handTo(sessionId, colleague),
    onSuccess: (_, { name }) => announce(t("The conversation was handed to {name}.", { name: isolate(name) })),
    onError: (error) => announce(errorText(error), { isError: true }),
    onSettled: onChanged,
  });
  const others = agents.filter(({ id }) => id !== agentId && id !== current?.id);
  if (others.length === 0) return null;
  const sorted = others.toSorted((a, b) => Number(b.is_here) - Number(a.is_here));
  return (
    <Menu.Root modal={false} dir={getDirection()}>
      <Menu.Trigger className="button" disabled={isPending}>
        {t("Hand to a colleague")}
      </Menu.Trigger>
      <Menu.Content className="menu" align="end" sideOffset={6}>
        {sorted.map((colleague) => (
          <Menu.Item key={colleague.id} className="menu-item" onSelect={() => mutate(colleague)}>
            <bdi>{colleague.name}</bdi>
            <small className="muted">{colleague.is_here ? t("Inbox is open") : t("Inbox is closed")}</small>
          </Menu.Item>
        ))}
      </Menu.Content>
    </Menu.Root>
  );
}
