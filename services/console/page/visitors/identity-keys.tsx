import { type IdentityKey, IdentityKeyAdminService } from "@parley/rpc/conversation";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { identityKeys } from "../api/clients.ts";
import { errorText } from "../api/error-text.ts";
import { useMayCall } from "../api/session.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Button } from "../components/button.tsx";
import { CopyButton } from "../components/copy-button.tsx";
import { formatDate } from "../components/dates.ts";
import { Confirm, Modal } from "../components/dialogs.tsx";
import { FactLine } from "../components/facts.tsx";
import { focusNeighbour } from "../components/focus-neighbour.ts";
import { Icon } from "../components/icon.tsx";
import { Empty, Failure, Loading } from "../components/states.tsx";
import { t } from "../i18n/t.tsx";
import { SECRET_VARIABLE } from "./backend-code.tsx";
import { CreateIdentityKey, identityKeysQuery } from "./create-identity-key.tsx";

export function IdentityKeys({ workspaceId }: { workspaceId: string }) {
  const { data: keys, error, refetch } = useQuery(identityKeysQuery(workspaceId));
  const [isCreating, setCreating] = useState(false);
  /** The secret that was just created; empty if none is shown. */
  const [secret, setSecret] = useState("");
  const mayCreate = useMayCall(IdentityKeyAdminService.method.createIdentityKey);
  const createButton = mayCreate && (
    <button type="button" className="button primary" onClick={() => setCreating(true)}>
      <Icon name="plus" />
      {t("New identity key")}
    </button>
  );
  return (
    <section className="panel" aria-labelledby="identity-keys">
      <div className="panel-header">
        <h2 id="identity-keys">{t("Identity keys")}</h2>
        {keys && keys.length > 0 && createButton}
      </div>
      {error && !keys && <Failure error={error} onRetry={refetch} />}
      {!error && !keys && <Loading lines={2} />}
      {keys?.length === 0 && (
        <Empty icon="shield" title={t("No identity key yet")} action={createButton}>
          {mayCreate
            ? t("Create a secret for your backend, or add its public key.")
            : t("An owner of the workspace can create one.")}
        </Empty>
      )}
      {keys && keys.length > 0 && (
        <>
          <ul className="rows" aria-labelledby="identity-keys">
            {keys.map((key) => (
              <IdentityKeyRow key={key.kid} identityKey={key} />
            ))}
          </ul>
          <p className="hint">
            {t(
              "At most four keys. All of them verify tokens, so you can replace one without interruption: create the new key, use it, and revoke the old one.",
            )}
          </p>
        </>
      )}
      {isCreating && (
        <CreateIdentityKey workspaceId={workspaceId} onClose={() => setCreating(false)} onCreated={setSecret} />
      )}
      <Modal
        title={t("Copy the secret now")}
        description={t(
          "Parley does not show it again. Put it into the environment variable {variable} of your backend, and nowhere else.",
          { variable: SECRET_VARIABLE },
        )}
        isOpen={secret !== ""}
        onOpenChange={(isOpen) => !isOpen && setSecret("")}
      >
        <div className="snippet">
          <pre>
            <code>{secret}</code>
          </pre>
          <CopyButton text={secret} label={t("Copy the secret")} />
        </div>
      </Modal>
    </section>
  );
}

function IdentityKeyRow({ identityKey: { workspaceId, kid, algorithm, createdAt } }: { identityKey: IdentityKey }) {
  const [isConfirming, setConfirming] = useState(false);
  const row = useRef<HTMLLIElement>(null);
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const mayRevoke = useMayCall(IdentityKeyAdminService.method.revokeIdentityKey);
  const revocation = useMutation({
    mutationFn: () => identityKeys.revokeIdentityKey({ workspaceId, kid }),
    onSuccess: async () => {
      focusNeighbour(row.current);
      announce(t("The identity key was revoked. Its tokens are refused within seconds."));
      await queryClient.invalidateQueries(identityKeysQuery(workspaceId));
    },
    onError: (error) => announce(errorText(error), { isError: true }),
  });
  return (
    <li ref={row} className="row key">
      <span className="row-icon">
        <Icon name="shield" />
      </span>
      <span className="row-text">
        <code>{kid}</code>
        <small>
          <FactLine facts={[algorithm, t("created {date}", { date: formatDate(createdAt) })]} />
        </small>
      </span>
      {mayRevoke && (
        <span className="row-actions">
          <Button
            className="button small"
            aria-label={t("Revoke the identity key {kid}", { kid })}
            isDisabled={revocation.isPending}
            onClick={() => setConfirming(true)}
          >
            {t("Revoke")}
          </Button>
        </span>
      )}
      <Confirm
        title={t("Revoke the identity key?")}
        text={t(
          "Tokens that are signed with it are refused within seconds. Conversations keep their verified visitors. This cannot be undone.",
        )}
        action={t("Revoke")}
        isOpen={isConfirming}
        onOpenChange={setConfirming}
        onConfirm={() => revocation.mutate()}
      />
    </li>
  );
}
