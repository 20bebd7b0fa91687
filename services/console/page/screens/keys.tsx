import { type ApiKey, CreateKeyRequestSchema, KeyAdminService } from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { keys as keysClient } from "../api/clients.ts";
import { errorText } from "../api/error-text.ts";
import { keysQuery, useBots } from "../api/queries.ts";
import { useMayCall, useSession } from "../api/session.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { BotPicker } from "../components/bot-picker.tsx";
import { Button } from "../components/button.tsx";
import { findBotOrFirst, resolveBotSlug } from "../components/chosen-bot.ts";
import { CopyButton } from "../components/copy-button.tsx";
import { formatDate, formatDay } from "../components/dates.ts";
import { Confirm, Modal } from "../components/dialogs.tsx";
import { FactLine } from "../components/facts.tsx";
import { TextArea, TextField } from "../components/field.tsx";
import { focusNeighbour } from "../components/focus-neighbour.ts";
import { Icon } from "../components/icon.tsx";
import { MutationForm } from "../components/mutation-form.tsx";
import { PageHeader } from "../components/page-header.tsx";
import { Empty, Failure, Loading } from "../components/states.tsx";
import { t } from "../i18n/t.tsx";

export function Keys() {
  const { workspace_id: workspaceId } = useSession();
  const { data: keys, error, refetch } = useQuery(keysQuery(workspaceId));
  const { data: bots, error: botsError, refetch: refetchBots } = useBots();
  const [isCreating, setCreating] = useState(false);
  /** The key whose embed snippet is shown. */
  const [snippetKey, setSnippetKey] = useState<ApiKey | undefined>();
  const mayCreate = useMayCall(KeyAdminService.method.createKey);
  const createButton = mayCreate && (
    <Button className="button primary" isDisabled={!bots?.length} onClick={() => setCreating(true)}>
      <Icon name="plus" />
      {t("New key")}
    </Button>
  );
  // Revoked keys come last.
  const ordered = [...(keys ?? [])].sort((a, b) => Number(a.revokedAt !== "") - Number(b.revokedAt !== ""));
  return (
    <div className="screen">
      <PageHeader title={t("Keys")} actions={keys && keys.length > 0 && createButton}>
        {t("A key puts a bot on your pages. It is not secret, because it works only on the domains that you allow.")}
      </PageHeader>
      {error && !keys && <Failure error={error} onRetry={() => Promise.all([refetch(), refetchBots()])} />}
      {!error && !keys && <Loading />}
      {keys && botsError && !bots && <Failure error={botsError} onRetry={refetchBots} />}
      {keys?.length === 0 && (
        <Empty icon="key" title={t("No key yet")} action={createButton}>
          {describeNoKey(mayCreate, bots?.length)}
        </Empty>
      )}
      {ordered.length > 0 && (
        <ul className="rows panel flush">
          {ordered.map((key) => (
            <KeyRow
              key={key.publicKey}
              apiKey={key}
              botName={bots?.find(({ slug }) => slug === key.botSlug)?.display?.name || key.botSlug}
              onShowSnippet={() => setSnippetKey(key)}
            />
          ))}
        </ul>
      )}
      {isCreating && <CreateKey onClose={() => setCreating(false)} onCreated={setSnippetKey} />}
      <Modal
        title={t("Put the bot on your site")}
        description={t(
          "Paste this into the HTML of your pages, before {tag}. Many shop systems have a field for it, such as “Scripts in the footer”.",
          { tag: "</body>" },
        )}
        isOpen={snippetKey !== undefined}
        onOpenChange={(isOpen) => !isOpen && setSnippetKey(undefined)}
      >
        {snippetKey && <Snippet apiKey={snippetKey} />}
      </Modal>
    </div>
  );
}

function describeNoKey(mayCreate: boolean, botCount: number | undefined): string {
  if (!mayCreate) return t("A key puts a bot on your site. An owner of the workspace can create one.");
  return botCount === 0
    ? t("Create a bot first. Then a key puts it on your site.")
    : t("A key puts a bot on your site.");
}

