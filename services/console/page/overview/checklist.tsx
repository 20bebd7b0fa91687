import { BotAdminService } from "@parley/rpc/conversation";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { knowledge } from "../api/clients.ts";
import { listConversations } from "../api/conversations.ts";
import { keysQuery, useBots } from "../api/queries.ts";
import { useMayCall, useSession } from "../api/session.ts";
import { sourcesKey } from "../api/source-queries.ts";
import { findBotOrFirst, resolveBotSlug } from "../components/chosen-bot.ts";
import { focusScreen } from "../components/focus-neighbour.ts";
import { Icon } from "../components/icon.tsx";
import { t } from "../i18n/t.tsx";
import { listSteps, type Step } from "./steps.ts";

/** Only this browser hides the list. The steps themselves are read from the workspace. */
const HIDDEN_KEY = "parley-first-steps-hidden";

/** The first steps of a workspace, until all are done or the owner hides them. Nothing for members who may not create bots. */
export function Checklist() {
  const { workspace_id: workspaceId } = useSession();
  const [isHidden, setHidden] = useState(() => localStorage.getItem(HIDDEN_KEY) === workspaceId);
  const mayCreate = useMayCall(BotAdminService.method.createBot);
  if (isHidden || !mayCreate) return null;
  const hide = () => {
    localStorage.setItem(HIDDEN_KEY, workspaceId);
    focusScreen();
    setHidden(true);
  };
  return <Steps onHide={hide} />;
}

function Steps({ onHide }: { onHide: () => void }) {
  const { workspace_id: workspaceId } = useSession();
  const { data: bots } = useBots();
  const { data: keys } = useQuery(keysQuery(workspaceId));
  const playground = { source: "playground" };
  const { data: tried } = useQuery({
    queryKey: ["conversations", workspaceId, playground, "any"],
    queryFn: async () => (await listConversations(workspaceId, playground)).sessions.length > 0,
  });
  const botSlug = bots && (findBotOrFirst(bots, resolveBotSlug(undefined))?.slug ?? "");
  // The response counts the documents of all bots.
  const { data: documents } = useQuery({
    queryKey: [...sourcesKey(workspaceId, botSlug ?? ""), "usage"],
    queryFn: async () =>
      (await knowledge.listSources({ workspaceId, botSlug: botSlug ?? "", pageSize: 1 })).usage?.documents ?? 0,
    enabled: botSlug !== undefined && botSlug !== "",
  });
  const documentCount = botSlug === "" ? 0 : documents;
  if (bots === undefined || keys === undefined || tried === undefined || documentCount === undefined) return null;
  const steps = listSteps({ bots, keys, documents: documentCount, isTried: tried });
  const next = steps.find(({ isDone }) => !isDone);
  if (next === undefined) return null;
  const done = steps.filter(({ isDone }) => isDone).length;
  return (
    <section className="panel" aria-labelledby="first-steps">
      <div className="panel-header">
        <h2 id="first-steps">
          {t("First steps")}{" "}
          <span className="count">{t("{part} of {total}", { part: done, total: steps.length })}</span>
        </h2>
        <button type="button" className="button small" onClick={onHide}>
          {t("Hide")}
        </button>
      </div>
      <ol className="steps">
        {steps.map((step) => (
          <li key={step.name} className={step.isDone ? "done" : undefined}>
            <span className="step-mark">{step.isDone && <Icon name="check" />}</span>
            <div>
              <p>
                {step.isDone && <span className="visually-hidden">{t("Done:")} </span>}
                {step.isDone ? (
                  step.title
                ) : (
                  <StepLink step={step} botSlug={botSlug ?? ""}>
                    {step.title}
                  </StepLink>
                )}
              </p>
              {step === next && <p className="hint">{step.hint}</p>}
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}

function StepLink({ step, botSlug, children }: { step: Step; botSlug: string; children: ReactNode }) {
  switch (step.name) {
    case "bot":
      return <Link to="/bots">{children}</Link>;
    case "knowledge":
      return (
        <Link to="/knowledge" search={{ bot: botSlug }}>
          {children}
        </Link>
      );
    case "try":
      return (
        <Link to="/playground" search={{ bot: botSlug }}>
          {children}
        </Link>
      );
    case "key":
    case "embed":
      return <Link to="/keys">{children}</Link>;
  }
}
