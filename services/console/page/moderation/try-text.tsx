import type { PatternMatch } from "@parley/rpc/conversation";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { moderation } from "../api/clients.ts";
import { errorText } from "../api/error-text.ts";
import { useSession } from "../api/session.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Button } from "../components/button.tsx";
import { TextArea } from "../components/field.tsx";

type TryTextProps = {
  botSlug: string;
  /** `pattern` may be empty. `replacesId` is the id of the saved rule that the unsaved rule would replace, or 0. */
  unsaved?: { pattern: string; appliesTo: string; replacesId: bigint };
};

/** Shows which rules match a text. Has no form element, because EditRule shows it inside a form. */
export function TryText({ botSlug, unsaved }: TryTextProps) {
  const { workspace_id: workspaceId } = useSession();
  const announce = useAnnounce();
  const [text, setText] = useState("");
  const rule = unsaved?.pattern ? unsaved : undefined;
  /** The result of the last trial is current if the trial had this input. */
  const input = { text, rule: rule && `${rule.appliesTo} ${rule.pattern}` };
  const trial = useMutation({
    mutationFn: async (_: typeof input) => {
      const { matches } = await moderation.checkText({ workspaceId, botSlug, text, ...(rule && { unsaved: rule }) });
      return matches;
    },
    onSuccess: (matches) =>
      announce(matches.length === 0 ? "No rule matches." : `${describeMatchCount(matches.length)}.`),
  });
  // A result is shown until the text or the rule changes.
  const isCurrent = trial.variables?.text === input.text && trial.variables.rule === input.rule;
  return (
    <div className="form">
      <TextArea
        label="Text to try"
        hint={rule ? "Tried with this rule and the other saved rules." : "Nothing is stored or sent to anybody."}
        rows={2}
        maxLength={4_000}
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
      <div>
        <Button isDisabled={text === "" || trial.isPending} onClick={() => trial.mutate(input)}>
          {trial.isPending ? "Trying…" : "Try the text"}
        </Button>
      </div>
      {isCurrent && trial.error && (
        <p className="form-error" role="alert">
          {errorText(trial.error)}
        </p>
      )}
      {isCurrent && trial.data && <Matches matches={trial.data} />}
    </div>
  );
}

function Matches({ matches }: { matches: readonly PatternMatch[] }) {
  if (matches.length === 0) return <p className="hint">No rule matches. The text is not blocked.</p>;
  return (
    <ul className="rows" aria-label="Rules that match">
      {matches.map(({ pattern, blocksMessage, blocksReply }) => (
        <li key={String(pattern?.id)} className="row">
          <span className="row-text">
            <code>{pattern?.pattern}</code>
            <small>{describeMatch(blocksMessage, blocksReply)}</small>
          </span>
          {pattern?.id === 0n && <span className="badge neutral">Not saved</span>}
        </li>
      ))}
    </ul>
  );
}

function describeMatch(blocksMessage: boolean, blocksReply: boolean): string {
  if (blocksMessage && blocksReply) return "Blocks it as a visitor's message and as the bot's answer";
  return blocksMessage ? "Blocks it as a visitor's message" : "Blocks it as the bot's answer";
}

function describeMatchCount(count: number): string {
  return count === 1 ? "1 rule matches" : `${count} rules match`;
}