type KeyRowProps = { apiKey: ApiKey; botName: string; onShowSnippet: () => void };

function KeyRow({ apiKey, botName, onShowSnippet }: KeyRowProps) {
  const { publicKey, allowedDomains, createdAt, revokedAt, lastUsedOn, name } = apiKey;
  const { workspace_id: workspaceId } = useSession();
  const [isConfirming, setConfirming] = useState(false);
  const [isEditing, setEditing] = useState(false);
  const row = useRef<HTMLLIElement>(null);
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const revocation = useMutation({
    mutationFn: () => keysClient.revokeKey({ workspaceId, publicKey }),
    onSuccess: async () => {
      focusNeighbour(row.current);
      announce(t("The key was revoked. The chat on pages with it stops working within seconds."));
      await queryClient.invalidateQueries(keysQuery(workspaceId));
    },
    onError: (error) => announce(errorText(error), { isError: true }),
  });
  const mayUpdate = useMayCall(KeyAdminService.method.updateKey);
  const mayRevoke = useMayCall(KeyAdminService.method.revokeKey);
  const isRevoked = revokedAt !== "";
  const labels = actionLabels(apiKey, botName);
  return (
    <li ref={row} className={isRevoked ? "row key revoked" : "row key"}>
      <span className="row-icon">
        <Icon name="key" />
      </span>
      <span className="row-text">
        <span className="row-title">
          <strong>{name || botName}</strong>
          {isRevoked && <span className="badge">{t("Revoked {date}", { date: formatDate(revokedAt) })}</span>}
        </span>
        <code>{publicKey}</code>
        <small>
          <FactLine
            facts={[
              name !== "" && botName,
              allowedDomains.join(", "),
              t("created {date}", { date: formatDate(createdAt) }),
              lastUsedOn === "" ? t("no use recorded") : t("last used {date}", { date: formatDay(lastUsedOn) }),
            ]}
          />
        </small>
      </span>
      {!isRevoked && (
        <span className="row-actions">
          <button type="button" className="button small" aria-label={labels.embed} onClick={onShowSnippet}>
            {t("Embed")}
          </button>
          {mayUpdate && (
            <button type="button" className="button small" aria-label={labels.edit} onClick={() => setEditing(true)}>
              {t("Edit")}
            </button>
          )}
          {mayRevoke && (
            <Button
              className="button small"
              aria-label={labels.revoke}
              isDisabled={revocation.isPending}
              onClick={() => setConfirming(true)}
            >
              {t("Revoke")}
            </Button>
          )}
        </span>
      )}
      {isEditing && <ChangeKey apiKey={apiKey} onClose={() => setEditing(false)} />}
      <Confirm
        title={t("Revoke the key?")}
        text={t("The chat with “{bot}” on pages with this key stops working within seconds. This cannot be undone.", {
          bot: botName,
        })}
        action={t("Revoke")}
        isOpen={isConfirming}
        onOpenChange={setConfirming}
        onConfirm={() => revocation.mutate()}
      />
    </li>
  );
}

/** Names the buttons of a key. Several keys of one bot may have no name, so their last characters tell them apart. */
function actionLabels({ name: key, publicKey }: ApiKey, bot: string) {
  if (key !== "")
    return {
      embed: t("Embed the key {key} of {bot}", { key, bot }),
      edit: t("Edit the key {key} of {bot}", { key, bot }),
      revoke: t("Revoke the key {key} of {bot}", { key, bot }),
    };
  const end = publicKey.slice(-6);
  return {
    embed: t("Embed the key of {bot} that ends in {end}", { bot, end }),
    edit: t("Edit the key of {bot} that ends in {end}", { bot, end }),
    revoke: t("Revoke the key of {bot} that ends in {end}", { bot, end }),
  };
}

