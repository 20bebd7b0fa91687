import type { Pattern } from "@parley/rpc/conversation";
import { PatternChangesSchema } from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { moderation } from "../api/clients.ts";
import { patternsQuery } from "../api/queries.ts";
import { useSession } from "../api/session.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Modal } from "../components/dialogs.tsx";
import { SelectField, TextArea, TextField } from "../components/field.tsx";
import { MutationForm } from "../components/mutation-form.tsx";
import { t } from "../i18n/t.tsx";
import { TryText } from "./try-text.tsx";
import { type Expression, splitWords, toFields } from "./words.ts";

export const APPLIES_TO: Readonly<Record<string, string>> = {
  message: t("Visitors' messages"),
  reply: t("The bot's answers"),
  both: t("Messages and answers"),
};

const KINDS = [
  ["words", t("Words or phrases")],
  ["pattern", t("Pattern, for experts")],
] as const;

/** A dialog that changes `rule` or, without one, adds a rule. */
export function EditRule({ botSlug, rule, onClose }: { botSlug: string; rule?: Pattern; onClose: () => void }) {
  const { workspace_id: workspaceId } = useSession();
  const isPattern = rule !== undefined && rule.words.length === 0;
  const [kind, setKind] = useState<Expression["kind"]>(isPattern ? "pattern" : "words");
  const [words, setWords] = useState(rule?.words.join("\n") ?? "");
  const [pattern, setPattern] = useState(isPattern ? rule.pattern : "");
  const [fallback, setFallback] = useState(rule?.fallback ?? "");
  const [appliesTo, setAppliesTo] = useState(rule?.appliesTo ?? "message");
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const expression: Expression = kind === "words" ? { kind, words: splitWords(words) } : { kind, pattern };
  const saving = useMutation({
    mutationFn: async () => {
      const fields = { fallback, appliesTo };
      if (rule) {
        const changes = kind === "words" ? { words: { values: splitWords(words) } } : { pattern };
        await moderation.updatePattern({ workspaceId, botSlug, id: rule.id, changes: { ...fields, ...changes } });
      } else await moderation.addPattern({ workspaceId, botSlug, ...fields, ...toFields(expression) });
    },
    onSuccess: () => {
      announce(
        rule
          ? t("The rule was changed. It applies within seconds.")
          : t("The rule was added. It applies within seconds."),
      );
      void queryClient.invalidateQueries(patternsQuery(workspaceId, botSlug));
    },
  });
  const action = rule ? t("Save rule") : t("Add rule");
  return (
    <Modal title={rule ? t("Change the rule") : t("New rule")} isOpen onOpenChange={onClose}>
      <MutationForm mutation={saving} action={action} pendingAction={t("Saving…")} onClose={onClose}>
        {kind === "words" ? (
          <TextArea
            label={t("Words")}
            hint={t(
              "One word or phrase on each line, such as refund or money back. “refund” also blocks “Refund!” and “réfund”, but not “refundable”.",
            )}
            required
            rows={4}
            maxLength={limitsOf(PatternChangesSchema.field.pattern).max}
            value={words}
            onChange={({ target }) => setWords(target.value)}
          />
        ) : (
          <TextField
            label={t("Pattern")}
            hint={t(
              "A regular expression. It may match any part of a text, and upper and lower case are the same. For example, {pattern} blocks “order” with a number of five digits.",
              { pattern: "order \\d{5}" },
            )}
            required
            maxLength={limitsOf(PatternChangesSchema.field.pattern).max}
            spellCheck={false}
            value={pattern}
            onChange={({ target }) => setPattern(target.value)}
          />
        )}
        <SelectField
          label={t("Kind")}
          options={KINDS}
          value={kind}
          onChange={(value) => setKind(value as Expression["kind"])}
        />
        <SelectField
          label={t("Applies to")}
          options={Object.entries(APPLIES_TO)}
          value={appliesTo}
          onChange={setAppliesTo}
        />
        <TextArea
          label={t("Text in place of the answer")}
          hint={t("If empty, visitors see the text that the bot's settings have for blocked answers.")}
          rows={2}
          maxLength={limitsOf(PatternChangesSchema.field.fallback).max}
          value={fallback}
          onChange={({ target }) => setFallback(target.value)}
        />
        <TryText botSlug={botSlug} unsaved={{ expression, appliesTo, replacesId: rule?.id ?? 0n }} />
      </MutationForm>
    </Modal>
  );
}
