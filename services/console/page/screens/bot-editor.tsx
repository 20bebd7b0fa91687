import { type Bot, BotAdminService, BotChangesSchema } from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useBlocker } from "@tanstack/react-router";
import { type SubmitEvent, useEffect, useState } from "react";
import { bots as botsClient } from "../api/clients.ts";
import { errorText } from "../api/error-text.ts";
import { botsQuery, modelsQuery, useBots } from "../api/queries.ts";
import { useMayCall, useSession } from "../api/session.ts";
import { Answers } from "../bots/answers.tsx";
import { BotFacts } from "../bots/bot-facts.tsx";
import { BotFrame } from "../bots/bot-frame.tsx";
import {
  type BotSettings,
  findConflicts,
  LABELS,
  toBotChanges,
  toBotSettings,
  withoutSaved,
} from "../bots/bot-settings.ts";
import { Consent } from "../bots/consent.tsx";
import { HandoffSettings } from "../bots/handoff.tsx";
import { Languages } from "../bots/languages.tsx";
import { Looks } from "../bots/looks.tsx";
import { QuickReplies } from "../bots/quick-replies.tsx";
import { useAnnounce } from "../components/announcements.tsx";
import { Button } from "../components/button.tsx";
import { resolveBotSlug } from "../components/chosen-bot.ts";
import { Confirm } from "../components/dialogs.tsx";
import { TextArea, TextField } from "../components/field.tsx";
import { PageHeader } from "../components/page-header.tsx";
import type { Display } from "../components/preview.tsx";
import { Failure, ScreenLoading } from "../components/states.tsx";
import { withoutBlanks } from "../components/without-blanks.ts";
import { T, t } from "../i18n/t.tsx";

const route = getRouteApi("/shell/bots/$slug");

export function BotEditor() {
  const { slug } = route.useParams();
  resolveBotSlug(slug);
  const { workspace_id: workspaceId } = useSession();
  const mayUpdate = useMayCall(BotAdminService.method.updateBot);
  const { data: bots, error, refetch } = useBots();
  // Fetched here and not in Editor, so that the requests for the bots and for the models run in parallel.
  const { data: models = [] } = useQuery(modelsQuery(workspaceId));
  if (bots === undefined) {
    if (!error) return <ScreenLoading />;
    return (
      <div className="screen">
        <PageHeader title={t("Bot")} />
        <Failure error={error} onRetry={refetch} />
      </div>
    );
  }
  const bot = bots.find((each) => each.slug === slug);
  if (bot?.display === undefined) {
    return (
      <div className="screen">
        <PageHeader title={t("Bot not found")}>
          <T
            text="This workspace has no bot with the short name {slug}. It may have been deleted."
            slug={<code>{slug}</code>}
          />
        </PageHeader>
        <p>
          <Link to="/bots">{t("See all bots")}</Link>
        </p>
      </div>
    );
  }
  const stored = toBotSettings(bot);
  if (mayUpdate) return <Editor key={bot.id} bot={bot} stored={stored} models={models} />;
  return (
    <BotFrame
      bot={bot}
      display={toDisplay(bot, stored)}
      hint={t("The bot's answers count towards this month's messages.")}
    >
      <BotFacts settings={stored} />
    </BotFrame>
  );
}

function toDisplay(bot: Bot, draft: BotSettings): Display {
  return {
    ...draft,
    quickReplies: withoutBlanks(draft.quickReplies),
    customCssVars: bot.display?.customCssVars ?? {},
  };
}

type EditorProps = {
  bot: Bot;
  stored: BotSettings;
  /** The models of the workspace's plan. */
  models: readonly string[];
};