function Snippet({ apiKey }: { apiKey: ApiKey }) {
  const edgeUrl = document.querySelector<HTMLMetaElement>("meta[name=parley-edge]")?.content ?? "";
  const snippet = [
    "<script async",
    `  src="${edgeUrl}/widget.js"`,
    `  data-public-key="${apiKey.publicKey}"></script>`,
  ].join("\n");
  return (
    <div className="snippet">
      <pre>
        <code>{snippet}</code>
      </pre>
      <CopyButton text={snippet} label={t("Copy the HTML")} />
      <p className="hint">{t("Works on {domains}.", { domains: apiKey.allowedDomains.join(", ") })}</p>
      <p className="hint">
        {t(
          "No chat on your page? Compare its address with these domains, letter by letter: www.example.com and example.com are two domains. Choose Edit beside the key to add one.",
        )}
      </p>
    </div>
  );
}

function CreateKey({ onClose, onCreated }: { onClose: () => void; onCreated: (key: ApiKey) => void }) {
  const { workspace_id: workspaceId } = useSession();
  const { data: bots = [] } = useBots();
  const [botSlug, setBotSlug] = useState(() => findBotOrFirst(bots, resolveBotSlug(undefined))?.slug ?? "");
  const [domains, setDomains] = useState("");
  const [name, setName] = useState("");
  const queryClient = useQueryClient();
  const creation = useMutation({
    mutationFn: () => keysClient.createKey({ workspaceId, botSlug, domains: splitDomains(domains), name }),
    onSuccess: ({ key }) => {
      if (key) onCreated(key);
      void queryClient.invalidateQueries(keysQuery(workspaceId));
    },
  });
  return (
    <Modal title={t("New key")} isOpen onOpenChange={onClose}>
      <MutationForm mutation={creation} action={t("Create key")} pendingAction={t("Creating…")} onClose={onClose}>
        <BotPicker bots={bots} value={botSlug} onChange={setBotSlug} />
        <DomainsField value={domains} onChange={setDomains} />
        <NameField value={name} onChange={setName} />
      </MutationForm>
    </Modal>
  );
}

function ChangeKey({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const { workspace_id: workspaceId } = useSession();
  const [domains, setDomains] = useState(apiKey.allowedDomains.join("\n"));
  const [name, setName] = useState(apiKey.name);
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const update = useMutation({
    mutationFn: () =>
      keysClient.updateKey({ workspaceId, publicKey: apiKey.publicKey, domains: splitDomains(domains), name }),
    onSuccess: () => {
      announce(t("The key was changed. Its domains apply within seconds."));
      void queryClient.invalidateQueries(keysQuery(workspaceId));
    },
  });
  return (
    <Modal
      title={t("Change the key")}
      description={t("The chat on pages of domains that you remove stops working within seconds.")}
      isOpen
      onOpenChange={onClose}
    >
      <MutationForm mutation={update} action={t("Save key")} pendingAction={t("Saving…")} onClose={onClose}>
        <DomainsField value={domains} onChange={setDomains} />
        <NameField value={name} onChange={setName} />
      </MutationForm>
    </Modal>
  );
}

function NameField({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  return (
    <TextField
      label={t("Name of the key")}
      hint={t("To tell keys apart in lists and in the audit log. Visitors do not see it.")}
      maxLength={limitsOf(CreateKeyRequestSchema.field.name).max}
      value={value}
      onChange={({ target }) => onChange(target.value)}
    />
  );
}

function DomainsField({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  return (
    <TextArea
      label={t("Domains")}
      hint={t("One per line: example.com, or *.example.com for all its subdomains. The address of a page works too.")}
      rows={3}
      required
      spellCheck={false}
      value={value}
      onChange={({ target }) => onChange(target.value)}
    />
  );
}

/** Splits at commas too, unless they are in the path or query of a page's address. */
const splitDomains = (text: string) =>
  text
    .split(/\s+/)
    .flatMap((each) => (/[^/]\/[^/]|[?#]/.test(each) ? [each] : each.split(",")))
    .filter(Boolean);
