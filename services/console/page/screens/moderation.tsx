import { ModerationAdminService, type Pattern } from "@parley/rpc/conversation";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { moderation } from "../api/clients.ts";
import { errorText } from "../api/error-text.ts";
import { patternsQuery } from "../api/queries.ts";
import { useMayCall, useSession } from "../api/session.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { BotScreen, useBotSlug } from "../components/bot-screen.tsx";
import { Button } from "../components/button.tsx";
import { Confirm } from "../components/dialogs.tsx";
import { focusNeighbour } from "../components/focus-neighbour.ts";
import { Icon } from "../components/icon.tsx";
import { Empty, Failure, Loading } from "../components/states.tsx";
import { t } from "../i18n/t.tsx";
import { APPLIES_TO, EditRule } from "../moderation/edit-rule.tsx";
import { RuleName } from "../moderation/rule-name.tsx";
import { TryText } from "../moderation/try-text.tsx";
import { describeRule } from "../moderation/words.ts";

export function Moderation() {
  const { workspace_id: workspaceId } = useSession();
  // Starts the query before the list of bots is loaded, so that the two requests run in parallel.
  useQuery(patternsQuery(workspaceId, useBotSlug()));
  return (
    <BotScreen
      title={t("Moderation")}
      intro={t("Rules that block a message or an answer and show a text of yours instead.")}
      path="/moderation"
    >
      {({ slug }) => <Rules key={slug} botSlug={slug} />}
    </BotScreen>
  );
}

function Rules({ botSlug }: { botSlug: string }) {
  const { workspace_id: workspaceId } = useSession();
  const { data: patterns, error, refetch } = useQuery(patternsQuery(workspaceId, botSlug));
  const [isAdding, setAdding] = useState(false);
  const mayAdd = useMayCall(ModerationAdminService.method.addPattern);
  const mayTry = useMayCall(ModerationAdminService.method.checkText);
  const addButton = mayAdd && (
    <button type="button" className="button primary" onClick={() => setAdding(true)}>
      <Icon name="plus" />
      {t("New rule")}
    </button>
  );
  if (patterns === undefined) return error ? <Failure error={error} onRetry={refetch} /> : <Loading />;
  return (
    <>
      {patterns.length === 0 ? (
        <Empty icon="shield" title={t("No rule yet")} action={addButton}>
          {t(
            "Without rules, the bot answers every message. For example, a rule with the word “refund” can answer such messages with the telephone number of your shop.",
          )}
        </Empty>
      ) : (
        <>
          {addButton && <div className="list-actions">{addButton}</div>}
          <ul className="rows panel flush">
            {patterns.map((pattern) => (
              <RuleRow key={String(pattern.id)} pattern={pattern} botSlug={botSlug} />
            ))}
          </ul>
          {mayTry && (
            <section className="panel" aria-labelledby="try-text">
              <h2 id="try-text">{t("Try a text")}</h2>
              <TryText botSlug={botSlug} />
            </section>
          )}
        </>
      )}
      {isAdding && <EditRule botSlug={botSlug} onClose={() => setAdding(false)} />}
    </>
  );
}

function RuleRow({ pattern, botSlug }: { pattern: Pattern; botSlug: string }) {
  const { workspace_id: workspaceId } = useSession();
  const mayUpdate = useMayCall(ModerationAdminService.method.updatePattern);
  const mayRemove = useMayCall(ModerationAdminService.method.removePattern);
  const [isConfirmOpen, setConfirmOpen] = useState(false);
  const [isEditing, setEditing] = useState(false);
  const row = useRef<HTMLLIElement>(null);
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const removal = useMutation({
    mutationFn: () => moderation.removePattern({ workspaceId, botSlug, id: pattern.id }),
    onSuccess: async () => {
      focusNeighbour(row.current);
      announce(t("The rule was removed."));
      await queryClient.invalidateQueries(patternsQuery(workspaceId, botSlug));
    },
    onError: (error) => announce(errorText(error), { isError: true }),
  });
  return (
    <li ref={row} className="row">
      <span className="row-icon">
        <Icon name="shield" />
      </span>
      <span className="row-text">
        <RuleName rule={pattern} />
        <small>
          {APPLIES_TO[pattern.appliesTo] ?? pattern.appliesTo} ·{" "}
          {pattern.fallback || t("shows the text from the bot's settings")}
        </small>
      </span>
      {mayUpdate && (
        <button
          type="button"
          className="button small"
          aria-label={t("Edit the rule {rule}", { rule: describeRule(pattern) })}
          onClick={() => setEditing(true)}
        >
          {t("Edit")}
        </button>
      )}
      {isEditing && <EditRule botSlug={botSlug} rule={pattern} onClose={() => setEditing(false)} />}
      {mayRemove && (
        <Button
          className="icon-button"
          aria-label={t("Remove the rule {rule}", { rule: describeRule(pattern) })}
          isDisabled={removal.isPending}
          onClick={() => setConfirmOpen(true)}
        >
          <Icon name="trash" />
        </Button>
      )}
      <Confirm
        title={t("Remove the rule?")}
        text={t("The bot will no longer block “{rule}”.", { rule: describeRule(pattern) })}
        action={t("Remove")}
        isOpen={isConfirmOpen}
        onOpenChange={setConfirmOpen}
        onConfirm={() => removal.mutate()}
      />
    </li>
  );
}
