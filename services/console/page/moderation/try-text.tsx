import type { PatternMatch } from "@parley/rpc/conversation";
import { CheckTextRequestSchema } from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { moderation } from "../api/clients.ts";
import { errorText } from "../api/error-text.ts";
import { patternsQuery } from "../api/queries.ts";
import { useSession } from "../api/session.ts";
import { TextArea } from "../components/field.tsx";
import { useAfterPause } from "../components/use-after-pause.ts";
import { t } from "../i18n/t.tsx";
import { RuleName } from "./rule-name.tsx";
import { type Expression, isEmpty, toFields } from "./words.ts";

/** The trial starts when the owner has typed nothing for this time. */
const PAUSE_MS = 400;

type TryTextProps = {
  botSlug: string;
  /** `expression` may be empty. `replacesId` is the id of the saved rule that the unsaved rule would replace, or 0. */
  unsaved?: { expression: Expression; appliesTo: string; replacesId: bigint };
};

/** Shows which rules match a text, while the owner types it. Has no form element, because EditRule shows it inside a form. */
export function TryText({ botSlug, unsaved }: TryTextProps) {
  const { workspace_id: workspaceId } = useSession();
  const [text, setText] = useState("");
  const rule = unsaved && !isEmpty(unsaved.expression) ? unsaved : undefined;
  const input = JSON.stringify([text, rule?.appliesTo, rule?.expression]);
  const settledInput = useAfterPause(input, PAUSE_MS);
  const isTyping = input !== settledInput;
  const { data, error } = useQuery({
    // Below the key of the rules, so that a changed rule is tried again.
    queryKey: [...patternsQuery(workspaceId, botSlug).queryKey, "check", settledInput],
    queryFn: async () => {
      const fields = rule && { appliesTo: rule.appliesTo, replacesId: rule.replacesId, ...toFields(rule.expression) };
      return (await moderation.checkText({ workspaceId, botSlug, text, ...(fields && { unsaved: fields }) })).matches;
    },
    enabled: text !== "" && !isTyping,
    gcTime: 0,
  });
  return (
    <div className="form">
      <TextArea
        label={t("Text to try")}
        hint={
          rule
            ? t("Shows below which rules block it: this one, and the other saved rules.")
            : t("Shows below which rules block it. Nothing is stored or sent to anybody.")
        }
        rows={2}
        maxLength={limitsOf(CheckTextRequestSchema.field.text).max}
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
      <div className="form" aria-live="polite">
        {text !== "" && !isTyping && error && <p className="form-error">{errorText(error)}</p>}
        {text !== "" && !isTyping && !error && data && <Matches matches={data} />}
      </div>
    </div>
  );
}

function Matches({ matches }: { matches: readonly PatternMatch[] }) {
  if (matches.length === 0) return <p className="hint">{t("No rule blocks this text.")}</p>;
  return (
    <ul className="rows" aria-label={t("Rules that match")}>
      {matches.map(({ pattern, blocksMessage, blocksReply }) => (
        <li key={String(pattern?.id)} className="row">
          <span className="row-text">
            {pattern && <RuleName rule={pattern} />}
            <small>{describeMatch(blocksMessage, blocksReply)}</small>
          </span>
          {pattern?.id === 0n && <span className="badge neutral">{t("Not saved")}</span>}
        </li>
      ))}
    </ul>
  );
}

function describeMatch(blocksMessage: boolean, blocksReply: boolean): string {
  if (blocksMessage && blocksReply) return t("Blocks it as a visitor's message and as the bot's answer");
  return blocksMessage ? t("Blocks it as a visitor's message") : t("Blocks it as the bot's answer");
}
