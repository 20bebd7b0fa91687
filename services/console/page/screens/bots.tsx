import { BotAdminService } from "@parley/rpc/conversation";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { bots as botsClient } from "../api/clients.ts";
import { botsQuery, useBots } from "../api/queries.ts";
import { useMayCall, useSession } from "../api/session.ts";
import { Modal } from "../components/dialogs.tsx";
import { TextField } from "../components/field.tsx";
import { Icon } from "../components/icon.tsx";
import { MutationForm } from "../components/mutation-form.tsx";
import { PageHeader } from "../components/page-header.tsx";
import { Empty, Failure, Loading } from "../components/states.tsx";

export function Bots() {
  const { data: bots, error, refetch } = useBots();
  const [isCreating, setCreating] = useState(false);
  const mayCreate = useMayCall(BotAdminService.method.createBot);
  const createButton = mayCreate && (
    <button type="button" className="button primary" onClick={() => setCreating(true)}>
      <Icon name="plus" />
      New bot
    </button>
  );
  return (
    <div className="screen">
      <PageHeader title="Bots" actions={bots && bots.length > 0 && createButton}>
        Each bot has its own looks, instructions and knowledge.
      </PageHeader>
      {error && !bots && <Failure error={error} onRetry={refetch} />}
      {!error && !bots && <Loading />}
      {bots?.length === 0 && (
        <Empty icon="bot" title="No bot yet" action={createButton}>
          {mayCreate
            ? "Create a bot, give it knowledge, and put it on your site."
            : "An owner of the workspace can create one."}
        </Empty>
      )}
      {bots && bots.length > 0 && (
        <ul className="cards">
          {bots.map(({ slug, display, model }) => (
            <li key={slug}>
              <Link to="/bots/$slug" params={{ slug }} className="card bot-card">
                <BotMark name={display?.name ?? slug} color={display?.primaryColor ?? ""} />
                <span className="card-text">
                  <strong>{display?.name ?? slug}</strong>
                  <small>{slug}</small>
                  <small className="muted">{model || "Default model"}</small>
                </span>
                <Icon name="chevronRight" />
              </Link>
            </li>
          ))}
        </ul>
      )}
      {isCreating && <CreateBot onClose={() => setCreating(false)} />}
    </div>
  );
}

/** The first character of the bot's name on the bot's colour. */
function BotMark({ name, color }: { name: string; color: string }) {
  return (
    <svg className="bot-mark" viewBox="0 0 40 40" aria-hidden="true">
      <rect width="40" height="40" rx="11" fill={color} />
      <text x="20" y="26" textAnchor="middle" fill={isLight(color) ? "#111" : "#fff"}>
        {Array.from(name)[0]?.toUpperCase()}
      </text>
    </svg>
  );
}

/** Whether dark text is easier to read on a colour than white text. The weights are those of ITU-R BT.601 for perceived brightness. */
function isLight(hex: string): boolean {
  const [red = 0, green = 0, blue = 0] = (hex.match(/[0-9a-f]{2}/gi) ?? []).map((part) => Number.parseInt(part, 16));
  return red * 0.299 + green * 0.587 + blue * 0.114 > 150;
}

function CreateBot({ onClose }: { onClose: () => void }) {
  const { workspace_id: workspaceId } = useSession();
  const [name, setName] = useState("");
  const [typedSlug, setTypedSlug] = useState<string | undefined>();
  const slug = typedSlug ?? toSlug(name);
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const creation = useMutation({
    mutationFn: () => botsClient.createBot({ workspaceId, slug, changes: { name: name.trim() } }),
    onSuccess: async () => {
      await queryClient.invalidateQueries(botsQuery(workspaceId));
      await navigate({ to: "/bots/$slug", params: { slug } });
    },
  });
  return (
    <Modal title="New bot" isOpen onOpenChange={onClose}>
      <MutationForm mutation={creation} action="Create bot" pendingAction="Creating…" onClose={onClose}>
        <TextField
          label="Name"
          hint="Visitors see it at the top of the chat."
          required
          maxLength={200}
          value={name}
          onChange={({ target }) => setName(target.value)}
        />
        <TextField
          label="Short name"
          hint="For commands and exports: lower-case letters, digits and hyphens. It cannot be changed later."
          required
          formatError="Use only the letters a to z, digits and hyphens."
          pattern="[a-z0-9\-]{1,64}"
          maxLength={64}
          spellCheck={false}
          value={slug}
          onChange={({ target }) => setTypedSlug(target.value)}
        />
      </MutationForm>
    </Modal>
  );
}

function toSlug(name: string): string {
  const ascii = name.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  return ascii
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 64);
}
