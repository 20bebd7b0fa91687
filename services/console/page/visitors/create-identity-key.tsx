import { CreateIdentityKeyRequestSchema } from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { identityKeys } from "../api/clients.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Modal } from "../components/dialogs.tsx";
import { SelectField, TextArea } from "../components/field.tsx";
import { MutationForm } from "../components/mutation-form.tsx";
import { t } from "../i18n/t.tsx";

/** Not in api/queries.ts, which the first screen loads. */
export const identityKeysQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ["identity-keys", workspaceId],
    queryFn: async () => (await identityKeys.listIdentityKeys({ workspaceId })).keys,
  });

const KINDS = [
  ["secret", t("A secret that Parley creates (HS256)")],
  ["public", t("A public key of yours (ES256, EdDSA or RS256)")],
] as const;

type CreateProps = {
  workspaceId: string;
  onClose: () => void;
  /** Called with the secret; not called for a public key. */
  onCreated: (secret: string) => void;
};

export function CreateIdentityKey({ workspaceId, onClose, onCreated }: CreateProps) {
  const [kind, setKind] = useState("secret");
  const [publicKey, setPublicKey] = useState("");
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const creation = useMutation({
    mutationFn: () => identityKeys.createIdentityKey({ workspaceId, pemOrJwk: kind === "public" ? publicKey : "" }),
    onSuccess: ({ secret }) => {
      if (secret === "") announce(t("The public key was added. Its tokens are accepted within seconds."));
      else onCreated(secret);
      void queryClient.invalidateQueries(identityKeysQuery(workspaceId));
    },
    // Otherwise TanStack Query would keep the response, and with it the secret, for five minutes.
    gcTime: 0,
  });
  return (
    <Modal title={t("New identity key")} isOpen onOpenChange={onClose}>
      <MutationForm mutation={creation} action={t("Create key")} pendingAction={t("Creating…")} onClose={onClose}>
        <SelectField label={t("Kind")} options={KINDS} value={kind} onChange={setKind} />
        {kind === "public" && (
          <TextArea
            label={t("Public key")}
            hint={t("As PEM or JWK. The private key stays on your backend: do not paste it here.")}
            rows={6}
            required
            dir="ltr"
            spellCheck={false}
            autoComplete="off"
            maxLength={limitsOf(CreateIdentityKeyRequestSchema.field.pemOrJwk).max}
            value={publicKey}
            onChange={({ target }) => setPublicKey(target.value)}
          />
        )}
      </MutationForm>
    </Modal>
  );
}