function Editor({ bot, stored, models }: EditorProps) {
  const { workspace_id: workspaceId } = useSession();
  const [changes, setChanges] = useState<Partial<BotSettings>>({});
  const draft = { ...stored, ...changes };
  const isChanged = JSON.stringify(draft) !== JSON.stringify(stored);
  const announce = useAnnounce();
  const queryClient = useQueryClient();
  /** The stored values when the user began to change them. */
  const [bases, setBases] = useState<Partial<BotSettings>>({});
  const [conflicts, setConflicts] = useState<readonly (keyof BotSettings)[]>([]);
  const change = <Name extends keyof BotSettings>(name: Name, value: BotSettings[Name]) => {
    if (changes[name] === undefined) setBases((before) => ({ ...before, [name]: stored[name] }));
    setChanges((before) => ({ ...before, [name]: value }));
  };
  const textProps = (name: "name" | "welcomeMessage") => ({
    value: draft[name],
    onChange: ({ target }: { target: { value: string } }) => change(name, target.value),
  });
  type Save = { changed: Partial<BotSettings>; mayReplace?: boolean };
  const saving = useMutation({
    mutationFn: async ({ changed, mayReplace = false }: Save) => {
      const { bot: latest } = await botsClient.getBot({ workspaceId, slug: bot.slug });
      const found = latest && !mayReplace ? findConflicts(changed, bases, toBotSettings(latest)) : [];
      setConflicts(found);
      if (found.length > 0) return undefined;
      return (await botsClient.updateBot({ workspaceId, slug: bot.slug, changes: toBotChanges(changed) })).bot;
    },
    onSuccess: (saved, { changed }) => {
      if (saved === undefined) return;
      queryClient.setQueryData(botsQuery(workspaceId).queryKey, (before) =>
        before?.map((each) => (each.id === saved.id ? saved : each)),
      );
      setChanges((before) => withoutSaved(before, changed));
      setBases(toBotSettings(saved));
      announce(
        changed.model && !models.includes(changed.model)
          ? t("Saved. The model is not one of the suggestions: ask the bot something to see whether it answers.")
          : t("Saved. Visitors see the changes within a minute."),
      );
    },
  });
  // The bar with "Save" appears with the first change. It must not cover the field that is being edited.
  useEffect(() => {
    if (isChanged) document.activeElement?.scrollIntoView({ block: "nearest" });
  }, [isChanged]);
  useBlocker({
    shouldBlockFn: () => isChanged && !window.confirm(t("Leave without saving your changes?")),
    enableBeforeUnload: () => isChanged,
  });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    saving.mutate({ changed: changes });
  };
  return (
    <BotFrame
      bot={bot}
      display={toDisplay(bot, draft)}
      hint={t("Looks change as you type. Answers use the saved instructions and count towards this month's messages.")}
    >
      <form className="form" onSubmit={submit}>
        <section className="panel" aria-labelledby="identity">
          <h2 id="identity">{t("What visitors read")}</h2>
          <TextField
            label={LABELS.name}
            required
            maxLength={limitsOf(BotChangesSchema.field.name).max}
            {...textProps("name")}
          />
          <TextArea
            label={LABELS.welcomeMessage}
            hint={t("Shown when the chat opens. Bold and italics work: **bold**, *italics*.")}
            rows={3}
            maxLength={limitsOf(BotChangesSchema.field.welcomeMessage).max}
            {...textProps("welcomeMessage")}
          />
          <QuickReplies values={draft.quickReplies} onChange={(values) => change("quickReplies", values)} />
        </section>
        <Languages
          values={draft.texts}
          asksConsent={draft.consentText !== ""}
          onChange={(values) => change("texts", values)}
        />
        <Looks botSlug={bot.slug} draft={draft} change={change} />
        <Answers draft={draft} change={change} models={models} />
        <Consent draft={draft} change={change} />
        <HandoffSettings draft={draft} change={change} />
        {saving.error && (
          <p className="form-error" role="alert">
            {errorText(saving.error)}
          </p>
        )}
        <div className={isChanged ? "save-bar changed" : "save-bar"}>
          <p role="status">{isChanged ? t("You have unsaved changes.") : t("All changes are saved.")}</p>
          <Button isDisabled={!isChanged || saving.isPending} onClick={() => setChanges({})}>
            {t("Discard")}
          </Button>
          <Button type="submit" className="button primary" isDisabled={!isChanged || saving.isPending}>
            {saving.isPending ? t("Saving…") : t("Save")}
          </Button>
        </div>
      </form>
      <Confirm
        title={t("Replace newer changes?")}
        text={t(
          "Someone else, or you in another window, has changed since you began: {settings}. Your version would replace it.",
          { settings: conflicts.map((name) => LABELS[name]).join(", ") },
        )}
        action={t("Replace")}
        isOpen={conflicts.length > 0}
        onOpenChange={() => setConflicts([])}
        onConfirm={() => saving.mutate({ changed: changes, mayReplace: true })}
      />
    </BotFrame>
  );
}
